"""Calls of other libraries as graphs, by the names and arguments that they have there.

    from graphattn.conventions import onnx, torch

    trace = torch.scaled_dot_product_attention(q, k, v, attn_mask=mask).run()
    print(trace)

Who ports attention from one library to another trips over what the same word means in each.
`DIFFERENCES` says it, once; the adapters follow it, docs/conventions.md is written from it, and tests
compute each row.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Difference:
    """One thing that the conventions settle in different ways."""

    what: str
    graphattn: str
    torch_sdpa: str
    torch_mha: str
    onnx: str


COLUMNS = {
    "graphattn": "graphattn ops",
    "torch_sdpa": "PyTorch scaled_dot_product_attention",
    "torch_mha": "PyTorch nn.MultiheadAttention, encoder layers",
    "onnx": "ONNX Attention (23 to 25)",
}

DIFFERENCES = (
    Difference(
        "bool mask: True means",
        "may attend",
        "may attend",
        "masked (attn_mask, key_padding_mask, src_mask)",
        "may attend",
    ),
    Difference(
        "float mask",
        "added; −∞ hides whatever the score is, NaN too",
        "added to the scaled scores",
        "added to the scaled scores",
        "added to the scaled and capped scores",
    ),
    Difference(
        "integer mask",
        "refused: it could mean either",
        "refused",
        "refused",
        "refused",
    ),
    Difference(
        "a query that sees nothing",
        "zeros (empty=\"zero\") or NaN (empty=\"nan\"), with a warning",
        "zeros",
        "NaN with need_weights=True; zeros, so out_proj.bias, with need_weights=False and in encoder layers",
        "zeros",
    ),
    Difference(
        "softmax by itself of a row of −∞",
        "zeros (empty=\"zero\") or NaN (empty=\"nan\")",
        "NaN (F.softmax)",
        "NaN (F.softmax)",
        "NaN (Softmax)",
    ),
    Difference(
        "causal with n_q ≠ n_k",
        "top-left; offset= moves it",
        "top-left",
        "is_causal is a hint: attn_mask is needed, and used",
        "top-left moved by the past's length, or so that the last query stands at nonpad_kv_seqlen − 1",
    ),
    Difference(
        "scale",
        "÷ √dₖ; scale= multiplies instead",
        "multiplies; None = 1/√d",
        "always 1/√(e/h)",
        "multiplies; left out = 1/√d",
    ),
    Difference(
        "softcap",
        "before bias and masks",
        "none",
        "none",
        "before bias and masks; 0 = none",
    ),
    Difference(
        "fewer key heads (grouped heads)",
        "query head i uses key head i // (h / kv_heads)",
        "the same, with enable_gqa=True",
        "none",
        "the same, whenever the heads differ",
    ),
    Difference(
        "axes of q, k, v",
        "(…, n, d); multi_head: heads are blocks of columns",
        "(…, h, n, d)",
        "(b, n, e), (n, b, e) unless batch_first, or (n, e)",
        "(b, h, n, d), or (b, n, h · d) with q_num_heads",
    ),
    Difference(
        "axes of a mask",
        "whatever stretches to the scores",
        "whatever stretches to the scores",
        "(n_q, n_k) or (b · h, n_q, n_k); padding (b, n_k)",
        "the last of (b, h, n_q, n_k); rank 3 is (h, n_q, n_k), not (b, …); a shorter last axis hides the rest",
    ),
    Difference(
        "layout of a weight W",
        "(out, in): y = x Wᵀ + b",
        "",
        "(out, in); in_proj_weight stacks the rows of q, k, v",
        "Gemm, MatMul: (in, out), unless transB",
    ),
    Difference(
        "keys that are appended (bias_k, zero)",
        "appended=: hidden by no causal mask or window; multi_head: by no mask",
        "none",
        "after all others; no mask hides them",
        "none",
    ),
    Difference(
        "windows",
        "window=(left, right), None = unbounded",
        "none",
        "none",
        "left_window_size, right_window_size, −1 = unbounded (25)",
    ),
    Difference(
        "eps of RMSNorm",
        "1e-05",
        "",
        "that of the number type, 2⁻⁵² in float64 (nn.RMSNorm)",
        "1e-05 (RMSNormalization)",
    ),
)  # fmt: skip


def differences_table() -> str:
    """`DIFFERENCES` as a table in Markdown."""
    rows = [["", *COLUMNS.values()], ["---"] * (len(COLUMNS) + 1)]
    for row in DIFFERENCES:
        rows.append([f"**{row.what}**", *(getattr(row, column) or "–" for column in COLUMNS)])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows) + "\n"


@dataclass(frozen=True)
class Contradiction:
    """What two implementations of ONNX Attention give for one call, where only one is as specified."""

    what: str
    specification: str
    """What graphattn gives."""
    reference: str = ""
    """onnx.reference of onnx 1.23, where it gives something else."""
    runtime: str = ""
    """ONNX Runtime 1.32 on a CPU, where it gives something else."""


CONTRADICTIONS = (
    Contradiction(
        "qk_matmul_output_mode=0 with softcap",
        "the scores before softcap",
        reference="the scores after it",
    ),
    Contradiction(
        "is_causal with a mask that has one row for several queries",
        "the mask's row for each query, and the causal mask of all queries",
        reference="the causal mask of the first query for all",
    ),
    Contradiction(
        "is_causal with one query after a past, and several new keys",
        "the keys after the query's own are hidden",
        runtime="all keys are visible",
    ),
    Contradiction(
        "hidden cells in qk_matmul_output_mode=2",
        "−∞",
        runtime="−3.4e38, the smallest float32",
    ),
)


def contradictions_table() -> str:
    """`CONTRADICTIONS` as a table in Markdown."""
    head = ["", "specification, and graphattn", "reference (onnx 1.23)", "ONNX Runtime 1.32"]
    rows = [head, ["---"] * len(head)]
    rows += [
        [f"**{c.what}**", c.specification, c.reference or "the same", c.runtime or "the same"]
        for c in CONTRADICTIONS
    ]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows) + "\n"
