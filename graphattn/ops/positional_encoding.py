"""y[p, 2i] = sin(p / 10000^(2i/d)), y[p, 2i+1] = cos of the same angle (Vaswani et al. 2017, 3.5).

n positions, d features → (n, d), every value in [−1, 1]. The angle is p · exp(−2i/d · ln 10000),
as it is commonly computed. Positions start at 0.
"""

from __future__ import annotations

from ..core.axes import Spec, need_size
from ..core.cells import Literal, cos, divide, exp, log, multiply, sin
from ..core.numbers import Numbers
from ..core.op import Kernel, Op, Reject, Sample, register


def shape(n: int, d: int) -> Spec:
    need_size("n", n)
    need_size("d", d)
    return Spec((n, d), ("token", "feature"))


def positional_encoding(n, d, sin, cos, exp, log, lift):
    base = log(lift(10000))
    rates = [exp(lift(-(j - j % 2)) / lift(d) * base) for j in range(d)]
    return [[(cos if j % 2 else sin)(lift(p) * rates[j]) for j in range(d)] for p in range(n)]


def kernel(numbers: Numbers, *, n, d) -> Kernel:
    return Kernel(
        positional_encoding, n=n, d=d, sin=numbers.sin, cos=numbers.cos, exp=numbers.exp,
        log=numbers.log, lift=numbers.lift,
    )  # fmt: skip


def explain(index, *, n, d):
    p, j = index
    exponent = divide(Literal(-(j - j % 2)), Literal(d))
    rate = exp(multiply(exponent, log(Literal(10000))))
    return (cos if j % 2 else sin)(multiply(Literal(p), rate))


register(
    Op(
        name="positional_encoding",
        title="positions",
        glyph="∿",
        family="constant",
        formula="sin or cos of p / 10000^(2i/d)",
        level="primitive",
        shape=shape,
        kernel=kernel,
        explain=explain,
        cost=lambda *, n, d: 2 * n * d + 3 * d,
        range=(-1.0, 1.0),
        samples=(Sample((), {"n": 4, "d": 6}), Sample((), {"n": 3, "d": 5}), Sample((), {"n": 1, "d": 1})),
        rejects=(
            Reject((), {"n": 3, "d": -2}, "d must be an int of 0 or more, got -2"),
            Reject((), {"n": "3", "d": 2}, "n must be an int of 0 or more, got '3'"),
        ),
    )
)
