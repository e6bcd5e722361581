"""The first seed: attention without a library, seven functions on lists.

    softmax(xs)                          a row that sums to 1
    attention(Q, K, V, mask=None)        softmax(Q Kᵀ / √d_k, masked) V, and the weights
    causal_mask(n)                       mask[i][j]: position i can see position j
    multi_head(Q, K, V, h, mask=None)    attention on each of h equal parts of the last dimension
    pos_encoding(n, d)                   a vector for each position, every value in [−1, 1]
    layer_norm(row, eps=1e-5)            mean 0 and variance 1, within one vector
    block(X, h, mask=None)               X + multi_head(LN(X))

Matrices are lists of lists, positions × dimensions. Each call is evaluated by a graph, built once
for each signature (op, shapes, attributes) and kept.

**Numbers** may be floats or ints; NaN and infinities are refused, except that `softmax` and float
masks take −∞, which hides. **Masks** are n_q × n_k: bools, or 0 and 1 (true = can see), or floats,
which are added to the scores; a mask with one float in it is a float mask. Floats that are only
0.0 and 1.0 could mean either and are refused; all 0.0 is taken, and adds nothing (all 0 hides
everything). A hidden weight is exactly 0.0; a position that sees nothing gets zeros.

**Empty input** is refused, since a row without numbers has no softmax and a matrix without rows
no dimension; `causal_mask(0)` and `pos_encoding(0, d)` are empty lists.

Inputs are never modified and results are fresh lists. Everything wrong is a `GraphError` (a
`ValueError`) of one sentence.

>>> [round(weight, 4) for weight in softmax([1000, 1001, 1002])]
[0.09, 0.2447, 0.6652]
>>> causal_mask(2)
[[True, False], [True, True]]
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from .core import nested
from .core.axes import Spec
from .core.errors import GraphError
from .core.graph import Graph
from .core.run import run

Row = list[float]
Matrix = list[list[float]]


def softmax(xs: Sequence[float]) -> Row:
    """exp(x − max) / Σ exp(x − max): the same numbers as exp(x) / Σ exp(x), without overflow.

    −∞ hides a number: its weight is 0; where all are hidden, all weights are 0.
    """
    return _evaluate("softmax", "softmax", {"x": _tensor(xs, "xs", rank=1, hiding=True)})[0]


def attention(Q: Any, K: Any, V: Any, mask: Any = None) -> tuple[Matrix, Matrix]:
    """(out, weights): weights = softmax(Q Kᵀ / √d_k, masked), out = weights V.

    Q n_q × d_k, K n_k × d_k, V n_k × d_v, mask n_q × n_k → out n_q × d_v, weights n_q × n_k.
    """
    out, weights = _evaluate("attention", "attention", _operands(Q, K, V, mask))
    return out, weights


def causal_mask(n: int) -> list[list[bool]]:
    """mask[i][j] is True where j ≤ i: position i can see itself and what came before."""
    return _evaluate("causal_mask", "causal_mask", {}, n=n)[0]


def multi_head(Q: Any, K: Any, V: Any, h: int, mask: Any = None) -> Matrix:
    """The last dimension split into h equal parts, attention on each, concatenated again.

    Each head divides its scores by the √ of its own, smaller dimension. With h = 1 it is
    `attention`, bit for bit. Refused where h does not divide the dimensions.
    """
    return _evaluate("multi_head", "multi_head", _operands(Q, K, V, mask), heads=h)[0]


def pos_encoding(n: int, d: int) -> Matrix:
    """sin(p / 10000^(2i/d)) and cos of the same angle in turn, for positions p = 0 … n − 1."""
    if d == 0 and not isinstance(d, bool):
        raise GraphError("d is 0; expected 1 or more, since a position without numbers cannot differ")
    return _evaluate("pos_encoding", "positional_encoding", {}, n=n, d=d)[0]


def layer_norm(row: Sequence[float], eps: float = 1e-5) -> Row:
    """(row − mean) / √(variance + eps), mean and variance of this one vector; the variance is biased."""
    return _evaluate("layer_norm", "layernorm", {"row": _tensor(row, "row", rank=1)}, eps=eps)[0]


def block(X: Any, h: int, mask: Any = None) -> Matrix:
    """X + multi_head(LN(X), LN(X), LN(X), h, mask): pre-LN and a residual; the shape of X."""
    x = _tensor(X, "X", rank=2)
    return _evaluate("block", "block", {"X": x, "mask": _mask(mask, len(x), len(x))}, heads=h)[0]


# ---------------------------------------------------------------- by the graph


def _evaluate(function: str, op: str, operands: Mapping[str, Any], **attributes: Any) -> list[Any]:
    """The results of one op on lists, as fresh lists."""
    given = {name: value for name, value in operands.items() if value is not None}
    signature = tuple((name, nested.shape_of(value), _kind(value)) for name, value in given.items())
    try:
        graph = _graph(function, op, signature, **attributes)
    except TypeError:  # an attribute that cannot be a key, such as a list: the op says what is wrong with it
        graph = _graph.__wrapped__(function, op, signature, **attributes)
    trace = run(graph, given, targets=list(graph.outputs), allow_nonfinite=True)
    return [_fresh(trace[name]) for name in graph.outputs]


@lru_cache(maxsize=256, typed=True)
def _graph(function: str, op: str, operands: tuple[tuple[str, Any, str], ...], **attributes: Any) -> Graph:
    """The graph of one op on operands of these names, shapes and kinds."""
    graph = Graph(function)
    tensors = [
        graph.input(name, shape, ("token", "feature")[-len(shape) :], kind) for name, shape, kind in operands
    ]
    result = graph.apply(op, *tensors, **attributes, name=function)
    results = result if isinstance(result, tuple) else (result,)
    graph.output(**{f"result{port}": tensor for port, tensor in enumerate(results)})
    return graph


def _kind(value: Any) -> str:
    return "bool" if isinstance(next(nested.flat(value)), bool) else "float"


def _fresh(value: Any) -> Any:
    return [_fresh(item) for item in value] if isinstance(value, list) else value


# ---------------------------------------------------------------- what comes in


def _operands(Q: Any, K: Any, V: Any, mask: Any) -> dict[str, Any]:
    q, k, v = (_tensor(value, name, rank=2) for name, value in (("Q", Q), ("K", K), ("V", V)))
    return {"Q": q, "K": k, "V": v, "mask": _mask(mask, len(q), len(k))}


def _tensor(value: Any, what: str, rank: int, hiding: bool = False) -> Any:
    """A row or a matrix as lists of floats; `hiding` lets −∞ in."""
    value = nested.listed(value, what)
    shape = _shape(value, what, rank)
    read = nested.read(value, Spec(shape), what, allow_nonfinite=True)
    for index, row in nested.rows(read, rank):
        if all(map(math.isfinite, row)):
            continue
        for j, cell in enumerate(row):
            if not math.isfinite(cell) and not (hiding and cell == -math.inf):
                where = "".join(f"[{i}]" for i in (*index, j))
                also = ", or −inf, which hides" if hiding else ""
                raise GraphError(f"{what}{where} is {cell}; expected a finite number{also}")
    return read


def _shape(value: Any, what: str, rank: int) -> tuple[int, ...]:
    """The shape of a row (rank 1) or a matrix (rank 2) that is not empty."""
    expected = "a list of numbers" if rank == 1 else "a list of rows, each a list of numbers"
    shape = nested.shape_of_rank(value, what, rank, expected)
    if not all(shape):
        raise GraphError(f"{what} has rows without numbers; expected {expected}")
    return shape


def _mask(mask: Any, n_q: int, n_k: int) -> Any:
    """A mask as lists of bools (True = can see) or floats (added); None stays None."""
    if mask is None:
        return None
    mask = nested.listed(mask, "mask")
    shape = _shape(mask, "mask", rank=2)
    if shape != (n_q, n_k):
        raise GraphError(
            f"mask is {shape[0]} × {shape[1]}; expected {n_q} × {n_k}, one cell for each query and key"
        )
    cells = list(nested.flat(mask))
    if all(isinstance(cell, int) for cell in cells):
        for cell in cells:
            if cell not in (0, 1):
                raise GraphError(
                    f"mask holds {cell}; expected bools or 0 and 1 (true = can see), or floats (added)"
                )
        return [[bool(cell) for cell in row] for row in mask]
    if any(isinstance(cell, bool) for cell in cells):
        raise GraphError("mask mixes bools and floats; expected bools (True = can see), or floats (added)")
    read = _tensor(mask, "mask", rank=2, hiding=True)
    kinds = set(nested.flat(read))
    if kinds <= {0.0, 1.0} and 1.0 in kinds:
        raise GraphError(
            "mask holds only 0.0 and 1.0, which could mean either;"
            " expected bools or 0 and 1 (true = can see), or floats (added)"
        )
    return read


__all__ = ["attention", "block", "causal_mask", "layer_norm", "multi_head", "pos_encoding", "softmax"]
