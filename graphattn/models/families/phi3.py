"""Phi-3 and Phi-4 (Abdin et al. 2024): Llama with q|k|v and gate|up fused, a window that every layer sees."""

from __future__ import annotations

from ...core.graph import Tensor
from ..assembly import Assembly
from . import llama, mistral

PREFIXES = llama.PREFIXES
VOCABULARY = 32064
LAYER = llama.NORMS | {name: llama.PROJECTIONS[name] for name in ("w_o", "w_out")}


def build(a: Assembly) -> Tensor:
    for key in ("full_attn_mod", "interpolate_factor"):  # stand in files, and nobody reads them
        a.config.need(key, 1)
    settings = llama.sizes(a, part=1.0, eps=1e-5)
    windows = mistral.windows(a)
    x = llama.embedded(a)
    for i in range(a.layers):
        weights = a.parameters(f"layer{i}", f"layers.{i}.", LAYER | apart(a, f"layers.{i}."))
        x = a.layer(i, x, **weights, **settings, window=windows.get(i))
    return llama.finished(a, x, settings)


def apart(a: Assembly, prefix: str) -> dict:
    """The blocks of the fused matrices."""
    q, k, f = (a.sizes[letter] for letter in "qkf")
    a.sizes |= {"c": q + 2 * k, "g": 2 * f}
    w_q, w_k, w_v = a.take(f"{prefix}self_attn.qkv_proj.weight", "c d").split(q, k, k)
    w_gate, w_in = a.take(f"{prefix}mlp.gate_up_proj.weight", "g d").split(f, f)
    return {
        "w_q": (w_q, "q d"),
        "w_k": (w_k, "k d"),
        "w_v": (w_v, "k d"),
        "w_gate": (w_gate, "f d"),
        "w_in": (w_in, "f d"),
    }
