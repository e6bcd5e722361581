"""y[…, j] = (j < lengths[…]): True where a key is real, False where it is padding.

lengths (…) of int, each from 0 to n → bool (…, n), True = may attend. A length outside 0 … n is an
error when it is met.
"""

from __future__ import annotations

from ..core.axes import Spec, need_kind, need_size
from ..core.cells import Apply, Cell, Literal
from ..core.errors import GraphError
from ..core.numbers import Numbers
from ..core.op import Kernel, Op, Reject, Sample, register


def shape(lengths: Spec, n: int) -> Spec:
    need_kind("int", lengths=lengths)
    need_size("n", n)
    return Spec((*lengths.shape, n), (*lengths.axes, None), "bool")


def padding_mask(length, n):
    if not 0 <= length <= n:
        raise GraphError(f"length {length} does not fit into {n} keys; expected 0 to {n}")
    return [j < length for j in range(n)]


def kernel(numbers: Numbers, lengths: Spec, *, n) -> Kernel:
    return Kernel(padding_mask, 0, n=n)


def onnx(o, lengths, *, n):
    return o.Less(o.integers(range(n)), o.Unsqueeze(lengths, (-1,)))


def explain(index, lengths: Spec, *, n):
    *at, j = index
    return Apply("less", (Literal(j, str(j)), Cell(0, tuple(at))))


register(
    Op(
        name="padding_mask",
        title="padding",
        glyph="▏",
        family="mask",
        formula="True where j < length",
        level="primitive",
        shape=shape,
        kernel=kernel,
        onnx=onnx,
        torch="torch.arange({n}) < {lengths}[..., None]",
        explain=explain,
        cost=lambda lengths, *, n: 0,
        samples=(
            Sample(([3, 0, 1],), {"n": 3}),
            Sample(([[2, 1], [0, 4]],), {"n": 4}),
            Sample((2,), {"n": 3}),
            Sample(([0],), {"n": 0}),
        ),
        rejects=(
            Reject((Spec((2,)),), {"n": 3}, "lengths holds float; expected int"),
            Reject((Spec((2,), kind="int"),), {"n": -1}, "n must be an int of 0 or more, got -1"),
        ),
    )
)
