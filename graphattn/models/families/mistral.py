"""Mistral (Jiang et al. 2023): Llama in which a query sees a window of tokens."""

from __future__ import annotations

from ...core.graph import Tensor
from ..assembly import Assembly
from . import llama

PREFIXES = llama.PREFIXES
VOCABULARY = 32000


def build(a: Assembly) -> Tensor:
    settings = llama.sizes(a)
    sliding = a.config.get("sliding_window")
    size = None if sliding is None else a.config.size("sliding_window")
    windows = llama.windows(a, size, ["sliding_attention"] * a.sizes["layers"])
    x = llama.layers(a, llama.embedded(a), llama.NORMS | llama.PROJECTIONS, settings, windows)
    return llama.finished(a, x)
