"""Tensors side by side along an axis.

xs: one or more tensors of one kind whose other axes agree. Moves numbers.
"""

from __future__ import annotations

from ..core import masks
from ..core.axes import Spec, describe, need_kind, need_rank, position, unify
from ..core.cells import Cell
from ..core.errors import Rejected
from ..core.numbers import Numbers
from ..core.op import Kernel, Op, Reject, Sample, register


def shape(*xs: Spec, axis: int = -1) -> Spec:
    if not xs:
        raise Rejected("nothing to concatenate; expected one tensor or more")
    first = xs[0]
    need_rank(1, x=first)
    place = position(axis, first.rank)
    axes = list(first.axes)
    for i, x in enumerate(xs[1:], 1):
        need_kind(first.kind, **{f"xs[{i}]": x})
        if _others(x, place) != _others(first, place) or x.rank != first.rank:
            raise Rejected(
                f"xs[{i}] is {describe(x)} and xs[0] is {describe(first)};"
                f" expected the same sizes except on axis {axis}"
            )
        axes = [unify(a, b) for a, b in zip(axes, x.axes, strict=True)]
    size = sum(x.shape[place] for x in xs)
    return Spec((*first.shape[:place], size, *first.shape[place + 1 :]), tuple(axes), first.kind)


def _others(x: Spec, place: int) -> tuple[int, ...]:
    return x.shape[:place] + x.shape[place + 1 :]


def concat(*parts):
    """The parts one after another."""
    joined = []
    for part in parts:
        joined += part
    return joined


def kernel(numbers: Numbers, *xs: Spec, axis) -> Kernel:
    ranks = [xs[0].rank - position(axis, xs[0].rank)] * len(xs)
    return Kernel(concat, *ranks)


def gradient(g, dy, y, *xs, axis):
    place = position(axis, len(dy.shape))
    return g.split(dy, tuple(x.shape[place] for x in xs), axis=place, name="parts")


def onnx(o, *xs, axis):
    return o.Concat(*xs, axis=position(axis, xs[0].rank))


def explain(index, *xs: Spec, axis):
    place = position(axis, xs[0].rank)
    at = index[place]
    for slot, x in enumerate(xs):
        if at < x.shape[place]:
            return Cell(slot, (*index[:place], at, *index[place + 1 :]))
        at -= x.shape[place]
    raise IndexError(index)


register(
    Op(
        name="concat",
        title="concat",
        glyph="∥",
        family="move",
        formula="side by side",
        level="primitive",
        shape=shape,
        kernel=kernel,
        onnx=onnx,
        torch="torch.cat([{xs}], dim={axis})",
        explain=explain,
        linear=(("xs",),),
        gradient=gradient,
        cost=lambda *xs, axis: 0,
        masked=masks.moved,
        moves=True,
        samples=(
            Sample(([[1.0, 2.0], [3.0, 4.0]], [[5.0], [6.0]])),
            Sample(([[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]]), {"axis": 0}),
            Sample(([[[1.0]], [[2.0]]], [[[3.0]], [[4.0]]]), {"axis": -2}),
            Sample(([1.0],)),
        ),
        rejects=(
            Reject(
                (Spec((2, 2)), Spec((3, 2))), {}, "xs[1] is 3 × 2 and xs[0] is 2 × 2; expected the same sizes"
            ),
            Reject((), {}, "nothing to concatenate; expected one tensor or more"),
            Reject((Spec((2,)), Spec((2,), kind="bool")), {}, "xs[1] holds bool; expected float"),
        ),
    )
)
