"""A line of statistics for each tensor of a trace: what porters print at every step.

    tensor   shape  sum  mean  std       min       max  norm      hidden  first … last
    weights  2 × 2  2    0.75  0.433013  0.158655  1    1.31303   1       1 … 0.841345

Sum, mean, standard deviation (divided by n), smallest, largest and norm (√ Σ x²) are over the cells that
are neither hidden nor infinite nor NaN; how many are is counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from graphattn.core import moments, nested
from graphattn.core.trace import Trace
from graphattn.core.words import aligned, number, sizes, wrapped
from graphattn.dumps.rows import TensorRow, step_rows, visible

VISIBLE = "sum to norm are of the cells that no mask hides"
ENDS = 3
"""How many of the first and of the last cells are shown."""


@dataclass(frozen=True, slots=True)
class TensorStats:
    """Statistics of one recorded tensor (see the module's docstring); NaN where there is nothing to count."""

    name: str
    shape: tuple[int, ...]
    sum: float
    mean: float
    std: float
    smallest: float
    largest: float
    norm: float
    nonfinite: int
    """How many visible cells are infinite or NaN."""
    hidden: int
    """How many cells are hidden by a mask."""
    first: tuple[float, ...]
    last: tuple[float, ...]


class Stats(tuple[TensorStats, ...]):
    """The statistics of several tensors, in order of evaluation; printed as a table."""

    def text(self, width: int | None = None) -> str:
        """The table, fitted into lines of `width` places."""
        lines = aligned(list(_table(self)), limit=width)
        if any(row.hidden for row in self):
            lines += wrapped(VISIBLE, width or len(VISIBLE))
        return "\n".join(lines) + "\n"

    def __str__(self) -> str:
        return self.text().removesuffix("\n")

    __repr__ = __str__

    def data(self) -> list[dict[str, Any]]:
        """The same as dicts."""
        return [asdict(row) for row in self]


def stats(trace: Trace, only: Iterable[str] | None = None) -> Stats:
    """The statistics of every recorded tensor; with `only`, of those whose names match a pattern."""
    return Stats(
        _of(tensor, trace)
        for row in step_rows(trace, only)
        for tensor in row.tensors
        if tensor.value is not None
    )


def stats_text(trace: Trace, only: Iterable[str] | None = None, width: int | None = None) -> str:
    """The same as a table of text, fitted into lines of `width` places."""
    return stats(trace, only).text(width)


def _of(tensor: TensorRow, trace: Trace) -> TensorStats:
    shown = [trace.numbers.nearest(cell) for _, cell in visible(tensor)]
    cells = [cell for cell in shown if math.isfinite(cell)]
    every = [trace.numbers.nearest(cell) for cell in nested.flat(tensor.value)]
    count = len(cells)
    return TensorStats(
        tensor.name,
        tensor.spec.shape,
        _sum(cells),
        moments.mean(cells) if count else math.nan,
        moments.deviation(cells) if count else math.nan,
        min(cells, default=math.nan),
        max(cells, default=math.nan),
        math.hypot(*cells),
        len(shown) - count,
        tensor.spec.size - len(shown),
        tuple(every[:ENDS]),
        tuple(every[ENDS:][-ENDS:]),
    )


def _sum(cells: list[float]) -> float:
    """The sum, rounded once; ∞ where it is beyond what a double holds."""
    try:
        return math.fsum(cells)
    except OverflowError:
        return sum(cells)


COLUMNS = ("sum", "mean", "std", "smallest", "largest", "norm")


def _table(rows: Iterable[TensorStats]) -> Iterator[list[str]]:
    rows = list(rows)
    counted = [what for what in ("nonfinite", "hidden") if any(getattr(row, what) for row in rows)]
    yield ["tensor", "shape", *COLUMNS, *counted, "first … last"]
    for row in rows:
        yield [
            row.name,
            sizes(row.shape),
            *(number(getattr(row, column)) for column in COLUMNS),
            *(str(getattr(row, what) or "") for what in counted),
            _ends(row),
        ]


def _ends(row: TensorStats) -> str:
    first, last = (" ".join(number(cell) for cell in cells) for cells in (row.first, row.last))
    between = " … " if math.prod(row.shape) > 2 * ENDS else " "
    return f"{first}{between}{last}" if last else first
