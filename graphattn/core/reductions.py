"""Ops that fold an axis into one cell, which stays as an axis of size 1 so that it broadcasts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from .axes import Spec, need_kind, need_rank, position
from .cells import Cell, Expression
from .nested import at, full, indices
from .numbers import Numbers
from .op import Kernel, Op, Reject, Sample
from .words import listed


def folded(x: Spec, *, axis: int = -1) -> Spec:
    """The operand with one axis of size 1."""
    need_kind("float", x=x)
    need_rank(1, x=x)
    place = position(axis, x.rank)
    return Spec((*x.shape[:place], 1, *x.shape[place + 1 :]), x.axes)


def along_axis(function: Callable[..., Any], x: Spec, axis: int, zero: Any = 0.0, **bound: Any) -> Kernel:
    """A kernel that applies `function`, from row to row, along an axis; `zero` is a number of the
    type that the rows hold."""
    place = position(axis, x.rank)
    inside = x.rank - place - 1
    if inside and not x.size:
        cells = function([zero] * x.shape[place], **bound)
        return Kernel(along_nothing, inside + 1, cells=cells, inside=x.shape[place + 1 :])
    return Kernel(function, 1, along=inside, **bound)


def along_nothing(x, cells, inside):
    """Where there is no number in `x`: one row's result, in each of the places that there are."""
    return [full(inside, cell) for cell in cells]


def along_line(index: tuple[int, ...], x: Spec, axis: int) -> Iterator[tuple[int, ...]]:
    """The indices that agree with `index` except along `axis`."""
    place = position(axis, x.rank)
    for k in range(x.shape[place]):
        yield (*index[:place], k, *index[place + 1 :])


def line(index: tuple[int, ...], x: Spec, axis: int) -> Iterator[Cell]:
    """The cells of the operand that share the index except along `axis`."""
    return (Cell(0, place) for place in along_line(index, x, axis))


def nothing_visible(value: Any, x: Spec, axis: int) -> str:
    """'nothing is visible in row …' for the rows along an axis that are −∞ throughout, or ''."""
    place = position(axis, x.rank)
    empty = [
        [*index[:place], *index[place + 1 :]]
        for index in indices(folded(x, axis=axis).shape)
        if x.shape[place] and all(at(value, cell) == -math.inf for cell in along_line(index, x, axis))
    ]
    return f"nothing is visible in row {listed(empty, 3)}" if empty else ""


def reduction(
    name: str,
    glyph: str,
    formula: str,
    row: Callable[..., Any],
    bound: Callable[[Numbers], dict[str, Any]],
    explain: Callable[..., Expression],
    operator: str,
    **more: Any,
) -> Op:
    """An op that folds an axis; `row` is the function from a row to a row of one cell, `bound` gives the
    functions of the number type that it takes, and `operator` is what ONNX calls it."""

    def kernel(numbers: Numbers, x: Spec, *, axis: int) -> Kernel:
        return along_axis(row, x, axis, zero=numbers.lift(0), **bound(numbers))

    def onnx(o: Any, x: Any, *, axis: int) -> Any:
        return o.add(operator, x, (position(axis, x.rank),))

    return Op(
        **{
            "name": name,
            "title": name,
            "glyph": glyph,
            "family": "function",
            "formula": formula,
            "level": "primitive",
            "shape": folded,
            "kernel": kernel,
            "explain": explain,
            "cost": lambda x, *, axis: x.size,
            "onnx": onnx,
            "samples": (
                Sample(([[0.5, -1.25, 2.0], [1e16, 1.0, -1e16]],)),
                Sample(([[0.5, -1.25, 2.0], [0.25, 1.0, -3.0]],), {"axis": 0}),
                Sample(([[[1.0, 2.0], [3.0, 5.0]], [[-1.0, 0.5], [0.25, 0.0]]],), {"axis": 1}),
                Sample(([0.75, 0.5],)),
            ),
            "rejects": (
                Reject((Spec(()),), {}, "x has rank 0; expected rank 1 or more"),
                Reject((Spec((2, 3)),), {"axis": 2}, "axis 2 does not exist; expected an axis from -2 to 1"),
                Reject((Spec((2,), kind="int"),), {}, "x holds int; expected float"),
            ),
            **more,
        }
    )
