"""y = a where the condition holds, b elsewhere, cell by cell.

condition: bool; a, b: of one kind; shapes that broadcast. A cell that is not chosen never shows, not
even NaN.
"""

from __future__ import annotations

from ..core import masks
from ..core.axes import Spec, broadcast, need_kind
from ..core.cells import where as choose
from ..core.elementwise import cell_of, unbroadcast
from ..core.numbers import Numbers
from ..core.op import Kernel, Op, Reject, Sample, register


def shape(condition: Spec, a: Spec, b: Spec) -> Spec:
    need_kind("bool", condition=condition)
    need_kind(a.kind, b=b)
    return Spec(*broadcast(a, b, condition), a.kind)


def where(condition, a, b):
    return a if condition else b


def where_row(condition, a, b):
    return [p if see else q for see, p, q in zip(condition, a, b)]


def where_row_or_cell(condition, a, b):
    """b is one cell for the whole row."""
    return [p if see else b for see, p in zip(condition, a)]


def kernel(numbers: Numbers, condition: Spec, a: Spec, b: Spec) -> Kernel:
    if condition.shape[-1:] == a.shape[-1:] != ():
        if b.shape[-1:] == a.shape[-1:]:
            return Kernel(where_row, 1, 1, 1)
        if not b.rank:
            return Kernel(where_row_or_cell, 1, 1, 0)
    return Kernel(where, 0, 0, 0)


def onnx(o, condition, a, b):
    if a.kind == "bool" and not o.has("Where", "bool"):
        return o.Or(o.And(condition, a), o.And(o.Not(condition), b))
    return o.Where(condition, a, b)


def explain(index, condition: Spec, a: Spec, b: Spec):
    return choose(*(cell_of(slot, spec, index) for slot, spec in enumerate((condition, a, b))))


def gradient(g, dy, y, condition, a, b):
    nothing = g.constant(0)
    d_a, d_b = g.where(condition, dy, nothing), g.where(condition, nothing, dy)
    return None, unbroadcast(g, d_a, a), unbroadcast(g, d_b, b)


condition = [[True, False, True], [False, False, True]]
matrix = [[0.5, -1.25, 2.0], [float("nan"), 1.0, -3.0]]

register(
    Op(
        name="where",
        title="where",
        glyph="?",
        family="mask",
        formula="y = a if condition else b",
        level="primitive",
        shape=shape,
        kernel=kernel,
        onnx=onnx,
        torch="torch.where({condition}, {a}, {b})",
        explain=explain,
        linear=(("a", "b"),),
        gradient=gradient,
        cost=lambda condition, a, b: 0,
        masked=masks.moved,
        moves=True,
        samples=(
            Sample((condition, matrix, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])),
            Sample((condition, matrix, float("-inf"))),
            Sample(([[[True]], [[False]]], [[1.0, 2.0]], [3.0, 4.0])),
            Sample((condition, [0.5, 1.0, 1.5], [[1.0], [2.0]])),
        ),
        rejects=(
            Reject((Spec((2,)), Spec((2,)), Spec((2,))), {}, "condition holds float; expected bool"),
            Reject(
                (Spec((2,), kind="bool"), Spec((2,)), Spec((3,))), {}, "sizes 2 and 3 on axis -1 do not agree"
            ),
        ),
    )
)
