"""Whether a fit to few digits, or to few and short numbers, may be chance.

Of a cell that lies D from the intended graph's, and is known to ± r, a change that moves it as far as that, but
is not the mistake, gives the digits in r/D of all cases: log₂(D/r) bits. All cells that the intended graph does
not give, together, are b bits, and of N variants one fits by chance in N · 2⁻ᵇ of all cases. A single number
that was not rounded says as much as its digits do: a loss of 1.5, or nothing but 0, is what many mistakes give.

That the intended graph itself fits is told by the bits of all distinct cells, with D their spread.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ...core.moments import deviation
from ..compare.printed import significant_digits
from ..variants.solve import CELLS
from .judge import Judge, alike

TRUSTED = 10.0
"""So many bits more than log₂ N: one chance in a thousand."""
DIGIT = math.log2(10)
"""The bits of a decimal digit."""


def excluded(judge: Judge, tried: int) -> bool:
    """Whether a variant that gives what was observed, one of so many that were tried, is none by chance."""
    bits = sum(bits_of_difference(judge)) if judge.accuracy.supposed else bits_of_digits(judge)
    return bits >= TRUSTED + math.log2(max(1, tried))


def numbers_tell(judge: Judge, tried: int = 1, chosen: int = 0) -> bool:
    """Whether enough cells differ to tell of a number that is solved for: one cell is given away for it; or of
    a mask, of which so many cells are chosen, each a bit."""
    bits = sorted(bit for bit in bits_of_difference(judge) if bit)
    return len(bits) > CELLS and sum(bits[:-1]) >= TRUSTED + math.log2(max(1, tried)) + chosen


def right_by_chance(judge: Judge) -> bool:
    """Whether digits so few could be those of other numbers as well."""
    return bits_of_numbers(judge) < TRUSTED


def bits_of_difference(judge: Judge) -> Iterator[float]:
    """What each cell says that the intended graph does not give; infinite where the shape differs."""
    for own, observed, rooms in zip(judge.rows, judge.observed, judge.strict, strict=True):
        if not alike(own, observed.rows):
            yield math.inf
            continue
        for row, theirs, room in zip(own, observed.rows, rooms, strict=True):
            yield from (_bits(abs(x - y), r) for x, y, r in zip(row, theirs, room, strict=True))


def bits_of_digits(judge: Judge) -> float:
    """What a single number says that was not rounded, in one cell or in all alike: no more than its digits do.
    Infinite for several."""
    cells = {cell for observed in judge.observed for row in observed.rows for cell in row}
    (number, *others) = cells or {math.inf}
    return math.inf if others or not math.isfinite(number) else DIGIT * significant_digits(number)


def bits_of_numbers(judge: Judge) -> float:
    """What all distinct cells say: by their spread, and one cell alone by its size."""
    bits = 0.0
    for own, rooms in zip(judge.rows, judge.strict, strict=True):
        known = {x: r for row, room in zip(own, rooms, strict=True) for x, r in zip(row, room, strict=True)
                 if math.isfinite(x)}  # fmt: skip
        if not known:
            continue
        spread = deviation(list(known)) if len(known) > 1 else abs(next(iter(known)))
        bits += sum(_bits(spread, r) for r in known.values())
    return bits


def _bits(distance: float, room: float) -> float:
    return math.log2(distance / room) if room < distance < math.inf and room > 0 else 0.0
