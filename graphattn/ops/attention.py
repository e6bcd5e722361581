"""out = softmax(q kᵀ / √d_k, masked) v (Vaswani et al. 2017, equation 1).

    q ─┐
    k ─ᵀ─⊗─ scores ─÷√d_k─ scaled ─mask─ masked ─softmax─ weights ─⊗─ out
    v ────────────────────────────────────────────────────────────┘

q (…, n_q, d_k), k (…, n_k, d_k), v (…, n_k, d_v) → out (…, n_q, d_v), weights (…, n_q, n_k).
mask: bool (True = may attend) or float (added), of a shape that broadcasts to the scores.
causal hides key j from query i where j > i + offset. A query that sees nothing gets zeros, and
what stands behind a mask never leaks.
"""

from __future__ import annotations

from ..axes import Spec, describe, need_kind, need_rank
from ..errors import Rejected
from ..op import Op, Reject, Sample, find, register


def shape(
    q: Spec, k: Spec, v: Spec, mask: Spec | None = None, *, causal: bool = False, offset: int = 0
) -> dict[str, Spec]:
    need_kind("float", q=q, k=k, v=v)
    need_rank(2, q=q, k=k, v=v)
    if q.shape[-1] != k.shape[-1]:
        raise Rejected(f"q has {q.shape[-1]} features and k has {k.shape[-1]}; expected as many")
    if k.shape[-2] != v.shape[-2]:
        raise Rejected(f"k has {k.shape[-2]} tokens and v has {v.shape[-2]}; expected as many")
    if not q.shape[-1]:
        raise Rejected("q has 0 features; expected 1 or more")
    scores = find("matmul").shape(q, find("transpose").shape(k))
    if causal:
        find("causal_mask").shape(scores.shape[-2], scores.shape[-1], offset=offset)
    if mask is not None:
        masked = find("mask").shape(scores, mask)
        if masked.shape != scores.shape:
            raise Rejected(f"mask is {describe(mask)}; expected a shape that stretches to {describe(scores)}")
    return {"out": find("matmul").shape(scores, v), "weights": scores}


def expand(g, q, k, v, mask=None, *, causal, offset):
    n_q, n_k, d_k = q.shape[-2], k.shape[-2], q.shape[-1]
    keys = g.transpose(k, name="keys")
    scores = g.matmul(q, keys, name="scores", title=f"{q.symbol} {keys.symbol}")
    scores = g.scale(scores, sqrt=d_k, name="scaled", title="√dₖ")
    if causal:
        see = g.causal_mask(n_q, n_k, offset=offset, name="visible", title="M")
        scores = g.mask(scores, see, name="masked", title="M")
    if mask is not None:
        scores = g.mask(scores, mask, name="masked_by_input" if causal else "masked", title=mask.symbol)
    weights = g.softmax(scores, name="weights", title="softmax")
    of_head = q.symbol[len(q.symbol.rstrip("₀₁₂₃₄₅₆₇₈₉")) :]
    out = g.matmul(weights, v, absorb_zeros=True, name="out", title=f"A{of_head} {v.symbol}")
    return out, weights


def cost(q: Spec, k: Spec, v: Spec, mask: Spec | None = None, *, causal, offset) -> int:
    n_k, d_k, d_v = k.shape[-2], k.shape[-1], v.shape[-1]
    weights = shape(q, k, v, mask)["weights"]
    adds = weights.size if mask is not None and mask.kind == "float" else 0
    return weights.size * (2 * d_k + 1 + 5 + 2 * d_v) + adds if n_k else 0


q = [[0.5, -1.25, 2.0], [1.5, 1.0, -3.0]]
k = [[1.0, 0.5, -0.5], [0.25, -2.0, 1.0], [-1.0, 0.75, 0.3]]
v = [[1.0, 2.0], [3.0, -4.0], [0.5, 0.25]]

register(
    Op(
        name="attention",
        title="attention",
        glyph="◎",
        family="composite",
        formula="softmax(q kᵀ / √dₖ) v",
        level="head",
        shape=shape,
        expand=expand,
        cost=cost,
        note=lambda *_, causal, offset: "causal" if causal else "",
        symbols={"out": "Z{i}", "weights": "A{i}"},
        roles={"q": "Q", "k": "K", "v": "V", "weights": "weights"},
        samples=(
            Sample((q, k, v)),
            Sample((k, k, v), {"causal": True}),
            Sample((q, k, v), {"causal": True, "offset": 1}),
            Sample((q, k, v, [[True, False, True], [False, False, False]])),
            Sample((k, k, v, [0.5, float("-inf"), -1.0]), {"causal": True}),
            Sample(([q, q], k, [v, v], [[[True, True, False]], [[False, True, True]]])),
        ),
        rejects=(
            Reject(
                (Spec((2, 3)), Spec((4, 5)), Spec((4, 2))),
                {},
                "q = q (2 × 3), k = k (4 × 5), v = v (4 × 2): q has 3 features and k has 5; expected as many",
            ),
            Reject(
                (Spec((2, 3)), Spec((4, 3)), Spec((5, 2))), {}, "k has 4 tokens and v has 5; expected as many"
            ),
            Reject(
                (Spec((2, 3)), Spec((4, 3)), Spec((4, 2)), Spec((2, 4), kind="int")),
                {},
                "an integer mask could mean either; expected bool (True = may attend) or float (added)",
            ),
            Reject(
                (Spec((2, 3)), Spec((4, 3)), Spec((4, 2)), Spec((3, 2, 4), kind="bool")),
                {},
                "mask is 3 × 2 × 4 of bool; expected a shape that stretches to 2 × 4",
            ),
        ),
    )
)
