"""Cells of two tensors side by side: masked, NaN, or numbers that are so far apart.

−∞, −1e9, what a mask was filled with (`masked_cells`) are one class, "masked": two masked cells agree, whatever
each holds, and a masked cell never agrees with a visible one. NaN agrees with nothing, not even with NaN unless
that is asked for. All else is subtracted.

Differences of two cells a (the reference) and b (yours): absolute |b − a|, relative |b − a| / |a|, and in
ulps, the spacing of the coarser format around a.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, compress
from operator import sub
from typing import Any, NamedTuple

from ...core.rounded import FLOAT16, Format
from .masked_cells import FILL, hidden_cells, without_infinite
from .printed import Print
from .recording import SMALL as SMALL_TENSOR
from .recording import Recorded, deviation


class Tolerance(NamedTuple):
    """How far apart two cells may be: atol + rtol · the size, which is |a| itself, or, where `by_row`,
    the largest |a| of the row or, if that is larger, the root of the mean a² of the whole tensor (the rounding
    of a sum goes with the size of its terms, which its neighbours tell); and half a unit of the last of the
    significant `digits` that b was printed with."""

    rtol: float = 0.0
    atol: float = 0.0
    by_row: bool = True
    digits: int = 0

    def of_cell(self, b: float) -> float:
        """What a cell may be off by besides what its row may."""
        return Print("significant", self.digits).half(b) if self.digits else 0.0


@dataclass(frozen=True)
class Rules:
    """What counts as the same besides the tolerance."""

    nan_equal: bool = False
    masked_below: float | None = None
    spacing: Format = FLOAT16
    """The format whose ulps are counted."""


TINY = 5e-324
Skip = Callable[[int, list[Any], list[Any]], bool]


@dataclass
class Difference:
    """How far two tensors are apart. Places are (row, column), None where all are equal.

    Whether they agree is found at once, up to the first cell that does not; what only a report asks for (how
    many do not, how far the farthest are apart) is counted when it is asked for.
    """

    sides: tuple[Recorded, Recorded]
    rules: Rules
    tolerance: Tolerance
    skip: Skip | None = field(default=None, repr=False)
    unequal: bool = False
    agrees: bool = True
    first_over: tuple[int, int] | None = None
    """The first cell that does not agree."""
    loose: bool = False
    """Whether a row agrees only because its tolerance is as wide as its cells are spread."""

    @property
    def cells(self) -> int:
        return self.sides[0].size

    @property
    def comparable(self) -> bool:
        """Whether both sides have the same shape."""
        return self.sides[0].shape == self.sides[1].shape

    @cached_property
    def classes(self) -> Classes:
        """How many cells are of another class on the other side."""
        counts = Classes()
        if self.comparable and self.unequal:
            for _, a, b in self._rows():
                visible(a, b, self.rules, counts)
        return counts

    @property
    def nan(self) -> int:
        """Cells that are NaN in one or both, and therefore never agree."""
        return self.classes.nan

    @property
    def masked_reference(self) -> int:
        """Cells that are masked in the reference alone."""
        return self.classes.masked_reference

    @property
    def masked_yours(self) -> int:
        return self.classes.masked_yours

    @cached_property
    def over(self) -> int:
        """How many cells do not agree."""
        if not self.comparable:
            return self.cells
        return self._differing[0]

    @property
    def place(self) -> tuple[int, int] | None:
        """The cell to show: of those that do not agree the one that is the farthest off, else the farthest."""
        return self.absolute_at if self.agrees else self._differing[1] or self.first_over

    @cached_property
    def _differing(self) -> tuple[int, tuple[int, int] | None]:
        """How many cells do not agree, and the farthest of them; another class is infinitely far."""
        count, farthest, place = 0, -1.0, None
        for i, a, b in self._rows() if self.comparable and self.unequal else ():
            columns = _beyond(self, a, b)
            count += len(columns)
            for j in columns:
                apart = abs(b[j] - a[j])
                apart = math.inf if apart != apart else apart
                if apart > farthest:
                    farthest, place = apart, (i, j)
        return count, place

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
        return math.inf if not self.comparable or self.classes.wrong else self._farthest[4]

    def _rows(self) -> Iterator[tuple[int, list[Any], list[Any]]]:
        """The rows that are not equal, and are not left out."""
        for i, (a, b) in enumerate(zip(*(side.rows for side in self.sides))):
            if not _equal(a, b) and not (self.skip is not None and self.skip(i, a, b)):
                yield i, a, b

    @cached_property
    def _farthest(self) -> tuple[float, tuple[int, int] | None, float, float, float]:
        if not self.unequal or not self.comparable:
            return 0.0, None, 0.0, 0.0, 0.0
        spacing = self.rules.spacing
        smallest = math.ldexp(1.0, spacing.least - 52)
        rtol, atol = self.tolerance.rtol, self.tolerance.atol
        absolute = relative = steps = worst = 0.0
        place = None
        for i, a, b in self._rows():
            p, q, columns, _ = visible(a, b, self.rules, Classes())
            row = [(abs(y - x), abs(x), j) for x, y, j in zip(p, q, columns) if 0.0 < abs(y - x) < math.inf]
            if not row:
                continue
            size = 0.0
            if self.tolerance.by_row:
                size = max(self.sides[0].spread, max(map(abs, p)))
            for apart, x, j in row:
                if apart > absolute:
                    absolute, place = apart, (i, j)
                if isinstance(a[j], bool):
                    continue
                relative = max(relative, apart / x if x else math.inf)
                steps = max(steps, apart / max(math.ulp(x), smallest))
                allowed = atol + rtol * (size or x) + self.tolerance.of_cell(b[j])
                worst = max(worst, apart / (allowed or TINY))
        return absolute, place, relative, steps * 2.0 ** (spacing.bits - 53), worst


@dataclass
class Classes:
    """Counts of cells of two classes. `wrong`: all that do not agree as one side is masked, NaN or infinite."""

    wrong: int = 0
    nan: int = 0
    masked_reference: int = 0
    masked_yours: int = 0


def measure(
    reference: Recorded, yours: Recorded, tolerance: Tolerance, rules: Rules, skip: Skip | None = None
) -> Difference:
    """The difference of two tensors with equal rows. `skip` says of a row, by number, that it is left out."""
    difference = Difference((reference, yours), rules, tolerance, skip)
    if reference.shape != yours.shape:
        difference.agrees, difference.unequal = False, True
        return difference
    told = None if skip is not None else _at_once(reference, yours, tolerance, rules)
    if told is not None:
        difference.unequal = told
        return difference
    near = None
    for i, (a, b) in enumerate(zip(reference.rows, yours.rows)):
        if _equal(a, b) or (skip is not None and skip(i, a, b)):
            continue
        difference.unequal = True
        if near is None:
            near = _never if _is_wide(reference, tolerance) else _quick_look(tolerance, rules)
        if not near(a, b):
            beyond = _beyond(difference, a, b)
            if beyond:
                difference.agrees, difference.first_over = False, (i, beyond[0])
                break
    return difference


def _equal(a: list[Any], b: list[Any]) -> bool:
    """Whether two rows are equal; NaN, which a list holds equal to itself, is not."""
    if a == b:
        total = sum(a)
        return total == total or not any(x != x for x in a)
    return False


def _at_once(reference: Recorded, yours: Recorded, tolerance: Tolerance, rules: Rules) -> bool | None:
    """Whether a small tensor that agrees is unequal; None where one look at all cells does not tell that it
    agrees: they are equal, or all differences together are within what any row allows, and each row has two
    cells so far apart that it deviates by more than that. What is −∞ on both sides is left out."""
    size = reference.size
    if size > SMALL_TENSOR or not size:
        return None
    a, b, cells = reference.rows, yours.rows, chain.from_iterable
    if a == b:
        return False if (total := sum(map(sum, a))) == total else None
    norm = math.hypot(*cells(a))
    if norm == math.inf:
        a, b = without_infinite(a, b) or ([[]], [[]])
        norm = math.hypot(*cells(a))
    floor = FILL if rules.masked_below is None else max(FILL, rules.masked_below)
    if not (tolerance.by_row and all(a) and (norm < -floor or min(map(min, a)) > floor)):
        return None
    least = tolerance.atol + tolerance.rtol * norm / math.sqrt(size)
    if not math.dist(cells(a), cells(b)) <= least < math.inf:  # no row allows less
        return None
    most = tolerance.atol + tolerance.rtol * norm
    gap = min([abs(row[-1] - row[0]) if len(row) > 1 else abs(row[0]) for row in a])
    return True if gap > most * math.sqrt(2 * reference.width) else None


def _is_wide(reference: Recorded, tolerance: Tolerance) -> bool:
    """Whether what is allowed is as much as the cells are spread."""
    if reference.size <= SMALL_TENSOR:
        low, high = min(reference.flat), max(reference.flat)
        most = tolerance.rtol * max(-low, high) * math.sqrt(2 * reference.size)
        if low > FILL and most < high - low < math.inf:  # two cells so far apart deviate by more than that
            return False
    return tolerance.by_row and reference.deviation < tolerance.rtol * reference.spread


def _plain(rules: Rules) -> float:
    """Numbers that are smaller are not masked."""
    return abs(FILL if rules.masked_below is None else max(FILL, rules.masked_below))


def _never(a: Any, b: Any) -> bool:
    return False


def _quick_look(tolerance: Tolerance, rules: Rules) -> Callable[[Any, Any], bool]:
    """The function that says of most rows that agree that they do: plain numbers that differ by rounding,
    where the root of the sum of squares is within what three of their cells allow."""
    rtol, atol, by_row = tolerance.rtol, tolerance.atol, tolerance.by_row
    plain = _plain(rules)

    def near(a: Any, b: Any) -> bool:
        if not by_row:
            return False
        size = max(abs(a[0]), abs(a[len(a) // 2]), abs(a[-1]))
        return size < plain and math.dist(a, b) <= atol + rtol * size

    return near


def _beyond(difference: Difference, a: list[Any], b: list[Any]) -> list[int]:
    """The columns of a row that do not agree."""
    tolerance, rules = difference.tolerance, difference.rules
    p, q, columns, wrong = visible(a, b, rules, Classes())
    rtol, atol, of_cell = tolerance.rtol, tolerance.atol, tolerance.of_cell
    apart = list(map(sub, q, p))
    if not tolerance.by_row:
        far = [j for j, d, x in zip(columns, apart, p) if abs(d) > atol + rtol * abs(x)]
    elif not p:
        far = []
    else:
        largest = max(max(apart), -min(apart))
        allowed = atol + rtol * max(max(p), -min(p))
        if largest > allowed:
            allowed = max(allowed, atol + rtol * difference.sides[0].spread)
        far = []
        if largest > allowed:
            far = [j for j, d, y in zip(columns, apart, q) if abs(d) > allowed + of_cell(y)]
        elif 2 * largest > deviation(p) < allowed:
            difference.loose = True
    return sorted(wrong + far) if wrong else far


def visible(
    a: Sequence[Any], b: Sequence[Any], rules: Rules, counts: Classes
) -> tuple[Sequence[Any], Sequence[Any], Sequence[int], list[int]]:
    """The cells that are numbers on both sides, their columns, and the columns that do not agree
    because one is masked, NaN or infinite and the other is not (which are counted)."""
    below = rules.masked_below
    if below is None:  # mostly the same cells are −∞, and the others are plain numbers
        keep = list(map(FILL.__lt__, a))
        if keep == list(map(FILL.__lt__, b)):
            p, q = (a, b) if all(keep) else (list(compress(a, keep)), list(compress(b, keep)))
            low = {x for row in (a, b) for x in row if not x > FILL} if len(p) < len(a) else set()
            if math.isfinite(sum(p)) and math.isfinite(sum(q)) and low <= {-math.inf}:
                return p, q, range(len(a)) if p is a else list(compress(range(len(a)), keep)), []
    keep = []
    wrong: list[int] = []
    for j, (x, y, hidden, other) in enumerate(zip(a, b, *hidden_cells(a, b, below))):
        plain = False
        if x != x or y != y:
            if not (rules.nan_equal and x != x and y != y):
                counts.nan += 1
                wrong.append(j)
        elif hidden != other:
            if hidden:
                counts.masked_reference += 1
            else:
                counts.masked_yours += 1
            wrong.append(j)
        elif not hidden:
            plain = math.isfinite(x) and math.isfinite(y)
            if not plain and x != y:
                wrong.append(j)
        keep.append(plain)
    counts.wrong += len(wrong)
    columns = list(compress(range(len(a)), keep))
    return list(compress(a, keep)), list(compress(b, keep)), columns, wrong
