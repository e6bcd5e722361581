"""y[i] = xsᵢ: tensors of one shape joined along a new axis.

xs: one or more tensors of one shape and kind; axis: where the new axis stands in y, which has one
rank more; axis_name: what it is called. Moves numbers.
"""

from __future__ import annotations

from ..core import masks
from ..core.axes import Spec, describe, need_kind, position, unify
from ..core.cells import Cell
from ..core.errors import Rejected
from ..core.numbers import Numbers
from ..core.op import Kernel, Op, Reject, Sample, register
from ..core.words import shown


def shape(*xs: Spec, axis: int = 0, axis_name: str | None = None) -> Spec:
    if not xs:
        raise Rejected("nothing to stack; expected one tensor or more")
    if axis_name is not None and not isinstance(axis_name, str):
        raise Rejected(f"axis_name is {shown(axis_name)}; expected text")
    first = xs[0]
    place = position(axis, first.rank + 1)
    axes = list(first.axes)
    for i, x in enumerate(xs[1:], 1):
        need_kind(first.kind, **{f"xs[{i}]": x})
        if x.shape != first.shape:
            raise Rejected(f"xs[{i}] is {describe(x)} and xs[0] is {describe(first)}; expected the same shape")
        axes = [unify(a, b) for a, b in zip(axes, x.axes, strict=True)]
    axes.insert(place, axis_name)
    return Spec((*first.shape[:place], len(xs), *first.shape[place:]), tuple(axes), first.kind)


def stack(*parts):
    return list(parts)


def kernel(numbers: Numbers, *xs: Spec, axis, axis_name) -> Kernel:
    inside = xs[0].rank - position(axis, xs[0].rank + 1)
    return Kernel(stack, *[inside] * len(xs))


def gradient(g, dy, y, *xs, axis, axis_name):
    parts = g.split(dy, (1,) * len(xs), axis=axis)
    return tuple(g.reshape(part, x.shape, axes=x.axes) for part, x in zip(parts, xs, strict=True))


def onnx(o, *xs, axis, axis_name):
    place = position(axis, xs[0].rank + 1)
    return o.Concat(*(o.Unsqueeze(x, (place,)) for x in xs), axis=place)


def explain(index, *xs: Spec, axis, axis_name):
    place = position(axis, len(index))
    return Cell(index[place], (*index[:place], *index[place + 1 :]))


matrix, other = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [[0.5, 1.5, 2.5], [3.5, 4.5, 5.5]]

register(
    Op(
        name="stack",
        title="stack",
        glyph="☰",
        family="move",
        formula="y[i] = xs[i]",
        level="primitive",
        shape=shape,
        kernel=kernel,
        onnx=onnx,
        torch="torch.stack([{xs}], dim={axis})",
        explain=explain,
        linear=(("xs",),),
        gradient=gradient,
        cost=lambda *xs, **_: 0,
        masked=masks.moved,
        moves=True,
        samples=(
            Sample((matrix, other), {"axis_name": "head"}),
            Sample((matrix, other, matrix), {"axis": -1}),
            Sample((matrix, other), {"axis": 1}),
            Sample((0.5, 1.5)),
            Sample(([True, False],), {"axis": -2}),
            Sample(([], []), {"axis": 1}),
        ),
        rejects=(
            Reject((), {}, "nothing to stack; expected one tensor or more"),
            Reject(
                (Spec((2, 3)), Spec((3, 2))), {}, "xs[1] is 3 × 2 and xs[0] is 2 × 3; expected the same shape"
            ),
            Reject((Spec((2,)), Spec((2,), kind="int")), {}, "xs[1] holds int; expected float"),
            Reject((Spec((2,)),), {"axis": 2}, "axis 2 does not exist; expected an axis from -2 to 1"),
            Reject((Spec((2,)),), {"axis_name": 1}, "axis_name is 1; expected text"),
        ),
    )
)
