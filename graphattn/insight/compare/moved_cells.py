"""How far rounding moves each cell of a tensor, from passes in which everything was moved by a rounding error.

    s² = (Σ d² + 4 · the row's mean of σ̂²) / (K + 4)          d: how far a cell moved; K passes; σ̂² = Σ d² / K

The mean is of the cells that move by less than a quarter of the tensor's spread, if any do: a cell whose sign
flips says nothing of its neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property

from ...core.moments import power_of
from .masked_cells import FILL, hidden_cells
from .recording import deviation


class MovedCells:
    """The rows of a tensor as they are, and how far their cells moved so far."""

    def __init__(self, rows: Sequence[Sequence[float]]) -> None:
        self.rows = rows
        self.passes = 0
        self.squares = [[0.0] * len(row) for row in rows]

    @cached_property
    def hidden(self) -> list[list[bool]]:
        """The cells that a mask hides, by itself or beside what is visible in their row."""
        return [
            hidden_cells(row, row)[0] if min(row, default=0.0) <= FILL else [False] * len(row)
            for row in self.rows
        ]

    @cached_property
    def spread(self) -> float:
        """How far the cells are apart; the size of cells that are all the same."""
        cells = [
            x
            for row, hidden in zip(self.rows, self.hidden, strict=True)
            for x, masked in zip(row, hidden, strict=True)
            if math.isfinite(x) and not masked
        ]
        return deviation(cells) or max(map(abs, cells), default=0.0)

    @cached_property
    def power(self) -> int:
        """The power of two by which distances are divided, so that their squares stay in range."""
        return max(-1000, min(power_of(self.spread), 1000))

    def add(self, moved: Sequence[Sequence[float]]) -> None:
        """One more pass."""
        self.passes += 1
        down = 2.0**-self.power
        for squares, a, b in zip(self.squares, self.rows, moved, strict=True):
            for j, (x, y) in enumerate(zip(a, b, strict=True)):
                d = (y - x) * down
                if d - d == 0.0:
                    squares[j] += d * d

    def reach(self) -> Iterator[list[float]]:
        """s of each cell, row by row; 0 before the first pass."""
        if not self.passes:
            yield from self.squares
            return
        up, near = 2.0**self.power, self.passes * (self.spread * 2.0**-self.power) ** 2 / 16
        for row, hidden in zip(self.squares, self.hidden, strict=True):
            seen = [squares for squares, masked in zip(row, hidden, strict=True) if not masked] or row
            calm = [squares for squares in seen if squares <= near] or seen
            mean = sum(calm) / self.passes / (len(calm) or 1)
            yield [math.sqrt((squares + 4 * mean) / (self.passes + 4)) * up for squares in row]
