"""The contract of the first seed: seven functions on lists (`graphattn.model` is the reference)."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from typing import Any

from .. import model
from ..core import nested
from ..core.graph import Graph
from .contract import Case, Contract, Function, signature

POSITIONS = ((6, 8), (20, 4), (3, 5))
OVERFLOW = (
    "exp of a large number overflows: take the largest of the row from each first, which changes no weight"
)


def contract() -> Contract:
    """Random calls of several sizes, and the edges: large numbers, masks, one head, constant rows."""
    draw = random.Random("graphattn check model")

    def matrix(n: int, d: int, spread: float = 1.0) -> list[list[float]]:
        return [[round(draw.gauss(0, spread), 3) for _ in range(d)] for _ in range(n)]

    q, k, v = matrix(4, 6), matrix(4, 6), matrix(4, 6)
    long_k, long_v = matrix(5, 6), matrix(5, 3)
    causal = model.causal_mask(4)
    some = [[True, False, True, True], [True, True, False, True], [False, True, True, True], [True] * 4]
    x, row = matrix(4, 8, 1.5), matrix(1, 8, 2.0)[0]
    rows = ([0.5, -1.25, 2.0, 0.1], [1.0, 2.0, 3.0], [1000.0, 1001.0, 1002.0], [-1000.0, 0.0], [0.25])
    far = matrix(3, 4, 30.0), matrix(3, 4, 30.0), matrix(3, 4)
    small = matrix(3, 8), matrix(3, 8), matrix(3, 8)
    return Contract(
        "model",
        (
            _function("softmax", _softmax, *((xs,) for xs in rows), hint=OVERFLOW),
            _function(
                "attention", _attention,
                (q, k, v), (q, k, v, causal), (q, long_k, long_v), (q, k, v, some), far,
            ),
            _function("causal_mask", _causal_mask, (4,), (1,), (7,), seen=_hiding),
            _function(
                "multi_head", _multi_head,
                (x, x, x, 2), (x, x, x, 4, causal), (q, k, v, 1), (x, x, x, 2, some), (*small, 4),
            ),
            Function(
                "pos_encoding",
                tuple(
                    Case(nd, judge=_positions(*nd), graph=lambda nd=nd: _pos_encoding(*nd)) for nd in POSITIONS
                ),
                signature=signature("pos_encoding", model.pos_encoding),
                module=model.__name__,
                about="any vectors pass that differ and are within [-1, 1]; these are {}Vaswani's sines and"
                " cosines",
            ),
            _function(
                "layer_norm", _layer_norm, (row,), ([3.0, -1.0, 2.5, 0.5],), ([2.0, 2.0, 2.0],), (row, 0.1)
            ),
            _function("block", _block, (x, 2), (x, 4, causal), (matrix(3, 4, 2.0), 1)),
        ),
    )  # fmt: skip


def _function(
    name: str,
    graph: Callable[..., Any],
    *calls: tuple[Any, ...],
    seen: Callable[[Any], Any] | None = None,
    hint: str = "",
) -> Function:
    reference = getattr(model, name)
    cases = (
        Case(args, want=reference(*args), graph=lambda args=args: graph(*args), seen=seen, hint=hint)
        for args in calls
    )
    return Function(name, tuple(cases), signature=signature(name, reference), module=model.__name__)


def _positions(n: int, d: int) -> Callable[[Any], str | None]:
    """Any encoding will do whose values are within [−1, 1] and whose rows differ."""

    def judge(gave: Any) -> str | None:
        if (
            not isinstance(gave, list)
            or len(gave) != n
            or any(not isinstance(r, list) or len(r) != d for r in gave)
        ):
            return f"it does not give {n} rows of {d} numbers"
        if any(isinstance(cell, bool) or not -1 <= cell <= 1 for row in gave for cell in row):
            return "a value is outside of [-1, 1]"
        for i, a in enumerate(gave):
            for j in range(i):
                if all(abs(p - q) <= 1e-9 for p, q in zip(a, gave[j])):
                    return f"positions {j} and {i} have the same vector"
        return None

    return judge


# ---------------------------------------------------------------- the intended graphs


def _of(op: str, operands: Mapping[str, Any], results: tuple[str, ...], **attributes: Any) -> Any:
    """A graph of one op, and its feeds."""
    graph = Graph(op)
    given = {name: value for name, value in operands.items() if value is not None}
    tensors = []
    for name, value in given.items():
        shape = nested.shape_of(value, name)
        kind = "bool" if isinstance(next(nested.flat(value)), bool) else "float"
        tensors.append(graph.input(name, shape, ("token", "feature")[-len(shape) :], kind))
    made = graph.apply(op, *tensors, **attributes, name=op)
    graph.output(**dict(zip(results, made if isinstance(made, tuple) else (made,))))
    return graph, given


def _softmax(xs: Any) -> Any:
    return _of("softmax", {"xs": xs}, ("weights",))


def _attention(Q: Any, K: Any, V: Any, mask: Any = None) -> Any:
    return _of("attention", {"Q": Q, "K": K, "V": V, "mask": mask}, ("out", "weights"))


def _causal_mask(n: int) -> Any:
    """What a mask hides of a matrix of ones: constants are seen by what they do."""
    graph = Graph("causal_mask")
    ones = graph.input("ones", (n, n), ("token", "token"))
    graph.output(seen=graph.mask(ones, graph.causal_mask(n, name="causal_mask"), name="seen"))
    return graph, {"ones": [[1.0] * n] * n}


def _hiding(mask: Any) -> Any:
    return [[1.0 if cell else -math.inf for cell in row] for row in mask]


def _pos_encoding(n: int, d: int) -> Any:
    """Positions added to nothing."""
    graph = Graph("pos_encoding")
    zeros = graph.input("zeros", (n, d), ("token", "feature"))
    graph.output(out=graph.add(zeros, graph.positional_encoding(n, d, name="pos_encoding"), name="out"))
    return graph, {"zeros": [[0.0] * d] * n}


def _multi_head(Q: Any, K: Any, V: Any, h: int, mask: Any = None) -> Any:
    return _of("multi_head", {"Q": Q, "K": K, "V": V, "mask": mask}, ("out",), heads=h)


def _layer_norm(row: Any, eps: float = 1e-5) -> Any:
    return _of("layernorm", {"row": row}, ("normalized",), eps=eps)


def _block(X: Any, h: int, mask: Any = None) -> Any:
    return _of("block", {"X": X, "mask": mask}, ("out",), heads=h)
