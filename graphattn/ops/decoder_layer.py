"""z = y₂ + feed_forward(norm3(y₂)), y₂ = y₁ + attend(norm2(y₁), memory), y₁ = x + attend(norm1(x)).

A transformer decoder layer: causal self-attention, attention to `memory` (an encoder's output), and
feed-forward, each with a norm and a residual; norm_first=False puts each norm after the residual.

x (…, n, d), memory (…, m, d). The parameters of self-attention are w_q … b_o, those of attention to
memory are w_q2 … b_o2, those of the norms gamma_1 … beta_3, those of feed_forward w_in … b_gate; mask
goes to self-attention, memory_mask to the other. Vaswani et al. 2017, section 3.
"""

from __future__ import annotations

from ..core.axes import Spec, need_flag
from ..core.layers import added, normed, sublayer
from ..core.op import Op, Reject, Sample, find, register


def shape(
    x: Spec,
    memory: Spec,
    mask: Spec | None = None,
    memory_mask: Spec | None = None,
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
    w_q2: Spec | None = None,
    b_q2: Spec | None = None,
    w_k2: Spec | None = None,
    b_k2: Spec | None = None,
    w_v2: Spec | None = None,
    b_v2: Spec | None = None,
    w_o2: Spec | None = None,
    b_o2: Spec | None = None,
    gamma_3: Spec | None = None,
    beta_3: Spec | None = None,
    w_in: Spec | None = None,
    b_in: Spec | None = None,
    w_out: Spec | None = None,
    b_out: Spec | None = None,
    w_gate: Spec | None = None,
    b_gate: Spec | None = None,
    *,
    heads: int,
    norm_first: bool = True,
    norm: str = "layernorm",
    activation: str = "relu",
    eps: float | str = 1e-05,
    causal: bool = True,
    offset: int = 0,
    empty: str = "zero",
) -> Spec:
    need_flag(norm_first=norm_first)

    def joined(y: Spec, inner, gamma: Spec | None, beta: Spec | None, which: int, what: str) -> Spec:
        given = normed(norm, y, gamma, beta, eps, which) if norm_first else y
        y = added(y, inner(given), what)
        return y if norm_first else normed(norm, y, gamma, beta, eps, which)

    attention, feed_forward = find("multi_head").shape, find("feed_forward").shape
    own, other = (w_q, b_q, w_k, b_k, w_v, b_v, w_o, b_o), (w_q2, b_q2, w_k2, b_k2, w_v2, b_v2, w_o2, b_o2)
    fed = (w_in, b_in, w_out, b_out, w_gate, b_gate)
    y = joined(
        x,
        lambda x: attention(x, x, x, mask, *own, heads=heads, causal=causal, offset=offset, empty=empty),
        gamma_1, beta_1, 1, "attention",
    )  # fmt: skip
    y = joined(
        y,
        lambda y: attention(y, memory, memory, memory_mask, *other, heads=heads, empty=empty),
        gamma_2, beta_2, 2, "attention to memory",
    )  # fmt: skip
    return joined(y, lambda y: feed_forward(y, *fed, activation=activation), gamma_3, beta_3, 3, "feed_forward")


def expand(
    g, x, memory, mask, memory_mask, gamma_1, beta_1, w_q, b_q, w_k, b_k, w_v, b_v, w_o, b_o, gamma_2, beta_2,
    w_q2, b_q2, w_k2, b_k2, w_v2, b_v2, w_o2, b_o2, gamma_3, beta_3, w_in, b_in, w_out, b_out, w_gate, b_gate,
    *, heads, norm_first, norm, activation, eps, causal, offset, empty,
):  # fmt: skip
    def attend(x):
        return g.multi_head(
            x, x, x, mask, w_q, b_q, w_k, b_k, w_v, b_v, w_o, b_o, heads=heads, causal=causal, offset=offset,
            empty=empty, name="attention", title="Multi-head self-attention",
        )  # fmt: skip

    def recall(x):
        return g.multi_head(
            x, memory, memory, memory_mask, w_q2, b_q2, w_k2, b_k2, w_v2, b_v2, w_o2, b_o2, heads=heads,
            empty=empty, name="memory_attention", title="Multi-head attention to memory",
        )  # fmt: skip

    def feed(x):
        return g.feed_forward(
            x, w_in, b_in, w_out, b_out, w_gate, b_gate, activation=activation, name="feed_forward"
        )

    common = {"norm": norm, "eps": eps, "norm_first": norm_first}
    y = sublayer(g, x, attend, gamma=gamma_1, beta=beta_1, which=1, **common)
    y = sublayer(g, y, recall, gamma=gamma_2, beta=beta_2, which=2, **common)
    return sublayer(g, y, feed, gamma=gamma_3, beta=beta_3, which=3, **common)


def note(*_, heads, causal, norm_first, **__) -> str:
    return "   ".join([f"h={heads}"] + ["causal"] * causal + ["pre-LN" if norm_first else "post-LN"])


x = [[0.5, -1.25, 2.0, 0.75], [1.5, 1.0, -3.0, 0.25], [-0.5, 0.1, 0.4, -1.0]]
memory = [[1.0, 0.0, -1.0, 0.5], [0.3, -0.6, 0.9, 1.2]]
w = [[0.5, 1.0, 0.25, -0.5], [-1.0, 0.0, 2.0, 0.1], [0.3, 0.2, 0.1, 0.0], [1.0, -1.0, 0.5, 0.7]]
b = [0.1, -0.2, 0.3, 0.0]
w_in, b_in = [*w, w[0]], [0.1, 0.2, -0.3, 0.0, 0.5]
w_out = [[*row, 0.25] for row in w]
norm, attention, fed = (b, b), (w, b, w, b, w, b, w, b), (w_in, b_in, w_out, b)
bare = (None, None)

register(
    Op(
        name="decoder_layer",
        title="decoder layer",
        glyph="▥",
        family="composite",
        formula="self-attention, attention to memory, feed-forward",
        level="block",
        shape=shape,
        expand=expand,
        note=note,
        samples=(
            Sample(
                (x, memory, None, [[True, False]] * 3, *norm, *attention, *norm, *attention, *norm, *fed),
                {"heads": 2},
            ),
            Sample(
                (x, memory, None, None, *bare, *attention, *bare, *attention, *bare, *fed),
                {"heads": 1, "norm_first": False, "activation": "gelu", "causal": False},
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
            Reject((Spec((3, 4)), Spec((2, 4))), {"heads": 3}, "4 features do not divide into 3 heads"),
        ),
    )
)
