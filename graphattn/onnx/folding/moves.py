"""Cells that move: shapes, pieces, indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .table import folds, ints, number


@folds
def Gather(data: Any, indices: Any, axis: int = 0) -> Any:
    return np.take(data, indices, axis=axis)


@folds
def GatherElements(data: Any, indices: Any, axis: int = 0) -> Any:
    where = list(np.indices(indices.shape))
    where[axis % data.ndim] = indices
    return data[tuple(where)]


@folds
def GatherND(data: Any, indices: Any, batch_dims: int = 0) -> Any:
    lead = np.indices(indices.shape[:-1])[:batch_dims]
    return data[(*lead, *np.moveaxis(indices, -1, 0))]


@folds
def Slice(data: Any, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> Any:
    first, last = ints(starts), ints(ends)
    places = range(len(first)) if axes is None else ints(axes)
    taken = [slice(None)] * data.ndim
    for axis, start, end, step in zip(places, first, last, [1] * len(first) if steps is None else ints(steps)):
        end = None if step < 0 and end < -data.shape[axis] else end  # before the first cell, as Python says it
        taken[axis] = slice(start, end, step)
    return data[tuple(taken)]


@folds
def Concat(*inputs: Any, axis: int) -> Any:
    return np.concatenate(inputs, axis=axis)


@folds
def Split(
    input: Any, split: Any = None, axis: int = 0, num_outputs: int | None = None, outputs: int = 1
) -> Any:
    n, count = input.shape[axis], num_outputs or outputs
    size = -(-n // count)
    sizes = ints(split) if split is not None else [max(0, min(size, n - i * size)) for i in range(count)]
    return tuple(np.split(input, np.cumsum(sizes)[:-1], axis=axis))


@folds
def Unsqueeze(data: Any, axes: Any) -> Any:
    return np.expand_dims(data, tuple(ints(axes)))


@folds
def Squeeze(data: Any, axes: Any = None) -> Any:
    return np.squeeze(data, None if axes is None else tuple(ints(axes)))


@folds
def Expand(input: Any, shape: Any) -> Any:
    return np.broadcast_to(input, np.broadcast_shapes(input.shape, tuple(ints(shape))))


@folds
def Reshape(data: Any, shape: Any, allowzero: int = 0) -> Any:
    return data.reshape([data.shape[i] if n == 0 and not allowzero else n for i, n in enumerate(ints(shape))])


@folds
def Flatten(input: Any, axis: int = 1) -> Any:
    place = axis if axis >= 0 else axis + input.ndim
    return input.reshape(int(np.prod(input.shape[:place])), -1)


@folds
def Transpose(data: Any, perm: Sequence[int] | None = None) -> Any:
    return data.transpose(perm)


@folds
def Tile(input: Any, repeats: Any) -> Any:
    return np.tile(input, ints(repeats))


@folds
def Trilu(input: Any, k: Any = None, upper: int = 1) -> Any:
    return (np.triu if upper else np.tril)(input, 0 if k is None else number(k))


@folds
def Pad(data: Any, pads: Any, constant_value: Any = None, axes: Any = None, mode: Any = "constant") -> Any:
    given = ints(pads)
    places = list(range(data.ndim)) if axes is None else ints(axes)
    widths = [(0, 0)] * data.ndim
    for axis, before, after in zip(places, given, given[len(places) :]):
        n = data.shape[axis]
        data = np.take(data, range(max(0, -before), n - max(0, -after)), axis=axis)
        widths[axis] = (max(0, before), max(0, after))
    if mode != "constant":
        return np.pad(data, widths, mode)
    return np.pad(data, widths, constant_values=0 if constant_value is None else constant_value.reshape(-1)[0])


@folds
def Compress(input: Any, condition: Any, axis: int | None = None) -> Any:
    return np.compress(condition, input, axis=axis)
