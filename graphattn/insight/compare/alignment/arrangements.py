"""The orders in which people store the axes of a tensor.

Heads before tokens or after them, the batch before or after the heads, features by head or side by side,
weights (in, out) for (out, in): all are the same cells, with axes exchanged and merged. Axes of size 1 do
not count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations
from math import prod

from ..recording import Recorded, folded

Order = tuple[int, ...]
Layout = tuple[bool, Order]
"""Whether heads are an axis, and the order of the axes, that of the heads first."""
USUAL: dict[int, tuple[Order, ...]] = {
    2: ((0, 1), (1, 0)),
    3: ((0, 1, 2), (1, 0, 2), (0, 2, 1)),
    4: ((0, 1, 2, 3), (1, 0, 2, 3), (0, 2, 1, 3), (2, 0, 1, 3), (0, 1, 3, 2), (1, 0, 3, 2)),
}
"""The likely orders first; any other order is tried after them."""
RANK_LIMIT = 4


def arrangements(tensor: Recorded, shape: tuple[int, ...]) -> Iterator[tuple[Order, Recorded]]:
    """The tensor in that shape, in each order of its axes that fits: (order of its axes, tensor)."""
    if tensor.size != prod(shape):
        return
    if not tensor.size:  # nested lists do not tell what stands inside an axis of size 0
        yield tuple(range(len(shape))), tensor.as_shape(shape)
        return
    own = [n for n in tensor.shape if n != 1]
    wanted = [n for n in shape if n != 1]
    if len(own) > RANK_LIMIT:
        if own == wanted:
            yield tuple(range(len(own))), tensor.as_shape(shape)
        return
    usual = USUAL.get(len(own), (tuple(range(len(own))),))
    for order in (*usual, *(other for other in permutations(range(len(own))) if other not in usual)):
        axes = [own[axis] for axis in order]
        if merges(axes, wanted) or (order == usual[0] and merges(wanted, axes)):
            yield order, tensor.as_shape(shape) if order == usual[0] else _exchanged(tensor, own, order, shape)


def row_by_row(tensor: Recorded, lead: Sequence[int], heads: int, n: int, d: int) -> Recorded | None:
    """A matrix of the rows of every head, (b · h · n, d), with all its axes, (b, h, n, d), which no .csv says.
    None for another tensor."""
    if tensor.squeezed != (prod(lead) * heads * n, d) or heads < 2:
        return None
    return tensor.as_shape((*lead, heads, n, d))


def merges(axes: Sequence[int], wanted: Sequence[int]) -> bool:
    """Whether neighbouring axes can be merged into the wanted ones."""
    left = list(axes)
    for size in wanted:
        taken = 1
        while taken < size and left:
            taken *= left.pop(0)
        if taken != size:
            return False
    return not left


def swaps_last(order: Order) -> bool:
    """Whether an order exchanges the last two axes, and nothing else."""
    rank = len(order)
    return rank > 1 and order == (*range(rank - 2), rank - 1, rank - 2)


def layout(order: Order, reference: Recorded) -> Layout:
    """How a tensor is stored that has the shape of the reference in an order of its axes: one axis more are the
    heads, whose features stand side by side in the reference."""
    if len(order) == sum(n != 1 for n in reference.shape):
        return False, order
    return True, (*order[-2:-1], *order[:-2], *order[-1:])


def in_order(order: Order | None) -> str:
    """How an order other than the usual one is told."""
    if order is None or order == tuple(sorted(order)):
        return ""
    return f", its axes in the order {', '.join(map(str, order))}"


def _exchanged(tensor: Recorded, own: list[int], order: Order, shape: tuple[int, ...]) -> Recorded:
    steps = [prod(own[axis + 1 :]) for axis in range(len(own))]
    places = [0]
    for axis in order:
        places = [place + i * steps[axis] for place in places for i in range(own[axis])]
    flat = tensor.flat
    return folded(tensor.name, shape, [flat[place] for place in places], tensor)
