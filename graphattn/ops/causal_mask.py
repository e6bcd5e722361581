"""y[i, j] = (j ≤ i + offset): query i may attend to key j.

n queries, n_k keys (as many as queries if None) → bool (n, n_k), True = may attend. The default
offset 0 is top-left, as in PyTorch and ONNX; decoding with a cache passes the cache's length.
"""

from __future__ import annotations

from ..core.axes import Spec, need_int, need_size
from ..core.cells import Literal
from ..core.numbers import Numbers
from ..core.op import Declared, Kernel, Op, Reject, Sample, register


def shape(n: int, n_k: int | None = None, *, offset: int = 0) -> Spec:
    need_size("n", n)
    if n_k is not None:
        need_size("n_k", n_k)
    need_int("offset", offset)
    return Spec((n, n if n_k is None else n_k), kind="bool")


def causal_mask(n, n_k, offset):
    return [[j <= i + offset for j in range(n_k)] for i in range(n)]


def kernel(numbers: Numbers, *, n, n_k, offset) -> Kernel:
    return Kernel(causal_mask, n=n, n_k=n if n_k is None else n_k, offset=offset)


def in_torch(*, n, n_k, offset):
    return f"torch.ones({n}, {n if n_k is None else n_k}, dtype=torch.bool).tril({offset or ''})"


def explain(index, *, n, n_k, offset):
    i, j = index
    return Literal(j <= i + offset, f"{j} ≤ {i}" + (f" + {offset}" if offset else ""))


def strict(g, *, n, n_k, offset):
    return g.causal_mask(n, n_k, offset=-1) if offset == 0 else None


register(
    Op(
        name="causal_mask",
        title="M",
        glyph="◺",
        family="constant",
        formula="True where j ≤ i + offset",
        level="primitive",
        shape=shape,
        torch=in_torch,
        kernel=kernel,
        explain=explain,
        cost=lambda **_: 0,
        drawn="beside",
        mistakes=(Declared("strict", "with j < i in place of j ≤ i", strict, price=1.05),),
        note=lambda *, n, n_k, offset: "causal" + (f", offset {offset}" if offset else ""),
        samples=(
            Sample((), {"n": 3}),
            Sample((), {"n": 2, "n_k": 4}),
            Sample((), {"n": 2, "n_k": 4, "offset": 2}),
            Sample((), {"n": 2, "offset": -1}),
        ),
        rejects=(
            Reject((), {"n": -1}, "n must be an int of 0 or more, got -1"),
            Reject((), {"n": 2, "offset": 0.5}, "offset is 0.5; expected an int"),
            Reject(
                (), {"n": 2, "offset": 10**400}, "offset is an int of 1329 bits; expected at most 2^53 in size"
            ),
        ),
    )
)
