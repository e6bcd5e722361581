"""Attention that is linear in its length, and what stands beside it in such models: one step for each token."""

from __future__ import annotations

from math import sqrt

from ....core.errors import GraphError
from ....core.graph import Graph, Tensor
from ....core.nested import shown
from ...call import rank
from ..operator import Outputs, operator, whole
from .places import along

RULES = ("linear", "gated", "delta", "gated_delta")


@operator("output", "present_state")
def LinearAttention(
    g: Graph,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    past_state: Tensor | None = None,
    decay: Tensor | None = None,
    beta: Tensor | None = None,
    *,
    q_num_heads: int,
    kv_num_heads: int,
    update_rule: str = "gated_delta",
    scale: float = 0.0,
    chunk_size: int = 64,
    outputs: int = 2,
) -> Outputs:
    """query (b, n, hq · dk), key (b, n, hkv · dk), value (b, n, hkv · dv); past_state S (b, hkv, dk, dv) or 0.

    For each token: S ← exp(decay) S (gated); v ← beta (v − Sᵀ k) (delta); S ← S + k vᵀ; output scale · Sᵀ q,
    for each query head that of the state that its heads share. decay (b, n, hkv) or (b, n, hkv · dk); beta
    (b, n, hkv) or (b, n, 1); scale 0 = 1/√dk. chunk_size only says how it may be computed.
    """
    if update_rule not in RULES:
        raise GraphError(f"update_rule is {shown(update_rule)}; expected one of {', '.join(RULES)}")
    for name, x, wanted in (("decay", decay, "gated" in update_rule), ("beta", beta, "delta" in update_rule)):
        if (x is not None) != wanted:
            told = "needs" if wanted else "takes no"
            raise GraphError(
                f"update_rule {update_rule!r} {told} {name}; expected {'it' if wanted else 'none'}"
            )
    groups = whole("kv_num_heads", kv_num_heads, 1)
    if whole("q_num_heads", q_num_heads, 1) % groups:
        raise GraphError(f"q_num_heads is {q_num_heads}; expected a multiple of kv_num_heads, {groups}")
    q, k, v = (_heads(g, n, x, h) for n, x, h in (
        ("query", query, q_num_heads), ("key", key, groups), ("value", value, groups)
    ))  # fmt: skip
    batch, _, n, width = q.shape
    if k.shape[3] != width:
        raise GraphError(
            f"the heads of key are {k.shape[3]} wide and those of query {width}; expected the same"
        )
    gates = None if decay is None else _heads(g, "decay", decay, groups)
    rates = None if beta is None else _heads(g, "beta", beta, 1 if beta.shape[2] == 1 else groups)
    sizes = (batch, groups, width, v.shape[3])
    if past_state is not None and past_state.shape != sizes:
        raise GraphError(f"past_state is {past_state.shape}; expected {sizes}")
    state = g.broadcast(g.constant(0), sizes, name="state") if past_state is None else past_state
    rows = []
    for t in range(n):
        with g.scope(f"token{t}"):
            state = _step(g, state, *(None if x is None else along(g, x, [t], 2) for x in (k, v, gates, rates)))
            shared = g.repeat(state, q_num_heads // groups, axis=1) if q_num_heads != groups else state
            rows.append(g.matmul(along(g, q, [t], 2, name="q"), shared, name="read"))
    read = rows[0] if n == 1 else g.concat(*rows, axis=2, name="reads")
    scaled = g.scale(read, multiply=scale or 1 / sqrt(width), name="scaled")
    turned = g.transpose(scaled, perm=(0, 2, 1, 3), name="output_heads")
    return [g.reshape(turned, (batch, n, q_num_heads * v.shape[3])), state][:outputs]


def _heads(g: Graph, name: str, x: Tensor, heads: int) -> Tensor:
    """(b, n, heads · d) as (b, heads, n, d)."""
    rank(name, x, 3)
    batch, n, width = x.shape
    if not heads or width % heads:
        raise GraphError(f"{name} has {width} columns, which do not divide into {heads} heads")
    parts = g.reshape(x, (batch, n, heads, width // heads), name=f"{name}_parts")
    return g.transpose(parts, perm=(0, 2, 1, 3), name=f"{name}_heads")


def _step(
    g: Graph, state: Tensor, k: Tensor | None, v: Tensor | None, gate: Tensor | None, rate: Tensor | None
) -> Tensor:
    """The state after one token, whose key and value are one row each."""
    assert k is not None and v is not None
    if gate is not None:
        kept = g.exp(g.transpose(gate, perm=(0, 1, 3, 2)), name="kept")
        state = g.multiply(state, kept, name="decayed")
    if rate is not None:
        known = g.matmul(k, state, name="known")
        v = g.multiply(rate, g.subtract(v, known, name="news"), name="correction")
    return g.add(state, g.matmul(g.transpose(k, perm=(0, 1, 3, 2)), v, name="written"), name="state")


@operator("output", "present_state")
def CausalConvWithState(
    g: Graph, input: Tensor, weight: Tensor, bias: Tensor | None = None, past_state: Tensor | None = None, *,
    activation: str = "none", outputs: int = 2,
) -> Outputs:  # fmt: skip
    """output[b, c, t] = Σⱼ weight[c, 0, j] · padded[b, c, t + j] + bias[c], where the k − 1 columns of
    past_state (or zeros) stand before input (b, c, n); then activation. present_state: the last k − 1."""
    if activation not in ("none", "silu", "swish"):
        raise GraphError(f"activation is {shown(activation)}; expected none, silu or swish")
    rank("input", input, 3), rank("weight", weight, 3)
    _, channels, n = input.shape
    k = weight.shape[2]
    if weight.shape[:2] != (channels, 1) or not k:
        raise GraphError(f"weight is {weight.shape}; expected {(channels, 1)} and the width of the window")
    before = past_state
    if before is None:
        padded = g.pad(input, k - 1, 0, name="padded")
    else:
        padded = g.concat(before, input, axis=2, name="padded")
    y = None
    for j in range(k):
        column = g.reshape(along(g, weight, [j], 2), (channels, 1))
        part = g.multiply(along(g, padded, range(j, j + n), 2), column)
        y = part if y is None else g.add(y, part)
    assert y is not None
    if bias is not None:
        y = g.add(y, g.reshape(bias, (channels, 1)))
    y = y if activation == "none" else g.silu(y, name="activated")
    return [y, along(g, padded, range(n, n + k - 1), 2)][:outputs]
