"""BERT and MiniLM: post-LN layers over token, position and type embeddings (Devlin et al. 2019).

    x = LayerNorm(token + position + type);  x = encoder_layer(x), post-LN, GELU (erf)

MiniLM (Wang et al. 2020) is a BERT of few and narrow layers.
"""

from __future__ import annotations

from ...core.graph import Tensor
from ..assembly import Assembly

PREFIXES = ("bert.",)
VOCABULARY = 30522
HEADS = (r"cls\..*", r"classifier\..*", r"qa_outputs\..*")
"""What the model was trained with, and no hidden state needs."""

ACTIVATIONS = {"gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "relu": "relu"}

ATTENTION = {
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
}
LAYER = ATTENTION | {
    "w_in": ("intermediate.dense.weight", "f d"),
    "b_in": ("intermediate.dense.bias", "f"),
    "w_out": ("output.dense.weight", "d f"),
    "b_out": ("output.dense.bias", "d"),
    "gamma_2": ("output.LayerNorm.weight", "d"),
    "beta_2": ("output.LayerNorm.bias", "d"),
}


def build(a: Assembly) -> Tensor:
    c = a.config
    a.promise(
        "encoder.layer.{}.",
        c.size("num_hidden_layers", 12),
        d=c.size("hidden_size", 768),
        f=c.size("intermediate_size", 3072),
        v=c.size("vocab_size", 30522),
        p=c.size("max_position_embeddings", 512),
        t=c.size("type_vocab_size", 2),
    )
    heads, eps = c.size("num_attention_heads", 12), c.number("layer_norm_eps", 1e-12)
    activation = c.choice("hidden_act", ACTIVATIONS, "gelu")
    c.need("position_embedding_type", "absolute")
    x = embeddings(a, eps)
    for i in range(a.layers):
        weights = a.parameters(f"layer{i}", f"encoder.layer.{i}.", LAYER)
        x = a.graph.encoder_layer(
            x, **weights, heads=heads, norm_first=False, activation=activation, eps=eps,
            name=f"layer{i}", title=f"Layer {i}",
        )  # fmt: skip
    return x


def embeddings(a: Assembly, eps: float, start: int = 0) -> Tensor:
    """LayerNorm(token + position + type)."""
    parts = (
        a.token_embedding("embeddings.word_embeddings.weight"),
        a.position_embedding("embeddings.position_embeddings.weight", start=start),
        a.type_embedding("embeddings.token_type_embeddings.weight"),
    )
    embedded = a.sum(*parts, name="embedded", title="sum of embeddings")
    return a.layernorm(embedded, "x", "embeddings.LayerNorm", eps)
