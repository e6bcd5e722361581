"""What someone recorded, whoever it was and in whatever form: tensors by name.

A tensor is kept as its rows (the lists along its last axis, in row-major order): a scalar is one
row of one cell. Values of a trace are not copied.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any

from ...core import moments, nested
from ...core.errors import GraphError, suggest
from ...core.moments import rms
from ...core.numbers import dot, total
from ...core.rounded import Format
from ...core.tensor_file import need_numbers
from ...core.trace import Trace
from ...core.words import listed
from .masked_cells import FILL, seen
from .precision import recorded_precision
from .printed import Print

Rows = list[list[Any]]
SMALL = 4096
"""Of a tensor of up to so many cells, all are looked at in one list."""
FINE = 1e-280
"""Where the mean of all squares is larger, none that matters vanished."""


@dataclass(eq=False)
class Recorded:
    """One tensor: its rows along the last axis, in row-major order. It is never changed."""

    name: str
    shape: tuple[int, ...]
    rows: Rows
    dtype: str = ""
    """The type of its cells, where it came as an array that has one: "float32", …"""
    printed: Print | None = None
    """With how many digits it was printed, where its source tells; exact where nothing was printed."""
    turned: bool = False
    """Whether it came as the transposed view of an array."""

    def made(self, name: str, shape: tuple[int, ...], rows: Rows) -> Recorded:
        """Cells of this tensor as another."""
        return Recorded(name, shape, rows, self.dtype, self.printed)

    @cached_property
    def flat(self) -> list[Any]:
        """Every cell, in row-major order."""
        return self.rows[0] if len(self.rows) == 1 else list(chain.from_iterable(self.rows))

    @cached_property
    def spread(self) -> float:
        """The root of the mean square of its cells, those of masks and what is not finite aside."""
        if self.size:
            squares = total([dot(row, row) for row in self.pieces])
            if FINE * self.size < squares < math.inf and self._plain:
                return math.sqrt(squares / self.size)
        return rms(self.seen)

    @property
    def seen(self) -> list[Any]:
        """Its cells, those of masks and what is not finite aside."""
        return [x for row in self.rows for x in seen(row)]

    @property
    def pieces(self) -> Rows:
        """All cells in few lists: of a small tensor in one."""
        return [self.flat] if 0 < self.size <= SMALL else self.rows

    @cached_property
    def _plain(self) -> bool:
        """Whether no cell is so low that it may be masked."""
        return min(map(min, self.pieces)) > FILL

    @cached_property
    def no_numbers(self) -> list[tuple[int, int]]:
        """Row and column of each cell that is NaN or +∞."""
        rows = ((i, row) for i, row in enumerate(self.rows) if (some := sum(row)) - some != 0)
        return [(i, j) for i, row in rows for j, x in enumerate(row) if x != x or x == math.inf]

    @cached_property
    def largest(self) -> float:
        """The largest |cell|, those of masks and NaN aside."""
        if self.size and self._plain and math.isfinite(sum(map(sum, self.pieces))):
            return max(max(map(max, self.pieces)), -min(map(min, self.pieces)))
        return max(
            (math.inf if math.inf in row else max(map(abs, seen(row)), default=0.0) for row in self.rows),
            default=0.0,
        )

    @cached_property
    def deviation(self) -> float:
        """The standard deviation of the same cells; of one cell, its size."""
        if self.size > 1 and self.spread < math.inf and self._plain:
            mean, square = sum(map(sum, self.pieces)) / self.size, self.spread * self.spread
            if mean * mean < 0.9 * square and FINE < square < math.inf:  # no cancellation
                return math.sqrt(square - mean * mean)
        return deviation(self.seen)

    @property
    def size(self) -> int:
        return len(self.rows) * self.width

    @property
    def width(self) -> int:
        """The length of a row."""
        return self.shape[-1] if self.shape else 1

    @property
    def squeezed(self) -> tuple[int, ...]:
        """The shape without leading axes of size 1."""
        shape = self.shape
        while len(shape) > 1 and shape[0] == 1:
            shape = shape[1:]
        return shape

    def part(self, index: Sequence[int]) -> Recorded:
        """The sub-tensor at an index of the leading axes."""
        flat, shape = self.flat, self.shape
        for i in index:
            size = len(flat) // shape[0]
            flat, shape = flat[i * size : (i + 1) * size], shape[1:]
        return folded(f"{self.name}{list(index)}", shape, flat, self)

    def columns(self, start: int, stop: int) -> Recorded:
        """The cells `start` to `stop` of every row."""
        rows = [row[start:stop] for row in self.rows]
        return self.made(f"{self.name}[…, {start}:{stop}]", (*self.shape[:-1], stop - start), rows)

    def transposed(self) -> Recorded:
        """The last two axes swapped, for a tensor of rank 2 (leading axes of 1 aside)."""
        n, m = self.squeezed[-2:]
        return self.made(f"{self.name}ᵀ", (m, n), list(map(list, zip(*self.rows))) if n else [])

    def as_shape(self, shape: tuple[int, ...]) -> Recorded:
        """The same cells in the same order, in another shape of as many cells."""
        return self if shape == self.shape else folded(self.name, shape, self.flat, self)

    def index(self, row: int, column: int) -> tuple[int, ...]:
        """The index of a cell, given by its row and its column."""
        if not self.shape:
            return ()
        index = [column]
        for size in reversed(self.shape[:-1]):
            row, i = divmod(row, size)
            index.append(i)
        return tuple(reversed(index))

    def nested(self) -> Any:
        """As nested lists."""
        return _fold(self.flat, self.shape)


@dataclass(frozen=True)
class Recording:
    """Tensors by name, in order; and the trace that they are from, where they are from one."""

    title: str
    tensors: Mapping[str, Recorded]
    trace: Trace | None = None
    notes: tuple[str, ...] = field(default=())
    beside: Mapping[str, Any] = field(default_factory=dict)
    """What its file says beside the tensors: texts, and whatever else holds no numbers."""

    def need_numbers(self, names: Container[str]) -> None:
        """Refuse a text under one of the names that tensors have on the other side."""
        need_numbers(self.title, self.beside, names)

    @cached_property
    def precision(self) -> Format:
        """The precision that it looks to have."""
        return recorded_precision(self)

    def find(self, name: str) -> Recorded | None:
        """The tensor of that name; in a trace an alias, an output or a unique ending will do."""
        if name in self.tensors:
            return self.tensors[name]
        if self.trace is None:
            return None
        if name not in self.trace.graph:
            return None
        ref = self.trace.graph.resolve(name)
        return self.tensors.get(self.trace.graph.tensor_name(ref))

    def need(self, name: str) -> Recorded:
        """As `find`; a `GraphError` where there is none."""
        tensor = self.find(name)
        if tensor is None:
            known = list(self.tensors)
            raise GraphError(
                f"{self.title} has no tensor {nested.shown(name)}; expected one of {listed(known)}"
                + suggest(name, known)
            )
        return tensor


def deviation(cells: Sequence[float]) -> float:
    """The standard deviation; of one cell, its size."""
    if len(cells) < 2:
        return abs(cells[0]) if cells else 0.0
    return moments.deviation(cells)


def folded(name: str, shape: tuple[int, ...], flat: Sequence[Any], of: Recorded | None = None) -> Recorded:
    """A tensor from its cells in row-major order, which are cells `of` another."""
    width = shape[-1] if shape else 1
    rows = [list(flat[start : start + width]) for start in range(0, len(flat), width)] if width else []
    return Recorded(name, shape, rows) if of is None else of.made(name, shape, rows)


def rows_of(value: Any, rank: int) -> Rows:
    """The rows of nested lists, or of packed cells, along the last axis; `rank` is for what is empty."""
    value = nested.lists(value)
    depth, inner = 0, value
    while isinstance(inner, list):
        depth += 1
        if not inner:
            depth = max(depth, rank)
            break
        inner = inner[0]
    return value if depth == 2 else [row for _, row in nested.rows(value, depth)]


def _fold(flat: Sequence[Any], shape: tuple[int, ...]) -> Any:
    if not shape:
        return flat[0]
    if len(shape) == 1:
        return list(flat)
    size = len(flat) // shape[0] if shape[0] else 0
    return [_fold(flat[i * size : (i + 1) * size], shape[1:]) for i in range(shape[0])]
