"""GPT-Neo (Black et al. 2021) and TinyStories: GPT-2 with scores as they are, every other layer in a window."""

from __future__ import annotations

from ...core.graph import Tensor
from ..assembly import Assembly
from ..config import Config

PREFIXES = ("transformer.",)
VOCABULARY = 50257
BUFFERS = (r"h\.\d+\.attn\.attention\.(bias|masked_bias)",)
"""Masks that older files hold."""
LAYER = {
    "gamma_1": ("ln_1.weight", "d"),
    "beta_1": ("ln_1.bias", "d"),
    "w_q": ("attn.attention.q_proj.weight", "d d"),
    "w_k": ("attn.attention.k_proj.weight", "d d"),
    "w_v": ("attn.attention.v_proj.weight", "d d"),
    "w_o": ("attn.attention.out_proj.weight", "d d"),
    "b_o": ("attn.attention.out_proj.bias", "d"),
    "gamma_2": ("ln_2.weight", "d"),
    "beta_2": ("ln_2.bias", "d"),
    "w_in": ("mlp.c_fc.weight", "f d"),
    "b_in": ("mlp.c_fc.bias", "f"),
    "w_out": ("mlp.c_proj.weight", "d f"),
    "b_out": ("mlp.c_proj.bias", "d"),
}


def build(a: Assembly) -> Tensor:
    c = a.config
    d, layers = c.size("hidden_size", 2048), c.size("num_layers", 24)
    a.promise(
        layers,
        "h.{}.",
        d=d,
        f=c.size("intermediate_size", 4 * d),
        v=c.size("vocab_size", VOCABULARY),
        p=c.size("max_position_embeddings", 2048),
    )
    eps = c.number("layer_norm_epsilon", 1e-5)
    settings = {
        "heads": c.size("num_heads", 16),
        "activation": a.activation("activation_function", "gelu_new"),
        "eps": eps,
        "causal": True,
        "scale": 1.0,
    }
    window = (c.size("window_size", 256) - 1, 0)
    windows = {"global": None, "local": window}
    kinds = kinds_of(c, layers)
    a.weights.ignore(*BUFFERS)
    tokens = a.token_embedding("wte.weight", tied=c.flag("tie_word_embeddings", True))
    x = a.sum(tokens, a.position_embedding("wpe.weight"), name="x", title="residual stream")
    for i in range(a.layers):
        weights = a.parameters(f"layer{i}", f"h.{i}.", LAYER)
        x = a.layer(i, x, **weights, **settings, window=windows[kinds[i]])
    if not a.whole:
        return x
    x = a.layernorm(x, "norm", "ln_f", eps)
    a.next_token(x, a.head("v d"))
    return x


def kinds_of(c: Config, layers: int) -> list[str]:
    """ "global" or "local" for each layer: as listed, or as [[kinds, times], …] says it."""
    types = c.get("attention_types", [[["global", "local"], layers // 2]])
    kinds = c.get("attention_layers")
    if kinds is None:
        try:
            kinds = [kind for names, times in types for kind in names * min(times, layers)]
        except (TypeError, ValueError):
            kinds = []
    if not isinstance(kinds, list) or len(kinds) != layers or not {"global", "local"}.issuperset(kinds):
        raise c.wrong("attention_types", types, f"global or local for each of {layers} layers")
    return kinds
