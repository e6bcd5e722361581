"""Arithmetic cell by cell, in the element type of the operands: integers wrap."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from .table import FOLDS, folds

for _name, _function in {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Neg": np.negative, "Abs": np.absolute,
    "Sign": np.sign, "Floor": np.floor, "Ceil": np.ceil, "Round": np.round, "Sqrt": np.sqrt, "Exp": np.exp,
    "Log": np.log, "Sin": np.sin, "Cos": np.cos, "Tanh": np.tanh,
    "Equal": np.equal, "Less": np.less, "LessOrEqual": np.less_equal, "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal, "And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor,
    "Not": np.logical_not, "BitwiseAnd": np.bitwise_and, "BitwiseOr": np.bitwise_or,
    "BitwiseXor": np.bitwise_xor, "BitwiseNot": np.bitwise_not, "Where": np.where,
}.items():  # fmt: skip
    FOLDS[_name] = _function


@folds
def Max(*data_0: Any) -> Any:
    return reduce(np.maximum, data_0)


@folds
def Min(*data_0: Any) -> Any:
    return reduce(np.minimum, data_0)


@folds
def Sum(*data_0: Any) -> Any:
    return reduce(np.add, data_0)


@folds
def Clip(input: Any, min: Any = None, max: Any = None) -> Any:
    raised = input if min is None else np.maximum(input, min)
    return raised if max is None else np.minimum(raised, max)


@folds
def Relu(X: Any) -> Any:
    return np.maximum(X, X.dtype.type(0))


@folds
def Reciprocal(X: Any) -> Any:
    return X.dtype.type(1) / X


@folds
def Div(A: Any, B: Any) -> Any:
    """Integers are divided towards 0."""
    if A.dtype.kind not in "iu":
        return A / B
    _need_divisors(B)
    quotient = A // B
    return quotient + ((quotient * B != A) & ((A < 0) != (B < 0))).astype(A.dtype)


@folds
def Mod(A: Any, B: Any, fmod: int = 0) -> Any:
    """The remainder has the sign of the divisor; with fmod that of the dividend."""
    if A.dtype.kind in "iu":
        _need_divisors(B)
    return np.fmod(A, B) if fmod else np.mod(A, B)


def _need_divisors(B: Any) -> None:
    if not np.all(B):
        raise ZeroDivisionError("an integer is divided by 0")


@folds
def Pow(X: Any, Y: Any) -> Any:
    if X.dtype.kind in "iu" and Y.dtype.kind in "iu" and np.any(Y < 0):
        raise ValueError("an integer is raised to a power below 0")
    return np.power(X, Y).astype(X.dtype)


@folds
def BitShift(X: Any, Y: Any, direction: str) -> Any:
    """Beyond the width of the type nothing is left: 0, or −1 of what is below 0 and goes to the right."""
    x, y = np.broadcast_arrays(X, Y)
    outside = (y < 0) | (y >= 8 * x.dtype.itemsize)
    by = np.where(outside, 0, y).astype(x.dtype)
    if direction == "RIGHT":
        return np.where(outside, np.where(x < 0, -1, 0), np.right_shift(x, by)).astype(x.dtype)
    return np.where(outside, 0, np.left_shift(x, by)).astype(x.dtype)
