"""Mistral (Jiang et al. 2023): Llama in which a query sees a window of tokens."""

from __future__ import annotations

from ...core.graph import Tensor
from ..assembly import Assembly
from . import llama

PREFIXES = llama.PREFIXES
VOCABULARY = 32000


def build(a: Assembly) -> Tensor:
    settings = llama.sizes(a)
    x = llama.layers(a, llama.embedded(a), llama.NORMS | llama.PROJECTIONS, settings, windows(a))
    return llama.finished(a, x, settings)


def windows(a: Assembly) -> dict[int, tuple[int, int]]:
    """The same window in every layer, where there is one."""
    size = None if a.config.get("sliding_window") is None else a.config.size("sliding_window")
    return llama.windows(a, size, ["sliding_attention"] * a.sizes["layers"])
