"""Cells taken by place: what ONNX's indexing comes down to where the places are known."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import prod
from operator import mul
from typing import Any

from ....core.axes import position
from ....core.errors import GraphError
from ....core.graph import Graph, Tensor
from ....core.nested import flat, tuples


def known(x: Tensor) -> Any:
    """The value of a constant, as nested tuples; None for any other tensor."""
    return tuples(x.node.attributes["value"]) if x.node.op.name == "constant" else None


def floats(g: Graph, x: Tensor) -> Tensor:
    """The cells as floats: 1 and 0 of bools, the numbers of a constant that holds integers."""
    if x.kind == "bool":
        return g.where(x, g.constant(1), g.constant(0))
    if x.kind == "int":
        if known(x) is None:
            raise GraphError(f"{x.name} holds integers that are fed with each run; expected floats")
        return g.constant(_as_floats(known(x)))
    return x


def _as_floats(value: Any) -> Any:
    return tuple(map(_as_floats, value)) if isinstance(value, tuple) else float(value)


def alike(g: Graph, *xs: Tensor) -> list[Tensor]:
    """Tensors that are all of floats where one of them is and the others are integers."""
    kinds = {x.kind for x in xs}
    return [floats(g, x) for x in xs] if kinds == {"float", "int"} else list(xs)


def strides(shape: Sequence[int]) -> list[int]:
    """How many cells further the next index of each axis is."""
    return list(accumulate(reversed(shape), mul, initial=1))[-2::-1] if shape else []


def taken(g: Graph, x: Tensor, places: Sequence[int], shape: Sequence[int], name: str | None = None) -> Tensor:
    """The cells of x at these places, counted row by row, in another shape."""
    return blocks(g, x, places, 1, shape, name)


def blocks(
    g: Graph, x: Tensor, places: Sequence[int], size: int, shape: Sequence[int], name: str | None = None
) -> Tensor:
    """x cut into blocks of `size` cells that follow each other: those at these places, in another shape."""
    shape, kind = tuple(shape), x.kind
    if not prod(shape):
        return nothing(g, x, shape)
    if list(places) == list(range(prod(x.shape) // size)):
        return x if x.shape == shape else g.reshape(x, shape, name=name)
    x = floats(g, x)
    table = g.reshape(x, (prod(x.shape) // size, size))
    rows = g.embedding(table, g.constant(tuple(places)))
    y = g.reshape(rows, shape, name=name)
    return g.equal(y, g.constant(1)) if kind == "bool" else y


def nothing(g: Graph, x: Tensor, shape: Sequence[int]) -> Tensor:
    """A tensor of no cells, of the kind of x."""
    row = g.reshape(x, (prod(x.shape),)) if len(x.shape) != 1 else x
    return g.reshape(g.slice(row, "0:0"), tuple(shape))


def along(g: Graph, x: Tensor, ids: Sequence[int], axis: int, name: str | None = None) -> Tensor:
    """The parts of x with these indices along an axis, in this order."""
    place, ids = position(axis, len(x.shape)), list(ids)
    n, shape = x.shape[place], (*x.shape[:place], len(ids), *x.shape[place + 1 :])
    if ids == list(range(n)):
        return x
    step = ids[1] - ids[0] if len(ids) > 1 else 1
    if ids and step and ids == list(range(ids[0], ids[0] + step * len(ids), step)):
        return g.slice(x, f"{':, ' * place}{cut(range(ids[0], ids[0] + step * len(ids), step))}", name=name)
    size = prod(x.shape[place + 1 :])
    return blocks(g, x, [i * n + j for i in range(prod(x.shape[:place])) for j in ids], size, shape, name)


def cut(indices: range) -> str:
    """A range of indices as `slice` writes it."""
    if not indices:
        return "0:0"
    stop = indices[-1] + (1 if indices.step > 0 else -1)
    return f"{indices[0]}:{stop if stop >= 0 else ''}:{indices.step}"


def places_along(ids: Any, shape: Sequence[int], index_shape: Sequence[int], axis: int) -> list[int]:
    """The places of x[…, ids[…], …] (the same index as in ids but for that axis), counted row by row."""
    far, found = strides(shape), []
    own = strides(index_shape)
    for number, index in enumerate(flat(ids)):
        index = wrapped(index, shape[axis], axis)
        at = [number // step % size for step, size in zip(own, index_shape)]
        found.append(sum((index if k == axis else i) * s for k, (i, s) in enumerate(zip(at, far))))
    return found


def wrapped(index: int, size: int, axis: int) -> int:
    """An index, where below 0 counts from the end."""
    if not -size <= index < size:
        expected = f"{-size} to {size - 1}" if size else "no index, since it is empty"
        raise GraphError(f"index {index} does not exist on axis {axis}; expected {expected}")
    return index % size
