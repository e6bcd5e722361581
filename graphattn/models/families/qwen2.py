"""Qwen 2 and 2.5 (Yang et al. 2024): Llama with biases on q, k, v; layers from some on may see a window."""

from __future__ import annotations

from ...core.graph import Tensor
from ..assembly import Assembly
from . import llama

PREFIXES = llama.PREFIXES
VOCABULARY = 151936


def build(a: Assembly) -> Tensor:
    settings = llama.sizes(a)
    x = llama.embedded(a)
    table = llama.NORMS | llama.PROJECTIONS | llama.QKV_BIASES
    return llama.finished(a, llama.layers(a, x, table, settings, windows(a)), settings)


def windows(a: Assembly) -> dict[int, tuple[int, int]]:
    """Windows where they are switched on, in the layers from max_window_layers on."""
    c = a.config
    on, size = c.flag("use_sliding_window"), c.get("sliding_window")
    start = c.get("max_window_layers", 28)
    kinds = ["sliding_attention" if on and i >= start else "full_attention" for i in range(a.sizes["layers"])]
    return llama.windows(a, c.size("sliding_window") if on and size is not None else None, kinds)
