"""Phi-1 and Phi-2 (Li et al. 2023): attention and feed-forward side by side behind one norm, part of each head
turned, and a head with a bias."""

from __future__ import annotations

from ...core.graph import Tensor
from ..assembly import Assembly
from ..rotary import rotary

PREFIXES = ("model.",)
VOCABULARY = 51200
LAYER = {
    "gamma_1": ("input_layernorm.weight", "d"),
    "beta_1": ("input_layernorm.bias", "d"),
    "w_q": ("self_attn.q_proj.weight", "d d"),
    "b_q": ("self_attn.q_proj.bias", "d"),
    "w_k": ("self_attn.k_proj.weight", "k d"),
    "b_k": ("self_attn.k_proj.bias", "k"),
    "w_v": ("self_attn.v_proj.weight", "k d"),
    "b_v": ("self_attn.v_proj.bias", "k"),
    "w_o": ("self_attn.dense.weight", "d d"),
    "b_o": ("self_attn.dense.bias", "d"),
    "w_in": ("mlp.fc1.weight", "f d"),
    "b_in": ("mlp.fc1.bias", "f"),
    "w_out": ("mlp.fc2.weight", "d f"),
    "b_out": ("mlp.fc2.bias", "d"),
}


def build(a: Assembly) -> Tensor:
    c = a.config
    d, heads = c.size("hidden_size", 2048), c.size("num_attention_heads", 32)
    groups = c.size("num_key_value_heads", heads)
    width = max(d // heads, 1)
    a.promise(
        c.size("num_hidden_layers", 24),
        "layers.{}.",
        d=d,
        k=groups * width,
        f=c.size("intermediate_size", 8192),
        v=c.size("vocab_size", VOCABULARY),
    )
    c.need("qk_layernorm", False)
    eps = c.number("layer_norm_eps", 1e-5)
    settings = {
        "heads": heads,
        "kv_heads": None if groups == heads else groups,
        "activation": a.activation("hidden_act", "gelu_new"),
        "eps": eps,
        "causal": True,
        "parallel": True,
        **rotary(a, width, part=0.5),
    }
    x = a.token_embedding("embed_tokens.weight", tied=c.flag("tie_word_embeddings", False))
    for i in range(a.layers):
        weights = a.parameters(f"layer{i}", f"layers.{i}.", LAYER)
        both = {"gamma_2": weights["gamma_1"], "beta_2": weights["beta_1"]}
        x = a.layer(i, x, **weights, **both, **settings)
    if not a.whole:
        return x
    x = a.layernorm(x, "norm", "final_layernorm", eps)
    a.next_token(x, a.head("v d"), a.parameter("head_bias", "lm_head.bias", "v", "b"))
    return x
