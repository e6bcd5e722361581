"""The mistakes and guises that ops declare, built in the place of a node.

A declaration's function has `expand`'s signature. It is built once in a graph of its own for each kind of
call, and its nodes are copied from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ....core.axes import Spec
from ....core.errors import GraphError
from ....core.graph import Graph, Node, Ref, Tensor
from ....core.interpreter import padded
from ....core.op import broken
from ....core.words import shown
from ..draft import Draft, Rewrite
from ..intended import Intended, call_key
from ..structure.groups import Group
from ..variant import Variant, one, the


def declared(intended: Intended, group: Group) -> Iterator[Variant]:
    """What the op of a group says of how it is got wrong, and its guises, where they give another value."""
    nodes = [intended.nodes[name] for name in group]
    own = nodes[0].op
    for mistake in (*own.mistakes, *(guise for guise in own.guises if not guise.only_nan)):
        if all(template(intended, node, mistake) for node in nodes):
            words = partial(_phrase, intended, group, mistake.phrase)
            make = one(intended, _act(nodes, mistake))
            yield Variant(
                mistake.name, words, mistake.price, group, make, mistake.sentence, declared=True,
                number=mistake.number, between=mistake.between,
            )  # fmt: skip


def _phrase(intended: Intended, group: Group, words: str) -> str:
    return f"{words} in {the(intended, group)}"


def guises(intended: Intended, group: Group) -> Iterator[tuple[Any, Rewrite]]:
    """The same nodes written in other ways: the declaration, and the rewrite, which changes no value."""
    nodes = [intended.nodes[name] for name in group]
    for guise in nodes[0].op.guises:
        if all(template(intended, node, guise) for node in nodes):
            yield guise, one(intended, _act(nodes, guise))()


def _act(nodes: Sequence[Node], declaration: Any) -> Callable[[Draft], None]:
    def act(draft: Draft) -> None:
        for node in nodes:
            found = template(draft.intended, node, declaration)
            if found is not None:
                splice(draft, node, *found, declaration.number)

    return act


NUMBER = "number"
"""What a number that is left open is called in a template."""
Template = tuple[Graph, tuple[Ref, ...]]


def template(intended: Intended, node: Node, declaration: Any) -> Template | None:
    """A graph with an input for each operand of the node, and what is built of them; None where the function
    gives nothing for this call (it returns None, or an op refuses). Where it raises anything else, or gives
    something else, one sentence names the op."""
    specs = padded(node.op, intended.graph.operand_specs(node.operands))
    build, number = declaration.build, declaration.number
    key = ("template", build, call_key(node.op, specs, node.attributes) or repr(node.attributes))
    if key not in intended.shared:
        who = f"op {node.op.name!r}: what it declares as {declaration.name!r}"
        intended.shared[key] = _built(who, specs, node.attributes, build, len(node.ports), number)
    return intended.shared[key]


def _built(
    who: str,
    specs: Sequence[Spec | None],
    attributes: Mapping[str, Any],
    build: Callable[..., Any],
    count: int,
    number: float | None,
) -> Template | None:
    graph = Graph("template")
    given = [
        None if spec is None else graph.input(f"operand{slot}", spec.shape, spec.axes, spec.kind)
        for slot, spec in enumerate(specs)
    ]
    more = {} if number is None else {"number": graph.input(NUMBER, ())}
    try:
        made = build(graph, *given, **attributes, **more)
    except GraphError:
        return None
    except Exception as error:
        raise broken(who, error) from error
    if made is None:
        return None
    tensors = made if isinstance(made, tuple) else (made,)
    if len(tensors) != count or not all(isinstance(t, Tensor) for t in tensors):
        raise GraphError(f"{who} gives {shown(made)}; expected a tensor for each result, or None")
    names = [t.name for t in tensors]
    fine = graph.at("op")
    return fine, tuple(fine.resolve(name) for name in names)


def splice(draft: Draft, node: Node, built: Graph, results: Sequence[Ref], number: float | None = None) -> None:
    """Copy the nodes of a template into the place of a node."""
    operands = draft.node(node.name).operands
    went: dict[Ref, Ref | None] = {}
    for made in built.nodes.values():
        if made.name == NUMBER:
            went[Ref(NUMBER)] = draft.add("constant", [], {"value": number}, near=node, name=NUMBER)
            draft.solve_for(f"{node.name}_{NUMBER}", "value")
            continue
        if made.op.fed:
            slot = int(made.name.removeprefix("operand"))
            went[Ref(made.name)] = operands[slot] if slot < len(operands) else None
            continue
        own = f"{node.name}.{made.name}"
        while own in draft.graph.nodes or own in draft.nodes:
            own += "_"
        refs = tuple(None if ref is None else went[ref] for ref in made.operands)
        draft.nodes[own] = replace(made, name=own, operands=refs, scope=node.scope)
        for port in range(len(made.ports)):
            went[Ref(made.name, port)] = Ref(own, port)
    fresh = set(draft.nodes)
    for port, ref in enumerate(results):
        new = went[ref]
        if new is not None and new != Ref(node.name, port):
            draft.redirect(Ref(node.name, port), new, apart_from=fresh - set(draft.graph.nodes))
