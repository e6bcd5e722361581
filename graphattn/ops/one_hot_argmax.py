"""y[i] = (x[i] is the first of the largest cells), along an axis.

x: any rank from 1, of floats; y: the same shape of bools, with one True in each row. It is where a
maximum comes from: of several that are equal, the first. The first NaN counts as the largest.
"""

from __future__ import annotations

from ..core.axes import Spec, position
from ..core.cells import Apply, Cell, Expression, Literal
from ..core.elementwise import x_like
from ..core.numbers import Numbers
from ..core.op import Kernel, Op, Reject, Sample, register
from ..core.reductions import along_axis, folded, line


def shape(x: Spec, *, axis: int = -1) -> Spec:
    folded(x, axis=axis)
    return x_like(x, "bool")


def one_hot_argmax(row, maximum):
    if not row:
        return []
    peak = maximum(row)
    first = next(i for i, v in enumerate(row) if v == peak or v != v)
    return [i == first for i in range(len(row))]


def kernel(numbers: Numbers, x: Spec, *, axis) -> Kernel:
    return along_axis(one_hot_argmax, x, axis, zero=numbers.lift(0), maximum=numbers.maximum)


def onnx(o, x, *, axis):
    """The first cell that is NaN counts as the largest, which only `exact` says."""
    if not x.size:
        return o.Greater(x, 0.0)
    place = position(axis, x.rank)
    count = o.integers(range(x.shape[place]), (x.shape[place], *[1] * (x.rank - place - 1)))
    if o.exact:
        strange = o.Where(o.IsNaN(x), 1.0, 0.0)
        x = o.Where(o.Greater(o.ReduceMax(strange, (place,)), 0.0), strange, x)
    return o.Equal(count, o.ArgMax(x, axis=place))


def explain(index, x: Spec, *, axis):
    """Not below a later cell, and above every earlier one."""
    own, row = Cell(0, index), list(line(index, x, axis))
    place = index[position(axis, x.rank)]
    earlier = [Apply("less", (cell, own)) for cell in row[:place]]
    later = [Apply("logical_not", (Apply("less", (own, cell)),)) for cell in row[place + 1 :]]
    found: Expression = Literal(True)
    for condition in (*earlier, *later):
        found = Apply("logical_and", (found, condition))
    return found


matrix = [[0.5, -1.25, 2.0], [3.0, 1.0, 3.0]]

register(
    Op(
        name="one_hot_argmax",
        title="one-hot argmax",
        glyph="max?",
        family="mask",
        formula="y = (x is the first of the largest), each row",
        level="primitive",
        shape=shape,
        kernel=kernel,
        onnx=onnx,
        explain=explain,
        cost=lambda x, *, axis: 0,
        samples=(
            Sample((matrix,)),
            Sample((matrix,), {"axis": 0}),
            Sample(([matrix, matrix],), {"axis": 1}),
            Sample(([float("-inf"), float("-inf")],)),
            Sample(([[], []],)),
            Sample(([[], []],), {"axis": 0}),
        ),
        rejects=(
            Reject((Spec(()),), {}, "x has rank 0; expected rank 1 or more"),
            Reject((Spec((2, 3)),), {"axis": 2}, "axis 2 does not exist; expected an axis from -2 to 1"),
            Reject((Spec((2,), kind="int"),), {}, "x holds int; expected float"),
        ),
    )
)
