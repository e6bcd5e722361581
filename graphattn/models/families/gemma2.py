"""Gemma 2 (2024): Gemma with norms before and after each sub-layer, softcaps, alternating windows.

Scores are divided by √query_pre_attn_scalar.
"""

from __future__ import annotations

from typing import Any

from ...core.graph import Tensor
from ..assembly import Assembly
from . import gemma, llama

PREFIXES = llama.PREFIXES
VOCABULARY = 256000
GAINS = {
    "gamma_1": "input_layernorm.weight",
    "post_gamma_1": "post_attention_layernorm.weight",
    "gamma_2": "pre_feedforward_layernorm.weight",
    "post_gamma_2": "post_feedforward_layernorm.weight",
}


def build(a: Assembly) -> Tensor:
    settings = llama.sizes(a, head_dim=256) | common(a)
    settings["softcap"] = a.config.get("attn_logit_softcapping")
    kinds = ["full_attention" if i % 2 else "sliding_attention" for i in range(a.sizes["layers"])]
    windows = llama.windows(a, a.config.size("sliding_window", 4096), kinds)
    x = gemma.layers(a, gemma.embedded(a), GAINS, settings, lambda i: {"window": windows.get(i)})
    return gemma.finished(a, x, settings)


def common(a: Assembly) -> dict[str, Any]:
    """The attributes of each layer that Llama's have not."""
    return {
        "activation": a.activation("hidden_activation", "gelu_pytorch_tanh"),
        "post_norm": True,
        "scale": a.config.number("query_pre_attn_scalar", 256) ** -0.5,
    }
