"""Cut an axis into consecutive pieces, which are the outputs part0, part1, …

x: any rank from 1; parts: how many equal pieces, or the size of each. Moves numbers. Rejected
where the axis does not divide, or the sizes do not add up.
"""

from __future__ import annotations

from itertools import accumulate

from ..core import masks
from ..core.axes import Spec, need_rank, need_size, position
from ..core.cells import Cell
from ..core.errors import Rejected
from ..core.numbers import Numbers
from ..core.op import Kernel, Op, Reject, Sample, register

PART_LIMIT = 2**16


def shape(x: Spec, parts: int | tuple, *, axis: int = -1) -> dict[str, Spec]:
    need_rank(1, x=x)
    place = position(axis, x.rank)
    return {
        f"part{i}": Spec((*x.shape[:place], size, *x.shape[place + 1 :]), x.axes, x.kind)
        for i, size in enumerate(_sizes(x.shape[place], parts, x.axes[place] or "cells"))
    }


def _sizes(whole: int, parts: int | tuple, what: str) -> list[int]:
    if isinstance(parts, tuple):
        for part in parts:
            need_size("each size", part)
        if not parts or sum(parts) != whole:
            raise Rejected(f"sizes {parts} add up to {sum(parts)}; expected {whole}")
        return list(parts)
    need_size("parts", parts, least=1)
    if parts > PART_LIMIT:
        raise Rejected(f"parts is {parts}; expected at most {PART_LIMIT}")
    if whole % parts:
        raise Rejected(f"{what} {whole} does not split into {parts} equal parts; expected a divisor of {whole}")
    return [whole // parts] * parts


def split(x, cuts):
    return [x[start:stop] for start, stop in cuts]


def split_evenly(x, parts):
    """x in so many equal parts."""
    size, rest = divmod(len(x), parts)
    if rest:
        raise ValueError(f"{len(x)} does not divide into {parts} equal parts")
    return [x[start : start + size] for start in range(0, len(x), size)]


def split_whole(x):
    return x


def _cuts(x: Spec, parts, axis) -> list[tuple[int, int]]:
    stops = list(accumulate(_sizes(x.shape[position(axis, x.rank)], parts, "axis")))
    return list(zip([0, *stops], stops))


def kernel(numbers: Numbers, x: Spec, *, parts, axis) -> Kernel:
    place = position(axis, x.rank)
    if parts == 1 or (isinstance(parts, tuple) and len(parts) == 1):
        return Kernel(split_whole, x.rank)
    if isinstance(parts, tuple) or not x.shape[place]:
        cuts = _cuts(x, parts, axis)
        return Kernel(split, x.rank - place, outputs=len(cuts), cuts=cuts)
    return Kernel(split_evenly, x.rank - place, outputs=parts, parts=parts)


def gradient(g, dy, y, x, *, parts, axis):
    """The parts side by side again, with zeros in the place of one that nothing depends on."""
    nothing = g.constant(0)
    whole = (d if d is not None else g.broadcast(nothing, part.shape) for d, part in zip(dy, y, strict=True))
    return (g.concat(*whole, axis=axis),)


def in_torch(x: Spec, *, parts, axis):
    return "{x}.split({parts}, dim={axis})" if isinstance(parts, tuple) else "{x}.chunk({parts}, dim={axis})"


def onnx(o, x, *, parts, axis):
    place = position(axis, x.rank)
    sizes = tuple(_sizes(x.shape[place], parts, "cells"))
    return o.Split(x, sizes, axis=place, outputs=len(sizes))


def explain(index, x: Spec, *, parts, axis, port=0):
    place = position(axis, x.rank)
    start = _cuts(x, parts, axis)[port][0]
    return Cell(0, (*index[:place], start + index[place], *index[place + 1 :]))


register(
    Op(
        name="split",
        title="split",
        glyph="⋔",
        family="move",
        formula="consecutive pieces of an axis",
        level="primitive",
        shape=shape,
        kernel=kernel,
        onnx=onnx,
        torch=in_torch,
        explain=explain,
        linear=(("x",),),
        gradient=gradient,
        cost=lambda x, **_: 0,
        masked=masks.moved,
        moves=True,
        symbol="{x}{i}",
        samples=(
            Sample(([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]],), {"parts": 2}),
            Sample(([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]],), {"parts": (1, 0, 3)}),
            Sample(([[1.0, 2.0], [3.0, 4.0]],), {"parts": 2, "axis": 0}),
            Sample(([1.0, 2.0],), {"parts": 1}),
            Sample(([[[1.0, 2.0], [3.0, 4.0]]],), {"parts": 2, "axis": -2}),
        ),
        rejects=(
            Reject(
                (Spec((4, 8), ("token", "feature")),),
                {"parts": 3},
                "feature 8 does not split into 3 equal parts; expected a divisor of 8",
            ),
            Reject((Spec((8,)),), {"parts": (3, 4)}, "sizes (3, 4) add up to 7; expected 8"),
            Reject((Spec((2**20,)),), {"parts": 2**20}, "parts is 1048576; expected at most 65536"),
            Reject((Spec((8,)),), {"parts": 0}, "parts must be an int of 1 or more, got 0"),
        ),
    )
)
