"""z = y + feed_forward(norm2(y)), y = x + multi_head(norm1(x)): a transformer encoder layer.

That is pre-LN, as in GPT-2 and Llama; norm_first=False is post-LN, as in BERT:
z = norm2(y + feed_forward(y)), y = norm1(x + multi_head(x)). post_norm=True norms what each sub-layer
gives before it is added, y = x + norm′(multi_head(norm1(x))), as in Gemma 2, and without norm_first,
y = x + norm′(multi_head(x)), as in OLMo 2. parallel=True feeds both sub-layers x, as in GPT-NeoX:
z = x + multi_head(norm1(x)) + feed_forward(norm2(x)).

x (…, n, d). gamma_1, beta_1, gamma_2, beta_2 (d) are the norms' rows, post_gamma_1, … those of post_norm,
w_in … b_gate the parameters of feed_forward; norm="rmsnorm" takes no beta. Everything else (mask,
the projections, heads, kv_heads, causal, window, rotary, cos, sin, gamma_q, sink, …) is handed on to
multi_head. Vaswani et al. 2017, section 3; norm_first: Xiong et al. 2020.
"""

from __future__ import annotations

from typing import Any

from ..core.axes import Spec, need_flag
from ..core.errors import Rejected
from ..core.layers import built, put, sublayer
from ..core.op import Op, Reject, Sample, register


def layer(
    x: Spec,
    mask: Spec | None = None,
    gamma_1: Spec | None = None,
    beta_1: Spec | None = None,
    gamma_2: Spec | None = None,
    beta_2: Spec | None = None,
    w_in: Spec | None = None,
    b_in: Spec | None = None,
    w_out: Spec | None = None,
    b_out: Spec | None = None,
    w_gate: Spec | None = None,
    b_gate: Spec | None = None,
    post_gamma_1: Spec | None = None,
    post_beta_1: Spec | None = None,
    post_gamma_2: Spec | None = None,
    post_beta_2: Spec | None = None,
    *,
    norm_first: bool = True,
    post_norm: bool = False,
    parallel: bool = False,
    norm: str = "layernorm",
    activation: str = "relu",
    eps: float | str = 1e-05,
    **attention: Any,
) -> Spec:
    def attend(x: Any) -> Any:
        return put(
            "multi_head", x, x, x, mask, **attention, name="attention",
            title="Multi-head self-attention",
        )  # fmt: skip

    def feed(x: Any) -> Any:
        return put(
            "feed_forward", x, w_in, b_in, w_out, b_out, w_gate, b_gate, activation=activation,
            name="feed_forward",
        )  # fmt: skip

    need_flag(parallel=parallel)
    if parallel and norm_first is False and not post_norm:
        raise Rejected("parallel is True and norm_first is False; expected a norm before both sub-layers")
    common = {"norm": norm, "eps": eps, "norm_first": norm_first, "post_norm": post_norm}
    y = sublayer(
        x, attend, what="attention", which=1, gain=(gamma_1, beta_1), post_gain=(post_gamma_1, post_beta_1),
        **common,
    )  # fmt: skip
    return sublayer(
        x if parallel else y, feed, what="feed_forward", which=2, gain=(gamma_2, beta_2),
        post_gain=(post_gamma_2, post_beta_2), onto=y, **common,
    )  # fmt: skip


def note(*_, heads, causal, norm_first, post_norm, parallel, **__) -> str:
    placed = {
        (True, False): "pre-LN", (False, False): "post-LN", (True, True): "pre- and post-LN",
        (False, True): "LN inside",
    }[norm_first, post_norm]  # fmt: skip
    return "   ".join([f"h={heads}"] + ["causal"] * causal + [placed] + ["parallel"] * parallel)


x = [[0.5, -1.25, 2.0, 0.75], [1.5, 1.0, -3.0, 0.25], [-0.5, 0.1, 0.4, -1.0]]
w = [[0.5, 1.0, 0.25, -0.5], [-1.0, 0.0, 2.0, 0.1], [0.3, 0.2, 0.1, 0.0], [1.0, -1.0, 0.5, 0.7]]
b = [0.1, -0.2, 0.3, 0.0]
wide = [[0.5, 1.0, 0.25, -0.5], [-1.0, 0.0, 2.0, 0.1]]
w_in, b_in, w_out = [*w, *wide], [0.1, 0.2, -0.3, 0.0, 0.5, -0.6], [[*row, 0.25, -0.75] for row in w]
attention = (w, b, w, b, w, b, w, b)
grouped = (w, None, wide, None, wide, None, w, None)
no_post = (None,) * 4
cos, sin = [[1.0], [0.5], [-0.4]], [[0.0], [0.8], [0.9]]

