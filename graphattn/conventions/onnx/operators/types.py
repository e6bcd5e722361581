"""What changes the type of cells, or nothing."""

from __future__ import annotations

from typing import Any

from ....core.errors import GraphError
from ....core.graph import Graph, Tensor
from ....core.nested import shown
from ..operator import Cells, Outputs, Static, only, operator
from .places import floats, known


@operator("output")
def Identity(g: Graph, input: Cells) -> Outputs:
    """The input."""
    return [input]


@operator("output")
def Cast(
    g: Graph, input: Cells, *, to: Any, saturate: int = 1, round_mode: str = "up", opset: int | None = None
) -> Outputs:
    """The cells as another type. Floats of any length are the same number here; True is 1, and what is not
    0 is True. From floats to integers is refused: the registry has no op that cuts digits off."""
    return [cast(g, input, _kind(to))]


@operator("output")
def CastLike(
    g: Graph, input: Cells, target_type: Cells, *, saturate: int = 1, round_mode: str = "up"
) -> Outputs:
    """Cast to the type of another tensor."""
    return [cast(g, input, target_type.kind)]


FLOATS = {1, 10, 11, 16, "FLOAT", "FLOAT16", "DOUBLE", "BFLOAT16"}
INTEGERS = {2, 3, 4, 5, 6, 7, 12, 13, "UINT8", "INT8", "UINT16", "INT16", "INT32", "INT64", "UINT32", "UINT64"}


def _kind(to: Any) -> str:
    """The kind of cell of an element type, by ONNX's number or (before opset 6) its name."""
    if to in FLOATS:
        return "float"
    if to in INTEGERS:
        return "int"
    if to in (9, "BOOL"):
        return "bool"
    raise GraphError(f"to is {shown(to)}, a type that is not read; expected floats, integers or bools")


def cast(g: Graph, x: Tensor, kind: str) -> Tensor:
    """x as cells of another kind; integers that are computed are floats that hold whole numbers."""
    if kind == x.kind or (kind == "float" and x.kind == "int"):
        return floats(g, x) if kind == "float" else x
    if kind == "bool":
        return g.logical_not(g.equal(floats(g, x), g.constant(0)))
    if x.kind == "bool":
        return floats(g, x)
    raise GraphError("floats that are computed or fed are cast to integers; expected floats or bools")


@operator("output", "mask")
def Dropout(
    g: Graph, data: Tensor, ratio: Cells | None = None, training_mode: Static | None = None, *,
    seed: int | None = None, is_test: int = 1, opset: int | None = None, outputs: int = 1,
) -> Outputs:  # fmt: skip
    """The data: nothing is dropped but in training, which is random. The mask is True everywhere."""
    mode = only(training_mode)
    if not is_test:
        raise GraphError("is_test is 0, which drops cells at random; expected inference")
    if mode and (ratio is None or known(ratio) is None or float(known(ratio)) != 0.0):
        raise GraphError("training_mode is on, which drops cells at random; expected inference")
    return [data, g.broadcast(g.constant(True), data.shape)][:outputs]
