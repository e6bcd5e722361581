"""Axes folded into one cell, running sums, and the order of cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .table import FOLDS, folds, ints, number


def _reduction(name: str, function: Callable[..., Any], least: Callable[[Any], Any] | None = None) -> None:
    """Enter a function that folds axes; `least` tells what it gives of no cells, where numpy gives nothing."""

    def reduced(data: Any, axes: Any = None, keepdims: int = 1, noop_with_empty_axes: int = 0) -> Any:
        places = [] if axes is None else ints(axes)
        if not places and noop_with_empty_axes:
            return data
        own = {} if least is None else {"initial": least(data.dtype)}
        found = function(data, axis=tuple(places) or None, keepdims=bool(keepdims), **own)
        return np.asarray(found).astype(data.dtype)

    FOLDS[name] = reduced


_reduction("ReduceSum", np.sum)
_reduction("ReduceProd", np.prod)
_reduction("ReduceMax", np.max, lambda dtype: _bounds(dtype)[0])
_reduction("ReduceMin", np.min, lambda dtype: _bounds(dtype)[1])


def _bounds(dtype: Any) -> tuple[Any, Any]:
    """The smallest and the largest number of a type."""
    if dtype.kind == "b":
        return False, True
    if dtype.kind in "iu":
        return np.iinfo(dtype).min, np.iinfo(dtype).max
    return -np.inf, np.inf


@folds
def ArgMax(data: Any, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Any:
    return _place(np.argmax, data, axis, keepdims, select_last_index)


@folds
def ArgMin(data: Any, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Any:
    return _place(np.argmin, data, axis, keepdims, select_last_index)


def _place(function: Callable[..., Any], data: Any, axis: int, keepdims: int, last: int) -> Any:
    found = function(np.flip(data, axis) if last else data, axis=axis, keepdims=bool(keepdims))
    return np.asarray(data.shape[axis] - 1 - found if last else found).astype(np.int64)


@folds
def CumSum(x: Any, axis: Any, exclusive: int = 0, reverse: int = 0) -> Any:
    return _running(np.add, x, number(axis), exclusive, reverse, 0)


@folds
def CumProd(x: Any, axis: Any, exclusive: int = 0, reverse: int = 0) -> Any:
    return _running(np.multiply, x, number(axis), exclusive, reverse, 1)


def _running(function: Any, x: Any, axis: int, exclusive: int, reverse: int, neutral: int) -> Any:
    x = np.flip(x, axis) if reverse else x
    if exclusive:
        before = np.full_like(np.take(x, range(min(1, x.shape[axis])), axis=axis), neutral)
        x = np.concatenate([before, np.take(x, range(x.shape[axis] - 1), axis=axis)], axis=axis)
    y = function.accumulate(x, axis=axis, dtype=x.dtype)
    return np.flip(y, axis) if reverse else y


@folds
def TopK(X: Any, K: Any, axis: int = -1, largest: int = 1, sorted: int = 1) -> Any:
    n, k = X.shape[axis], number(K)
    if not 0 <= k <= n:
        raise ValueError(f"K is {k}; expected 0 to {n}")
    if largest:  # of equals the first: backwards it is the last of an order from the smallest on
        order = n - 1 - np.flip(np.argsort(np.flip(X, axis), axis=axis, kind="stable"), axis)
    else:
        order = np.argsort(X, axis=axis, kind="stable")
    places = np.take(order, range(k), axis=axis)
    return np.take_along_axis(X, places, axis=axis), places.astype(np.int64)


@folds
def Unique(X: Any, axis: int | None = None, sorted: int = 1, outputs: int = 1) -> Any:
    y, first, inverse, counts = np.unique(X, True, True, True, axis=axis)
    if not sorted:
        order = np.argsort(first)
        y, first, counts = np.take(y, order, axis=axis or 0), first[order], counts[order]
        inverse = np.argsort(order)[inverse]
    return y, *(np.asarray(a).reshape(-1).astype(np.int64) for a in (first, inverse, counts))
