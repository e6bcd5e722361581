"""How an autograd engine goes wrong, as people write them: what arrives at a tensor is not all summed up.

    for mistake in engine_mistakes(graph, of, wrt):
        mistake.phrase, mistake.tensors, mistake.graph()     the gradient graph with that mistake in it

Mostly the rules of the ops are right, and what is wrong is what the engine does with what they give. A
cotangent is overwritten where it should be added (micrograd's first version), one path is forgotten, a tensor
is cut off from the graph (`.detach()`, `.item()`), a shared tensor hands its cotangent on before all of it has
arrived, gradients are not set to zero between two calls. Last come the rules: of all nodes of an op, what an
operand is handed has the other sign, is left out, transposed, exchanged, not summed over the tokens that share
a bias; or it is the derivative of another form of the op, or of another function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphattn.core.axes import Spec
from graphattn.core.errors import GraphError
from graphattn.core.graph import Graph, Node, Ref, Tensor
from graphattn.core.interpreter import padded
from graphattn.core.op import OPS, Op
from graphattn.passes.gradient import differentiate


@dataclass(frozen=True)
class EngineMistake:
    """One wrong engine. `everywhere` tells what it does to all tensors from what it does to one."""

    name: str
    phrase: str
    """Goes on from "yours is this graph …"."""
    tensors: tuple[str, ...]
    everywhere: bool
    graph: Callable[[], Graph]


def engine_mistakes(graph: Graph, of: Sequence[str], wrt: Sequence[str]) -> Iterator[EngineMistake]:
    """Every wrong engine, those that go wrong everywhere first."""
    arrivals = _arrivals(graph, of, wrt)
    shared = [ref for ref, count in arrivals.items() if count > 1]
    names = tuple(graph.tensor_name(ref) for ref in shared)

    def made(arriving: Callable[[Ref, list[Ref]], list[Ref]]) -> Callable[[], Graph]:
        return lambda: differentiate(graph, of, wrt, arriving).graph

    if shared:
        yield EngineMistake(
            "overwritten", "with each cotangent overwritten by the last that arrives, not summed", names, True,
            made(lambda ref, found: found[-1:]),
        )  # fmt: skip
        yield EngineMistake(
            "first only", "with the first cotangent that arrives alone, not the sum", names, True,
            made(lambda ref, found: found[:1]),
        )  # fmt: skip
        yield EngineMistake(
            "too early", "with cotangents handed on before all has arrived, and again when it has", names, True,
            made(lambda ref, found: [x for i in range(len(found)) for x in found[: i + 1]]),
        )  # fmt: skip
        for step, told in ((1, "from the first operand on"), (-1, "from the last operand on")):
            yield EngineMistake(
                "depth first", f"with all that a tensor has so far handed on whenever more arrives, {told}",
                names, True, lambda step=step: differentiate(graph, of, wrt, depth_first=step).graph,
            )  # fmt: skip
    leaves = {graph.resolve(name) for name in wrt}
    yield EngineMistake(
        "not set to zero", "with the gradients of two calls added up, as if they were not set to zero",
        tuple(wrt), True, made(lambda ref, found: found * 2 if ref in leaves else found),
    )  # fmt: skip
    for ref in shared:
        name = graph.tensor_name(ref)
        for lost in range(arrivals[ref]):
            words = f"with path {lost} of {arrivals[ref]} that lead back to {name} dropped"
            yield EngineMistake(
                "path dropped", words, (name,), False,
                made(lambda at, found, r=ref, i=lost: found if at != r else found[:i] + found[i + 1 :]),
            )  # fmt: skip
    for ref in arrivals:
        if ref not in leaves:
            name = graph.tensor_name(ref)
            yield EngineMistake(
                "detached", f"with {name} detached from the graph: nothing goes back through it", (name,),
                False, made(lambda at, found, ref=ref: [] if at == ref else found),
            )  # fmt: skip
    yield from _rules(graph, of, wrt)


Handed = tuple[Any, ...]


def _rules(graph: Graph, of: Sequence[str], wrt: Sequence[str]) -> Iterator[EngineMistake]:
    """What the rules of one op hand on, wrong in one way in all of its nodes."""
    nodes: dict[Op, list[str]] = {}
    slots: dict[Op, int] = {}

    def note(node: Node, dy: Any, given: Handed) -> Handed:
        name = graph.tensor_name(Ref(node.name)) if node.name in graph.nodes else ""
        nodes.setdefault(node.op, []).append(name)
        slots[node.op] = max(slots.get(node.op, 0), min(len(given), SLOTS))
        return given

    differentiate(graph, of, wrt, handing=note)

    def made(op: Op, wrong: Callable[[Any, Handed], Handed]) -> Callable[[], Graph]:
        def handing(node: Node, dy: Any, given: Handed) -> Handed:
            return wrong(dy, given) if node.op is op else given

        return lambda: differentiate(graph, of, wrt, handing=handing).graph

    for op, count in slots.items():
        names = tuple(filter(None, nodes[op]))
        for slot in range(count):
            own = op.operand_name(slot)
            for told, change in HANDED:
                words = f"with {told.format(own)} in the gradient of {op.title}"
                wrong = made(op, lambda dy, given, s=slot, c=change: _instead(given, s, c(dy, given[s])))
                yield EngineMistake("rule", words, names, False, wrong)
        if count > 1:
            a, b = op.operand_name(0), op.operand_name(1)
            words = f"with what is handed to {a} and {b} exchanged in the gradient of {op.title}"
            yield EngineMistake(
                "rule", words, names, False, made(op, lambda dy, given: (given[1], given[0], *given[2:]))
            )
            words = f"with what is handed on shared out among the operands in the gradient of {op.title}"
            yield EngineMistake("rule", words, names, False, made(op, lambda dy, given: _shared(given)))

    for op in slots:
        for words, rule in _forms(op):
            yield EngineMistake(
                "rule", f"with {words} in the gradient of {op.title}", tuple(filter(None, nodes[op])), False,
                lambda op=op, rule=rule: _derived(graph, of, wrt, op, rule),
            )  # fmt: skip


Form = Callable[[Node, Any, Sequence[Any]], Handed]
"""(node, cotangent, operands) → what its operands are handed by the rule of another form."""


def _derived(graph: Graph, of: Sequence[str], wrt: Sequence[str], op: Op, rule: Form) -> Graph:
    def handing(node: Node, dy: Any, given: Handed) -> Handed:
        if node.op is not op:
            return given
        refs = padded(op, node.operands)
        return rule(node, dy, [None if ref is None else Tensor(dy.graph, ref) for ref in refs])

    return differentiate(graph, of, wrt, handing=handing).graph


def _forms(op: Op) -> Iterator[tuple[str, Form]]:
    """The op with another of the words that it takes; as it is got wrong; another function."""
    if op.gradient is None:
        return
    for name, values in op.values.items():
        for value in values:
            yield f"the derivative of {name}={value}", _derivative(_calling(op, {name: value}))
    for mistake in op.mistakes:
        yield f"the derivative of {op.title} {mistake.words}", _derivative(mistake.first)
    for other in OPS.values() if op.family == "function" and _is_function(op) else ():
        if other is not op and other.family == op.family and _is_function(other):
            yield f"the derivative of {other.title}", _derivative(_calling(other, {}))


def _is_function(op: Op) -> bool:
    """Whether it gives of one tensor one like it, with nothing that has to be said, and has a rule."""
    settings = (p for p in op.parameters.values() if not p.operand)
    if op.gradient is None or len(op.operands) != 1 or any(p.required for p in settings):
        return False
    made = op.shape(Spec((2, 3)), **op.defaults)
    return isinstance(made, Spec) and made.shape == (2, 3)


def _calling(op: Op, attributes: Mapping[str, Any]) -> Callable[..., Any]:
    def build(g: Any, *operands: Any, **given: Any) -> Any:
        settings = {name: given.get(name, value) for name, value in op.defaults.items()}
        return g.apply(op, *operands, **{**settings, **attributes})

    return build


def _derivative(build: Callable[..., Any]) -> Form:
    """The rule of what is built, found by differentiating that by itself."""

    def form(node: Node, dy: Any, operands: Sequence[Any]) -> Handed:
        g, small = dy.graph, Graph("form")
        given = [
            None if x is None else small.input(f"x{slot}", x.shape, x.axes, x.kind)
            for slot, x in enumerate(operands)
        ]
        y = build(small, *given, **node.attributes)
        if not isinstance(y, Tensor):
            raise GraphError(f"{node.op.name} is not got wrong so in {node.name!r}")
        small.output(y=y)
        wrt = [x.name for x in given if x is not None and x.kind == "float"]
        found = differentiate(small, ("y",), wrt)
        went: dict[Ref, Any] = {Ref(found.cotangents["y"]): dy}
        went |= {Ref(x.name): operand for x, operand in zip(given, operands, strict=True) if x is not None}
        for inner in found.graph.nodes.values():
            if not inner.op.fed:
                refs = [None if ref is None else went[ref] for ref in inner.operands]
                made = g.apply(inner.op, *refs, **inner.attributes)
                results = made if isinstance(made, tuple) else (made,)
                went |= {Ref(inner.name, port): tensor for port, tensor in enumerate(results)}
        gradients = {name: went[found.graph.resolve(output)] for name, output in found.gradients.items()}
        return tuple(None if x is None else gradients.get(x.name) for x in given)

    return form


SLOTS = 4
"""How many operands of an op are looked at."""
HANDED: tuple[tuple[str, Callable[[Any, Any], Any]], ...] = (
    ("nothing handed to {}", lambda dy, x: None),
    ("the other sign of what is handed to {}", lambda dy, x: None if x is None else -x),
    ("the incoming gradient handed to {} as it is, not summed", lambda dy, x: _as_it_is(dy, x)),
    ("the mean, not the sum, handed to {}", lambda dy, x: _mean(dy, x)),
    ("what is handed to {} divided by the number of tokens", lambda dy, x: _by_tokens(dy, x)),
    ("what is handed to {} transposed", lambda dy, x: None if x is None or len(x.shape) < 2 else x.T),
    ("what is handed to {} doubled", lambda dy, x: None if x is None else x + x),
)  # fmt: skip


def _instead(given: Handed, slot: int, other: Any) -> Handed:
    return (*given[:slot], other, *given[slot + 1 :])


def _shared(given: Handed) -> Handed:
    """Each the n-th part of what it should be, for n operands that are handed something."""
    count = sum(x is not None for x in given)
    return tuple(None if x is None else x.graph.scale(x, divide=count) for x in given)


def _as_it_is(dy: Any, x: Any) -> Any:
    return x if isinstance(dy, tuple) else dy


def _mean(dy: Any, x: Any) -> Any:
    """Divided by how many cells of dy went into one."""
    if x is None or isinstance(dy, tuple) or x.spec.size >= dy.spec.size or not x.spec.size:
        return x
    return x.graph.scale(x, divide=dy.spec.size / x.spec.size)


def _by_tokens(dy: Any, x: Any) -> Any:
    if x is None or isinstance(dy, tuple) or len(dy.shape) < 2 or not dy.shape[-2]:
        return x
    return x.graph.scale(x, divide=dy.shape[-2])


def _arrivals(graph: Graph, of: Sequence[str], wrt: Sequence[str]) -> dict[Ref, int]:
    """How many cotangents arrive at each tensor."""
    counts: dict[Ref, int] = {}

    def count(ref: Ref, found: list[Ref]) -> list[Ref]:
        if found and ref.node in graph.nodes:
            counts[ref] = len(found)
        return found

    differentiate(graph, of, wrt, count)
    return counts
