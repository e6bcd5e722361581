"""ELECTRA (Clark et al. 2020): BERT over embeddings that may be narrower, and are projected then."""

from __future__ import annotations

from ...core.graph import Tensor
from ..assembly import Assembly
from . import bert

PREFIXES = ("electra.",)
VOCABULARY = 30522


def build(a: Assembly) -> Tensor:
    bert.sizes(a, e=a.config.size("embedding_size", 128))
    if a.sizes["e"] == a.sizes["d"]:
        return bert.layers(a, bert.embeddings(a))
    return bert.layers(a, a.projection(bert.embeddings(a, "e"), "x", "embeddings_project", "d e"))
