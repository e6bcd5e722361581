"""GPT-2 (Radford et al. 2019): pre-LN causal layers, learned positions, a head that is the token table.

Weights are stored (in, out), and q|k|v of all heads as one.
"""

from __future__ import annotations

from ...core.graph import Tensor
from ..assembly import Assembly

PREFIXES = ("transformer.",)
VOCABULARY = 50257
BUFFERS = (r"h\.\d+\.attn\.(bias|masked_bias)",)
"""Causal masks that older files hold."""
TURNED = {
    "w_o": ("attn.c_proj.weight", "d d"),
    "w_in": ("mlp.c_fc.weight", "d f"),
    "w_out": ("mlp.c_proj.weight", "f d"),
}
STRAIGHT = {
    "gamma_1": ("ln_1.weight", "d"),
    "beta_1": ("ln_1.bias", "d"),
    "b_o": ("attn.c_proj.bias", "d"),
    "gamma_2": ("ln_2.weight", "d"),
    "beta_2": ("ln_2.bias", "d"),
    "b_in": ("mlp.c_fc.bias", "f"),
    "b_out": ("mlp.c_proj.bias", "d"),
}


def build(a: Assembly) -> Tensor:
    c = a.config
    d = c.size("n_embd", 768)
    a.promise(
        c.size("n_layer", 12),
        "h.{}.",
        d=d,
        f=c.size("n_inner", 4 * d),
        c=3 * d,
        v=c.size("vocab_size", VOCABULARY),
        p=c.size("n_positions", 1024),
    )
    c.get("n_ctx")  # an older name of n_positions
    eps = c.number("layer_norm_epsilon", 1e-5)
    settings = {
        "heads": c.size("n_head", 12),
        "activation": a.activation("activation_function", "gelu_new"),
        "eps": eps,
        "causal": True,
    }
    scale = scales(a, max(d // settings["heads"], 1))
    a.weights.ignore(*BUFFERS)
    tokens = a.token_embedding("wte.weight", tied=c.flag("tie_word_embeddings", True))
    x = a.sum(tokens, a.position_embedding("wpe.weight"), name="x", title="residual stream")
    for i in range(a.layers):
        weights = a.parameters(f"layer{i}", "", layer(a, f"h.{i}."))
        x = a.layer(i, x, **weights, **settings, scale=scale[i])
    if not a.whole:
        return x
    x = a.layernorm(x, "norm", "ln_f", eps)
    a.next_token(x, a.head("v d"))
    return x


def scales(a: Assembly, width: int) -> list[float | None]:
    """What each layer's scores are multiplied by: 1/√dₖ (None), or nothing; divided by the layer's number from
    1 on where that is asked for."""
    scaled = a.config.flag("scale_attn_weights", True)
    if not a.config.flag("scale_attn_by_inverse_layer_idx"):
        return [None if scaled else 1.0] * a.layers
    return [(width**-0.5 if scaled else 1.0) / (i + 1) for i in range(a.layers)]


def layer(a: Assembly, prefix: str) -> dict:
    """The tensors of a layer as `encoder_layer` takes them: (out, in), and q, k, v apart."""
    w = a.take(f"{prefix}attn.c_attn.weight", "d c").T.split(*[a.sizes["d"]] * 3)
    b = a.take(f"{prefix}attn.c_attn.bias", "c").split(*[a.sizes["d"]] * 3)
    found = {f"w_{name}": (part, "d d") for name, part in zip("qkv", w, strict=True)}
    found |= {f"b_{name}": (part, "d") for name, part in zip("qkv", b, strict=True)}
    for operand, (stored, letters) in TURNED.items():
        found[operand] = (a.take(prefix + stored, letters).T, " ".join(letters.split()[::-1]))
    for operand, (stored, letters) in STRAIGHT.items():
        found[operand] = (a.take(prefix + stored, letters), letters)
    return found
