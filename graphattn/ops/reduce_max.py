"""y = max x along an axis, which stays with size 1.

x: any rank from 1. NaN if a cell is NaN; −∞ for an axis of size 0.
"""

from operator import not_

from ..core import cells
from ..core.axes import Spec
from ..core.nested import lift, shape_of
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
    if masks[0] is None:
        return None
    seen = run(lift(not_, [0], [x.shape])(masks[0]))
    return lift(not_, [0], [shape_of(seen)])(seen)


register(
    reduction(
        "reduce_max", "max", "y = max x", reduce_max_row, bound, explain, "ReduceMax",
        gradient=gradient, masked=masked,
    )
)  # fmt: skip
