"""y = (Σ x) / n along an axis, which stays with size 1.

x: any rank from 1; n is the size of that axis. The sum is exact before it is rounded (math.fsum).
"""

from ..core import cells
from ..core.axes import position
from ..core.cells import Literal, divide
from ..core.op import Declared, register
from ..core.reductions import line, reduction


def reduce_mean_row(row, total, divide, lift):
    return [divide(total(row), lift(len(row)))]


def bound(numbers):
    return {"total": numbers.total, "divide": numbers.divide, "lift": numbers.lift}


def explain(index, x, *, axis):
    return divide(cells.total(line(index, x, axis)), Literal(x.shape[position(axis, x.rank)]))


def expand(g, x, *, axis):
    total = g.reduce_sum(x, axis=axis, name="total")
    count = g.constant(x.shape[position(axis, len(x.shape))], name="count")
    return g.divide(total, count, name="quotient")


def one_less(g, x, *, axis):
    """The sum divided by n − 1."""
    count = x.shape[position(axis, len(x.shape))] - 1
    return g.scale(g.reduce_sum(x, axis=axis), divide=count) if count > 0 else None


def gradient(g, dy, y, x, *, axis):
    return (g.broadcast(dy / x.shape[position(axis, len(x.shape))], x.shape),)


register(
    reduction(
        "reduce_mean", "μ", "y = Σ x / n", reduce_mean_row, bound, explain, "ReduceMean", level="op",
        family="norm", expand=expand, linear=(("x",),), gradient=gradient,
        torch="{x}.mean(dim={axis}, keepdim=True)",
        mistakes=(Declared("n − 1", "with the sum divided by n − 1, not n,", one_less),),
        cost=lambda x, *, axis: x.size + x.size // max(x.shape[axis], 1),
    )
)  # fmt: skip
