"""y[h, i, j] = −slope_h · |i + offset − j| (Press, Smith and Lewis 2021, section 3).

heads, n queries, n_k keys (as many as queries if None) → (heads, n, n_k), to be added to the scores.
Where key j is not after query i, this is the paper's slope · (j − i). Right of the diagonal, which the
paper's causal attention hides, stands the mirror image, for attention in both directions.
slope_h = 2^(−8(h+1)/heads) where heads is a power of two. Otherwise, as in the paper's code: with m the
largest power of two below, the slopes of m heads, then every second one of 2m heads, from the first on.
"""

from __future__ import annotations

import math

from ..core import cells
from ..core.axes import Spec, need_size
from ..core.cells import Literal
from ..core.numbers import Numbers
from ..core.op import Declared, Kernel, Op, Reject, Sample, find, register


def shape(heads: int, n: int, n_k: int | None = None, *, offset: int = 0) -> Spec:
    need_size("heads", heads, least=1)
    scores = find("causal_mask").shape(n, n_k, offset=offset)
    return Spec((heads, *scores.shape), ("head", None, None))


def alibi_bias(heads, n, n_k, offset, lift, multiply, sqrt):
    slopes = [alibi_slope(h, heads, lift, multiply, sqrt) for h in range(heads)]
    return [
        [[multiply(slope, lift(-abs(i + offset - j))) for j in range(n_k)] for i in range(n)]
        for slope in slopes
    ]


def alibi_slope(h, heads, lift, multiply, sqrt):
    """2^(−8k/m), by halving and square roots: exact as long as 8k/m is whole."""
    m = 2 ** (heads.bit_length() - 1)
    k = h + 1
    if h >= m:
        k, m = 2 * (h - m) + 1, 2 * m
    whole, rest = divmod(8 * k, m)
    slope, root = lift(0.5**whole), lift(0.5)
    while rest:
        root = sqrt(root)
        rest *= 2
        if rest >= m:
            slope, rest = multiply(slope, root), rest - m
    return slope


def kernel(numbers: Numbers, *, heads, n, n_k, offset) -> Kernel:
    n_k = n if n_k is None else n_k
    return Kernel(
        alibi_bias, heads=heads, n=n, n_k=n_k, offset=offset, lift=numbers.lift,
        multiply=numbers.multiply, sqrt=numbers.sqrt,
    )  # fmt: skip


def expand(g, *, heads, n, n_k, offset):
    return biases(g, [_slope(g, h, heads) for h in range(heads)], n, n_k, offset)


def biases(g, slopes, n, n_k, offset, *, distance=lambda i, j: -abs(i - j)):
    """slope · distance(i, j) for each head's slope."""
    n_k = n if n_k is None else n_k
    if not n or not n_k:
        nothing = g.broadcast(g.constant(0.0, name="nothing"), (len(slopes), n, n_k), name="empty")
        return g.reshape(nothing, nothing.shape, axes=("head", None, None), name="bias")
    rows = [[float(distance(i + offset, j)) for j in range(n_k)] for i in range(n)]
    column = g.reshape(
        g.stack(*slopes, name="slopes"), (len(slopes), 1, 1), axes=("head", None, None), name="by_head"
    )
    return g.multiply(column, g.constant(rows, name="distances"), name="bias")


def _slope(g, h, heads):
    """The slope as a scalar of the graph, by the same steps as `alibi_slope`."""
    return alibi_slope(h, heads, g.constant, g.multiply, g.sqrt)


def from_zero(g, *, heads, n, n_k, offset):
    slopes = [g.constant(2.0 ** (-8 * h / heads), name=f"slope{h}") for h in range(heads)]
    return biases(g, slopes, n, n_k, offset)


def one_formula(g, *, heads, n, n_k, offset):
    """2^(−8(h+1)/heads) where heads is no power of two either."""
    slopes = [g.constant(2.0 ** (-8 * (h + 1) / heads), name=f"slope{h}") for h in range(heads)]
    return biases(g, slopes, n, n_k, offset)


def one_slope(g, *, heads, n, n_k, offset):
    slopes = [g.constant(0.5 ** (h + 1), name=f"slope{h}") for h in range(heads)]
    return biases(g, slopes, n, n_k, offset)


def at_distance(distance):
    def build(g, *, heads, n, n_k, offset):
        slopes = [_slope(g, h, heads) for h in range(heads)]
        return biases(g, slopes, n, n_k, offset, distance=distance)

    return build


def explain(index, *, heads, n, n_k, offset):
    h, i, j = index
    slope = alibi_slope(h, heads, Literal, cells.multiply, cells.sqrt)
    return cells.multiply(slope, Literal(-abs(i + offset - j)))


register(
    Op(
        name="alibi_bias",
        title="ALiBi",
        glyph="⋰",
        family="constant",
        formula="−slope · |i + offset − j|",
        level="op",
        shape=shape,
        kernel=kernel,
        expand=expand,
        explain=explain,
        cost=lambda *, heads, n, n_k, offset: heads * n * (n if n_k is None else n_k),
        drawn="beside",
        range=(float("-inf"), 0.0),
        note=lambda *, heads, n, n_k, offset: f"h={heads}" + (f", offset {offset}" if offset else ""),
        mistakes=(
            Declared(
                "slopes from 0",
                "with slopes 2^(−8h/heads), h from 0",
                from_zero,
                "The first head's slope is 2^(−8/heads), not 1.",
            ),
            Declared(
                "one formula", "with slopes 2^(−8(h+1)/heads) though heads is no power of two", one_formula
            ),
            Declared("slopes of 8 heads", "with slopes 2^(−h−1), those of 8 heads", one_slope),
            Declared(
                "not mirrored",
                "with slope · (j − i) on both sides of the diagonal",
                at_distance(lambda i, j: j - i),
            ),
            Declared(
                "squared", "with −slope · (i − j)²", at_distance(lambda i, j: -((i - j) ** 2)), price=1.35
            ),
            Declared(
                "logarithm",
                "with −slope · ln(1 + |i − j|)",
                at_distance(lambda i, j: -math.log1p(abs(i - j))),
                price=1.4,
            ),
        ),
        samples=(
            Sample((), {"heads": 8, "n": 3}),
            Sample((), {"heads": 2, "n": 2, "n_k": 4, "offset": 2}),
            Sample((), {"heads": 1, "n": 2, "offset": -1}),
            Sample((), {"heads": 12, "n": 2}),
            Sample((), {"heads": 32, "n": 1, "n_k": 3}),
            Sample((), {"heads": 3, "n": 0}),
        ),
        rejects=(
            Reject((), {"heads": 0, "n": 3}, "heads must be an int of 1 or more, got 0"),
            Reject((), {"heads": 2, "n": 3, "n_k": -1}, "n_k must be an int of 0 or more, got -1"),
            Reject((), {"heads": 2, "n": 3, "offset": "1"}, "offset is '1'; expected an int"),
        ),
    )
)
