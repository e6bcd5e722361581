"""MPNet (Song et al. 2020): BERT without token types, with a learned bias for each relative distance.

The bias of a head depends on the distance of query and key, in buckets: exact ones for the nearest, wider
ones further off (Raffel et al. 2020, as T5 has them). All layers share it.
"""

from __future__ import annotations

import math

from ...core.graph import Tensor
from ..assembly import Assembly
from . import bert, roberta

PREFIXES = ("mpnet.",)
VOCABULARY = 30527
BUCKETS = 32
FARTHEST = 128
LAYER = {
    "w_q": ("attention.attn.q.weight", "d d"),
    "b_q": ("attention.attn.q.bias", "d"),
    "w_k": ("attention.attn.k.weight", "d d"),
    "b_k": ("attention.attn.k.bias", "d"),
    "w_v": ("attention.attn.v.weight", "d d"),
    "b_v": ("attention.attn.v.bias", "d"),
    "w_o": ("attention.attn.o.weight", "d d"),
    "b_o": ("attention.attn.o.bias", "d"),
    "gamma_1": ("attention.LayerNorm.weight", "d"),
    "beta_1": ("attention.LayerNorm.bias", "d"),
    **{name: bert.LAYER[name] for name in ("w_in", "b_in", "w_out", "b_out", "gamma_2", "beta_2")},
}


def build(a: Assembly) -> Tensor:
    settings = bert.settings(a)
    bert.sizes(a, h=settings["heads"], r=BUCKETS)
    a.config.need("relative_attention_num_buckets", BUCKETS)  # transformers computes with no other
    embedded = a.sum(
        a.token_embedding("embeddings.word_embeddings.weight"),
        a.position_embedding("embeddings.position_embeddings.weight", start=roberta.first(a)),
        name="embedded",
        title="sum of embeddings",
    )
    x = a.layernorm(embedded, "x", "embeddings.LayerNorm", settings["eps"])
    return a.encoder(x, "encoder.layer.{}.", LAYER, bias=distances(a), masks_by_head=True, **settings)


def distances(a: Assembly) -> Tensor:
    """What is added to the scores, head × query × key."""
    g, n = a.graph, a.n
    table = a.parameter("distance_table", "encoder.relative_attention_bias.weight", "r h", "distance table")
    buckets = tuple(tuple(bucket(key - query) for key in range(n)) for query in range(n))
    places = g.constant(buckets, axes=("token", "token"), name="distances", title="bucket of each distance")
    by_cell = g.embedding(table, places, name="distance_by_cell")
    return g.transpose(by_cell, perm=(2, 0, 1), name="distance_bias", title="distance bias")


def bucket(distance: int) -> int:
    """The bucket of a distance (key − query): half of them for keys before, half for keys after.

    >>> [bucket(d) for d in (-8, -1, 0, 1, 7, 8, 16, 200)]
    [8, 1, 0, 17, 23, 24, 26, 31]
    """
    half, exact = BUCKETS // 2, BUCKETS // 4
    size = abs(distance)
    if size >= exact:
        wider = math.log(size / exact) / math.log(FARTHEST / exact) * (half - exact)
        size = min(exact + int(wider), half - 1)
    return size + half * (distance > 0)
