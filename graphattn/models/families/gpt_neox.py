"""GPT-NeoX and Pythia (Black et al. 2022): attention and feed-forward side by side, part of each head turned.

q, k, v of a head stand together in one matrix, head after head.
"""

from __future__ import annotations

from functools import partial

from ...core.graph import Tensor
from ..assembly import Assembly
from ..rotary import rotary

PREFIXES = ("gpt_neox.",)
VOCABULARY = 50432
BUFFERS = (r"layers\.\d+\.attention\.(bias|masked_bias|rotary_emb\.inv_freq)",)
LAYER = {
    "gamma_1": ("input_layernorm.weight", "d"),
    "beta_1": ("input_layernorm.bias", "d"),
    "gamma_2": ("post_attention_layernorm.weight", "d"),
    "beta_2": ("post_attention_layernorm.bias", "d"),
    "w_o": ("attention.dense.weight", "d d"),
    "w_in": ("mlp.dense_h_to_4h.weight", "f d"),
    "b_in": ("mlp.dense_h_to_4h.bias", "f"),
    "w_out": ("mlp.dense_4h_to_h.weight", "d f"),
    "b_out": ("mlp.dense_4h_to_h.bias", "d"),
}


def build(a: Assembly) -> Tensor:
    c = a.config
    d, heads = c.size("hidden_size", 6144), c.size("num_attention_heads", 64)
    a.promise(
        c.size("num_hidden_layers", 44),
        "layers.{}.",
        d=d,
        f=c.size("intermediate_size", 24576),
        c=3 * d,
        v=c.size("vocab_size", VOCABULARY),
    )
    a.weights.ignore(*BUFFERS)
    eps = c.number("layer_norm_eps", 1e-5)
    settings = {
        "heads": heads,
        "activation": a.activation("hidden_act", "gelu"),
        "eps": eps,
        "causal": True,
        "parallel": c.flag("use_parallel_residual", True),
        **rotary(a, d // heads, part=0.25),
    }
    biased = c.flag("attention_bias", True)
    x = a.token_embedding("embed_in.weight", tied=c.flag("tie_word_embeddings", False))
    for i in range(a.layers):
        table = LAYER | fused(a, f"layers.{i}.attention.query_key_value", heads, biased)
        if biased:
            table["b_o"] = ("attention.dense.bias", "d")
        weights = a.parameters(f"layer{i}", f"layers.{i}.", table)
        x = a.layer(i, x, **weights, **settings)
    if not a.whole:
        return x
    x = a.layernorm(x, "norm", "final_layer_norm", eps)
    a.next_token(x, a.head("v d", "embed_out.weight"))
    return x


def fused(a: Assembly, stored: str, heads: int, biased: bool) -> dict:
    """w_q, w_k, w_v and their biases, out of rows that go head by head, q, k, v in each."""
    size = a.sizes["d"] // heads
    w = a.take(f"{stored}.weight", "c d")
    b = a.take(f"{stored}.bias", "c") if biased else None
    found: dict = {}
    for turn, name in enumerate("qkv"):
        rows = [(3 * head + turn) * size + row for head in range(heads) for row in range(size)]
        for kind, weight, letters in (("w", w, "d d"), ("b", b, "d")):
            if weight is not None:
                part = a.weights.folder.once(f"{name} of {stored} {kind}", partial(weight.rows, rows))
                found[f"{kind}_{name}"] = (part, letters)
    return found
