"""Another tensor is returned as the result, of whatever shape: the weights, one head, the last row, the rows'
mean, heads one below the other or added up. Nothing but the result changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from ....core.graph import Node, Ref
from ....core.op import Op
from ..draft import NO_ATTRIBUTES, Draft
from ..intended import Intended
from ..structure.groups import Group
from ..variant import Option, Variant, each, tensors

TURNED, OTHER, ROWS, PARTS = 1.02, 1.4, 1.45, 1.5
TOGETHER = {"reduce_mean": "mean", "reduce_sum": "sum"}
Make = Callable[[Draft, Node], Ref]


def returned(intended: Intended, group: Group) -> Iterator[Variant]:
    yield from each("returned", _options, intended, group)


def _options(intended: Intended, node: Node) -> Iterator[Option]:
    results = [] if intended.tape else intended.graph.outputs.items()
    results = {t.ref: name for name, t in results if t.ref.node == node.name and t.kind == "float"}
    others = [other for other in intended.nodes.values() if results and not intended.is_inside(other)]
    for ref, name in results.items():
        yield from _tensors(intended, others, ref, name)
        yield from _rows(intended, ref, name)
        for other in others:
            yield from _parts(intended, other, ref, name)


def _tensors(intended: Intended, others: list[Node], ref: Ref, name: str) -> Iterator[Option]:
    for other in others:
        for port, spec in enumerate(other.outputs):
            new = Ref(other.name, port)
            if spec.kind == "float" and new != ref and other.op.drawn != "inside":
                words = f"with {{new}} returned, not {name}"
                yield Option((ref.port, new), words, OTHER, _giving(ref, partial(_as_it_is, new)), new)


def _rows(intended: Intended, ref: Ref, name: str) -> Iterator[Option]:
    """The result transposed, one row of it, or what all its rows are together."""
    shape = intended.spec(ref).shape
    if len(shape) < 2 or shape[-2] < 2:
        return
    turn = _giving(ref, _made("transpose", [ref]))
    yield Option((ref.port, "turned"), f"with {name} transposed", TURNED, turn)
    for told, row in (("last", shape[-2] - 1), ("first", 0)):
        words = f"with the {told} row of {name} alone returned"
        cut = {"at": f"..., {row}:{row + 1}, :"}
        yield Option((ref.port, told), words, ROWS, _giving(ref, _made("slice", [ref], cut)))
    for op, told in TOGETHER.items():
        words = f"with the {told} of the rows of {name} returned"
        yield Option((ref.port, op), words, ROWS, _giving(ref, _made(op, [ref], {"axis": -2})))


def _parts(intended: Intended, joined: Node, ref: Ref, name: str) -> Iterator[Option]:
    """What a step brings together side by side (heads): one below the other, added up, or their mean."""
    parts = [part for part in joined.operands if part is not None]
    spec, alike = joined.outputs[0], {intended.spec(part).shape for part in parts}
    wide = len(alike) == 1 and spec.rank > 1 and len(parts) * next(iter(alike))[-1] == spec.shape[-1]
    if not joined.op.moves or len(parts) < 2 or spec.kind != "float" or not wide:
        return
    them = tensors(intended, parts)
    for told, make in (
        (f"{them} one below the other", _made(joined.op, parts, {"axis": -2})),
        (f"the sum of {them}", partial(_sum, parts)),
        (f"the mean of {them}", partial(_mean, parts)),
    ):
        words = f"with {told} returned, not {name}"
        yield Option((ref.port, joined.name, told), words, PARTS, _giving(ref, make))


def _giving(ref: Ref, make: Make) -> Callable[[Draft, Node], None]:
    """Returns what is made in the place of a result; whoever reads that goes on to do so."""

    def apply(draft: Draft, node: Node) -> None:
        draft.give(ref, make(draft, node))

    return apply


def _as_it_is(new: Ref, draft: Draft, node: Node) -> Ref:
    return new


def _made(op: Op | str, operands: Sequence[Ref], attributes: Mapping[str, object] = NO_ATTRIBUTES) -> Make:
    return lambda draft, node: draft.add(op, operands, attributes, near=node, name="returned")


def _sum(parts: Sequence[Ref], draft: Draft, node: Node) -> Ref:
    found, *others = parts
    for part in others:
        found = draft.add("add", [found, part], near=node, name="sum")
    return found


def _mean(parts: Sequence[Ref], draft: Draft, node: Node) -> Ref:
    return draft.add("scale", [_sum(parts, draft, node)], {"divide": len(parts)}, near=node, name="mean")