register(
    Op(
        name="encoder_layer",
        title="encoder layer",
        glyph="▤",
        family="composite",
        formula="attention, then feed-forward, each with norm and residual",
        level="block",
        shape=layer,
        expand=built(layer),
        note=note,
        hands_on="multi_head",
        sets=("q", "k", "v"),
        samples=(
            Sample(
                (x, None, b, b, b, b, w_in, b_in, w_out, b, None, None, *no_post, *attention),
                {"heads": 2, "causal": True},
            ),
            Sample(
                (
                    x,
                    [[True, False, True]],
                    b,
                    b,
                    None,
                    None,
                    w_in,
                    b_in,
                    w_out,
                    b,
                    None,
                    None,
                    *no_post,
                    *attention,
                ),
                {"heads": 2, "norm_first": False, "activation": "gelu", "eps": "1e-12"},
            ),
            Sample(  # as Llama and Qwen 3
                (
                    x,
                    None,
                    b,
                    None,
                    b,
                    None,
                    w_in,
                    None,
                    w_out,
                    None,
                    w_in,
                    None,
                    *no_post,
                    *grouped,
                    *(None,) * 5,
                    b[:2],
                    b[1:3],
                    cos,
                    sin,
                ),
                {
                    "heads": 2,
                    "kv_heads": 1,
                    "norm": "rmsnorm",
                    "activation": "silu",
                    "window": (1, 0),
                    "causal": True,
                },
            ),
            Sample(  # as Gemma 2
                (x, None, b, None, b, None, w_in, None, w_out, None, w_in, None, b, None, b, None, *grouped),
                {
                    "heads": 2,
                    "kv_heads": 1,
                    "norm": "rmsnorm",
                    "activation": "gelu_tanh",
                    "post_norm": True,
                    "softcap": 5,
                    "rotary": 100,
                    "scale": "0.25",
                },
            ),
            Sample(  # as GPT-NeoX
                (x, None, b, b, b, b, w_in, b_in, w_out, b, None, None, *no_post, *attention),
                {"heads": 1, "parallel": True, "rotary": 100, "rotary_pairs": 1, "activation": "gelu"},
            ),
            Sample(  # as OLMo 2
                (x, *(None,) * 5, w_in, None, w_out, None, None, None, b, None, None, None),
                {"heads": 2, "norm": "rmsnorm", "norm_first": False, "post_norm": True},
            ),
        ),
        rejects=(
            Reject(
                (Spec((3, 4)), *(None,) * 5, Spec((6, 4)), None, Spec((3, 6))),
                {"heads": 2},
                "feed_forward gives 3 × 3; expected the shape of x, 3 × 4, to add it",
            ),
            Reject(
                (Spec((3, 4)), None, None, Spec((4,))),
                {"heads": 2, "norm": "rmsnorm"},
                "beta_1 is given, but rmsnorm has no beta; expected none",
            ),
            Reject(
                (Spec((3, 4)), None, Spec((3,))), {"heads": 2}, "norm1: gamma_1 is 3; expected one row of 4"
            ),
            Reject(
                (Spec((3, 4)), *(None,) * 11, Spec((4,))),
                {"heads": 2},
                "post_gamma_1 is given, but post_norm=False leaves out its norm; expected none",
            ),
            Reject(
                (Spec((3, 4)), None, Spec((4,))),
                {"heads": 2, "norm_first": False, "post_norm": True},
                "gamma_1 is given, but norm_first=False and post_norm=True leaves out its norm",
            ),
            Reject(
                (Spec((3, 4)),),
                {"heads": 2, "norm_first": False, "parallel": True},
                "parallel is True and norm_first is False; expected a norm before both sub-layers",
            ),
            Reject((Spec((3, 4)),), {"heads": 2, "parallel": 1}, "parallel is 1; expected True or False"),
            Reject((Spec((3, 4)),), {"heads": 2, "norm": "batchnorm"}, "expected 'layernorm' or 'rmsnorm'"),
            Reject((Spec((3, 4)),), {"heads": 2, "norm_first": 0}, "norm_first is 0; expected True or False"),
            Reject(
                (Spec((3, 4)),), {"heads": 3}, "the 4 features of q do not divide into 3 heads; 2 or 4 would do"
            ),
        ),
    )
)
