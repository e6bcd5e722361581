"""ALBERT (Lan et al. 2020): BERT whose layers share their weights, over narrow embeddings that are projected.

The layers fall into num_hidden_groups groups of neighbours; those of one group are the same parameters of
the graph.
"""

from __future__ import annotations

from ...core.graph import Tensor
from ..assembly import Assembly
from . import bert

PREFIXES = ("albert.",)
VOCABULARY = 30000
GROUP = "encoder.albert_layer_groups.{}."
LAYER = {
    "w_q": ("attention.query.weight", "d d"),
    "b_q": ("attention.query.bias", "d"),
    "w_k": ("attention.key.weight", "d d"),
    "b_k": ("attention.key.bias", "d"),
    "w_v": ("attention.value.weight", "d d"),
    "b_v": ("attention.value.bias", "d"),
    "w_o": ("attention.dense.weight", "d d"),
    "b_o": ("attention.dense.bias", "d"),
    "gamma_1": ("attention.LayerNorm.weight", "d"),
    "beta_1": ("attention.LayerNorm.bias", "d"),
    "w_in": ("ffn.weight", "f d"),
    "b_in": ("ffn.bias", "f"),
    "w_out": ("ffn_output.weight", "d f"),
    "b_out": ("ffn_output.bias", "d"),
    "gamma_2": ("full_layer_layer_norm.weight", "d"),
    "beta_2": ("full_layer_layer_norm.bias", "d"),
}


def build(a: Assembly) -> Tensor:
    c = a.config
    groups = c.size("num_hidden_groups", 1)
    bert.sizes(a, GROUP, stored=groups, e=c.size("embedding_size", 128))
    c.need("inner_group_num", 1)
    c.need("down_scale_factor", 1)  # stands in every old file, and was never another
    x = bert.embeddings(a, "e")
    x = a.projection(x, "x", "encoder.embedding_hidden_mapping_in", "d e")
    settings = bert.settings(a) | {"activation": a.activation("hidden_act", "gelu_new")}
    shared: dict[int, dict[str, Tensor]] = {}
    for i in range(a.layers):
        group = i * groups // a.sizes["layers"]
        if group not in shared:
            prefix = f"{GROUP.format(group)}albert_layers.0."
            shared[group] = a.parameters(f"group{group}", prefix, LAYER)
        x = a.layer(i, x, **shared[group], **settings)
    return x
