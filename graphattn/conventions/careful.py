"""Softmax, layer norm and attention as graphs that lose as little as doubles allow.

The textbook's steps, as everybody computes them, lose digits where a row's spread is small beside its
mean, where squares leave the range of doubles, where a mask adds a large number to a whole row, or
where values cancel. Here the same mathematics takes a few more steps, which are all in the trace:

    softmax      exp also gets what rounding took from x − max
    layer_norm   each row times a power of 2 that keeps its squares in range; and the mean of the
                 deviations, which is nothing but the mean's own rounding, is taken away from them
    attention    every sum of products is rounded once more than its products (math.fsum); what the mask adds
                 to all of a row is left out; the careful softmax

For porters: what a result should be where theirs and `run(numbers="mpmath")` differ.
"""

from __future__ import annotations

import math
from typing import Any

from ..core import nested
from ..core.axes import need_number
from ..core.errors import GraphError
from ..core.graph import Graph, Tensor
from ..core.op import find
from ..core.specimen import Specimen
from .call import MASK, Call, flag, rank


def layer_norm(input: Any, weight: Any = None, bias: Any = None, eps: float = 1e-05) -> Specimen:
    """(x − mean) / √(variance + eps) along the last axis. Output: y.

    The powers of 2 are constants of the graph, chosen for this input.
    """
    call = Call("layer_norm")
    g = call.graph
    x = call.input("input", input)
    if not x.shape:
        raise GraphError("input has rank 0; expected rank 1 or more")
    if not isinstance(eps, (int, float)):
        raise GraphError(f"eps is {nested.shown(eps)}; expected a number of 0 or more")
    eps = need_number("eps", eps)
    cells = nested.read(call.feeds["input"], x.spec, "input", allow_nonfinite=True)
    powers = [_power(row, eps) for _, row in nested.rows(cells, len(x.shape))]
    scaled = g.multiply(x, _column(g, "scale", x, [2.0**k for k in powers]), name="scaled")
    deviation = g.subtract(scaled, g.reduce_mean(scaled, name="mean"), name="deviation")
    centered = g.subtract(deviation, g.reduce_mean(deviation, name="rounding_of_mean"), name="centered")
    variance = g.reduce_mean(g.multiply(centered, centered, name="squared"), name="variance")
    eps_scaled = _column(g, "eps_scaled", x, [math.ldexp(eps, 2 * k) for k in powers])
    root = g.sqrt(g.add(variance, eps_scaled, name="stabilized"), name="root")
    y = g.divide(centered, root, name="normalized")
    for name, row, combine in (("weight", weight, g.multiply), ("bias", bias, g.add)):
        if row is not None:
            y = combine(y, call.parameter(name, row, x.shape[-1]), name=f"with_{name}")
    return call.specimen(y=y)


def _power(row: list[float], eps: float) -> int:
    """k such that the row's spread, or √eps if that is larger, is near 1 when multiplied by 2ᵏ."""
    if not row or not all(map(math.isfinite, row)):
        return 0
    spread = max(max(row) / 2 - min(row) / 2, math.sqrt(eps) / 2)
    room = 1000 - math.frexp(max(map(abs, row)))[1]
    k = -math.frexp(spread)[1] if spread else 0
    return max(-1000, min(k, room, 1000))


def _column(g: Graph, name: str, x: Tensor, cells: list[float]) -> Tensor:
    """One number for each row of x."""
    shape = (*x.shape[:-1], 1)
    return g.reshape(g.constant(cells, name=f"{name}_of_rows"), shape, name=name)


def attention(
    q: Any, k: Any, v: Any, attn_mask: Any = None, is_causal: bool = False, scale: float | None = None
) -> Specimen:
    """softmax(q kᵀ · scale, masked) v for matrices; arguments as scaled_dot_product_attention. Outputs:
    out, weights."""
    call = Call("attention")
    g = call.graph
    x_q, x_k, x_v = (call.input(name, x) for name, x in (("q", q), ("k", k), ("v", v)))
    for name, x in (("q", x_q), ("k", x_k), ("v", x_v)):
        rank(name, x, 2)
    find("attention").shape(x_q.spec, x_k.spec, x_v.spec)
    (n_q, d), n_k, d_v = x_q.shape, x_k.shape[0], x_v.shape[1]
    products = g.multiply(
        g.reshape(x_q, (n_q, 1, d), name="q_rows"), g.reshape(x_k, (1, n_k, d), name="k_rows"), name="products"
    )
    scores = g.reshape(g.reduce_sum(products, name="sums"), (n_q, n_k), name="scores")
    scaled = g.scale(scores, sqrt=d if scale is None else None, multiply=scale, name="scaled")
    if attn_mask is not None:
        mask = call.input("attn_mask", attn_mask, kinds=MASK)
        scaled = g.mask(
            scaled, mask if mask.kind == "bool" else _without_common(g, mask), name="masked_by_input"
        )
    if flag("is_causal", is_causal):
        scaled = g.mask(scaled, g.causal_mask(n_q, n_k, name="visible"), name="masked")
    weights = _softmax(g, scaled, -1, "zero")
    shares = g.multiply(
        g.reshape(weights, (n_q, n_k, 1), name="weights_of_keys"),
        g.reshape(x_v, (1, n_k, d_v), name="v_rows"),
        absorb_zeros=True, name="shares",
    )  # fmt: skip
    out = g.reshape(g.reduce_sum(shares, axis=-2, name="totals"), (n_q, d_v), name="out")
    return call.specimen(out=out, weights=weights)


def softmax(input: Any, dim: int = -1) -> Specimen:
    """exp(x − max) / Σ exp(x − max) along `dim`; a row of −∞ alone gives NaN. Output: y."""
    call = Call("softmax")
    return call.specimen(y=_softmax(call.graph, call.input("input", input), dim, "nan"))


def _softmax(g: Graph, x: Tensor, axis: int, empty: str) -> Tensor:
    """Softmax in which exp gets what rounding took from x − max: eˢ⁺ᵗ = eˢ + eˢ t for a tiny t.

    t is exact (Knuth's TwoSum); it is 0 where s is −∞.
    """
    zero = g.constant(0.0, name="no_rounding")
    peak = g.reduce_max(x, axis=axis, name="peak")
    some = g.is_visible(peak, name="some_visible")
    peak = g.where(some, peak, zero, name="safe_peak")
    s = g.subtract(x, peak, name="shifted")
    bound = g.subtract(s, x, name="shifted_less_x")
    of_x = g.subtract(x, g.subtract(s, bound, name="x_again"), name="rounding_of_x")
    of_peak = g.add(peak, bound, name="rounding_of_peak")
    t = g.where(
        g.is_visible(s, name="visible_shifted"), g.subtract(of_x, of_peak, name="rounding"), zero, name="rest"
    )
    raised = g.exp(s, name="raised_rounded")
    raised = g.add(raised, g.multiply(raised, t, name="raised_rest"), name="raised")
    total = g.reduce_sum(raised, axis=axis, name="total")
    if empty == "zero":
        total = g.where(some, total, g.constant(1.0, name="one"), name="safe_total")
    return g.divide(raised, total, name="weights")


def _without_common(g: Graph, mask: Tensor) -> Tensor:
    """A float mask less the largest that it has in each row, which softmax does not see."""
    peak = g.reduce_max(mask, name="mask_peak")
    common = g.where(
        g.is_visible(peak, name="mask_some"), peak, g.constant(0.0, name="zero"), name="mask_common"
    )
    return g.subtract(mask, common, name="mask_shifted")
