"""Llama (Touvron et al. 2023) and what its kin share: RMSNorm, RoPE, grouped heads, a gated feed-forward.

x = x + multi_head(RMSNorm(x)), turned;  x = x + W_down(silu(W_gate x) · W_up x)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...core.graph import Tensor
from ..assembly import Assembly
from ..rotary import rotary

PREFIXES = ("model.",)
VOCABULARY = 32000
BUFFERS = (r".*rotary_emb\.inv_freq",)
NORMS = {"gamma_1": ("input_layernorm.weight", "d"), "gamma_2": ("post_attention_layernorm.weight", "d")}
PROJECTIONS = {
    "w_q": ("self_attn.q_proj.weight", "q d"),
    "w_k": ("self_attn.k_proj.weight", "k d"),
    "w_v": ("self_attn.v_proj.weight", "k d"),
    "w_o": ("self_attn.o_proj.weight", "d q"),
    "w_gate": ("mlp.gate_proj.weight", "f d"),
    "w_in": ("mlp.up_proj.weight", "f d"),
    "w_out": ("mlp.down_proj.weight", "d f"),
}
QKV_BIASES = {
    "b_q": ("self_attn.q_proj.bias", "q"),
    "b_k": ("self_attn.k_proj.bias", "k"),
    "b_v": ("self_attn.v_proj.bias", "k"),
}
OUT_BIAS = {"b_o": ("self_attn.o_proj.bias", "d")}
MLP_BIASES = {
    "b_gate": ("mlp.gate_proj.bias", "f"),
    "b_in": ("mlp.up_proj.bias", "f"),
    "b_out": ("mlp.down_proj.bias", "d"),
}
HEAD_NORMS = {"gamma_q": ("self_attn.q_norm.weight", "e"), "gamma_k": ("self_attn.k_norm.weight", "e")}


def build(a: Assembly) -> Tensor:
    settings = sizes(a)
    c = a.config
    table = NORMS | PROJECTIONS
    if c.flag("attention_bias"):
        table |= QKV_BIASES | OUT_BIAS
    if c.flag("mlp_bias"):
        table |= MLP_BIASES
    return finished(a, layers(a, embedded(a), table, settings), settings)


def sizes(
    a: Assembly, head_dim: int | None = None, eps: float = 1e-6, part: float | None = None, turning: bool = True
) -> dict[str, Any]:
    """What Llama and its kin call their sizes; the attributes of every layer, with the angles where all layers
    are `turning` by the same."""
    c = a.config
    d, heads = c.size("hidden_size", 4096), c.size("num_attention_heads", 32)
    groups = c.size("num_key_value_heads", heads)
    width = c.size("head_dim", head_dim or max(d // heads, 1))
    a.promise(
        c.size("num_hidden_layers", 32),
        "layers.{}.",
        d=d,
        f=c.size("intermediate_size", 11008),
        v=c.size("vocab_size", VOCABULARY),
        q=heads * width,
        k=groups * width,
        e=width,
    )
    a.weights.ignore(*BUFFERS)
    return {
        "heads": heads,
        "kv_heads": None if groups == heads else groups,
        "norm": "rmsnorm",
        "activation": a.activation("hidden_act", "silu"),
        "eps": c.number("rms_norm_eps", eps),
        "causal": True,
        **(rotary(a, width, part=part) if turning else {}),
    }


def embedded(a: Assembly) -> Tensor:
    return a.token_embedding("embed_tokens.weight", tied=a.config.flag("tie_word_embeddings", False))


def layers(
    a: Assembly, x: Tensor, table: Mapping[str, tuple[str, str]], settings: Mapping[str, Any],
    windows: Mapping[int, tuple[int, int]] | None = None,
) -> Tensor:  # fmt: skip
    """Every layer that is built; `windows` for those that see only so many tokens back."""
    for i in range(a.layers):
        weights = a.parameters(f"layer{i}", f"layers.{i}.", table)
        x = a.layer(i, x, **weights, **settings, window=(windows or {}).get(i))
    return x


def windows(a: Assembly, size: int | None, kinds: list[str]) -> dict[int, tuple[int, int]]:
    """The window of each layer: a query sees itself and the `size` − 1 tokens before it. `kinds` are what
    config.json calls the layers, where it does not list them itself."""
    kinds = a.config.get("layer_types", kinds)
    known = {"full_attention", "sliding_attention"}
    if not isinstance(kinds, list) or len(kinds) != a.sizes["layers"] or not set(map(str, kinds)) <= known:
        raise a.config.wrong("layer_types", kinds, f"one of {', '.join(sorted(known))} for each layer")
    if size is None:
        return {}
    return {i: (size - 1, 0) for i, kind in enumerate(kinds) if kind == "sliding_attention"}


def finished(a: Assembly, x: Tensor, settings: Mapping[str, Any]) -> Tensor:
    """The norm at the end, and the logits."""
    if not a.whole:
        return x
    gamma = a.parameter("norm_gamma", "norm.weight", "d", "γ")
    x = a.graph.rmsnorm(x, gamma, eps=settings["eps"], name="norm", title="final RMSNorm")
    a.next_token(x, a.head("v d"))
    return x
