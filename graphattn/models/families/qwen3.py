"""Qwen 3 (Yang et al. 2025): Llama with an RMSNorm on each head's queries and keys."""

from __future__ import annotations

from ...core.graph import Tensor
from ..assembly import Assembly
from . import llama, qwen2

PREFIXES = llama.PREFIXES
VOCABULARY = 151936


def build(a: Assembly) -> Tensor:
    settings = llama.sizes(a, head_dim=128)
    table = llama.NORMS | llama.PROJECTIONS | llama.HEAD_NORMS
    if a.config.flag("attention_bias"):
        table |= llama.QKV_BIASES | llama.OUT_BIAS
    settings["eps_qk"] = settings["eps"]
    x = llama.layers(a, llama.embedded(a), table, settings, qwen2.windows(a))
    return llama.finished(a, x, settings)
