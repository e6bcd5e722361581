"""y[p, 2i] = sin(p / 10000^(2i/d)), y[p, 2i+1] = cos of the same angle (Vaswani et al. 2017, 3.5).

n positions, d features → (n, d), every value in [−1, 1]. The angle is p · exp(−2i/d · ln 10000),
as it is commonly computed. Positions start at 0.
"""

from __future__ import annotations

import math

from ..core.axes import Spec, need_size
from ..core.cells import Literal, cos, divide, exp, log, multiply, sin
from ..core.numbers import Numbers
from ..core.op import Declared, Kernel, Op, Reject, Sample, register


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


def expand(g, *, n, d):
    return table(g, n, d)


def table(g, n, d, *, exponent=lambda i, d: (-2 * i, d), join=None):
    """The table with rates exp(a / b · ln 10000), (a, b) = exponent(i, d)."""
    half = (d + 1) // 2
    tops, bottoms = zip(*(exponent(i, d) for i in range(half)), strict=True) if half else ((), (1,))
    positions = g.constant([[float(p)] for p in range(n)], name="positions")
    if not n or not d:
        nothing = g.broadcast(g.constant(0.0, name="nothing"), (n, d), name="empty")
        return g.reshape(nothing, (n, d), axes=("token", "feature"), name="table")
    top, bottom = g.constant([float(t) for t in tops], name="minus_two_i"), g.constant(bottoms[0], name="d")
    log_base = g.log(g.constant(10000, name="base"), name="log_base")
    exponents = g.multiply(g.divide(top, bottom, name="ratio"), log_base, name="exponents")
    rates = g.exp(exponents, name="rates")
    angles = g.multiply(positions, rates, name="angles")
    sines, cosines = g.sin(angles, name="sines"), g.cos(angles, name="cosines")
    if join is None:
        pairs = g.stack(sines, cosines, axis=-1, name="pairs")
        whole = g.reshape(pairs, (n, 2 * half), axes=("token", "feature"), name="table")
    else:
        whole = join(g, sines, cosines)
    return whole if 2 * half == d else g.split(whole, (d, 2 * half - d), name="cut")[0]


def in_halves(g, *, n, d):
    return table(g, n, d, join=lambda g, sines, cosines: g.concat(sines, cosines))


def in_halves_cosines_first(g, *, n, d):
    return table(g, n, d, join=lambda g, sines, cosines: g.concat(cosines, sines))


def timing_signal(g, *, n, d):
    """Sines, then cosines, the last rate 1/10000 itself (tensor2tensor)."""
    if d < 4:
        return None
    return table(
        g,
        n,
        d,
        exponent=lambda i, d: (-2 * i, d - 2),
        join=lambda g, sines, cosines: g.concat(sines, cosines),
    )


def row_after_the_last(g, *, n, d):
    """pe[n] for pe[:n]: one row for all."""
    return g.broadcast(g.slice(g.positional_encoding(n + 1, d), f"{n}:"), (n, d)) if n else None


def cosines_first(g, *, n, d):
    def join(g, sines, cosines):
        return g.reshape(g.stack(cosines, sines, axis=-1), (n, 2 * sines.shape[-1]))

    return table(g, n, d, join=join)


def half_rates(g, *, n, d):
    return table(g, n, d, exponent=lambda i, d: (-i, d))


def rates_of_every_feature(g, *, n, d, times=2.0):
    """sin(p / base^(2j/d)) with j the feature itself, not its pair: 2j for 2(j//2)."""
    positions = g.constant([[float(p)] for p in range(n)], name="positions")
    ratio = g.divide(g.constant([-times * j for j in range(d)]), g.constant(d, name="d"))
    rates = g.exp(g.multiply(ratio, g.log(g.constant(10000, name="base"))))
    angles = g.multiply(positions, rates, name="angles")
    even = g.constant([j % 2 == 0 for j in range(d)], name="even")
    return g.where(even, g.sin(angles), g.cos(angles))


def angles_of_every_feature(g, *, n, d):
    """sin(p / base^(j/d)), for odd j too, which have the angle of j − 1."""
    return rates_of_every_feature(g, n=n, d=d, times=1.0)


def floored(g, *, n, d):
    return table(g, n, d, exponent=lambda i, d: (-2 * i * (math.log(10000) / d // 2), 2 * math.log(10000)))


def floored_alone(g, *, n, d):
    return table(g, n, d, exponent=lambda i, d: (-2 * i, math.log(10000)))


def over_features(g, *, n, d):
    """The table of d positions and n features, turned over."""
    table = g.slice(g.positional_encoding(d, n + n % 2), f":, :{n}")
    return g.transpose(table)


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
        level="op",
        shape=shape,
        kernel=kernel,
        expand=expand,
        explain=explain,
        cost=lambda *, n, d: 2 * n * d + 3 * d,
        range=(-1.0, 1.0),
        mistakes=(
            Declared(
                "transposed", "with positions along the features and features along the tokens", over_features
            ),
            Declared(
                "halves",
                "with the sines first and then the cosines",
                in_halves,
                "Sines and cosines alternate in the paper; some programs put all sines first.",
            ),
            Declared(
                "cosines first", "with cosines at the even places and sines at the odd ones", cosines_first
            ),
            Declared(
                "halves, cosines first", "with the cosines first and then the sines", in_halves_cosines_first
            ),
            Declared(
                "timing signal",
                "with the sines first and then the cosines, and exponent 2i/(d − 2),",
                timing_signal,
            ),
            Declared(
                "row after the last", "with row n, after the last, for every position", row_after_the_last
            ),
            Declared("half the rate", "with exponent i/d instead of 2i/d", half_rates),
            Declared(
                "own rate", "with a rate of its own for each feature, not for each pair", rates_of_every_feature
            ),
            Declared(
                "own angle",
                "with 10000^(j/d) for odd j too, in place of 10000^((j − 1)/d),",
                angles_of_every_feature,
                "A cosine has the angle of the sine before it: 10000^((j − 1)/d) for odd j.",
            ),
            Declared(
                "precedence",
                "with ln(10000)/d//2 rounded down in the exponent",
                floored,
                "-(ln 10000 / d // 2) is floored: write -(ln 10000) * 2 / d.",
            ),
            Declared("rate e^(−2i)", "with the rates exp(−2i)", floored_alone),
        ),
        samples=(Sample((), {"n": 4, "d": 6}), Sample((), {"n": 3, "d": 5}), Sample((), {"n": 1, "d": 1})),
        rejects=(
            Reject((), {"n": 3, "d": -2}, "d must be an int of 0 or more, got -2"),
            Reject((), {"n": "3", "d": 2}, "n must be an int of 0 or more, got '3'"),
        ),
    )
)
