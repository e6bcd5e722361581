"""The operators that shape arithmetic and masks are made of, on numpy arrays.

Each is called with the inputs of a node (None where left out) and its attributes by name, and gives its
output, or a tuple of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..tensors import type_name

FOLDS: dict[str, Callable[..., Any]] = {}
"""What computes an operator, by its name."""


def folds(function: Callable[..., Any]) -> Callable[..., Any]:
    FOLDS[function.__name__] = function
    return function


def _numpy() -> Any:
    import numpy

    return numpy


@folds
def Constant(value: Any = None, value_float: Any = None, value_floats: Any = None, value_int: Any = None,
             value_ints: Any = None) -> Any:  # fmt: skip
    np = _numpy()
    if value is not None:
        return value
    for given, dtype in ((value_float, np.float32), (value_floats, np.float32)):
        if given is not None:
            return np.array(given, dtype)
    return np.array(value_int if value_ints is None else value_ints, np.int64)


@folds
def Identity(input: Any) -> Any:
    return input


@folds
def Gather(data: Any, indices: Any, axis: int = 0) -> Any:
    return _numpy().take(data, indices, axis=axis)


@folds
def Slice(data: Any, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> Any:
    starts, ends = _ints(starts), _ints(ends)
    places = list(range(len(starts))) if axes is None else _ints(axes)
    taken = [slice(None)] * data.ndim
    for axis, start, end, step in zip(
        places, starts, ends, [1] * len(starts) if steps is None else _ints(steps)
    ):
        size = data.shape[axis]
        if step < 0:  # an end before the first cell is None to Python, and a start beyond the last the last
            end = None if end < -size else end
        taken[axis] = slice(start, end, step)
    return data[tuple(taken)]


@folds
def Concat(*inputs: Any, axis: int) -> Any:
    return _numpy().concatenate(inputs, axis=axis)


@folds
def Cast(input: Any, to: int, saturate: int = 1, round_mode: str = "up") -> Any:
    from onnx import helper

    type_name(to)
    return input.astype(helper.tensor_dtype_to_np_dtype(to))


@folds
def Unsqueeze(data: Any, axes: Any) -> Any:
    return _numpy().expand_dims(data, tuple(_ints(axes)))


@folds
def Squeeze(data: Any, axes: Any = None) -> Any:
    return _numpy().squeeze(data, None if axes is None else tuple(_ints(axes)))


@folds
def ConstantOfShape(input: Any, value: Any = None) -> Any:
    np = _numpy()
    cell = np.zeros(1, np.float32) if value is None else value
    return np.full(tuple(_ints(input)), cell.reshape(-1)[0], cell.dtype)


@folds
def Range(start: Any, limit: Any, delta: Any) -> Any:
    np = _numpy()
    first, last, step = (array.reshape(-1)[0] for array in (start, limit, delta))
    return np.arange(first, last, step, dtype=start.dtype)


@folds
def Expand(input: Any, shape: Any) -> Any:
    np = _numpy()
    return np.broadcast_to(input, np.broadcast_shapes(input.shape, tuple(_ints(shape))))


@folds
def Reshape(data: Any, shape: Any, allowzero: int = 0) -> Any:
    sizes = [data.shape[i] if size == 0 and not allowzero else size for i, size in enumerate(_ints(shape))]
    return data.reshape(sizes)


@folds
def Transpose(data: Any, perm: Sequence[int] | None = None) -> Any:
    return data.transpose(perm)


@folds
def Where(condition: Any, X: Any, Y: Any) -> Any:
    return _numpy().where(condition, X, Y)


@folds
def Div(A: Any, B: Any) -> Any:
    """Integers are divided towards 0."""
    np = _numpy()
    if A.dtype.kind in "iu":
        if not np.all(B):
            raise ZeroDivisionError("an integer is divided by 0")
        quotient = np.abs(A) // np.abs(B)
        return (quotient * np.sign(A) * np.sign(B)).astype(A.dtype)
    return A / B


def _elementwise(**names: str) -> None:
    """Operators that numpy has under another name."""
    for name, numpys in names.items():
        FOLDS[name] = lambda *inputs, numpys=numpys: getattr(_numpy(), numpys)(*inputs)


_elementwise(
    Add="add", Sub="subtract", Mul="multiply", Neg="negative", Abs="absolute", Sqrt="sqrt", Floor="floor",
    Ceil="ceil", Equal="equal", Less="less", LessOrEqual="less_equal", Greater="greater",
    GreaterOrEqual="greater_equal", And="logical_and", Or="logical_or", Xor="logical_xor", Not="logical_not",
)  # fmt: skip


def _ints(array: Any) -> list[int]:
    """Sizes or axes, from an array or an attribute."""
    return [int(n) for n in (array.reshape(-1) if hasattr(array, "reshape") else array)]
