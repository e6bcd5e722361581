"""y = max x along an axis, which stays with size 1.

x: any rank from 1. NaN if a cell is NaN; −∞ for an axis of size 0.
"""

from ..core import cells
from ..core.axes import Spec, position
from ..core.nested import along, lift
from ..core.op import register
from ..core.reductions import line, reduction


def reduce_max_row(row, maximum):
    return [maximum(row)]


def bound(numbers):
    return {"maximum": numbers.maximum}


def explain(index, x, *, axis):
    return cells.maximum(line(index, x, axis))


def gradient(g, dy, y, x, *, axis):
    return (g.where(g.one_hot_argmax(x, axis=axis), dy, g.constant(0)),)


def masked(run, masks, values, x: Spec, *, axis):
    """The largest of nothing but hidden cells is hidden."""
    if masks[0] is None or not x.size:
        return None
    inside = x.rank - position(axis, x.rank) - 1
    return lift(along(lambda row: [all(row)], inside), [inside + 1], [x.shape])(masks[0])


register(
    reduction(
        "reduce_max", "max", "y = max x", reduce_max_row, bound, explain, "ReduceMax",
        torch="{x}.amax(dim={axis}, keepdim=True)",
        gradient=gradient, masked=masked,
    )
)  # fmt: skip
