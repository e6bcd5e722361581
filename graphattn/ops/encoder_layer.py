"""z = y + feed_forward(norm2(y)), y = x + multi_head(norm1(x)): a transformer encoder layer.

That is pre-LN, as in GPT-2 and Llama; norm_first=False is post-LN, as in BERT:
z = norm2(y + feed_forward(y)), y = norm1(x + multi_head(x)).

x (…, n, d). The parameters are those of layernorm (gamma_1, beta_1, gamma_2, beta_2), multi_head
(w_q … b_o) and feed_forward (w_in … b_gate); mask, bias, heads, kv_heads, causal, offset, window,
softcap, masks_by_head and empty go to multi_head, activation to feed_forward. norm="rmsnorm" takes no
beta. Vaswani et al. 2017, section 3; norm_first: Xiong et al. 2020.
"""

from __future__ import annotations

from ..core.axes import Spec, need_flag
from ..core.layers import added, normed, sublayer
from ..core.op import Op, Reject, Sample, find, register


def shape(
    x: Spec,
    mask: Spec | None = None,
    gamma_1: Spec | None = None,
    beta_1: Spec | None = None,
    w_q: Spec | None = None,
    b_q: Spec | None = None,
    w_k: Spec | None = None,
    b_k: Spec | None = None,
    w_v: Spec | None = None,
    b_v: Spec | None = None,
    w_o: Spec | None = None,
    b_o: Spec | None = None,
    gamma_2: Spec | None = None,
    beta_2: Spec | None = None,
    w_in: Spec | None = None,
    b_in: Spec | None = None,
    w_out: Spec | None = None,
    b_out: Spec | None = None,
    w_gate: Spec | None = None,
    b_gate: Spec | None = None,
    bias: Spec | None = None,
    *,
    heads: int,
    kv_heads: int | None = None,
    norm_first: bool = True,
    norm: str = "layernorm",
    activation: str = "relu",
    eps: float | str = 1e-05,
    causal: bool = False,
    offset: int = 0,
    window: tuple | None = None,
    softcap: float | str | None = None,
    masks_by_head: bool = False,
    empty: str = "zero",
) -> Spec:
    need_flag(norm_first=norm_first)
    given = normed(norm, x, gamma_1, beta_1, eps, 1) if norm_first else x
    mixed = find("multi_head").shape(
        given, given, given, mask, w_q, b_q, w_k, b_k, w_v, b_v, w_o, b_o, bias, heads=heads,
        kv_heads=kv_heads, causal=causal, offset=offset, window=window, softcap=softcap,
        masks_by_head=masks_by_head, empty=empty,
    )  # fmt: skip
    y = added(x, mixed, "attention")
    y = y if norm_first else normed(norm, y, gamma_1, beta_1, eps, 1)
    given = normed(norm, y, gamma_2, beta_2, eps, 2) if norm_first else y
    fed = find("feed_forward").shape(given, w_in, b_in, w_out, b_out, w_gate, b_gate, activation=activation)
    z = added(y, fed, "feed_forward")
    return z if norm_first else normed(norm, z, gamma_2, beta_2, eps, 2)


def expand(
    g, x, mask, gamma_1, beta_1, w_q, b_q, w_k, b_k, w_v, b_v, w_o, b_o, gamma_2, beta_2, w_in, b_in, w_out,
    b_out, w_gate, b_gate, bias, *, heads, kv_heads, norm_first, norm, activation, eps, causal, offset,
    window, softcap, masks_by_head, empty,
):  # fmt: skip
    def attend(x):
        return g.multi_head(
            x, x, x, mask, w_q, b_q, w_k, b_k, w_v, b_v, w_o, b_o, bias, heads=heads, kv_heads=kv_heads,
            causal=causal, offset=offset, window=window, softcap=softcap, masks_by_head=masks_by_head,
            empty=empty, name="attention", title="Multi-head self-attention",
        )  # fmt: skip

    def feed(x):
        return g.feed_forward(
            x, w_in, b_in, w_out, b_out, w_gate, b_gate, activation=activation, name="feed_forward"
        )

    common = {"norm": norm, "eps": eps, "norm_first": norm_first}
    y = sublayer(g, x, attend, gamma=gamma_1, beta=beta_1, which=1, **common)
    return sublayer(g, y, feed, gamma=gamma_2, beta=beta_2, which=2, **common)


def note(*_, heads, causal, norm_first, **__) -> str:
    return "   ".join([f"h={heads}"] + ["causal"] * causal + ["pre-LN" if norm_first else "post-LN"])


x = [[0.5, -1.25, 2.0, 0.75], [1.5, 1.0, -3.0, 0.25], [-0.5, 0.1, 0.4, -1.0]]
w = [[0.5, 1.0, 0.25, -0.5], [-1.0, 0.0, 2.0, 0.1], [0.3, 0.2, 0.1, 0.0], [1.0, -1.0, 0.5, 0.7]]
b = [0.1, -0.2, 0.3, 0.0]
wide = [[0.5, 1.0, 0.25, -0.5], [-1.0, 0.0, 2.0, 0.1]]
w_in, b_in, w_out = [*w, *wide], [0.1, 0.2, -0.3, 0.0, 0.5, -0.6], [[*row, 0.25, -0.75] for row in w]
attention = (w, b, w, b, w, b, w, b)
grouped = (w, None, wide, None, wide, None, w, None)

register(
    Op(
        name="encoder_layer",
        title="encoder layer",
        glyph="▤",
        family="composite",
        formula="attention, then feed-forward, each with norm and residual",
        level="block",
        shape=shape,
        expand=expand,
        note=note,
        samples=(
            Sample((x, None, b, b, *attention, b, b, w_in, b_in, w_out, b), {"heads": 2, "causal": True}),
            Sample(
                (x, [[True, False, True]], b, b, *attention, None, None, w_in, b_in, w_out, b),
                {"heads": 2, "norm_first": False, "activation": "gelu", "eps": "1e-12"},
            ),
            Sample(
                (x, None, b, None, *grouped, b, None, w_in, None, w_out, None, w_in),
                {"heads": 2, "kv_heads": 1, "norm": "rmsnorm", "activation": "silu", "window": (1, 0)},
            ),
        ),
        rejects=(
            Reject(
                (Spec((3, 4)), *(None,) * 13, Spec((6, 4)), None, Spec((3, 6))),
                {"heads": 2},
                "feed_forward gives 3 × 3; expected the shape of x, 3 × 4, to add it",
            ),
            Reject(
                (Spec((3, 4)), None, None, Spec((4,))),
                {"heads": 2, "norm": "rmsnorm"},
                "beta_1 is given, but rmsnorm has no beta; expected none",
            ),
            Reject((Spec((3, 4)),), {"heads": 2, "norm": "batchnorm"}, "expected 'layernorm' or 'rmsnorm'"),
            Reject((Spec((3, 4)),), {"heads": 2, "norm_first": 0}, "norm_first is 0; expected True or False"),
            Reject((Spec((3, 4)),), {"heads": 3}, "4 features do not divide into 3 heads"),
        ),
    )
)
