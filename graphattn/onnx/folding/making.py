"""Tensors out of nothing, of a shape, or of another type."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import helper

from ...core.errors import GraphError
from ..tensors import type_name
from .table import folds, ints, number


@folds
def Constant(
    value: Any = None, value_float: Any = None, value_floats: Any = None, value_int: Any = None,
    value_ints: Any = None,
) -> Any:  # fmt: skip
    if value is not None:
        return value
    for given, dtype in ((value_float, np.float32), (value_floats, np.float32)):
        if given is not None:
            return np.array(given, dtype)
    return np.array(value_int if value_ints is None else value_ints, np.int64)


@folds
def ConstantOfShape(input: Any, value: Any = None) -> Any:
    cell = np.zeros(1, np.float32) if value is None else value
    return np.full(tuple(ints(input)), cell.reshape(-1)[0], cell.dtype)


@folds
def Range(start: Any, limit: Any, delta: Any) -> Any:
    first, last, step = (array.reshape(-1)[0] for array in (start, limit, delta))
    return np.arange(first, last, step, dtype=start.dtype)


@folds
def EyeLike(input: Any, dtype: int | None = None, k: int = 0) -> Any:
    rows, columns = input.shape
    return np.eye(rows, columns, k, dtype=input.dtype if dtype is None else _numpys(dtype))


@folds
def BlackmanWindow(size: Any, output_datatype: int = 1, periodic: int = 1) -> Any:
    return _window(size, output_datatype, periodic, (0.42, -0.5, 0.08))


@folds
def HannWindow(size: Any, output_datatype: int = 1, periodic: int = 1) -> Any:
    return _window(size, output_datatype, periodic, (0.5, -0.5))


@folds
def HammingWindow(size: Any, output_datatype: int = 1, periodic: int = 1) -> Any:
    return _window(size, output_datatype, periodic, (25 / 46, -21 / 46))


def _window(size: Any, output_datatype: int, periodic: int, factors: tuple[float, ...]) -> Any:
    """Σ factorₖ · cos(2π k i / n), n = size where it is periodic, size − 1 where it is symmetric."""
    count = number(size)
    angle = 2 * np.pi * np.arange(count) / (count if periodic else count - 1)
    terms = [factor * np.cos(k * angle) for k, factor in enumerate(factors)]
    return np.sum(terms, axis=0).astype(_numpys(output_datatype))


def _numpys(element_type: int) -> Any:
    """numpy's name of an element type that is read."""
    type_name(element_type)
    return helper.tensor_dtype_to_np_dtype(element_type)


@folds
def Cast(input: Any, to: int, saturate: int = 1, round_mode: str = "up") -> Any:
    return input.astype(_numpys(to))


@folds
def CastLike(input: Any, target_type: Any, saturate: int = 1, round_mode: str = "up") -> Any:
    return input.astype(target_type.dtype)


@folds
def BitCast(input: Any, to: int) -> Any:
    dtype = np.dtype(_numpys(to))
    if dtype.itemsize != input.dtype.itemsize:
        raise GraphError(
            f"cells of {input.dtype} are not as long as those of {dtype}; expected the same length"
        )
    return np.ascontiguousarray(input).view(dtype).reshape(input.shape)


@folds
def Identity(input: Any) -> Any:
    return input


@folds
def OneHot(indices: Any, depth: Any, values: Any, axis: int = -1) -> Any:
    n = number(depth)
    hot = np.expand_dims(indices, axis)
    numbers = np.arange(n).reshape([n if i == axis % hot.ndim else 1 for i in range(hot.ndim)])
    inside = (hot >= -n) & (hot < n)
    return np.where((hot % n == numbers) & inside, values[1], values[0])


@folds
def NonZero(X: Any) -> Any:
    return np.array(np.nonzero(X), np.int64).reshape(X.ndim, -1)
