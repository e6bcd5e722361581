"""A tensor of many floats held compactly: 8 (or 4) bytes a number, lists of it only when they are asked for.

Nested lists take 40 bytes a number and 100 ns to make. A `Packed` keeps the flat buffer that weights
come in (an `array`, or a memoryview of one, of bytes, of a mapped file), and reads as nested lists do:
it has a length, its items are lists made on the spot, and `tolist()` gives them all. It is never
written to. Large constants are packed by the graph; feeds may be.

>>> w = Packed((2, 3), array("d", [1, 2, 3, 4, 5, 6]))
>>> w[1], len(w), [sum(row) for row in w]
([4.0, 5.0, 6.0], 2, [6.0, 15.0])
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain
from operator import countOf
from typing import Any

from .errors import GraphError

LEAST = 2**14
"""From so many cells on, the graph packs a constant: below, lists read quicker and take little."""


class Packed(Sequence[Any]):
    """A tensor of rank 1 or more: its shape, and its cells in row-major order.

    cells: an array or a memoryview of format "d" (double) or "f" (single, whose values are exact as
    doubles), with as many items as the shape has cells; a `GraphError` where it has not.
    """

    def __init__(self, shape: Sequence[int], cells: Any) -> None:
        self.shape = tuple(shape)
        view = memoryview(cells)
        if view.format not in ("d", "f") or view.ndim != 1 or len(view) != math.prod(self.shape):
            raise GraphError(
                f"packed cells have format {view.format!r} and {view.nbytes // view.itemsize} items; expected"
                f" a flat buffer of {math.prod(self.shape)} of format 'd' or 'f'"
            )
        if not self.shape:
            raise GraphError("packed cells have rank 0; expected a number for that")
        self.cells = view.toreadonly()
        self._inner = math.prod(self.shape[1:])

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        place = place + len(self) if place < 0 else place
        if not 0 <= place < len(self):
            raise IndexError(f"packed tensor has no item {place}")
        if len(self.shape) == 1:
            return self.cells[place]
        return folded(self.cells[place * self._inner : (place + 1) * self._inner].tolist(), self.shape[1:])

    def __iter__(self) -> Iterator[Any]:
        if len(self.shape) == 1:
            return iter(self.cells)
        if len(self.shape) == 2 and self.cells:  # the rows of a matrix, as `linear` goes through them
            cells, width = self.cells, self._inner
            return (cells[start : start + width].tolist() for start in range(0, len(cells), width))
        return map(self.__getitem__, range(len(self)))

    def at(self, index: Sequence[int]) -> Any:
        """The cell at an index, without the lists around it (the block there, where axes are left)."""
        if len(index) < len(self.shape):
            block: Any = self
            for i in index:
                block = block[i]
            return block
        place = 0
        for i, size in zip(index, self.shape, strict=True):
            place = place * size + range(size)[i]
        return self.cells[place]

    def tolist(self) -> list[Any]:
        """Nested lists of it, fresh ones."""
        return folded(self.cells.tolist(), self.shape)

    @cached_property
    def finite(self) -> bool:
        """Whether no cell is infinite or NaN; looked at once."""
        return math.isfinite(sum(self.cells)) or all(map(math.isfinite, self.cells))

    def __eq__(self, other: object) -> bool:
        """The same shape and the same bits (as doubles)."""
        if not isinstance(other, Packed):
            return NotImplemented
        if self.shape != other.shape or self.cells.format == other.cells.format:
            return self.shape == other.shape and self.cells.tobytes() == other.cells.tobytes()
        return array("d", self.cells).tobytes() == array("d", other.cells).tobytes()

    def __hash__(self) -> int:
        return hash((self.shape, repr(self.cells[:8].tolist())))

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.shape, self.cells.format, self.cells.tobytes())

    def __repr__(self) -> str:
        return f"<{' × '.join(map(str, self.shape))} numbers>"


def _again(shape: tuple[int, ...], form: str, data: bytes) -> Packed:
    return Packed(shape, memoryview(data).cast(form))  # type: ignore[call-overload]


def folded(cells: list[Any], shape: Sequence[int]) -> list[Any]:
    """Nested lists of a shape from cells in row-major order."""
    for place in range(len(shape) - 1, 0, -1):
        size, count = shape[place], math.prod(shape[:place])
        cells = [cells[i * size : (i + 1) * size] for i in range(count)]
    return cells


def pack(value: Any) -> Packed | None:
    """A tensor of at least `LEAST` floats packed: nested lists or tuples, an array with a buffer of
    doubles or singles, or one that is packed already. None for any other."""
    if isinstance(value, Packed):
        return value
    if isinstance(value, (list, tuple)):
        return _from_lists(value)
    try:
        view = memoryview(value)
    except TypeError:
        return None
    if view.format not in ("d", "f") or not view.ndim or math.prod(view.shape or ()) < LEAST:
        return None
    return Packed(view.shape or (), memoryview(view.tobytes()).cast(view.format))


def _from_lists(value: Any) -> Packed | None:
    shape, rows = [], [value]
    while isinstance(rows[0], (list, tuple)):
        size = len(rows[0])
        if not size or not all(isinstance(row, (list, tuple)) and len(row) == size for row in rows):
            return None  # ragged or empty: the op that takes it says so
        shape.append(size)
        if not isinstance(rows[0][0], (list, tuple)):
            break
        rows = list(chain.from_iterable(rows))
    if math.prod(shape) < LEAST or not all(countOf(map(type, row), float) == len(row) for row in rows):
        return None
    cells = array("d")
    for row in rows:
        cells.fromlist(row if type(row) is list else list(row))
    packed = Packed(shape, cells)
    packed.finite = all(math.isfinite(sum(row)) for row in rows) or packed.finite
    return packed
