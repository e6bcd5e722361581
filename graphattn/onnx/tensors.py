"""Stored tensors: their bytes, checked against the shape that they state, as arrays of the type that they are.

float32 and float64 stay as they lie in the model (one copy, shared by the feeds); float16 and bfloat16 are
widened to float32, which is exact. Nothing is made before the bytes are there: a tensor of 10¹² cells is
refused by what the file really holds.
"""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

from ..core.errors import GraphError
from ..core.nested import RANK_LIMIT
from ..core.packed import Packed
from ..core.words import shown
from .reading import Model, package

FLOATS = ("FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16")
WHOLE = ("INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64")
READ = (*FLOATS, *WHOLE, "BOOL")
"""The element types that are read."""
KINDS = {**dict.fromkeys(FLOATS, "float"), **dict.fromkeys(WHOLE, "int"), "BOOL": "bool"}
BYTES = {"DOUBLE": 8, "INT64": 8, "UINT64": 8, "FLOAT": 4, "INT32": 4, "UINT32": 4,
         "FLOAT16": 2, "BFLOAT16": 2, "INT16": 2, "UINT16": 2, "INT8": 1, "UINT8": 1, "BOOL": 1}  # fmt: skip
FIELDS = {"FLOAT": "float_data", "DOUBLE": "double_data", "INT64": "int64_data",
          "UINT64": "uint64_data", "UINT32": "uint64_data"}  # fmt: skip
"""Where cells stand that are not raw bytes; int32_data for all others."""


def type_name(number: int) -> str:
    """FLOAT, INT64, … of an element type."""
    return (
        package().TensorProto.DataType.Name(number)
        if number in package().TensorProto.DataType.values()
        else str(number)
    )


def shape_of(tensor: Any, what: str) -> tuple[int, ...]:
    """The shape that a stored tensor states."""
    shape = tuple(tensor.dims)
    if any(n < 0 for n in shape) or len(shape) > RANK_LIMIT:
        raise GraphError(
            f"{what} has shape {shown(list(shape))}; expected at most {RANK_LIMIT} sizes, of 0 or more"
        )
    return shape


def array_of(tensor: Any, model: Model, what: str) -> Any:
    """A stored tensor as an array of its own element type. Raises a `GraphError` where it is not whole."""
    from onnx import numpy_helper

    kind = type_name(tensor.data_type)
    if kind not in READ:
        raise GraphError(f"{what} holds {kind}; expected one of {', '.join(READ)}")
    shape = shape_of(tensor, what)
    count = prod(shape)
    if tensor.data_location == package().TensorProto.EXTERNAL:
        return _external(tensor, model, what, kind, shape)
    if tensor.HasField("raw_data"):
        if len(tensor.raw_data) != count * BYTES[kind]:
            raise GraphError(
                f"{what} holds {len(tensor.raw_data):,} bytes; expected {count * BYTES[kind]:,}"
                f" ({shown(list(shape))} of {kind})"
            )
    else:
        held = len(getattr(tensor, FIELDS.get(kind, "int32_data")))
        if held != count:
            raise GraphError(
                f"{what} holds {held:,} cells; expected {count:,} ({shown(list(shape))} of {kind})"
            )
    try:
        return numpy_helper.to_array(tensor)
    except Exception as error:
        raise GraphError(f"{what} cannot be read: {str(error)[:120]}") from None


def _external(tensor: Any, model: Model, what: str, kind: str, shape: tuple[int, ...]) -> Any:
    """A tensor whose bytes lie in a file beside the model, mapped into memory."""
    import numpy
    from onnx import helper

    told = {entry.key: entry.value for entry in tensor.external_data}
    name = told.get("location", "")
    path = external_file(model, name, what)
    size, length = path.stat().st_size, prod(shape) * BYTES[kind]
    try:
        offset = int(told.get("offset", "0") or "0")
        stated = int(told.get("length", str(length)) or length)
    except ValueError:
        raise GraphError(f"{what} has an offset or length that is no number; expected whole numbers") from None
    if stated != length or offset < 0 or offset + length > size:
        raise GraphError(
            f"{what} is {length:,} bytes from {offset:,} on ({shown(list(shape))} of {kind}), and states"
            f" {stated:,}; expected as many, within the {size:,} bytes of {name[:80]!r}"
        )
    dtype = helper.tensor_dtype_to_np_dtype(tensor.data_type)
    if not length:
        return numpy.empty(shape, dtype)
    cells = numpy.memmap(path, numpy.uint8, "r", offset, (length,))
    return cells.view(
        numpy.dtype(dtype).newbyteorder("<") if BYTES[kind] > 1 and kind != "BFLOAT16" else dtype
    ).reshape(shape)


def external_file(model: Model, name: str, what: str) -> Path:
    """A plain file in the model's own folder. Raises a `GraphError` where it is another."""
    if model.folder is None:
        raise GraphError(
            f"{what} lies in another file, {name[:80]!r}; expected the model's path, not its bytes"
        )
    odd = "\\" in name or "\0" in name or Path(name).is_absolute() or ".." in Path(name).parts
    if odd or not name:
        raise GraphError(f"{what} lies in {name[:80]!r}; expected a file in the model's own folder")
    where = model.folder / name
    try:
        real = where.resolve(strict=True)
    except (OSError, RuntimeError):
        raise GraphError(
            f"{what} lies in {name[:80]!r}, which is missing; expected it beside the model"
        ) from None
    if model.folder not in real.parents or not real.is_file():
        raise GraphError(
            f"{what} lies in {name[:80]!r}, which leads elsewhere; expected a file in the model's own folder"
        )
    return real


def packed(array: Any) -> Any:
    """The floats of an array as what a graph is fed: packed where there are rows of them, else lists."""
    import numpy

    wide = array if array.dtype in (numpy.float32, numpy.float64) else array.astype(numpy.float32)
    if wide.ndim < 2 or not wide.size:
        return wide.tolist()
    flat = numpy.ascontiguousarray(wide).reshape(-1)
    native = flat.dtype.newbyteorder("=")
    return Packed(wide.shape, flat.view(native) if flat.dtype.isnative else flat.astype(native))
