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
from dataclasses import dataclass, field
from itertools import compress
from operator import sub, truediv
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
    the largest |a| of the row (the rounding of a sum goes with the size of its terms)."""

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
    """How far two tensors of one shape are apart. Places are (row, column), None where all are equal."""

    cells: int = 0
    unequal: int = 0
    over: int = 0
    """Cells beyond the tolerance, or of different classes."""
    absolute: float = 0.0
    absolute_at: tuple[int, int] | None = None
    relative: float = 0.0
    relative_at: tuple[int, int] | None = None
    ulps: float = 0.0
    ulps_at: tuple[int, int] | None = None
    nan: int = 0
    """Cells that are NaN in one or both, and therefore never agree."""
    masked_mine: int = 0
    """Cells that are masked in mine alone."""
    masked_theirs: int = 0
    first_over: tuple[int, int] | None = None
    worst: float = 0.0
    """The largest |b − a| / allowed."""
    rows: list[int] = field(default_factory=list)
    """Rows with a cell that does not agree."""

    @property
    def agrees(self) -> bool:
        return not self.over


Skip = Callable[[int, list[Any], list[Any]], bool]


def measure(
    mine: Recorded, theirs: Recorded, tolerance: Tolerance, rules: Rules, skip: Skip | None = None
) -> Difference:
    """The difference of two tensors with equal rows. `skip` says of a row, by number, that it is left out."""
    found = Difference()
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
    found.ulps *= 2.0 ** (rules.spacing.bits - 53)
    return found


def _row_adder(found: Difference, tolerance: Tolerance, rules: Rules) -> Callable[[int, Any, Any], None]:
    floor = FLOOR if rules.masked_below is None else max(FLOOR, rules.masked_below)
    rtol, atol, by_row = tolerance.rtol, tolerance.atol, tolerance.by_row
    ulp, smallest = math.ulp, math.ldexp(1.0, rules.spacing.least - 52)

    def over(i: int, places: list[int]) -> None:
        found.over += len(places)
        found.rows.append(i)
        if found.first_over is None:
            found.first_over = (i, places[0])

    def add(i: int, a: list[Any], b: list[Any]) -> None:
        columns = None
        wrong: list[int] = []
        low = min(min(a), min(b))
        if not low > floor or not math.isfinite(sum(a) + sum(b)):
            a, b, columns, wrong = _visible(a, b, rules, found)
            if wrong:
                found.unequal += len(wrong)
                found.worst = math.inf
            if not a:
                if wrong:
                    over(i, wrong)
                return
        apart = list(map(abs, map(sub, b, a)))
        largest = max(apart)
        if not largest:
            if wrong:
                over(i, wrong)
            return
        found.unequal += len(apart) - apart.count(0.0)
        if largest > found.absolute:
            found.absolute, found.absolute_at = largest, _place(i, apart.index(largest), columns)
        sizes = list(map(abs, a))
        try:
            ratios = list(map(truediv, apart, sizes))
        except ZeroDivisionError:
            ratios = [d / s if s else math.inf if d else 0.0 for d, s in zip(apart, sizes)]
        ratio = max(ratios)
        if ratio > found.relative:
            found.relative, found.relative_at = ratio, _place(i, ratios.index(ratio), columns)
        spacings = list(map(truediv, apart, [max(u, smallest) for u in map(ulp, a)]))
        steps = max(spacings)
        if steps > found.ulps:
            found.ulps, found.ulps_at = steps, _place(i, spacings.index(steps), columns)
        if by_row:
            allowed = atol + rtol * max(sizes)
            found.worst = max(found.worst, largest / allowed if allowed else math.inf)
            if largest > allowed:
                wrong += [j if columns is None else columns[j] for j, d in enumerate(apart) if d > allowed]
        else:
            for j, (d, s) in enumerate(zip(apart, sizes)):
                allowed = atol + rtol * s
                if d > allowed:
                    wrong.append(j if columns is None else columns[j])
                if d:
                    found.worst = max(found.worst, d / allowed if allowed else math.inf)
        if wrong:
            over(i, sorted(wrong))

    return add


def _place(i: int, j: int, columns: list[int] | None) -> tuple[int, int]:
    return i, j if columns is None else columns[j]


def _visible(
    a: list[Any], b: list[Any], rules: Rules, found: Difference
) -> tuple[list[Any], list[Any], list[int], list[int]]:
    """The cells that are numbers on both sides, their columns, and the columns that do not agree
    because one is masked, NaN or infinite and the other is not."""
    keep: list[bool] = []
    wrong: list[int] = []
    below = rules.masked_below
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
