"""z = y₂ + feed_forward(norm3(y₂)), y₂ = y₁ + attend(norm2(y₁), memory), y₁ = x + attend(norm1(x)).

A transformer decoder layer: causal self-attention, attention to `memory` (an encoder's output), and
feed-forward, each with a norm and a residual; norm_first=False puts each norm after the residual.

x (…, n, d), memory (…, m, d). The parameters of attention to memory are w_q2 … b_o2, those of the norms
gamma_1 … beta_3, those of feed_forward w_in … b_gate; mask goes to self-attention, memory_mask to the
other. Everything else is handed on to multi_head for self-attention; heads, kv_heads, scale, softcap and
empty hold for both. Vaswani et al. 2017, section 3.
"""

from __future__ import annotations

from typing import Any

from ..core.axes import Spec
from ..core.layers import built, put, sublayer
from ..core.op import Op, Reject, Sample, register

SHARED = ("heads", "kv_heads", "scale", "softcap", "empty")


def layer(
    x: Spec,
    memory: Spec,
    mask: Spec | None = None,
    memory_mask: Spec | None = None,
    gamma_1: Spec | None = None,
    beta_1: Spec | None = None,
    gamma_2: Spec | None = None,
    beta_2: Spec | None = None,
    gamma_3: Spec | None = None,
    beta_3: Spec | None = None,
    w_in: Spec | None = None,
    b_in: Spec | None = None,
    w_out: Spec | None = None,
    b_out: Spec | None = None,
    w_gate: Spec | None = None,
    b_gate: Spec | None = None,
    w_q2: Spec | None = None,
    b_q2: Spec | None = None,
    w_k2: Spec | None = None,
    b_k2: Spec | None = None,
    w_v2: Spec | None = None,
    b_v2: Spec | None = None,
    w_o2: Spec | None = None,
    b_o2: Spec | None = None,
    *,
    norm_first: bool = True,
    norm: str = "layernorm",
    activation: str = "relu",
    eps: float | str = 1e-05,
    causal: bool = True,
    **attention: Any,
) -> Spec:
    def attend(x: Any) -> Any:
        return put(
            "multi_head", x, x, x, mask, causal=causal, **attention, name="attention",
            title="Multi-head self-attention",
        )  # fmt: skip

    def recall(x: Any) -> Any:
        return put(
            "multi_head", x, memory, memory, memory_mask, w_q2, b_q2, w_k2, b_k2, w_v2, b_v2, w_o2, b_o2,
            **{name: attention[name] for name in SHARED}, name="memory_attention",
            title="Multi-head attention to memory",
        )  # fmt: skip

    def feed(x: Any) -> Any:
        return put(
            "feed_forward", x, w_in, b_in, w_out, b_out, w_gate, b_gate, activation=activation,
            name="feed_forward",
        )  # fmt: skip

    common = {"norm": norm, "eps": eps, "norm_first": norm_first}
    y = sublayer(x, attend, what="attention", which=1, gain=(gamma_1, beta_1), **common)
    y = sublayer(y, recall, what="attention to memory", which=2, gain=(gamma_2, beta_2), **common)
    return sublayer(y, feed, what="feed_forward", which=3, gain=(gamma_3, beta_3), **common)


def note(*_, heads, causal, norm_first, **__) -> str:
    return "   ".join([f"h={heads}"] + ["causal"] * causal + ["pre-LN" if norm_first else "post-LN"])


x = [[0.5, -1.25, 2.0, 0.75], [1.5, 1.0, -3.0, 0.25], [-0.5, 0.1, 0.4, -1.0]]
memory = [[1.0, 0.0, -1.0, 0.5], [0.3, -0.6, 0.9, 1.2]]
w = [[0.5, 1.0, 0.25, -0.5], [-1.0, 0.0, 2.0, 0.1], [0.3, 0.2, 0.1, 0.0], [1.0, -1.0, 0.5, 0.7]]
b = [0.1, -0.2, 0.3, 0.0]
w_in, b_in = [*w, w[0]], [0.1, 0.2, -0.3, 0.0, 0.5]
w_out = [[*row, 0.25] for row in w]
norm, attention, fed = (b, b), (w, b, w, b, w, b, w, b), (w_in, b_in, w_out, b)

register(
    Op(
        name="decoder_layer",
        title="decoder layer",
        glyph="▥",
        family="composite",
        formula="self-attention, attention to memory, feed-forward",
        level="block",
        shape=layer,
        expand=built(layer),
        note=note,
        hands_on="multi_head",
        sets=("q", "k", "v"),
        samples=(
            Sample(
                (
                    x,
                    memory,
                    None,
                    [[True, False]] * 3,
                    *norm,
                    *norm,
                    *norm,
                    *fed,
                    None,
                    None,
                    *attention,
                    *attention,
                ),
                {"heads": 2},
            ),
            Sample(
                (x, memory, *(None,) * 8, *fed, None, None, *attention, *attention),
                {"heads": 1, "norm_first": False, "activation": "gelu", "causal": False},
            ),
            Sample(
                (x, memory, None, None, *(b, None) * 3, *fed, None, None, *attention, *attention),
                {"heads": 2, "norm": "rmsnorm", "scale": 1, "softcap": 4, "window": (1, 0), "rotary": 100},
            ),
        ),
        rejects=(
            Reject(
                (Spec((3, 4)), Spec((2, 6))),
                {"heads": 2},
                "q has 2 features and k has 3; expected as many",
            ),
            Reject((Spec((3, 4)), Spec((2, 4))), {"heads": 2}, "w_in is left out; expected a matrix (f, d)"),
            Reject((Spec((3, 4)), Spec((2, 4))), {"heads": 2, "norm_first": "no"}, "norm_first is 'no'"),
            Reject(
                (Spec((3, 4)), Spec((2, 4))),
                {"heads": 3},
                "the 4 features of q do not divide into 3 heads; 2 or 4 would do",
            ),
        ),
    )
)
