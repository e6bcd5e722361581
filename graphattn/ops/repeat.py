"""y[…, i, …] = x[…, i // times, …]: each slice along an axis `times` times in a row.

x: any rank from 1, any kind; times: an int of 1 or more. Moves numbers. With grouped heads, `times`
query heads in a row share one key and value head (Ainslie et al. 2023); PyTorch calls it
repeat_interleave.
"""

from __future__ import annotations

from ..core import masks
from ..core.axes import Spec, need_rank, need_size, position
from ..core.cells import Cell
from ..core.numbers import Numbers
from ..core.op import Declared, Kernel, Op, Reject, Sample, register


def shape(x: Spec, times: int, *, axis: int) -> Spec:
    need_size("times", times, least=1)
    need_rank(1, x=x)
    place = position(axis, x.rank)
    return Spec((*x.shape[:place], x.shape[place] * times, *x.shape[place + 1 :]), x.axes, x.kind)


def repeat(x, times):
    return [part for part in x for _ in range(times)]


def kernel(numbers: Numbers, x: Spec, *, times, axis) -> Kernel:
    return Kernel(repeat, x.rank - position(axis, x.rank), times=times)


def gradient(g, dy, y, x, *, times, axis):
    place = position(axis, len(x.shape))
    apart = g.reshape(dy, (*x.shape[: place + 1], times, *x.shape[place + 1 :]))
    return (g.reshape(g.reduce_sum(apart, axis=place + 1), x.shape, axes=x.axes),)


def onnx(o, x, *, times, axis):
    place = position(axis, x.rank)
    apart = o.Unsqueeze(x, (place + 1,))
    wide = o.Expand(apart, (*x.shape[: place + 1], times, *x.shape[place + 1 :]))
    return o.Reshape(wide, (*x.shape[:place], x.shape[place] * times, *x.shape[place + 1 :]))


def tiled(g, x, *, times, axis):
    return g.concat(*[x] * times, axis=axis) if times > 1 else None


def explain(index, x: Spec, *, times, axis):
    place = position(axis, x.rank)
    return Cell(0, (*index[:place], index[place] // times, *index[place + 1 :]))


matrix = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]

register(
    Op(
        name="repeat",
        title="repeat",
        glyph="⁝",
        family="move",
        formula="y[i] = x[i // times]",
        level="primitive",
        shape=shape,
        kernel=kernel,
        onnx=onnx,
        torch="{x}.repeat_interleave({times}, dim={axis})",
        explain=explain,
        linear=(("x",),),
        gradient=gradient,
        cost=lambda x, **_: 0,
        masked=masks.moved,
        moves=True,
        mistakes=(Declared("tiled", "with the whole, not each slice, repeated", tiled, price=1.05),),
        note=lambda x, *, times, axis: f"× {times}",
        samples=(
            Sample((matrix,), {"times": 2, "axis": 0}),
            Sample((matrix,), {"times": 3, "axis": -1}),
            Sample(([matrix, matrix],), {"times": 2, "axis": 1}),
            Sample(([[True, False]],), {"times": 2, "axis": 1}),
            Sample(([3, 1, 2],), {"times": 1, "axis": 0}),
            Sample(([[], []],), {"times": 2, "axis": -1}),
        ),
        rejects=(
            Reject((Spec((2,)),), {"times": 0, "axis": 0}, "times must be an int of 1 or more, got 0"),
            Reject((Spec((2,)),), {"times": 2.0, "axis": 0}, "times must be an int of 1 or more, got 2.0"),
            Reject(
                (Spec((2,)),), {"times": 2, "axis": 1}, "axis 1 does not exist; expected an axis from -1 to 0"
            ),
            Reject((Spec(()),), {"times": 2, "axis": 0}, "x has rank 0; expected rank 1 or more"),
        ),
    )
)
