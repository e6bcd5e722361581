"""y = x + multi_head(LayerNorm(x)): the pre-LN attention block (Xiong et al. 2020).

    x ─┬─ layernorm ─ multi_head ─┬─ y
       └──────── residual ────────┘

x (…, n, d); gamma, beta (d) may be left out. Everything else (mask, the projections, heads, causal,
window, rotary, …) is handed on to multi_head.
"""

from __future__ import annotations

from typing import Any

from ..core.axes import Spec, describe
from ..core.errors import Rejected
from ..core.op import Op, Reject, Sample, find, register


def shape(
    x: Spec,
    mask: Spec | None = None,
    gamma: Spec | None = None,
    beta: Spec | None = None,
    *,
    eps: float | str = 1e-05,
    **attention: Any,
) -> Spec:
    norm = find("layernorm").shape(x, gamma, beta, eps=eps)
    out = find("multi_head").shape(norm, norm, norm, mask, **attention)
    if out.shape != x.shape:
        raise Rejected(f"attention gives {describe(out)}; expected the shape of x, {describe(x)}, to add it")
    return find("add").shape(x, out)


def expand(g, x, mask=None, gamma=None, beta=None, *, eps, **attention):
    norm = g.layernorm(x, gamma, beta, eps=eps, name="norm", title="LayerNorm")
    mixed = g.multi_head(
        norm, norm, norm, mask, **attention, name="attention", title="Multi-head self-attention"
    )
    return g.add(x, mixed, name="residual", title="residual add")


x = [[0.5, -1.25, 2.0, 0.75], [1.5, 1.0, -3.0, 0.25], [-0.5, 0.1, 0.4, -1.0]]
w = [[0.5, 1.0, 0.25, -0.5], [-1.0, 0.0, 2.0, 0.1], [0.3, 0.2, 0.1, 0.0], [1.0, -1.0, 0.5, 0.7]]
b = [0.1, -0.2, 0.3, 0.0]

register(
    Op(
        name="block",
        title="pre-LN block",
        glyph="▣",
        family="composite",
        formula="x + multi_head(LayerNorm(x))",
        level="block",
        shape=shape,
        expand=expand,
        note=lambda *_, heads, causal, **__: f"h={heads}" + ("   causal" if causal else ""),
        hands_on="multi_head",
        sets=("q", "k", "v"),
        samples=(
            Sample((x,), {"heads": 2, "causal": True}),
            Sample((x, [[True, False, True]]), {"heads": 1}),
            Sample((x, None, [1.0, 0.5, 2.0, -1.0], b, w, b, w, b, w, b, w, b), {"heads": 2, "eps": "1e-12"}),
            Sample((x,), {"heads": 2, "window": (1, 0), "softcap": 5, "rotary": 100, "scale": "0.5"}),
        ),
        rejects=(
            Reject(
                (Spec((3, 4)),), {"heads": 3}, "the 4 features of q do not divide into 3 heads; 2 or 4 would do"
            ),
            Reject((Spec((3, 4)),), {"heads": 2, "eps": -1}, "eps is -1; expected a number of 0 or more"),
        ),
    )
)
