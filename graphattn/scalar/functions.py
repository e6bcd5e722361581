"""The functions of the second seed, on lists of Values; floats may stand where Values are expected.

    softmax(scores)                 a row of probabilities that sum to 1
    attention_scores(Q, K, d_k)     scores[i][j] = dot(Q[i], K[j]) / √d_k
    causal_mask(seq_len)            mask[i][j] = 0.0 where j ≤ i, else −1e9, to be added to scores
    apply_attention(weights, V)     out[i] = Σⱼ weights[i][j] · V[j]

Each is the graph of its op, evaluated on Values at the primitive level.

>>> from graphattn.scalar.value import Value
>>> softmax([Value(0.0), 0.0])
[Value(0.5000), Value(0.5000)]
>>> causal_mask(2)
[[0.0, -1000000000.0], [0.0, 0.0]]
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ..core import nested
from ..core.errors import GraphError
from ..core.graph import Graph
from ..core.run import run
from .cells import matrix, read, row
from .record import VALUE
from .value import Value

Row = Sequence[Value | float]
Matrix = Sequence[Row]

HIDDEN = -1e9
"""What the mask adds to a score that is to be hidden: exp of it is exactly 0."""


def softmax(scores: Row) -> list[Value]:
    """exp(s − max) / Σ exp(s − max): probabilities that sum to 1.

    −∞ hides a score: its probability is exactly 0; where all are hidden, all are 0.
    """
    return row(_run(_softmax, {"scores": read(scores, "scores", rank=1, hiding=True)}))


def attention_scores(Q: Matrix, K: Matrix, d_k: int) -> list[list[Value]]:
    """scores[i][j] = dot(Q[i], K[j]) / √d_k.

    Q (n_q, d_k), K (n_k, d_k) → (n_q, n_k).
    """
    if isinstance(d_k, bool) or not isinstance(d_k, (int, float)) or not d_k > 0:
        raise GraphError(f"d_k is {d_k!r}; expected the length of the rows of Q and K")
    q = read(Q, "Q", rank=2)
    if len(q[0]) != d_k:
        raise GraphError(f"Q has rows of {len(q[0])}; expected {d_k}, which is d_k")
    return matrix(_run(_scores, {"Q": q, "K": read(K, "K", 2, len(q[0]), "which is d_k")}))


def causal_mask(seq_len: int) -> list[list[float]]:
    """mask[i][j] = 0.0 where j ≤ i, else −1e9: added to scores, it hides what comes later."""
    if isinstance(seq_len, bool) or not isinstance(seq_len, int) or seq_len < 0:
        raise GraphError(f"seq_len is {seq_len!r}; expected an int of 0 or more")
    return [[0.0 if j <= i else HIDDEN for j in range(seq_len)] for i in range(seq_len)]


def apply_attention(weights: Matrix, V: Matrix) -> list[list[Value]]:
    """out[i][c] = Σⱼ weights[i][j] · V[j][c].

    weights (n_q, n_k), V (n_k, d_v) → (n_q, d_v).
    """
    values = read(V, "V", rank=2)
    mixing = read(weights, "weights", 2, len(values), "one for each row of V")
    return matrix(_run(_mixed, {"weights": mixing, "V": values}))


# ---------------------------------------------------------------- by the graph


def _run(make: Any, feeds: dict[str, Any]) -> Any:
    """The result of the graph that `make` builds for these sizes."""
    graph = make(*map(nested.shape_of, feeds.values()))
    return run(graph, feeds, numbers=VALUE, allow_nonfinite=True)["out"]


@lru_cache(maxsize=64)
def _softmax(scores: tuple[int]) -> Graph:
    graph = Graph("softmax")
    graph.output(out=graph.softmax(graph.input("scores", scores, ("token",)), name="weights"))
    return graph


@lru_cache(maxsize=64)
def _scores(queries: tuple[int, int], keys: tuple[int, int]) -> Graph:
    graph = Graph("attention_scores")
    q, k = graph.input("Q", queries, ("token", "feature")), graph.input("K", keys, ("token", "feature"))
    graph.output(out=graph.scale(graph.matmul(q, k.T, name="scores"), sqrt=queries[1], name="scaled"))
    return graph


@lru_cache(maxsize=64)
def _mixed(weights: tuple[int, int], values: tuple[int, int]) -> Graph:
    graph = Graph("apply_attention")
    w, v = graph.input("weights", weights, ("token", "token")), graph.input("V", values, ("token", "feature"))
    graph.output(out=graph.matmul(w, v, absorb_zeros=True, name="mixed"))
    return graph
