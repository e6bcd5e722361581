"""Cells and blocks by index, where the indices are known when the graph is built."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import prod
from typing import Any

from ....core.axes import position
from ....core.errors import GraphError
from ....core.graph import Graph, Tensor
from ....core.nested import at, flat, indices, shape_of, shown
from ..operator import Cells, Indices, Outputs, Static, only, operator
from .places import (
    alike,
    along,
    blocks,
    known,
    places_along,
    strides,
    taken,
    wrapped,
)


@operator("output")
def Gather(g: Graph, data: Cells, indices: Indices, *, axis: int = 0) -> Outputs:
    """The parts of data with these indices along `axis`, whose place the shape of `indices` takes."""
    place, ids = position(axis, len(data.shape)), known(indices)
    shape = (*data.shape[:place], *indices.shape, *data.shape[place + 1 :])
    if ids is not None:
        found = [wrapped(int(i), data.shape[place], place) for i in flat(ids)]
        part = along(g, data, found, place, name="parts")
        return [part if part.shape == shape else g.reshape(part, shape)]
    order = (place, *(i for i in range(len(data.shape)) if i != place))
    front = g.transpose(data, perm=order, name="front") if place else data
    rest = front.shape[1:]
    table = front if len(front.shape) == 2 else g.reshape(front, (front.shape[0], prod(rest)), name="table")
    rows = g.embedding(table, indices)
    if not place and rows.shape == shape:
        return [rows]
    y = g.reshape(rows, (*indices.shape, *rest), name="rows")
    if not place:
        return [y]
    width = len(indices.shape)
    perm = (*range(width, width + place), *range(width), *range(width + place, len(shape)))
    return [g.transpose(y, perm=perm)]


@operator("output")
def GatherElements(g: Graph, data: Cells, indices: Static, *, axis: int = 0) -> Outputs:
    """data[i, …, indices[i, …, k], …, k], with the index in the place of `axis`."""
    sizes = shape_of(indices)
    places = places_along(indices, data.shape, sizes, position(axis, len(data.shape)))
    return [taken(g, data, places, sizes)]


@operator("output")
def GatherND(g: Graph, data: Cells, indices: Static, *, batch_dims: int = 0) -> Outputs:
    """data[indices[…]]: each row of indices is an index into data, beyond the first batch_dims axes."""
    sizes = shape_of(indices)
    depth = sizes[-1]
    rest = data.shape[batch_dims + depth :]
    places = _rows(indices, sizes, data.shape, batch_dims)
    return [blocks(g, data, places, prod(rest), (*sizes[:-1], *rest))]


def _rows(ids: Any, sizes: Sequence[int], shape: Sequence[int], batch_dims: int = 0) -> list[int]:
    """The place of the block that each row of indices names, counted in blocks."""
    depth = batch_dims + sizes[-1]
    if depth > len(shape):
        raise GraphError(
            f"the indices have {sizes[-1]} numbers each; expected at most {len(shape) - batch_dims}"
        )
    far = strides(shape[:depth])
    found = []
    for where in indices(sizes[:-1]):
        row = at(ids, where)
        row = [wrapped(i, shape[batch_dims + k], batch_dims + k) for k, i in enumerate(row)]
        found.append(sum(i * s for i, s in zip((*where[:batch_dims], *row), far)))
    return found


@operator("output")
def OneHot(g: Graph, indices: Static, depth: Static, values: Cells, *, axis: int = -1) -> Outputs:
    """values[1] where the index along a new axis of `depth` is that of `indices`, values[0] elsewhere."""
    sizes, n = shape_of(indices), int(only(depth))
    place = position(axis, len(sizes) + 1)
    shape, inside = (*sizes[:place], n, *sizes[place:]), prod(sizes[place:])
    cells = [int(index) for index in flat(indices)]
    hot = []
    for number in range(prod(shape)):
        index = cells[number // (n * inside) * inside + number % inside]
        hot.append(int(-n <= index < n and index % n == number // inside % n))
    return [taken(g, values, hot, shape)]


@operator("output")
def Compress(g: Graph, input: Cells, condition: Static, *, axis: int | None = None) -> Outputs:
    """The parts along `axis` where the condition holds; the cells, where no axis is given."""
    ids = [i for i, holds in enumerate(flat(condition)) if holds]
    if axis is not None:
        return [along(g, input, ids, axis)]
    return [taken(g, input, ids, (len(ids),))]


@operator("Y")
def ReverseSequence(
    g: Graph, input: Cells, sequence_lens: Static, *, batch_axis: int = 1, time_axis: int = 0
) -> Outputs:
    """The first sequence_lens[b] steps of each sequence backwards, the others as they are."""
    lengths = list(flat(sequence_lens))
    shape, far = input.shape, strides(input.shape)
    places = []
    for where in indices(shape):
        length, t = lengths[where[batch_axis]], where[time_axis]
        turned = list(where)
        turned[time_axis] = length - 1 - t if t < length else t
        places.append(sum(i * s for i, s in zip(turned, far)))
    return [taken(g, input, places, shape)]


# ---------------------------------------------------------------- scattered

COMBINED = {"add": ("add", 0), "mul": ("multiply", 1), "max": ("max", "-inf"), "min": ("min", "inf")}


@operator("output")
def ScatterElements(
    g: Graph, data: Cells, indices: Static, updates: Cells, *, axis: int = 0, reduction: str = "none"
) -> Outputs:
    """data with updates[i, …] at [i, …, indices[i, …], …], with the index in the place of `axis`."""
    places = places_along(indices, data.shape, updates.shape, position(axis, len(data.shape)))
    return [_scattered(g, data, places, updates, 1, reduction)]


@operator("output")
def Scatter(g: Graph, data: Cells, indices: Static, updates: Cells, *, axis: int = 0) -> Outputs:
    """ScatterElements, as it was called before opset 11."""
    return ScatterElements.build(g, data, indices, updates, axis=axis)


@operator("output")
def ScatterND(g: Graph, data: Cells, indices: Static, updates: Cells, *, reduction: str = "none") -> Outputs:
    """data with the blocks updates[…] at the indices indices[…]."""
    sizes = shape_of(indices)
    places = _rows(indices, sizes, data.shape)
    return [_scattered(g, data, places, updates, prod(data.shape[sizes[-1] :]), reduction)]


@operator("present_cache")
def TensorScatter(
    g: Graph, past_cache: Cells, update: Cells, write_indices: Static | None = None, *, axis: int = -2,
    mode: str = "linear",
) -> Outputs:  # fmt: skip
    """past_cache with update at write_indices[b] … along `axis` (mode circular: around its end)."""
    place = position(axis, len(past_cache.shape))
    n, far = past_cache.shape[place], strides(past_cache.shape)
    starts = [0] * past_cache.shape[0] if write_indices is None else list(flat(write_indices))
    if mode not in ("linear", "circular"):
        raise GraphError(f"mode is {shown(mode)}; expected linear or circular")
    places = []
    for where in indices(update.shape):
        index = starts[where[0]] + where[place]
        if not 0 <= index < n and mode == "linear":
            raise GraphError(f"write index {index} is outside the cache; expected 0 to {n - 1}")
        places.append(sum((index % n if k == place else i) * s for k, (i, s) in enumerate(zip(where, far))))
    return [_scattered(g, past_cache, places, update, 1, "none")]


def _scattered(
    g: Graph, data: Tensor, places: Sequence[int], updates: Tensor, size: int, reduction: str
) -> Tensor:
    """data with blocks of `size` cells put in (the last of several at one place), or combined, at these places.

    Combining goes in rounds, so that in each a place gets one block at most, or a neutral one.
    """
    if reduction != "none" and reduction not in COMBINED:
        raise GraphError(f"reduction is {shown(reduction)}; expected none, {', '.join(COMBINED)}")
    data, updates = alike(g, data, updates)
    if not places:
        return data
    count = prod(data.shape) // size
    rows = [
        g.reshape(x, (prod(x.shape) // size, size), name=name) for x, name in ((data, "old"), (updates, "new"))
    ]
    if reduction == "none":
        source = list(range(count))
        for number, place in enumerate(places):
            source[place] = count + number
        return blocks(g, g.concat(*rows, axis=0, name="both"), source, size, data.shape)
    op, neutral = COMBINED[reduction]
    filled = g.pad(rows[1], 0, 1, axis=0, value=neutral, name="new_or_neutral")
    met: Counter[int] = Counter()
    rounds: list[list[int]] = []
    for number, place in enumerate(places):
        turn = met[place]
        met[place] += 1
        if turn == len(rounds):
            rounds.append([len(places)] * count)
        rounds[turn][place] = number
    y = data
    for source in rounds:
        part = blocks(g, filled, source, size, data.shape)
        y = combined(g, op, y, part)
    return y


def combined(g: Graph, op: str, a: Tensor, b: Tensor) -> Tensor:
    """a + b, a · b, the larger or the smaller, cell by cell."""
    if op == "max":
        return g.where(g.less(a, b), b, a)
    if op == "min":
        return g.where(g.less(b, a), b, a)
    return g.apply(op, a, b)
