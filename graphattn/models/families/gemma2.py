"""Gemma 2 (2024): Llama with norms before and after each sub-layer, gains 1 + γ, softcaps, alternating windows.

The embeddings are multiplied by √d; scores are divided by √query_pre_attn_scalar.
"""

from __future__ import annotations

import math

from ...core.graph import Tensor
from ..assembly import Assembly
from . import llama

PREFIXES = llama.PREFIXES
VOCABULARY = 256000
GAINS = {
    "gamma_1": "input_layernorm.weight",
    "post_gamma_1": "post_attention_layernorm.weight",
    "gamma_2": "pre_feedforward_layernorm.weight",
    "post_gamma_2": "post_feedforward_layernorm.weight",
}


def build(a: Assembly) -> Tensor:
    c = a.config
    settings = llama.sizes(a, head_dim=256)
    settings["activation"] = a.activation("hidden_activation", "gelu_pytorch_tanh")
    settings |= {
        "post_norm": True,
        "scale": c.number("query_pre_attn_scalar", 256) ** -0.5,
        "softcap": c.get("attn_logit_softcapping"),
    }
    cap = c.get("final_logit_softcapping")
    layers = a.sizes["layers"]
    kinds = ["full_attention" if i % 2 else "sliding_attention" for i in range(layers)]
    windows = llama.windows(a, c.size("sliding_window", 4096), kinds)
    table = dict(llama.PROJECTIONS)
    if c.flag("attention_bias"):
        table |= llama.QKV_BIASES | llama.OUT_BIAS
    tied = c.flag("tie_word_embeddings", True)
    tokens = a.token_embedding("embed_tokens.weight", whole=a.whole and tied)
    x = a.graph.multiply(tokens, math.sqrt(a.sizes["d"]), name="x", title="× √d")
    for i in range(a.layers):
        weights = a.parameters(f"layer{i}", f"layers.{i}.", table)
        for operand, stored in GAINS.items():
            weights[operand] = gain(a, f"layer{i}_{operand}", f"layers.{i}.{stored}")
        x = a.layer(i, x, **weights, **settings, **a.past(i), window=windows.get(i))
    if not a.whole:
        return x
    gamma = gain(a, "norm_gamma", "norm.weight")
    x = a.graph.rmsnorm(x, gamma, eps=settings["eps"], name="norm", title="final RMSNorm")
    a.next_token(x, a.head("v d", tied=tied), cap=cap)
    return x


def gain(a: Assembly, name: str, stored: str) -> Tensor:
    """1 + γ: what is stored is the difference to 1."""
    return a.graph.add(a.parameter(f"{name}_stored", stored, "d", "γ"), 1.0, name=name, title="1 + γ")
