"""Cells of two tensors side by side: masked, NaN, or numbers that are so far apart.

−∞, the most negative finite number of each format, −1e9 and its like (−10ᵏ from k = 9, a score added or not)
are one class, "masked": two masked cells agree, whatever each holds, and a masked cell never agrees with a
visible one. NaN agrees with nothing, not even with NaN unless that is asked for. All else is subtracted.

Differences of two cells a (the reference) and b (yours): absolute |b − a|, relative |b − a| / |a|, and in
ulps, the spacing of the coarser format around a.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress
from operator import sub
from typing import Any

from ...core.numbers import dot
from ...core.rounded import FLOAT16, Format
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

    Whether they agree is found at once; what only a report asks for (how many cells do not, and how far the
    farthest are apart) is found when it is asked for.
    """

    sides: tuple[Recorded, Recorded]
    rules: Rules
    tolerance: Tolerance
    cells: int = 0
    unequal: bool = False
    agrees: bool = True
    first_over: tuple[int, int] | None = None
    """The first cell that does not agree."""
    other_class: int = 0
    """Cells that do not agree since one is masked, NaN or infinite and the other is not."""
    nan: int = 0
    """Cells that are NaN in one or both, and therefore never agree."""
    masked_reference: int = 0
    """Cells that are masked in the reference alone."""
    masked_yours: int = 0
    beyond: list[tuple[Sequence[Any], Sequence[Any], float]] = field(default_factory=list, repr=False)
    """Rows of visible numbers with some that do not agree, and how far apart they may be."""
    skipped: set[int] = field(default_factory=set, repr=False)

    @cached_property
    def over(self) -> int:
        """How many cells do not agree."""
        rtol = 0.0 if self.tolerance.by_row else self.tolerance.rtol
        return self.other_class + sum(
            abs(y - x) > allowed + rtol * abs(x) for a, b, allowed in self.beyond for x, y in zip(a, b)
        )

    @property
    def absolute(self) -> float:
        """The largest |b − a| of the cells that are numbers on both sides."""
        return self._farthest[0]

    @property
    def absolute_at(self) -> tuple[int, int] | None:
        return self._farthest[1]

    @property
    def relative(self) -> float:
        """The largest |b − a| / |a|."""
        return self._farthest[2]

    @property
    def ulps(self) -> float:
        """The largest |b − a| in ulps of the format at a."""
        return self._farthest[3]

    @property
    def worst(self) -> float:
        """The largest |b − a| / allowed; infinite where a cell is of another class."""
        return math.inf if self.other_class else self._farthest[4]

    @cached_property
    def _farthest(self) -> tuple[float, tuple[int, int] | None, float, float, float]:
        if not self.unequal:
            return 0.0, None, 0.0, 0.0, 0.0
        spacing, below = self.rules.spacing, self.rules.masked_below
        smallest = math.ldexp(1.0, spacing.least - 52)
        rtol, atol = self.tolerance.rtol, self.tolerance.atol
        absolute = relative = steps = worst = 0.0
        place = None
        for i, (a, b) in enumerate(zip(*(side.rows for side in self.sides))):
            if a == b or i in self.skipped:
                continue
            row = [
                (abs(y - x), abs(x), j)
                for j, (x, y) in enumerate(zip(a, b))
                if 0.0 < abs(y - x) < math.inf and not (is_masked(x, below) and is_masked(y, below))
            ]
            if not row:
                continue
            size = 0.0
            if self.tolerance.by_row:
                size = max(self.sides[0].spread, max(abs(x) for x in a if not is_masked(x, below) and x == x))
            for apart, x, j in row:
                if apart > absolute:
                    absolute, place = apart, (i, j)
                if isinstance(a[j], bool):
                    continue
                relative = max(relative, apart / x if x else math.inf)
                steps = max(steps, apart / max(math.ulp(x), smallest))
                worst = max(worst, apart / (atol + rtol * (size or x) or TINY))
        return absolute, place, relative, steps * 2.0 ** (spacing.bits - 53), worst


TINY = 5e-324
Skip = Callable[[int, list[Any], list[Any]], bool]


def measure(
    reference: Recorded, yours: Recorded, tolerance: Tolerance, rules: Rules, skip: Skip | None = None
) -> Difference:
    """The difference of two tensors with equal rows. `skip` says of a row, by number, that it is left out."""
    found = Difference((reference, yours), rules, tolerance, reference.size)
    look = _row_looker(found)
    for i, (a, b) in enumerate(zip(reference.rows, yours.rows)):
        if a == b:
            total = sum(a)
            if total == total:  # no NaN, which a list holds equal to itself
                continue
        if skip is not None and skip(i, a, b):
            found.skipped.add(i)
        else:
            look(i, a, b)
    return found


def _row_looker(found: Difference) -> Callable[[int, Any, Any], None]:
    """The function that judges one row of each side. Most rows are plain numbers that differ by rounding:
    there the root of the sum of squares is within what three of their cells allow, and all is said."""
    tolerance, rules = found.tolerance, found.rules
    floor = FLOOR if rules.masked_below is None else max(FLOOR, rules.masked_below)
    plain = abs(floor)
    rtol, atol, by_row = tolerance.rtol, tolerance.atol, tolerance.by_row

    def look(i: int, a: list[Any], b: list[Any]) -> None:
        columns, wrong = None, []
        found.unequal = True
        apart = list(map(sub, b, a))
        squares = dot(apart, apart)
        if by_row:
            size = max(abs(a[0]), abs(a[len(a) // 2]), abs(a[-1]))
            if size < plain and squares <= (atol + rtol * size) ** 2:
                return
        if not squares < plain or not min(a) > floor:  # not just plain numbers
            a, b, columns, wrong = _visible(a, b, rules, found)
            apart = list(map(sub, b, a))
        found.other_class += len(wrong)
        first = min(wrong, default=None)
        place = _first_beyond(a, b, apart) if a else None
        if place is not None:
            place = place if columns is None else columns[place]
            first = place if first is None else min(first, place)
        if first is not None:
            found.agrees = False
            found.first_over = found.first_over or (i, first)

    def _first_beyond(a: list[Any], b: list[Any], apart: list[float]) -> int | None:
        if not by_row:
            first = next((j for j, (d, x) in enumerate(zip(apart, a)) if abs(d) > atol + rtol * abs(x)), None)
            if first is not None:
                found.beyond.append((a, b, atol))
            return first
        largest = max(max(apart), -min(apart))
        allowed = atol + rtol * max(max(a), -min(a))
        if largest > allowed:
            allowed = max(allowed, atol + rtol * found.sides[0].spread)
        if largest <= allowed:
            return None
        found.beyond.append((a, b, allowed))
        return next(j for j, d in enumerate(apart) if abs(d) > allowed)

    return look


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
                    found.masked_reference += 1
                else:
                    found.masked_yours += 1
                wrong.append(j)
            elif not hidden:
                plain = math.isfinite(x) and math.isfinite(y)
                if not plain and x != y:
                    wrong.append(j)
        keep.append(plain)
    columns = list(compress(range(len(a)), keep))
    return list(compress(a, keep)), list(compress(b, keep)), columns, wrong
