"""x repeated until it has the given shape.

x: a shape that broadcasts to `shape` (right-aligned, size 1 stretches). Moves numbers.
"""

from __future__ import annotations

from ..core import axes as named
from ..core import masks
from ..core.axes import Spec, describe, need_size
from ..core.elementwise import cell_of, unbroadcast
from ..core.errors import Rejected
from ..core.numbers import Numbers
from ..core.op import Kernel, Op, Reject, Sample, register
from ..core.words import shown


def shape(x: Spec, shape: tuple) -> Spec:
    if not isinstance(shape, tuple):
        raise Rejected(f"shape is {shown(shape)}; expected a tuple of sizes")
    for place, size in enumerate(shape):
        need_size(f"size {place} of the shape", size)
    wanted, names = named.broadcast(x, Spec(shape))
    if wanted != shape:
        raise Rejected(f"x is {describe(x)}, which does not stretch to {describe(Spec(shape))}")
    return Spec(shape, names, x.kind)


def broadcast(x, old, new):
    if not new:
        return x
    if len(old) < len(new):
        return [broadcast(x, old, new[1:]) for _ in range(new[0])]
    if old[0] == new[0]:
        return [broadcast(row, old[1:], new[1:]) for row in x]
    return [broadcast(x[0], old[1:], new[1:]) for _ in range(new[0])]


def kernel(numbers: Numbers, x: Spec, *, shape) -> Kernel:
    return Kernel(broadcast, x.rank, old=x.shape, new=shape)


def gradient(g, dy, y, x, *, shape):
    return (unbroadcast(g, dy, x),)


def onnx(o, x, *, shape):
    return o.Expand(x, shape)


def explain(index, x: Spec, *, shape):
    return cell_of(0, x, index)


register(
    Op(
        name="broadcast",
        title="broadcast",
        glyph="⇉",
        family="move",
        formula="y = x, repeated",
        level="primitive",
        shape=shape,
        kernel=kernel,
        onnx=onnx,
        torch="{x}.expand({shape})",
        explain=explain,
        linear=(("x",),),
        gradient=gradient,
        cost=lambda x, *, shape: 0,
        masked=masks.moved,
        moves=True,
        samples=(
            Sample(([1.0, 2.0],), {"shape": (3, 2)}),
            Sample(([[1.0], [2.0]],), {"shape": (2, 3)}),
            Sample((0.5,), {"shape": (2, 1, 2)}),
        ),
        rejects=(
            Reject((Spec((3,)),), {"shape": (3, 2)}, "sizes 3 and 2 on axis -1 do not agree"),
            Reject((Spec((2, 3)),), {"shape": (3,)}, "x is 2 × 3, which does not stretch to 3"),
        ),
    )
)
