"""y = x + multi_head(LayerNorm(x)): the pre-LN attention block (Xiong et al. 2020).

    x ─┬─ layernorm ─ multi_head ─┬─ y
       └──────── residual ────────┘

x (…, n, d); gamma, beta (d) and each projection may be left out; mask, heads, causal and offset are
as in multi_head.
"""

from __future__ import annotations

from ..core.axes import Spec, describe
from ..core.errors import Rejected
from ..core.op import Op, Reject, Sample, find, register


def shape(
    x: Spec,
    mask: Spec | None = None,
    gamma: Spec | None = None,
    beta: Spec | None = None,
    w_q: Spec | None = None,
    b_q: Spec | None = None,
    w_k: Spec | None = None,
    b_k: Spec | None = None,
    w_v: Spec | None = None,
    b_v: Spec | None = None,
    w_o: Spec | None = None,
    b_o: Spec | None = None,
    *,
    heads: int,
    causal: bool = False,
    offset: int = 0,
    eps: float | str = 1e-05,
) -> Spec:
    norm = find("layernorm").shape(x, gamma, beta, eps=eps)
    out = find("multi_head").shape(
        norm, norm, norm, mask, w_q, b_q, w_k, b_k, w_v, b_v, w_o, b_o,
        heads=heads, causal=causal, offset=offset,
    )  # fmt: skip
    if out.shape != x.shape:
        raise Rejected(f"attention gives {describe(out)}; expected the shape of x, {describe(x)}, to add it")
    return find("add").shape(x, out)


def expand(
    g, x, mask=None, gamma=None, beta=None, w_q=None, b_q=None, w_k=None, b_k=None, w_v=None,
    b_v=None, w_o=None, b_o=None, *, heads, causal, offset, eps,
):  # fmt: skip
    norm = g.layernorm(x, gamma, beta, eps=eps, name="norm", title="LayerNorm")
    mixed = g.multi_head(
        norm, norm, norm, mask, w_q, b_q, w_k, b_k, w_v, b_v, w_o, b_o,
        heads=heads, causal=causal, offset=offset, name="attention", title="Multi-head self-attention",
    )  # fmt: skip
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
        note=lambda *_, heads, causal, offset, eps: f"h={heads}" + ("   causal" if causal else ""),
        samples=(
            Sample((x,), {"heads": 2, "causal": True}),
            Sample((x, [[True, False, True]]), {"heads": 1}),
            Sample((x, None, [1.0, 0.5, 2.0, -1.0], b, w, b, w, b, w, b, w, b), {"heads": 2, "eps": "1e-12"}),
        ),
        rejects=(
            Reject((Spec((3, 4)),), {"heads": 3}, "4 features do not divide into 3 heads"),
            Reject((Spec((3, 4)),), {"heads": 2, "eps": -1}, "eps is -1; expected a number of 0 or more"),
        ),
    )
)
