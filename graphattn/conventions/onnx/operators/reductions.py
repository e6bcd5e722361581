"""Axes folded into one cell, and sums along an axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....core.axes import position
from ....core.graph import Graph, Tensor
from ..operator import Outputs, Static, integers, only, operator, switch
from .elementwise import absolute
from .places import along


def folded(g: Graph, op: str, x: Tensor, axes: Sequence[int]) -> Tensor:
    """x with an op that folds an axis applied to each of these; they stay with size 1."""
    for axis in axes:
        x = g.apply(op, x, axis=axis)
    return x


def _places(x: Tensor, axes: list[int] | None, noop: int) -> list[int]:
    """The axes that are folded: all where none are given, unless that means none."""
    if not axes:
        return [] if noop else list(range(len(x.shape)))
    return sorted({position(axis, len(x.shape)) for axis in integers("axes", axes)})


def _reduced(
    g: Graph, x: Tensor, axes: list[int] | None, keepdims: int, noop: int,
    fold: Callable[[Graph, Tensor, list[int]], Tensor],
) -> Outputs:  # fmt: skip
    places = _places(x, axes, noop)
    y = fold(g, x, places)
    if not switch("keepdims", keepdims) and places:
        y = g.reshape(y, tuple(size for place, size in enumerate(y.shape) if place not in places))
    return [y]


@operator("reduced")
def ReduceMean(
    g: Graph, data: Tensor, axes: Static | None = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0
) -> Outputs:
    """The mean over these axes, or over all."""
    return _reduced(g, data, axes, keepdims, noop_with_empty_axes, _means)


def _means(g: Graph, x: Tensor, places: list[int]) -> Tensor:
    return folded(g, "reduce_mean", x, places)


@operator("reduced")
def ReduceSum(
    g: Graph, data: Tensor, axes: Static | None = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0
) -> Outputs:
    """The sum over these axes, or over all."""
    return _reduced(g, data, axes, keepdims, noop_with_empty_axes, _sums)


def _sums(g: Graph, x: Tensor, places: list[int]) -> Tensor:
    return folded(g, "reduce_sum", x, places)


@operator("reduced")
def ReduceMax(
    g: Graph, data: Tensor, axes: Static | None = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0
) -> Outputs:
    """The largest over these axes, or over all; −∞ of no cells."""
    return _reduced(g, data, axes, keepdims, noop_with_empty_axes, _largest)


def _largest(g: Graph, x: Tensor, places: list[int]) -> Tensor:
    return folded(g, "reduce_max", x, places)


@operator("reduced")
def ReduceMin(
    g: Graph, data: Tensor, axes: Static | None = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0
) -> Outputs:
    """The smallest over these axes, or over all; ∞ of no cells."""

    def fold(g: Graph, x: Tensor, places: list[int]) -> Tensor:
        return g.negate(_largest(g, g.negate(x), places)) if places else x

    return _reduced(g, data, axes, keepdims, noop_with_empty_axes, fold)


@operator("reduced")
def ReduceL1(
    g: Graph, data: Tensor, axes: Static | None = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0
) -> Outputs:
    """Σ |x| over these axes, or over all."""
    return _reduced(
        g, data, axes, keepdims, noop_with_empty_axes, lambda g, x, places: _sums(g, absolute(g, x), places)
    )


@operator("reduced")
def ReduceSumSquare(
    g: Graph, data: Tensor, axes: Static | None = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0
) -> Outputs:
    """Σ x² over these axes, or over all."""
    return _reduced(g, data, axes, keepdims, noop_with_empty_axes, _squares)


def _squares(g: Graph, x: Tensor, places: list[int]) -> Tensor:
    return _sums(g, g.multiply(x, x, name="squared"), places)


@operator("reduced")
def ReduceL2(
    g: Graph, data: Tensor, axes: Static | None = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0
) -> Outputs:
    """√(Σ x²) over these axes, or over all."""
    return _reduced(
        g, data, axes, keepdims, noop_with_empty_axes, lambda g, x, places: g.sqrt(_squares(g, x, places))
    )


@operator("reduced")
def ReduceLogSum(
    g: Graph, data: Tensor, axes: Static | None = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0
) -> Outputs:
    """ln Σ x over these axes, or over all."""
    return _reduced(
        g, data, axes, keepdims, noop_with_empty_axes, lambda g, x, places: g.log(_sums(g, x, places))
    )


@operator("reduced")
def ReduceLogSumExp(
    g: Graph, data: Tensor, axes: Static | None = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0
) -> Outputs:
    """ln Σ eˣ over these axes, or over all: the largest comes out first, where it is finite."""

    def fold(g: Graph, x: Tensor, places: list[int]) -> Tensor:
        peak = _largest(g, x, places)
        finite = g.logical_and(g.less(g.constant("-inf"), peak), g.less(peak, g.constant("inf")))
        peak = g.where(finite, peak, g.constant(0), name="peak")
        total = _sums(g, g.exp(g.subtract(x, peak, name="shifted")), places)
        return g.add(peak, g.log(total, name="log"))

    return _reduced(g, data, axes, keepdims, noop_with_empty_axes, fold)


@operator("reduced")
def ReduceProd(
    g: Graph, data: Tensor, axes: Static | None = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0
) -> Outputs:
    """Π x over these axes, or over all; 1 of no cells."""

    def fold(g: Graph, x: Tensor, places: list[int]) -> Tensor:
        for place in places:
            x = _product(g, x, place)
        return x

    return _reduced(g, data, axes, keepdims, noop_with_empty_axes, fold)


def _product(g: Graph, x: Tensor, place: int) -> Tensor:
    """Π x along an axis, which stays with size 1: halves are multiplied until one is left."""
    if not x.shape[place]:
        return g.broadcast(g.constant(1), (*x.shape[:place], 1, *x.shape[place + 1 :]))
    while (n := x.shape[place]) > 1:
        half = n // 2
        first, second = (along(g, x, range(i, i + half), place) for i in (0, half))
        y = g.multiply(first, second)
        x = g.concat(y, along(g, x, [n - 1], place), axis=place) if n % 2 else y
    return x


# ---------------------------------------------------------------- along an axis


@operator("reduced")
def ArgMax(g: Graph, data: Tensor, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Outputs:
    """Where the largest along an axis stands: the first, or the last, of those that are equal."""
    place = position(axis, len(data.shape))
    n, last = data.shape[place], switch("select_last_index", select_last_index)
    x = along(g, data, range(n - 1, -1, -1), place, name="backwards") if last else data
    numbers = g.constant(tuple(float(n - 1 - i if last else i) for i in range(n)), name="numbers")
    numbers = g.reshape(numbers, (n, *[1] * (len(data.shape) - place - 1)), name="numbers_along")
    found = g.one_hot_argmax(x, axis=place, name="is_largest")
    y = g.reduce_sum(g.where(found, numbers, g.constant(0), name="number"), axis=place)
    return [y if switch("keepdims", keepdims) else g.reshape(y, (*y.shape[:place], *y.shape[place + 1 :]))]


@operator("reduced")
def ArgMin(g: Graph, data: Tensor, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Outputs:
    """Where the smallest along an axis stands: the first, or the last, of those that are equal."""
    return ArgMax.build(g, g.negate(data), axis=axis, keepdims=keepdims, select_last_index=select_last_index)


@operator("y")
def CumSum(g: Graph, x: Tensor, axis: Static, *, exclusive: int = 0, reverse: int = 0) -> Outputs:
    """The sum of all cells up to this one along an axis; exclusive: without it; reverse: from the end."""
    return [_running(g, "add", x, axis, exclusive, reverse, 0)]


@operator("y")
def CumProd(g: Graph, x: Tensor, axis: Static, *, exclusive: int = 0, reverse: int = 0) -> Outputs:
    """The product of all cells up to this one along an axis; as CumSum."""
    return [_running(g, "multiply", x, axis, exclusive, reverse, 1)]


def _running(g: Graph, op: str, x: Tensor, axis: Static, exclusive: int, reverse: int, neutral: int) -> Tensor:
    """Runs of 1, 2, 4, … cells, each of which ends at its own cell."""
    place = position(only(axis), len(x.shape))
    n, backwards = x.shape[place], switch("reverse", reverse)
    y = along(g, x, range(n - 1, -1, -1), place, name="backwards") if backwards else x

    def later(y: Tensor, by: int) -> Tensor:
        """Each cell further along, and the neutral number where none is left."""
        return g.pad(along(g, y, range(n - by), place), by, 0, axis=place, value=neutral)

    if switch("exclusive", exclusive) and n:
        y = later(y, 1)
    by = 1
    while by < n:
        y = g.apply(op, later(y, by), y, name=f"runs_of_{2 * by}")
        by *= 2
    return along(g, y, range(n - 1, -1, -1), place) if backwards else y
