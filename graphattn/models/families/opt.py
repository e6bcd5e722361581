"""OPT (Zhang et al. 2022): pre-LN causal layers with ReLU, learned positions that count from 2, a tied head."""

from __future__ import annotations

from ...core.graph import Tensor
from ..assembly import Assembly

PREFIXES = ("model.decoder.", "decoder.")
VOCABULARY = 50272
FIRST = 2
"""The position of the first token: the table has two rows that are never used."""
EPS = 1e-5
LAYER = {
    "w_q": ("self_attn.q_proj.weight", "d d"),
    "b_q": ("self_attn.q_proj.bias", "d"),
    "w_k": ("self_attn.k_proj.weight", "d d"),
    "b_k": ("self_attn.k_proj.bias", "d"),
    "w_v": ("self_attn.v_proj.weight", "d d"),
    "b_v": ("self_attn.v_proj.bias", "d"),
    "w_o": ("self_attn.out_proj.weight", "d d"),
    "b_o": ("self_attn.out_proj.bias", "d"),
    "gamma_1": ("self_attn_layer_norm.weight", "d"),
    "beta_1": ("self_attn_layer_norm.bias", "d"),
    "w_in": ("fc1.weight", "f d"),
    "b_in": ("fc1.bias", "f"),
    "w_out": ("fc2.weight", "d f"),
    "b_out": ("fc2.bias", "d"),
    "gamma_2": ("final_layer_norm.weight", "d"),
    "beta_2": ("final_layer_norm.bias", "d"),
}


def build(a: Assembly) -> Tensor:
    c = a.config
    d = c.size("hidden_size", 768)
    a.promise(
        c.size("num_hidden_layers", 12),
        "layers.{}.",
        d=d,
        f=c.size("ffn_dim", 3072),
        v=c.size("vocab_size", VOCABULARY),
        p=c.size("max_position_embeddings", 2048) + FIRST,
    )
    c.need("word_embed_proj_dim", d)
    for always in ("do_layer_norm_before", "enable_bias", "layer_norm_elementwise_affine"):
        c.need(always, True)
    tokens = a.token_embedding("embed_tokens.weight", tied=c.flag("tie_word_embeddings", True))
    positions = a.position_embedding("embed_positions.weight", start=FIRST)
    x = a.sum(tokens, positions, name="x", title="residual stream")
    x = a.encoder(
        x,
        "layers.{}.",
        LAYER,
        heads=c.size("num_attention_heads", 12),
        activation=a.activation("activation_function", "relu"),
        eps=EPS,
        causal=True,
    )
    if not a.whole:
        return x
    x = a.layernorm(x, "norm", "final_layer_norm", EPS)
    a.next_token(x, a.head("v d"))
    return x
