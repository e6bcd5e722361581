"""ONNX Attention (opsets 23, 24 and 25) as a graph.

    Q ─ heads ───────────────────────────┐
    K ─ heads ─ past ─ present ─ repeat ─┼─ attention ─ Y
    V ─ heads ─ past ─ present ─ repeat ─┘      │
    attn_mask ─ padded ─┐                       └ qk_matmul_output
    lengths, windows ───┴─ one mask

The scores are scaled, capped, masked and made into weights, in this order; the tensors of these steps
are `attention.scaled`, `attention.capped`, `attention.masked` and `attention.weights`.
"""

from __future__ import annotations

from typing import Any

from ...core.errors import GraphError
from ...core.graph import Graph, Tensor
from ...core.nested import shown
from ..call import both_masks, rank
from .operator import Inner, Mask, Outputs, Static, operator, switch, whole


@operator("Y", "present_key", "present_value", "qk_matmul_output")
def Attention(
    g: Graph,
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    attn_mask: Mask | None = None,
    past_key: Tensor | None = None,
    past_value: Tensor | None = None,
    nonpad_kv_seqlen: Static | None = None,
    *,
    is_causal: int = 0,
    kv_num_heads: int | None = None,
    left_window_size: int = -1,
    q_num_heads: int | None = None,
    qk_matmul_output_mode: int = 0,
    right_window_size: int = -1,
    scale: float | None = None,
    softcap: float = 0.0,
    softmax_precision: int | None = None,
    outputs: int = 4,
) -> Outputs:
    """Q (b, hq, nq, dk), K (b, hkv, nk, dk), V (b, hkv, nk, dv), or (b, n, heads · d) with q_num_heads and
    kv_num_heads; past_key, past_value (b, hkv, n_past, d) stand before K and V. attn_mask: bool, True =
    may attend, or float, added; its axes are the last of (b, hq, nq, nk), and where it is shorter than nk
    the keys beyond it are hidden. nonpad_kv_seqlen (b): the keys from there on are hidden. Key j is
    visible to query i where p − left ≤ j ≤ p + right, p = i + offset (right = 0 where causal); the offset
    is the past's length, or nonpad_kv_seqlen − nq. qk_matmul_output: mode 0 scaled scores, 1 capped, 2
    masked, 3 weights. Doubles are precise enough for every softmax_precision.
    """
    packed = rank("Q", Q, 3, 4) == 3
    for name, x in (("K", K), ("V", V)):
        rank(name, x, len(Q.shape))
    if packed and (q_num_heads is None or kv_num_heads is None):
        raise GraphError("Q has rank 3; expected q_num_heads and kv_num_heads with it")
    for name, x, heads in (("q_num_heads", Q, q_num_heads), ("kv_num_heads", K, kv_num_heads)):
        if heads is not None:
            whole(name, heads, 1)
            if not packed and x.shape[1] != heads:
                raise GraphError(f"{name} is {heads} and there are {x.shape[1]} heads; expected as many")
    q, k, v = (
        _heads(g, name, x, heads) if packed else x
        for name, x, heads in (("Q", Q, q_num_heads), ("K", K, kv_num_heads), ("V", V, kv_num_heads))
    )
    if (past_key is None) != (past_value is None):
        raise GraphError("one of past_key and past_value is given; expected both or none")
    if past_key is not None and nonpad_kv_seqlen is not None:
        raise GraphError(
            "past_key and nonpad_kv_seqlen are given; expected one of them: a cache inside or outside"
        )
    past = 0
    if past_key is not None and past_value is not None:
        past = past_key.shape[2] if rank("past_key", past_key, 4) == 4 else 0
        k = g.concat(past_key, k, axis=-2, name="present_key", title="K")
        v = g.concat(past_value, v, axis=-2, name="present_value", title="V")
    keys, values = (_shared(g, name, x, q) for name, x in (("K", k), ("V", v)))
    batch, n_q, n_k = q.shape[0], q.shape[2], k.shape[2]
    causal = switch("is_causal", is_causal)
    left, right = (
        None if whole(f"{side}_window_size", size, -1) == -1 else size
        for side, size in (("left", left_window_size), ("right", right_window_size))
    )
    shown_by, added = [], []
    if attn_mask is not None:
        if len(attn_mask.shape) > 4 or not attn_mask.shape:
            raise GraphError(f"attn_mask has rank {len(attn_mask.shape)}; expected rank 1, 2, 3 or 4")
        (shown_by if attn_mask.kind == "bool" else added).append(_lengthened(g, attn_mask, n_k))
    window = None if left is None and right is None else (left, right)
    if nonpad_kv_seqlen is not None:
        lengths = _lengths(nonpad_kv_seqlen, batch, n_k)
        if causal or window:
            shown_by.append(_by_sequence(g, lengths, n_q, n_k, left, 0 if causal else right))
        given = g.constant(lengths, name="nonpad_kv_seqlen")
        real = g.padding_mask(given, n_k, name="nonpad")
        shown_by.append(g.reshape(real, (batch, 1, 1, n_k), name="nonpad_by_query"))
        causal, window = False, None
    mask = both_masks(g, shown_by, added)
    out, weights = g.attention(
        q, keys, values, mask, causal=causal, offset=past, window=window, scale=scale,
        softcap=softcap or None, name="attention",
    )  # fmt: skip
    y = out
    if packed:
        turned = g.transpose(out, perm=(0, 2, 1, 3), name="Y_heads")
        y = g.reshape(turned, (batch, n_q, out.shape[1] * out.shape[3]), name="Y")
    if qk_matmul_output_mode not in (0, 1, 2, 3):
        raise GraphError(f"qk_matmul_output_mode is {shown(qk_matmul_output_mode)}; expected 0, 1, 2 or 3")
    hidden = mask is not None or causal or window is not None
    steps = [
        "attention.scaled",
        "attention.capped" if softcap else "",
        ("attention.masked_by_input" if mask is not None and (causal or window) else "attention.masked")
        if hidden
        else "",
    ]
    if qk_matmul_output_mode == 3:
        return [y, k, v, weights][:outputs]
    step = next(name for name in reversed(steps[: qk_matmul_output_mode + 1]) if name)
    return [y, k, v, Inner(step)][:outputs]


