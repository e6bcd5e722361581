"""y[…, i, j] = x[…, i, j] where j ≥ i + k (upper) or j ≤ i + k (lower); 0 elsewhere.

x (…, n, m) of any kind; elsewhere stands 0 for numbers, False for bools. What is cut off never
shows, not even NaN. No arithmetic.
"""

from __future__ import annotations

from ..core.axes import Spec, need_flag, need_int, need_rank
from ..core.cells import Cell, Literal
from ..core.nested import lift
from ..core.numbers import Numbers
from ..core.op import Kernel, Op, Reject, Sample, register


def shape(x: Spec, *, k: int = 0, upper: bool = True) -> Spec:
    need_rank(2, x=x)
    need_int("k", k)
    need_flag(upper=upper)
    return Spec(x.shape, x.axes, x.kind)


def triangle_upper(x, k, zero):
    return [[v if j >= i + k else zero for j, v in enumerate(row)] for i, row in enumerate(x)]


def triangle_lower(x, k, zero):
    return [[v if j <= i + k else zero for j, v in enumerate(row)] for i, row in enumerate(x)]


def kernel(numbers: Numbers, x: Spec, *, k, upper) -> Kernel:
    zero = {"float": numbers.lift(0), "int": 0, "bool": False}[x.kind]
    return _kernel(k, upper, zero)


def _kernel(k: int, upper: bool, zero) -> Kernel:
    return Kernel(triangle_upper if upper else triangle_lower, 2, k=k, zero=zero)


def gradient(g, dy, y, x, *, k, upper):
    return (g.trilu(dy, k=k, upper=upper),)


def in_torch(x: Spec, *, k, upper):
    return f"{{x}}.{'triu' if upper else 'tril'}({k or ''})"


def onnx(o, x, *, k, upper):
    return o.Trilu(x, k, upper=int(upper))


def explain(index, x: Spec, *, k, upper):
    i, j = index[-2:]
    if (j >= i + k) if upper else (j <= i + k):
        return Cell(0, index)
    return Literal(False) if x.kind == "bool" else Literal(0)


def masked(run, masks, values, x: Spec, *, k, upper):
    """Hidden cells stay hidden; a 0 that stands for one is not."""
    if masks[0] is None:
        return None
    side = _kernel(k, upper, False)
    return lift(lambda block: side.function(block, **side.bound), side.ranks, [x.shape])(masks[0])


matrix = [[1.0, 2.0, 3.0], [4.0, float("nan"), 6.0]]

register(
    Op(
        name="trilu",
        title="triangle",
        glyph="◹",
        family="mask",
        formula="x on one side of a diagonal, 0 on the other",
        level="primitive",
        shape=shape,
        kernel=kernel,
        onnx=onnx,
        torch=in_torch,
        explain=explain,
        linear=(("x",),),
        gradient=gradient,
        cost=lambda x, **_: 0,
        masked=masked,
        note=lambda x, *, k, upper: ("upper" if upper else "lower") + (f", k={k}" if k else ""),
        samples=(
            Sample((matrix,)),
            Sample((matrix,), {"k": 1}),
            Sample((matrix,), {"upper": False}),
            Sample(([matrix, matrix],), {"k": -1, "upper": False}),
            Sample(([[3, 1], [2, 4]],), {"upper": False}),
            Sample(([[True, True], [True, True]],), {"k": 10}),
            Sample(([[], []],)),
        ),
        rejects=(
            Reject((Spec((3,)),), {}, "x has rank 1; expected rank 2 or more"),
            Reject((Spec((2, 2)),), {"k": 0.5}, "k is 0.5; expected an int"),
            Reject((Spec((2, 2)),), {"upper": 1}, "upper is 1; expected True or False"),
        ),
    )
)
