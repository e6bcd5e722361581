"""What is known before a run is computed while a model is read: shape arithmetic, masks, positions.

A known value is a numpy array of the model's own element type (the package `onnx` brings numpy), so that
integers wrap and floats round as the model says. `FOLDS` (table.py) has the operators that are computed, each
a few lines of numpy, by family: making, arithmetic, moves, reductions. Before anything is computed, the number
of cells of the result is bounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ...conventions.onnx.nodes import OnnxNode
from ...core.axes import Spec, broadcast
from ...core.errors import GraphError, Rejected
from ...core.limits import ANOTHER, raised

CELL_LIMIT = 2**24
"""The most cells of a tensor that is computed while reading."""


def fold(
    node: OnnxNode, known: Sequence[Any], shapes: Sequence[tuple[int, ...] | None], outputs: int, opset: int
) -> list[Any] | None:
    """The outputs of a node whose inputs are known (of Shape and Size, whose shapes are known); None
    where no one knows how. Raises a `GraphError` where they cannot be computed."""
    import numpy

    told = node.told or node.op
    if node.op == "Shape":
        return [_shape(node, shapes[0] or ())]
    if node.op == "Size":
        return [numpy.array(prod(shapes[0] or ()), numpy.int64)]
    most = raised(CELL_LIMIT)
    if cells(node, known) > most:
        raise GraphError(
            f"{told} gives more than {most:,} cells, all known before a run; expected fewer ({ANOTHER})"
        )
    if not folds(node.op):
        return None
    try:
        with numpy.errstate(all="ignore"):
            found = _table().computed(node.op, known, node.attributes, opset, outputs)
    except GraphError as error:
        raise GraphError(f"{told}: {error}") from None
    except Exception as error:  # whatever numpy raises of values that do not go together
        reason = str(error).split("\n")[0][:120]
        raise GraphError(f"{told} cannot be computed of what is known: {reason}") from None
    return [numpy.asarray(item) for item in (found if isinstance(found, (tuple, list)) else (found,))]


def _table() -> Any:
    """The module that has `FOLDS`, filled by the families, which need numpy."""
    from . import arithmetic, making, moves, reductions, table  # noqa: F401

    return table


def folds(op: str) -> bool:
    """Whether an operator can be computed while reading."""
    return op in ("Shape", "Size") or op in _table().FOLDS


def _shape(node: OnnxNode, shape: tuple[int, ...]) -> Any:
    import numpy

    start, end = (node.attributes.get(side) for side in ("start", "end"))
    return numpy.array(shape[slice(start, end)], numpy.int64)


BY_VALUE = {"ConstantOfShape": 0, "Expand": 1, "Reshape": 1, "BlackmanWindow": 0, "HannWindow": 0,
            "HammingWindow": 0}  # fmt: skip
"""Operators the size of whose result is told by an input: which."""
BY_INDEX = ("Gather", "GatherND", "Embedding")


def cells(node: OnnxNode, known: Sequence[Any]) -> int:
    """How many cells the result has, at most."""
    arrays = [array for array in known if array is not None]
    most = max((max(1, array.size) for array in arrays), default=1)
    if node.op in BY_VALUE and len(known) > BY_VALUE[node.op] and known[BY_VALUE[node.op]] is not None:
        sizes = [max(1, abs(int(n))) for n in known[BY_VALUE[node.op]].reshape(-1)[:64]]
        if node.op == "Expand":
            return prod(broadcast(Spec(arrays[0].shape), Spec(tuple(sizes)))[0])
        return prod(sizes) if node.op != "Reshape" else most
    if node.op == "Expand":
        return most
    if node.op == "Range" and len(arrays) == 3:
        start, limit, delta = (float(array.reshape(-1)[0]) for array in arrays)
        return int(abs((limit - start) / delta)) + 1 if delta else 1
    if node.op == "Tile" and len(arrays) == 2:
        return most * prod(max(1, int(n)) for n in arrays[1].reshape(-1)[:64])
    if node.op == "OneHot" and len(arrays) == 3:
        return arrays[0].size * max(1, int(arrays[1].reshape(-1)[0]))
    if node.op == "Pad" and len(arrays) > 1:
        grown = sum(abs(int(n)) for n in arrays[1].reshape(-1)[:64])
        return prod(n + grown for n in arrays[0].shape)
    if node.op in BY_INDEX or node.op in ("Concat", "GatherElements", "Where", "Split"):
        return (
            sum(array.size for array in arrays)
            if node.op not in ("Gather", "Where")
            else _gathered(node, arrays)
        )
    try:
        return prod(broadcast(*(Spec(array.shape) for array in arrays))[0]) if arrays else 1
    except Rejected:
        return prod(max(1, array.size) for array in arrays)


def _gathered(node: OnnxNode, arrays: Sequence[Any]) -> int:
    if node.op == "Where":
        return prod(broadcast(*(Spec(array.shape) for array in arrays))[0])
    axis = node.attributes.get("axis", 0)
    along = arrays[0].shape[axis] if arrays[0].ndim and -arrays[0].ndim <= axis < arrays[0].ndim else 1
    return arrays[0].size // max(1, along) * arrays[1].size
