"""The cells of x, in row-major order (the last axis fastest), in another shape.

x: any shape and kind; shape: sizes of the same product; one of them may be -1, which stands for what
is left. An axis keeps its name where its size and the product of the sizes before it are what they
were; `axes` names them all instead (None = unknown). Moves numbers.
"""

from __future__ import annotations

from math import prod

from ..core import masks
from ..core.axes import Spec, describe, need_size
from ..core.cells import Cell
from ..core.errors import Rejected
from ..core.nested import full
from ..core.numbers import Numbers
from ..core.op import Kernel, Op, Reject, Sample, register
from ..core.words import shown


def shape(x: Spec, shape: tuple, *, axes: tuple | None = None) -> Spec:
    if not isinstance(shape, tuple):
        raise Rejected(f"shape is {shown(shape)}; expected a tuple of sizes")
    sizes = _sizes(x, shape)
    if axes is None:
        return Spec(sizes, _kept(x, sizes), x.kind)
    if not isinstance(axes, tuple) or not all(name is None or isinstance(name, str) for name in axes):
        raise Rejected(f"axes is {shown(axes)}; expected a tuple of names")
    if len(axes) != len(sizes):
        raise Rejected(f"{len(axes)} axis names for {len(sizes)} axes; expected as many")
    return Spec(sizes, axes, x.kind)


def _sizes(x: Spec, shape: tuple) -> tuple[int, ...]:
    for place, size in enumerate(shape):
        if size != -1:
            need_size(f"size {place} of the shape", size)
    if shape.count(-1) > 1:
        raise Rejected(f"shape {shape} leaves {shape.count(-1)} sizes open; expected -1 once at most")
    known = prod(size for size in shape if size != -1)
    if -1 in shape:
        if not known:
            raise Rejected(f"shape {shape} leaves a size open beside a 0; expected every size")
        if x.size % known:
            raise Rejected(
                f"x is {describe(x)}: {x.size} cells do not divide by {known}; expected {shape} to fit"
            )
        return tuple(x.size // known if size == -1 else size for size in shape)
    if known != x.size:
        raise Rejected(f"x is {describe(x)}: it has {x.size} cells, and {shape} has {known}; expected as many")
    return shape


def _kept(x: Spec, sizes: tuple[int, ...]) -> tuple[str | None, ...]:
    """The names of the axes that line up, found by walking along both shapes."""
    names: list[str | None] = [None] * len(sizes)
    old = new = 0
    before_old = before_new = 1
    while old < x.rank and new < len(sizes):
        here, there = before_old * x.shape[old], before_new * sizes[new]
        if before_old == before_new and x.shape[old] == sizes[new]:
            names[new] = x.axes[old]
        if here <= there:
            old, before_old = old + 1, here
        if there <= here:
            new, before_new = new + 1, there
    return tuple(names)


def reshape(x, rank, shape):
    if 0 in shape:
        return full(shape, None)
    cells = [x] if rank == 0 else x
    for _ in range(rank - 1):
        cells = [cell for block in cells for cell in block]
    for size in shape[:0:-1]:
        cells = [cells[start : start + size] for start in range(0, len(cells), size)]
    return list(cells) if shape else cells[0]


def kernel(numbers: Numbers, x: Spec, *, shape, axes) -> Kernel:
    return Kernel(reshape, x.rank, rank=x.rank, shape=_sizes(x, shape))


def gradient(g, dy, y, x, *, shape, axes):
    return (g.reshape(dy, x.shape, axes=x.axes),)


def onnx(o, x, *, shape, axes):
    return o.Reshape(x, _sizes(x.spec, shape))


def explain(index, x: Spec, *, shape, axes):
    place = 0
    for i, size in zip(index, _sizes(x, shape), strict=True):
        place = place * size + i
    source: list[int] = []
    for size in reversed(x.shape):
        place, i = divmod(place, size)
        source.insert(0, i)
    return Cell(0, tuple(source))


matrix = [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]

register(
    Op(
        name="reshape",
        title="reshape",
        glyph="▭",
        family="move",
        formula="the same cells in row-major order",
        level="primitive",
        shape=shape,
        kernel=kernel,
        onnx=onnx,
        torch="{x}.reshape({shape})",
        explain=explain,
        linear=(("x",),),
        gradient=gradient,
        cost=lambda x, **_: 0,
        masked=masks.moved,
        moves=True,
        samples=(
            Sample((matrix,), {"shape": (2, 2, 2)}),
            Sample((matrix,), {"shape": (-1,)}),
            Sample((matrix,), {"shape": (4, -1), "axes": ("token", None)}),
            Sample(([matrix, matrix],), {"shape": (2, 8)}),
            Sample(([[True, False]],), {"shape": (2, 1, 1)}),
            Sample((3.0,), {"shape": (1, 1)}),
            Sample(([[7]],), {"shape": ()}),
            Sample(([[], []],), {"shape": (0, 3)}),
            Sample(([1.0, 2.0],), {"shape": (2,)}),
        ),
        rejects=(
            Reject(
                (Spec((2, 3), ("token", "feature")),),
                {"shape": (4, 2)},
                "x is token 2 × feature 3: it has 6 cells, and (4, 2) has 8; expected as many",
            ),
            Reject(
                (Spec((2, 3)),),
                {"shape": (4, -1)},
                "x is 2 × 3: 6 cells do not divide by 4; expected (4, -1) to fit",
            ),
            Reject((Spec((2, 3)),), {"shape": (-1, -1)}, "leaves 2 sizes open; expected -1 once at most"),
            Reject((Spec((2, 0)),), {"shape": (0, -1)}, "leaves a size open beside a 0; expected every size"),
            Reject((Spec((2, 3)),), {"shape": 6}, "shape is 6; expected a tuple of sizes"),
            Reject(
                (Spec((6,)),), {"shape": (-2, 3)}, "size 0 of the shape must be an int of 0 or more, got -2"
            ),
            Reject(
                (Spec((6,)),), {"shape": (6,), "axes": ("a", "b")}, "2 axis names for 1 axes; expected as many"
            ),
            Reject((Spec((6,)),), {"shape": (6,), "axes": (3,)}, "axes is (3,); expected a tuple of names"),
        ),
    )
)
