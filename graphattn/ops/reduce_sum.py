"""y = Σ x along an axis, which stays with size 1.

x: any rank from 1. Floats are summed with `math.fsum`: the result is correctly rounded and the
same on every Python version.
"""

from ..core import cells
from ..core.op import register
from ..core.reductions import line, reduction


def reduce_sum_row(row, total):
    return [total(row)]


def bound(numbers):
    return {"total": numbers.total}


def explain(index, x, *, axis):
    return cells.total(line(index, x, axis))


def gradient(g, dy, y, x, *, axis):
    return (g.broadcast(dy, x.shape),)


register(
    reduction(
        "reduce_sum", "Σ", "y = Σ x", reduce_sum_row, bound, explain, "ReduceSum", linear=(("x",),),
        torch="{x}.sum(dim={axis}, keepdim=True)",
        gradient=gradient,
    )
)  # fmt: skip
