"""Attention as PyTorch and ONNX describe it, in plain loops over lists: what the adapters are held to.

Written from the two libraries' documentation, with nothing of graphattn in it. A bias is what is
added to the scores: −∞ hides, and a hidden key's value never counts.
"""

from __future__ import annotations

import math
from typing import Any

HIDDEN = -math.inf
Matrix = list[list[float]]


def one_head(
    q: Matrix, k: Matrix, v: Matrix, bias: Matrix, scale: float, softcap: float = 0.0, empty: float = 0.0
) -> dict[str, Matrix]:
    """One head's scores, capped and masked scores, weights and result."""
    scaled = [[scale * sum(a * b for a, b in zip(row, key)) for key in k] for row in q]
    capped = [[softcap * math.tanh(s / softcap) for s in row] for row in scaled] if softcap else scaled
    masked = [[HIDDEN if b == HIDDEN else s + b for s, b in zip(row, more)] for row, more in zip(capped, bias)]
    weights = [softmax(row, empty) for row in masked]
    out = [
        [sum((w * value[c] for w, value in zip(row, v) if w != 0), 0.0) for c in range(len(v[0]))]
        for row in weights
    ]
    return {"scaled": scaled, "capped": capped, "masked": masked, "weights": weights, "out": out}


def softmax(row: list[float], empty: float) -> list[float]:
    peak = max(row)
    if peak == HIDDEN:
        return [empty] * len(row)
    raised = [math.exp(v - peak) for v in row]
    return [v / sum(raised) for v in raised]


def linear(x: Matrix, w: Matrix, b: list[float] | None) -> Matrix:
    return [
        [sum(p * q for p, q in zip(row, weights)) + (b[j] if b else 0.0) for j, weights in enumerate(w)]
        for row in x
    ]


def columns(x: Matrix, start: int, stop: int) -> Matrix:
    return [row[start:stop] for row in x]


def mask_cell(mask: Any, true_hides: bool, *index: int) -> float:
    """What a mask adds at an index, with axes of size 1 stretched and axes in front left out."""
    rank, block = 0, mask
    while isinstance(block, list):
        rank, block = rank + 1, block[0]
    cell = mask
    for i in index[len(index) - rank :]:
        cell = cell[0 if len(cell) == 1 else i]
    if isinstance(cell, bool):
        return HIDDEN if cell == true_hides else 0.0
    return cell


def multihead_attention(
    x_q: Matrix, x_k: Matrix, x_v: Matrix, p: dict[str, Any], heads: int, item: int, attn_mask: Any,
    padding: Any, zero_key: bool, empty: float,
) -> tuple[Matrix, list[Matrix]]:  # fmt: skip
    """nn.MultiheadAttention for one item of a batch: result, and weights by head."""
    e = len(x_q[0])
    bias = p.get("in_proj_bias", [0.0] * 3 * e)
    packed = p.get("in_proj_weight")
    w_q, w_k, w_v = (
        [packed[i * e : (i + 1) * e] for i in range(3)]
        if packed
        else [p[f"{side}_proj_weight"] for side in "qkv"]
    )
    q, k, v = linear(x_q, w_q, bias[:e]), linear(x_k, w_k, bias[e : 2 * e]), linear(x_v, w_v, bias[2 * e :])
    real = len(k)
    if "bias_k" in p:
        k, v = [*k, p["bias_k"][0][0]], [*v, p["bias_v"][0][0]]
    if zero_key:
        k, v = [*k, [0.0] * e], [*v, [0.0] * e]
    results, weights = [], []
    for h in range(heads):
        added = []
        for i in range(len(q)):
            row = []
            for j in range(len(k)):
                cell = 0.0
                if j < real and attn_mask is not None:
                    cell += mask_cell(attn_mask, True, item * heads + h, i, j)
                if j < real and padding is not None:
                    cell += mask_cell(padding, True, item, j)
                row.append(cell)
            added.append(row)
        d = e // heads
        parts = [columns(x, h * d, (h + 1) * d) for x in (q, k, v)]
        found = one_head(*parts, added, 1 / math.sqrt(d), empty=empty)
        results.append(found["out"])
        weights.append(found["weights"])
    joined = [[cell for head in results for cell in head[i]] for i in range(len(q))]
    return linear(joined, p["out_proj.weight"], p.get("out_proj.bias")), weights


def onnx_attention(
    q: list[Matrix], k: list[Matrix], v: list[Matrix], item: int, *, mask: Any = None, past: int = 0,
    causal: bool = False, length: int | None = None, left: int = -1, right: int = -1,
    scale: float | None = None, softcap: float = 0.0,
) -> list[dict[str, Matrix]]:  # fmt: skip
    """ONNX Attention for one item of a batch, by query head; k and v hold the past already."""
    n_q, n_k, heads = len(q[0]), len(k[0]), len(q)
    offset = past if length is None else length - n_q
    found = []
    for h in range(heads):
        added = []
        for i in range(n_q):
            row = []
            for j in range(n_k):
                at = i + offset
                hidden = causal and j > at
                hidden = hidden or (left >= 0 and j < at - left) or (right >= 0 and j > at + right)
                hidden = hidden or (length is not None and j >= length)
                cell = 0.0
                if mask is not None:
                    cell = HIDDEN if j >= width(mask) else mask_cell(mask, False, item, h, i, j)
                row.append(HIDDEN if hidden else cell)
            added.append(row)
        group = h // (heads // len(k))
        factor = 1 / math.sqrt(len(q[0][0])) if scale is None else scale
        found.append(one_head(q[h], k[group], v[group], added, factor, softcap))
    return found


def width(mask: Any) -> int:
    """The size of the last axis."""
    while isinstance(mask[0], list):
        mask = mask[0]
    return len(mask)
