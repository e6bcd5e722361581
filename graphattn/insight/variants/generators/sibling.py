"""A step is replaced by one of its kind: another function, another norm, − for +."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from ....core.axes import Spec
from ....core.graph import Node, Ref
from ....core.nested import flat
from ....core.op import LEVELS, OPS, Op
from ..draft import Draft
from ..intended import Intended
from ..structure.groups import Group
from ..variant import Option, Variant, each, like, of_parameters

ARITHMETIC = ("add", "subtract", "multiply", "divide")
"""Two numbers in, one out: families of their own in pictures, one kind here."""


def sibling(intended: Intended, group: Group) -> Iterator[Variant]:
    yield from each("instead", _options, intended, group)


def _options(intended: Intended, node: Node) -> Iterator[Option]:
    yield from _table(intended, node)
    yield from _binary(intended, node)
    if (
        node.op.family == "function"
        and len(node.operands) == 1
        and like(node.outputs[0], _given(intended, node))
    ):
        yield Option("square", "with the square instead of {the}", 1.4, _squared)
    for op in siblings(node.op):
        yield Option(op.name, f"with {op.title} instead of {{the}}", 1.3, _becoming(op, {}))
        for name, value in _words(op):
            if name not in node.op.defaults:
                words = f"with {op.title} ({name}={value}) instead of {{the}}"
                yield Option((op.name, name, value), words, 1.35, _becoming(op, {name: value}))


def _binary(intended: Intended, node: Node) -> Iterator[Option]:
    """Logarithms that targets of 0 and 1 pick: t ln σ(x) + (1 − t) ln(1 − σ(x)) for every class."""
    if node.op.name != "multiply":
        return
    for slot, ref in enumerate(node.operands):
        other = node.operands[1 - slot]
        maker = None if ref is None else intended.nodes[ref.node]
        if maker is None or maker.op.name != "log_softmax" or other is None or intended.spec(other).rank < 2:
            continue
        if set(flat(intended.values[other])) == {0.0, 1.0}:
            words = "with a binary cross entropy of every class in the place of {the}"
            x = maker.operands[0]
            yield Option("binary", words, 1.25, lambda d, n, x=x, t=other: _every_class(d, n, x, t))


def _every_class(draft: Draft, node: Node, x: Ref | None, targets: Ref) -> None:
    one = draft.add("constant", [], {"value": 1.0}, near=node, name="one")
    terms: list[Ref] = []
    for sign, weight in ((1, targets), (-1, draft.add("subtract", [one, targets], near=node, name="others"))):
        signed = draft.add("scale", [x], {"multiply": sign}, near=node, name="signed")
        share = draft.add("sigmoid", [signed], near=node, name="share")
        logarithm = draft.add("log", [share], near=node, name="logarithm")
        terms.append(draft.add("multiply", [weight, logarithm], near=node, name="term"))
    draft.redirect(Ref(node.name), draft.add("add", terms, near=node, name="both"))


def _given(intended: Intended, node: Node) -> Spec:
    (ref,) = node.operands
    assert ref is not None
    return intended.spec(ref)


def _squared(draft: Draft, node: Node) -> None:
    draft.change(node, op=OPS["multiply"], operands=draft.node(node.name).operands * 2)


def _table(intended: Intended, node: Node) -> Iterator[Option]:
    """Sinusoids where a table of parameters is added: learned positions."""
    spec = node.outputs[0]
    if not of_parameters(intended, node) or len(node.ports) > 1 or spec.rank != 2:
        return
    users = [intended.nodes[name].op.family for name, _ in intended.users.get(Ref(node.name), ())]
    if "add" in users and not spec.shape[-1] % 2:
        n, d = spec.shape
        yield Option(
            "sinusoids", "with sinusoids instead of {the}", 1.5, lambda dr, no: _sinusoids(dr, no, n, d)
        )


def _sinusoids(draft: Draft, node: Node, n: int, d: int) -> None:
    draft.redirect(Ref(node.name), draft.add("positional_encoding", [], {"n": n, "d": d}, near=node))


def _words(op: Op) -> Iterator[tuple[str, object]]:
    """What may be chosen of an op besides what it does by default."""
    for name, values in op.values.items():
        yield from ((name, value) for value in values if value != op.defaults[name])


def _becoming(op: Op, chosen: dict[str, object]):
    def apply(draft: Draft, node: Node) -> None:
        now = draft.node(node.name)
        given = {now.op.operand_name(slot): ref for slot, ref in enumerate(now.operands)}
        operands = [given.get(p.name) for p in op.operands]
        while operands and operands[-1] is None:
            operands.pop()
        draft.change(node, op=op, operands=operands, attributes=chosen)

    return apply


@cache
def siblings(op: Op) -> tuple[Op, ...]:
    """The ops that take what this one takes: all its required operands, and no other."""
    if not op.operands or op.variadic:
        return ()
    return tuple(other for other in OPS.values() if other is not op and _fits(op, other))


def _along(op: Op, other: Op) -> bool:
    """Whether both do something along an axis that leaves as much: the sum, the mean, the maximum."""
    if "axis" not in op.parameters or list(op.parameters) != list(other.parameters):
        return False
    a, b = (o.shape(Spec((2, 3)), **o.defaults) for o in (op, other))
    return (a.shape, a.kind) == (b.shape, b.kind)


def _fits(op: Op, other: Op) -> bool:
    if other.expand is not None and other.kernel is None:
        return False
    both = (op.name in ARITHMETIC and other.name in ARITHMETIC) or _along(op, other)
    if not both and (op.family != other.family or op.moves != other.moves):
        return False
    if LEVELS.index(other.level) < LEVELS.index("op"):
        return False
    required = [p.name for p in other.operands if p.required]
    mine = [p.name for p in op.operands]
    if required != [p.name for p in op.operands if p.required] or other.variadic:
        return False
    needed = [name for name, p in other.parameters.items() if not p.operand and p.required]
    return all(name in op.defaults for name in needed) and set(mine) & {p.name for p in other.operands} != set()
