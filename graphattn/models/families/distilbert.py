"""DistilBERT (Sanh et al. 2019): BERT with half the layers, no token types, and names of its own."""

from __future__ import annotations

from ...core.graph import Tensor
from ..assembly import Assembly

PREFIXES = ("distilbert.",)
VOCABULARY = 30522
EPS = 1e-12
"""Not a setting: transformers has it in the code."""
LAYER = {
    "w_q": ("attention.q_lin.weight", "d d"),
    "b_q": ("attention.q_lin.bias", "d"),
    "w_k": ("attention.k_lin.weight", "d d"),
    "b_k": ("attention.k_lin.bias", "d"),
    "w_v": ("attention.v_lin.weight", "d d"),
    "b_v": ("attention.v_lin.bias", "d"),
    "w_o": ("attention.out_lin.weight", "d d"),
    "b_o": ("attention.out_lin.bias", "d"),
    "gamma_1": ("sa_layer_norm.weight", "d"),
    "beta_1": ("sa_layer_norm.bias", "d"),
    "w_in": ("ffn.lin1.weight", "f d"),
    "b_in": ("ffn.lin1.bias", "f"),
    "w_out": ("ffn.lin2.weight", "d f"),
    "b_out": ("ffn.lin2.bias", "d"),
    "gamma_2": ("output_layer_norm.weight", "d"),
    "beta_2": ("output_layer_norm.bias", "d"),
}


def build(a: Assembly) -> Tensor:
    c = a.config
    a.promise(
        c.size("n_layers", 6),
        "transformer.layer.{}.",
        d=c.size("dim", 768),
        f=c.size("hidden_dim", 3072),
        v=c.size("vocab_size", VOCABULARY),
        p=c.size("max_position_embeddings", 512),
    )
    c.get("sinusoidal_pos_embds")  # how the table was made: it is stored either way
    embedded = a.sum(
        a.token_embedding("embeddings.word_embeddings.weight"),
        a.position_embedding("embeddings.position_embeddings.weight"),
        name="embedded",
        title="sum of embeddings",
    )
    return a.encoder(
        a.layernorm(embedded, "x", "embeddings.LayerNorm", EPS),
        "transformer.layer.{}.",
        LAYER,
        heads=c.size("n_heads", 12),
        activation=a.activation("activation", "gelu"),
        eps=EPS,
        norm_first=False,
    )
