"""Rows and matrices of Values: lists that are read from what a caller gives, and lists that go out.

What comes in may hold Values, ints and floats side by side; Values go through as the very same
objects, so that gradients reach them, and numbers become leaves.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ..core import nested
from ..core.axes import Spec
from ..core.errors import GraphError
from ..core.words import sizes
from .record import VALUE
from .value import Value


class Cells(list):
    """A row of Values or a list of rows. It is a list; its `backward` says what to do instead."""

    def backward(self) -> None:
        """Raises a `GraphError`, since a gradient belongs to one number."""
        raise GraphError(
            f"backward starts from one Value, and this is a list of {sizes(nested.shape_of(self))};"
            " expected one number computed from its cells, such as their sum"
        )


def row(values: Iterable[Any]) -> Cells:
    """Values as a fresh row."""
    return Cells(values)


def matrix(rows: Iterable[Iterable[Any]]) -> Cells:
    """Rows as fresh rows."""
    return Cells(map(Cells, rows))


def read(
    value: Any, what: str, rank: int, width: int | None = None, of: str = "", hiding: bool = False
) -> list[Any]:
    """A row (rank 1) or a matrix (rank 2) as fresh lists of Values.

    width: how many cells a row must have, and `of` whose width that is. hiding: let −∞ in. Raises
    a `GraphError` that names the first thing that is not as expected.
    """
    value = value.tolist() if hasattr(value, "tolist") else value
    cells = "Values or numbers" if width is None else f"{width} Values or numbers"
    expected = f"a list of {cells}" if rank == 1 else f"a list of rows, each a list of {cells}"
    shape = nested.shape_of_rank(value, what, rank, expected)
    if width is not None and shape[-1] != width:
        kind = "cells" if rank == 1 else "rows of"
        told = f"{shape[-1]} {kind}" if rank == 1 else f"{kind} {shape[-1]}"
        raise GraphError(f"{what} has {told}; expected {width}, {of}")
    if not shape[-1]:
        raise GraphError(f"{what} has rows without numbers; expected {expected}")
    found = nested.read(value, Spec(shape), what, VALUE, allow_nonfinite=True)
    for index, cells_of_row in nested.rows(found, rank):
        if not all(map(VALUE.isfinite, cells_of_row)):
            _refuse(cells_of_row, what, index, hiding)
    return found


def _refuse(cells_of_row: list[Value], what: str, index: tuple[int, ...], hiding: bool) -> None:
    """Raise a `GraphError` for the first cell that is not finite (−∞ is let through if it hides)."""
    for j, cell in enumerate(cells_of_row):
        if not math.isfinite(cell.data) and not (hiding and cell.data == -math.inf):
            where = "".join(f"[{i}]" for i in (*index, j))
            allowed = "a finite number, or −inf, which hides" if hiding else "a finite number"
            raise GraphError(f"{what}{where} is {cell.data}; expected {allowed}")
