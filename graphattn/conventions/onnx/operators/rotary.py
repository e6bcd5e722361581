"""Rotary position embedding."""

from __future__ import annotations

from ....core.errors import GraphError
from ....core.graph import Graph, Tensor
from ...call import rank
from ..operator import Indices, Outputs, operator, switch, whole


@operator("Y")
def RotaryEmbedding(
    g: Graph, X: Tensor, cos_cache: Tensor, sin_cache: Tensor, position_ids: Indices | None = None, *,
    interleaved: int = 0, num_heads: int = 0, rotary_embedding_dim: int = 0,
) -> Outputs:  # fmt: skip
    """X (b, h, n, d), or (b, n, h · d) with num_heads. Caches (max_pos, r/2) by position_ids (b, n), or
    (b, n, r/2) without; r = rotary_embedding_dim, 0 = all d. Entry i turns with i + r/2; interleaved: 2i
    with 2i + 1."""
    packed = rank("X", X, 3, 4) == 3
    x = X
    if packed:
        if not whole("num_heads", num_heads, 0) or X.shape[2] % num_heads:
            raise GraphError(f"X has {X.shape[2]} columns and num_heads is {num_heads}; expected a divisor")
        parts = g.reshape(X, (*X.shape[:2], num_heads, X.shape[2] // num_heads), name="X_parts")
        x = g.transpose(parts, perm=(0, 2, 1, 3), name="X_heads")
    batch, _, n, d = x.shape
    turning = whole("rotary_embedding_dim", rotary_embedding_dim, 0) or d
    angles = []
    for name, cache in (("cos", cos_cache), ("sin", sin_cache)):
        if position_ids is not None:
            rank(f"{name}_cache", cache, 2)
            cache = g.embedding(cache, position_ids, name=name)
        if cache.shape != (batch, n, turning // 2):
            raise GraphError(f"{name}_cache gives {cache.shape}; expected {(batch, n, turning // 2)}")
        angles.append(g.reshape(cache, (batch, 1, n, turning // 2), name=f"{name}_by_head"))
    y = g.rope(x, *angles, interleaved=switch("interleaved", interleaved), name="rope")
    if packed:
        turned = g.transpose(y, perm=(0, 2, 1, 3), name="Y_heads")
        y = g.reshape(turned, X.shape, axes=X.axes)
    return [y]
