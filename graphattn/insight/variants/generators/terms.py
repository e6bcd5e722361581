"""One term of a sum alone: a loop that overwrites where it should add (dW = x[t]ᵀ dy[t] for every token t)."""

from __future__ import annotations

from collections.abc import Iterator

from ....core.graph import Node
from ..draft import Draft
from ..intended import Intended
from ..structure.groups import Group
from ..variant import Option, Variant, each


def terms(intended: Intended, group: Group) -> Iterator[Variant]:
    yield from each("term", _options, intended, group)


def _options(intended: Intended, node: Node) -> Iterator[Option]:
    axes = _summed(intended, node)
    sizes = {intended.spec(ref).shape[axis] for ref, axis in zip(node.operands, axes, strict=False) if ref}
    if not axes or len(sizes) != 1 or sizes.pop() < 2:
        return
    for place, told, price in ((-1, "last", 1.2), (0, "first", 1.25)):
        words = f"with the {told} term alone, not the sum, in {{the}}"
        yield Option(told, words, price, lambda d, n, p=place: _one(d, n, axes, p))


def _summed(intended: Intended, node: Node) -> tuple[int, ...]:
    """The axis of each operand that is summed over, counted from the end."""
    specs = [None if ref is None else intended.spec(ref) for ref in node.operands]
    if node.op.name == "matmul" and all(spec is not None and spec.rank > 1 for spec in specs):
        return -1, -2
    if node.op.name == "reduce_sum" and specs[0] is not None:
        axis = node.attributes["axis"]
        return (axis if axis < 0 else axis - specs[0].rank,)
    return ()


def _one(draft: Draft, node: Node, axes: tuple[int, ...], place: int) -> None:
    for slot, (ref, axis) in enumerate(zip(draft.node(node.name).operands, axes, strict=True)):
        cut = (f"{place}:" if place else ":1") + ", :" * (-axis - 1)
        one = draft.add("slice", [ref], {"at": f"..., {cut}"}, near=node, name=f"term_{slot}")
        draft.operand(node, slot, one)
