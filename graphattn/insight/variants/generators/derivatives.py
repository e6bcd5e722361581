"""A gradient rule is the derivative of something else, in all nodes of its op: of another form of the op, of
the op as it is got wrong, of another function; or it is taken at another point, the output for the input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from ....core.axes import Spec
from ....core.errors import GraphError
from ....core.graph import Graph, Node, Ref, Tensor
from ....core.interpreter import padded
from ....core.op import OPS, Op
from ....passes.gradient import Differentiated, Tape, differentiate
from ..draft import Draft
from ..intended import Intended
from ..structure.groups import Group
from ..structure.rules import handed_by, rule_of
from ..variant import Variant, one

Build = Callable[..., Any]
"""As `expand`: (graph, operands, attributes) → the result."""


def derivatives(intended: Intended, group: Group) -> Iterator[Variant]:
    tape = intended.tape
    refs = handed_by(intended, group)
    if tape is None or not refs:
        return
    names = list(dict.fromkeys(tape.handed[ref][0] for ref in refs))
    op = tape.source.nodes[names[0]].op
    every = [ref for ref, (node, _) in tape.handed.items() if tape.source.nodes[node].op is op]
    if len(refs) < len(every) or op.gradient is None:
        return
    for words, build in _forms(op):
        make = one(intended, partial(_all, tape=tape, names=names, build=build))
        yield Variant(
            "derivative", f"with {words} in the gradient of {op.title}", 1.15, group, make, rule_of(op)
        )
    yield from _points(intended, tape, names, group)


def _points(intended: Intended, tape: Tape, names: Sequence[str], group: Group) -> Iterator[Variant]:
    """What a rule reads of its own node is another tensor, everywhere in it: the result for the operand, the
    other way round, what the operand is computed from."""
    op = tape.source.nodes[names[0]].op
    tables = [_around(tape.source.nodes[name], tape.source) for name in names]
    for key, own in tables[0].items():
        for other, instead in tables[0].items():
            if key == other or not all(key in table and other in table for table in tables):
                continue
            if key[1] or intended.shape(own) != intended.shape(instead):
                continue
            pairs = [(table[key], table[other]) for table in tables]
            make = one(intended, partial(_read_instead, tape=tape, names=names, pairs=pairs))
            words = f"with {other[0]} in the place of {key[0]} throughout the gradient of {op.title}"
            price = 1.15 + 0.1 * other[1]
            yield Variant("point", words, price, group, make, rule_of(op))


def _around(node: Node, graph: Graph) -> dict[tuple[str, bool], Ref]:
    """Tensors by how they stand to a node: its result, its operands, (True) what these are computed from."""
    found = {("the result", False): Ref(node.name)} if node.ports == ("",) else {}
    for slot, ref in enumerate(node.operands):
        if ref is not None:
            called = node.op.operand_name(slot)
            found[called, False] = ref
            maker = graph.nodes[ref.node]
            for place, before in enumerate(maker.operands):
                if before is not None:
                    found[f"{maker.op.operand_name(place)} of the {maker.op.title} before", True] = before
    return found


def _read_instead(draft: Draft, tape: Tape, names: Sequence[str], pairs: Sequence[tuple[Ref, Ref]]) -> None:
    """The steps of the rules of some nodes read other tensors than their own."""
    instead = dict(zip(names, pairs, strict=True))
    for name, rule in tape.rules.items():
        if rule.node in instead and name in draft.graph.nodes:
            own, other = instead[rule.node]
            for slot, ref in enumerate(draft.graph.nodes[name].operands):
                if ref == own:
                    draft.operand(name, slot, other)


def _forms(op: Op) -> Iterator[tuple[str, Build]]:
    """The op with another of the words that it takes; as it is got wrong; another function."""
    for name, values in op.values.items():
        for value in values:
            yield f"the derivative of {name}={value}", _calling(op, {name: value})
    for mistake in op.mistakes:
        yield f"the derivative of {op.title} {mistake.words}", mistake.first
    for other in OPS.values() if op.family == "function" and _is_function(op) else ():
        if other is not op and other.family == op.family and _is_function(other):
            yield f"the derivative of {other.title}", _calling(other, {})


def _is_function(op: Op) -> bool:
    """Whether it gives of one tensor one like it, with nothing that has to be said, and has a rule."""
    settings = (p for p in op.parameters.values() if not p.operand)
    if op.gradient is None or len(op.operands) != 1 or any(p.required for p in settings):
        return False
    made = op.shape(Spec((2, 3)), **op.defaults)
    return isinstance(made, Spec) and made.shape == (2, 3)


def _calling(op: Op, attributes: Mapping[str, Any]) -> Build:
    def build(g: Any, *operands: Any, **given: Any) -> Any:
        settings = {name: given.get(name, value) for name, value in op.defaults.items()}
        return g.apply(op, *operands, **{**settings, **attributes})

    return build


def _all(draft: Draft, tape: Tape, names: Sequence[str], build: Build) -> None:
    for name in names:
        node = tape.source.nodes[name]
        handed = {slot: ref for ref, (of, slot) in tape.handed.items() if of == name}
        dy = tape.cotangent(Ref(name))
        if dy is None:
            raise GraphError(f"nothing arrives at {name!r}")
        near = draft.graph.nodes[next(iter(handed.values())).node]
        found, given = derivative(tape.source, node, build)
        went = {Ref(found.cotangents["y"]): dy}
        for x, ref in zip(given, padded(node.op, node.operands), strict=True):
            if x is not None and ref is not None:
                went[Ref(x.name)] = ref
        copied(draft, found, went, near)
        for slot, ref in handed.items():
            x = given[slot]
            if x is not None:
                draft.redirect(ref, went[found.graph.outputs[found.gradients[x.name]].ref])


def copied(draft: Draft, found: Differentiated, went: dict[Ref, Ref], near: Node) -> None:
    """The nodes of a differentiated graph as new ones of a draft, but for those that something stands for."""
    for inner in found.graph.nodes.values():
        if not inner.op.fed and Ref(inner.name) not in went:
            operands = [None if ref is None else went[ref] for ref in inner.operands]
            made = draft.add(inner.op, operands, inner.attributes, near=near, name="form")
            went |= {Ref(inner.name, port): Ref(made.node, port) for port in range(len(inner.ports))}


def derivative(graph: Graph, node: Node, build: Build) -> tuple[Differentiated, list[Tensor | None]]:
    """What is built of operands like those of a node, differentiated by itself, and these operands."""
    small = Graph("form")
    refs = padded(node.op, node.operands)
    given = [
        None if ref is None else small.input(f"x{slot}", spec.shape, spec.axes, spec.kind)
        for slot, ref in enumerate(refs) for spec in [graph.spec(ref) if ref is not None else Spec(())]
    ]  # fmt: skip
    y = build(small, *given, **node.attributes)
    if not isinstance(y, Tensor):
        raise GraphError(f"{node.op.name} is not got wrong so in {node.name!r}")
    small.output(y=y)
    return differentiate(small, ("y",), [x.name for x in given if x is not None and x.kind == "float"]), given


__all__ = ["copied", "derivative", "derivatives"]
