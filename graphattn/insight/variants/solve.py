"""A number that a variant leaves open (a slope, a factor, an eps), found from what was observed.

    solved(variant, cells, theirs, fits)    the variant with its number, None where no number does

One unknown and many cells: each step is that of least squares, along the change since the last number
(Gauss and Newton, by secants). Where every cell is linear in the number, the second step is exact. Told is a
number of few digits, or the inverse, root or inverse root of one, or nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from ...core.errors import GraphError
from .draft import Rewrite
from .variant import Variant

Cells = Callable[[Rewrite], Sequence[float]]
CELLS = 5
"""Of how many cells a number has to give all, and one more."""
STEPS = 24
"""The most numbers that are tried."""
PROBE = 0.01
"""How far the first step goes, which only measures the slope."""
PROGRESS, STALLED = 0.7, 2
"""A step that leaves more of the difference than this leads nowhere; so many of these are borne."""
EXACT, SMALL = 1e-14, 0.05
"""What is left of the difference where nothing is, and where it may be what rounding left."""
ZERO = 1e-3
"""What is less than this may be no more than rounding."""
DIGITS = 4
SQUARED = 150
"""Numbers of more powers of ten are told as they are: their squares are beyond a double."""
NEAR = 2e-3
"""How far a number of few digits may be from the one that was found."""


def solved(
    variant: Variant, cells: Cells, theirs: Sequence[float], fits: Callable[[Rewrite], bool]
) -> Variant | None:
    """`cells` gives the cells that are held to `theirs`; `fits` says whether all are as they should be. None
    where no number of few digits does: nobody writes eps = 0.6080306, and it fits any one row. None where 0
    does: that is something left out, which has words of its own, and of a slope of 0 rounding makes 1e-15."""
    start, rewrite = variant.number, variant.rewrite
    if start is None:
        return variant
    try:
        if fits(rewrite):
            return variant
    except GraphError:
        return None
    number = least(lambda value: cells(rewrite.at(value)), theirs, start)
    if number is None or _is_none(rewrite, number, fits):
        return None
    least_one, largest = variant.between
    for value, told in forms(number):
        try:
            if least_one <= value <= largest and fits(rewrite.at(value)):
                return variant.at(value, told)
        except GraphError:
            continue
    return None


def _is_none(rewrite: Rewrite, number: float, fits: Callable[[Rewrite], bool]) -> bool:
    """Whether a number is 0 as far as can be seen."""
    try:
        return abs(number) < ZERO and fits(rewrite.at(0.0))
    except GraphError:
        return False


def least(cells: Callable[[float], Sequence[float]], theirs: Sequence[float], start: float) -> float | None:
    """The number at which the cells are nearest to `theirs`, None where none is found that is near."""

    def apart(value: float) -> list[float]:
        try:
            found = [x - y for x, y in zip(cells(value), theirs, strict=True)]
        except (GraphError, ArithmeticError, ValueError):
            return [math.inf]
        return found if all(map(math.isfinite, found)) else [math.inf]

    here = apart(start)
    left = first = math.hypot(*here)
    if first == math.inf:
        return None
    nothing = EXACT * math.hypot(first, *theirs)
    step, stalled = PROBE * (start or 1.0), 0
    for count in range(STEPS if first > nothing else 0):
        there = apart(start + step)
        after = math.hypot(*there)
        if after == math.inf:
            step /= 10
        elif count and after >= left:
            step, stalled = step / 3, stalled + 1
        elif not count and math.dist(here, there) <= nothing:
            break  # it moves no cell by more than rounding: what is added to every score
        else:
            slopes = [(y - x) / step for x, y in zip(here, there, strict=True)]
            along = sum(slope * slope for slope in slopes)
            if not along:
                break
            stalled = stalled + 1 if count and after > PROGRESS * left else 0
            start, here, left = start + step, there, after
            step = -sum(slope * x for slope, x in zip(slopes, here, strict=True)) / along
        if stalled > STALLED or left <= nothing or abs(step) <= EXACT * abs(start):
            break
    return start if left <= max(nothing, SMALL * first) else None


def forms(number: float) -> Iterator[tuple[float, str]]:
    """Numbers that may be meant and how they are told, those of the fewest digits first."""
    ways: list[tuple[int, float, Callable[[float], float], str]] = [(0, number, lambda v: v, "{}")]
    if number and abs(math.log10(abs(number))) < SQUARED:
        ways.append((1, 1 / number, lambda v: 1 / v, "1/{}"))
    if number > 0 and len(ways) > 1:
        ways += [
            (1, number**2, math.sqrt, "√{}"),
            (1, number**-2, lambda v: 1 / math.sqrt(v), "1/√{}"),
        ]
    for length in range(1, DIGITS + 1):
        for more, inner, back, told in ways:
            rounded = float(f"{inner:.{length - more}g}") if length > more else 0.0
            if rounded and abs(rounded - inner) <= NEAR * abs(inner):
                yield back(rounded), told.format(f"{rounded:g}")
