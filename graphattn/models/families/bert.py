"""BERT and MiniLM: post-LN layers over token, position and type embeddings (Devlin et al. 2019).

    x = LayerNorm(token + position + type);  x = encoder_layer(x), post-LN, GELU (erf)

MiniLM (Wang et al. 2020) is a BERT of few and narrow layers.
"""

from __future__ import annotations

from typing import Any

from ...core.graph import Tensor
from ..assembly import Assembly

PREFIXES = ("bert.",)
VOCABULARY = 30522
LAYER = {
    "w_q": ("attention.self.query.weight", "d d"),
    "b_q": ("attention.self.query.bias", "d"),
    "w_k": ("attention.self.key.weight", "d d"),
    "b_k": ("attention.self.key.bias", "d"),
    "w_v": ("attention.self.value.weight", "d d"),
    "b_v": ("attention.self.value.bias", "d"),
    "w_o": ("attention.output.dense.weight", "d d"),
    "b_o": ("attention.output.dense.bias", "d"),
    "gamma_1": ("attention.output.LayerNorm.weight", "d"),
    "beta_1": ("attention.output.LayerNorm.bias", "d"),
    "w_in": ("intermediate.dense.weight", "f d"),
    "b_in": ("intermediate.dense.bias", "f"),
    "w_out": ("output.dense.weight", "d f"),
    "b_out": ("output.dense.bias", "d"),
    "gamma_2": ("output.LayerNorm.weight", "d"),
    "beta_2": ("output.LayerNorm.bias", "d"),
}


def build(a: Assembly) -> Tensor:
    sizes(a)
    return layers(a, embeddings(a))


def sizes(a: Assembly, pattern: str = "encoder.layer.{}.", **more: int) -> None:
    """What BERT and its kin call their sizes."""
    c = a.config
    a.promise(
        c.size("num_hidden_layers", 12),
        pattern,
        **more,  # pyright: ignore[reportArgumentType]
        d=c.size("hidden_size", 768),
        f=c.size("intermediate_size", 3072),
        v=c.size("vocab_size", VOCABULARY),
        p=c.size("max_position_embeddings", 512),
        t=c.size("type_vocab_size", 2),
    )
    c.need("position_embedding_type", "absolute")


def embeddings(a: Assembly, width: str = "d", start: int = 0) -> Tensor:
    """LayerNorm(token + position + type), with position `start` for the first token."""
    parts = (
        a.token_embedding("embeddings.word_embeddings.weight", f"v {width}"),
        a.position_embedding("embeddings.position_embeddings.weight", f"p {width}", start),
        a.type_embedding("embeddings.token_type_embeddings.weight", f"t {width}"),
    )
    embedded = a.sum(*parts, name="embedded", title="sum of embeddings")
    name = "x" if width == "d" else "normed"
    return a.layernorm(embedded, name, "embeddings.LayerNorm", a.config.number("layer_norm_eps", 1e-12), width)


def layers(a: Assembly, x: Tensor) -> Tensor:
    """Post-LN encoder layers."""
    return a.encoder(x, "encoder.layer.{}.", LAYER, **settings(a))


def settings(a: Assembly) -> dict[str, Any]:
    """The attributes of each layer."""
    return {
        "heads": a.config.size("num_attention_heads", 12),
        "activation": a.activation("hidden_act", "gelu"),
        "eps": a.config.number("layer_norm_eps", 1e-12),
        "norm_first": False,
    }
