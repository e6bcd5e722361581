"""Cells of two tensors side by side: masked, NaN, or numbers that are so far apart.

−∞, the most negative finite number of each format, −1e9 and its like (−10ᵏ from k = 9, a score added or not)
are one class, "masked": two masked cells agree, whatever each holds, and a masked cell never agrees with a
visible one. NaN agrees with nothing, not even with NaN unless that is asked for. All else is subtracted.

Differences of two cells a (mine) and b (theirs): absolute |b − a|, relative |b − a| / |a|, and in
ulps, the spacing of the coarser format around a.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from operator import sub
from typing import Any

from ..rounded import FLOAT16, Format
from .recording import Recorded

FLOOR = -65504.0
"""The most negative float16: nothing above it is masked unless the user says so."""
ASTRONOMIC = -1e30
POWERS = -9.9e8


def is_masked(x: Any, below: float | None = None) -> bool:
    """Whether a cell is of the class "masked"; with `below`, whether it is that small or smaller."""
    if below is not None and x <= below:
        return True
    if x > FLOOR:
        return False
    if x == FLOOR or x <= ASTRONOMIC:
        return True
    return x <= POWERS and abs(-x / 10.0 ** round(math.log10(-x)) - 1.0) <= 0.01


@dataclass(frozen=True)
class Tolerance:
    """How far apart two cells may be: atol + rtol · the size, which is |a| itself, or, where `by_row`,
    the largest |a| of the row or, if that is larger, the root of the mean a² of the whole tensor (the rounding
    of a sum goes with the size of its terms, which its neighbours tell)."""

    rtol: float = 0.0
    atol: float = 0.0
    by_row: bool = True

    def widened(self, factor: float) -> Tolerance:
        return Tolerance(self.rtol * factor, self.atol * factor, self.by_row)


@dataclass(frozen=True)
class Rules:
    """What counts as the same besides the tolerance."""

    nan_equal: bool = False
    masked_below: float | None = None
    spacing: Format = FLOAT16
    """The format whose ulps are counted."""


@dataclass
class Difference:
    """How far two tensors of one shape are apart. Places are (row, column), None where all are equal.

    The largest relative difference and the most ulps are found when they are asked for.
    """

    sides: tuple[Recorded, Recorded]
    rules: Rules
    cells: int = 0
    unequal: int = 0
    over: int = 0
    """Cells beyond the tolerance, or of different classes."""
    absolute: float = 0.0
    absolute_at: tuple[int, int] | None = None
    nan: int = 0
    """Cells that are NaN in one or both, and therefore never agree."""
    masked_mine: int = 0
    """Cells that are masked in mine alone."""
    masked_theirs: int = 0
    first_over: tuple[int, int] | None = None
    worst: float = 0.0
    """The largest |b − a| / allowed."""

    @property
    def agrees(self) -> bool:
        return not self.over

    @property
    def relative(self) -> float:
        """The largest |b − a| / |a| of the cells that are numbers on both sides."""
        return self._by_cell[0]

    @property
    def ulps(self) -> float:
        """The largest |b − a| in ulps of the format at a."""
        return self._by_cell[1]

    @cached_property
    def _by_cell(self) -> tuple[float, float]:
        if not self.unequal:
            return 0.0, 0.0
        spacing = self.rules.spacing
        smallest = math.ldexp(1.0, spacing.least - 52)
        relative = steps = 0.0
        for a, b in zip(self.sides[0].rows, self.sides[1].rows):
            if a == b:
                continue
            for x, y in zip(a, b):
                apart = abs(y - x)
                if not 0.0 < apart < math.inf or isinstance(x, bool):
                    continue
                if is_masked(x, self.rules.masked_below) or is_masked(y, self.rules.masked_below):
                    continue
                ratio = apart / abs(x) if x else math.inf
                if ratio > relative:
                    relative = ratio
                count = apart / max(math.ulp(x), smallest)
                if count > steps:
                    steps = count
        return relative, steps * 2.0 ** (spacing.bits - 53)


Skip = Callable[[int, list[Any], list[Any]], bool]


def measure(
    mine: Recorded, theirs: Recorded, tolerance: Tolerance, rules: Rules, skip: Skip | None = None
) -> Difference:
    """The difference of two tensors with equal rows. `skip` says of a row, by number, that it is left out."""
    found = Difference((mine, theirs), rules)
    add_row = _row_adder(found, tolerance, rules)
    for i, (a, b) in enumerate(zip(mine.rows, theirs.rows)):
        found.cells += len(a)
        if a == b:
            total = sum(a)
            if total == total:  # no NaN, which a list holds equal to itself
                continue
        if skip is not None and skip(i, a, b):
            continue
        add_row(i, a, b)
    return found


def _row_adder(found: Difference, tolerance: Tolerance, rules: Rules) -> Callable[[int, Any, Any], None]:
    floor = FLOOR if rules.masked_below is None else max(FLOOR, rules.masked_below)
    visible_gap = abs(floor)
    rtol, atol, by_row = tolerance.rtol, tolerance.atol, tolerance.by_row

    def add(i: int, a: list[Any], b: list[Any]) -> None:
        apart = list(map(abs, map(sub, b, a)))
        largest, low = max(apart), min(a)
        columns, wrong, beyond, first = None, [], 0, None
        total = sum(apart)
        if total - total != 0.0 or not low > floor or largest >= visible_gap:  # not just plain numbers
            a, b, columns, wrong = _visible(a, b, rules, found)
            if wrong:
                found.unequal += len(wrong)
                found.worst = math.inf
            if a:
                apart = list(map(abs, map(sub, b, a)))
                largest, low = max(apart), min(a)
            else:
                apart, largest = [], 0.0
        if largest:
            found.unequal += len(apart) - apart.count(0.0)
            if largest > found.absolute:
                j = apart.index(largest)
                found.absolute, found.absolute_at = largest, (i, j if columns is None else columns[j])
            if by_row:
                allowed = atol + rtol * max(max(a), -low)
                if largest > allowed:
                    allowed = max(allowed, atol + rtol * found.sides[0].spread)
                if largest > allowed:
                    beyond = sum(map(allowed.__lt__, apart))
                    first = next(j for j, d in enumerate(apart) if d > allowed)
                if largest > found.worst * allowed:
                    found.worst = largest / allowed if allowed else math.inf
            else:
                for j, (d, x) in enumerate(zip(apart, a)):
                    allowed = atol + rtol * abs(x)
                    if d > allowed:
                        beyond += 1
                        first = j if first is None else first
                    if d > found.worst * allowed:
                        found.worst = d / allowed if allowed else math.inf
        if beyond or wrong:
            found.over += len(wrong) + beyond
            if found.first_over is None:
                if first is not None:
                    wrong.append(first if columns is None else columns[first])
                found.first_over = (i, min(wrong))

    return add


def _visible(
    a: list[Any], b: list[Any], rules: Rules, found: Difference
) -> tuple[list[Any], list[Any], list[int], list[int]]:
    """The cells that are numbers on both sides, their columns, and the columns that do not agree
    because one is masked, NaN or infinite and the other is not."""
    below = rules.masked_below
    if below is None:  # mostly the same cells are hidden, and the others are plain numbers
        keep = list(map(FLOOR.__lt__, a))
        if keep == list(map(FLOOR.__lt__, b)):
            p, q = list(compress(a, keep)), list(compress(b, keep))
            hidden = {x for row in (a, b) for x in row if not x > FLOOR}
            if math.isfinite(sum(p)) and math.isfinite(sum(q)) and all(map(is_masked, hidden)):
                return p, q, list(compress(range(len(a)), keep)), []
    keep = []
    wrong: list[int] = []
    for j, (x, y) in enumerate(zip(a, b)):
        plain = False
        if x != x or y != y:
            if not (rules.nan_equal and x != x and y != y):
                found.nan += 1
                wrong.append(j)
        else:
            hidden, other = is_masked(x, below), is_masked(y, below)
            if hidden != other:
                if hidden:
                    found.masked_mine += 1
                else:
                    found.masked_theirs += 1
                wrong.append(j)
            elif not hidden:
                plain = math.isfinite(x) and math.isfinite(y)
                if not plain and x != y:
                    wrong.append(j)
        keep.append(plain)
    columns = list(compress(range(len(a)), keep))
    return list(compress(a, keep)), list(compress(b, keep)), columns, wrong