def _heads(g: Graph, name: str, x: Tensor, heads: int | None) -> Tensor:
    """(b, n, heads · d) as (b, heads, n, d): head i is the i-th block of columns."""
    batch, n, width = x.shape
    if not heads or width % heads:
        raise GraphError(f"{name} has {width} columns, which do not divide into {heads} heads")
    parts = g.reshape(x, (batch, n, heads, width // heads), name=f"{name}_parts")
    return g.transpose(parts, perm=(0, 2, 1, 3), name=f"{name}_heads", title=name)


def _shared(g: Graph, name: str, x: Tensor, q: Tensor) -> Tensor:
    """Each key or value head as often as query heads share it."""
    heads, groups = q.shape[1], x.shape[1]
    if heads == groups:
        return x
    if not groups or heads % groups:
        raise GraphError(f"{heads} query heads do not share the {groups} heads of {name} evenly")
    return g.repeat(x, heads // groups, axis=1, name=f"{name}_repeated", title=name)


def _lengthened(g: Graph, mask: Tensor, n_k: int) -> Tensor:
    """A mask that is shorter than the keys, with the keys beyond it hidden."""
    missing = n_k - mask.shape[-1]
    if missing < 0:
        raise GraphError(
            f"attn_mask is for {mask.shape[-1]} keys and there are {n_k}; expected at most as many"
        )
    hides = False if mask.kind == "bool" else "-inf"
    return g.pad(mask, 0, missing, value=hides, name="attn_mask_padded") if missing else mask


def _lengths(given: Any, batch: int, n_k: int) -> list[int]:
    if not isinstance(given, (list, tuple)) or len(given) != batch:
        raise GraphError(
            f"nonpad_kv_seqlen is {shown(given)}; expected one length for each of {batch} sequences"
        )
    for length in given:
        if not isinstance(length, int) or not 0 <= length <= n_k:
            raise GraphError(f"nonpad_kv_seqlen holds {shown(length)}; expected 0 to {n_k}, the keys there are")
    return list(given)


def _by_sequence(
    g: Graph, lengths: list[int], n_q: int, n_k: int, left: int | None, right: int | None
) -> Tensor:
    """What each query of each sequence sees, where the last query stands at its sequence's last key."""
    masks = [
        g.window_mask(n_q, n_k, left=left, right=right, offset=length - n_q, name=f"visible{i}")
        for i, length in enumerate(lengths)
    ]
    if not masks:
        return g.constant((), name="visible_of_none")
    together = g.stack(*masks, axis_name="batch", name="visible_by_sequence")
    return g.reshape(together, (len(masks), 1, n_q, n_k), name="visible")
