"""Gemma (2024), and what its kin share: Llama with gains 1 + γ, over embeddings that are multiplied by √d."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from ...core.graph import Tensor
from ..assembly import Assembly
from . import llama

PREFIXES = llama.PREFIXES
VOCABULARY = 256000
GAINS = {"gamma_1": "input_layernorm.weight", "gamma_2": "post_attention_layernorm.weight"}


def build(a: Assembly) -> Tensor:
    c = a.config
    settings = llama.sizes(a, head_dim=256)
    c.need("hidden_activation", "gelu_pytorch_tanh")  # where it is left out, gelu means this too
    if c.get("hidden_act", "gelu") == "gelu":
        settings["activation"] = "gelu_tanh"
    return finished(a, layers(a, embedded(a), GAINS, settings, lambda i: {}), settings)


def embedded(a: Assembly) -> Tensor:
    tokens = a.token_embedding("embed_tokens.weight", tied=a.config.flag("tie_word_embeddings", True))
    return a.graph.multiply(tokens, math.sqrt(a.sizes["d"]), name="x", title="× √d")


def layers(
    a: Assembly, x: Tensor, gains: Mapping[str, str], settings: Mapping[str, Any],
    own: Callable[[int], Mapping[str, Any]],
) -> Tensor:  # fmt: skip
    """Every layer that is built; `gains` are the rows that are stored as differences to 1, `own` gives the
    attributes that only this layer has."""
    table = dict(llama.PROJECTIONS)
    if a.config.flag("attention_bias"):
        table |= llama.QKV_BIASES | llama.OUT_BIAS
    for i in range(a.layers):
        weights = a.parameters(f"layer{i}", f"layers.{i}.", table)
        for operand, stored in gains.items():
            letter = "e" if operand in llama.HEAD_NORMS else "d"
            weights[operand] = gain(a, f"layer{i}_{operand}", f"layers.{i}.{stored}", letter)
        x = a.layer(i, x, **weights, **settings, **own(i))
    return x


def finished(a: Assembly, x: Tensor, settings: Mapping[str, Any]) -> Tensor:
    """The norm at the end, and the logits."""
    cap = a.config.get("final_logit_softcapping")
    if not a.whole:
        return x
    gamma = gain(a, "norm_gamma", "norm.weight")
    x = a.graph.rmsnorm(x, gamma, eps=settings["eps"], name="norm", title="final RMSNorm")
    a.next_token(x, a.head("v d"), cap=cap)
    return x


def gain(a: Assembly, name: str, stored: str, letter: str = "d") -> Tensor:
    """1 + γ: what is stored is the difference to 1."""
    return a.graph.add(a.parameter(f"{name}_stored", stored, letter, "γ"), 1.0, name=name, title="1 + γ")
