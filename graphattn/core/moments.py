"""Mean, root of the mean square, standard deviation and slope of finite numbers of any size.

    mean       Σ x / n
    rms        √(Σ x² / n)
    deviation  √(Σ (x − mean)² / n)
    slope      Σ x y / Σ x²         the factor from x to y that fits best

Squares above 1e308 overflow and those below 1e−308 vanish. Numbers whose squares may do so are first scaled by
a power of two, which rounds nothing. Of no numbers the first three are 0.

>>> deviation([3e200, 1e200]), rms([3e-200, -3e-200]), mean([1.5e308, 1.7e308])
(1e+200, 3e-200, 1.6e+308)
>>> slope([1e200, 2e200], [3e200, 6e200])
3.0
"""

from __future__ import annotations

import math
from collections.abc import Sequence

SMALL, LARGE = 1e-140, 1e140
"""Between these neither squares nor their sums leave the range in which a double has all its digits."""


def mean(cells: Sequence[float]) -> float:
    power, scaled = _scaled(cells)
    return math.ldexp(math.fsum(scaled) / len(cells), power) if cells else 0.0


def rms(cells: Sequence[float]) -> float:
    power, scaled = _scaled(cells)
    return math.ldexp(_root(scaled), power) if cells else 0.0


def deviation(cells: Sequence[float]) -> float:
    if not cells:
        return 0.0
    power, scaled = _scaled(cells)
    middle = math.fsum(scaled) / len(cells)
    return math.ldexp(_root([x - middle for x in scaled]), power)


def slope(xs: Sequence[float], ys: Sequence[float]) -> float:
    """NaN where all of x is 0, infinite where it is beyond all doubles."""
    (down, xs), (up, ys) = _scaled(xs), _scaled(ys)
    square = math.fsum(x * x for x in xs)
    if not square:
        return math.nan
    factor = math.fsum(map(float.__mul__, xs, ys)) / square
    try:
        return math.ldexp(factor, up - down)
    except OverflowError:
        return math.copysign(math.inf, factor)


def power_of(largest: float) -> int:
    """The power of two to divide numbers up to this size by; 0 where their squares stay in range."""
    return 0 if largest == 0.0 or SMALL < largest < LARGE else math.frexp(largest)[1]


def _scaled(cells: Sequence[float]) -> tuple[int, Sequence[float]]:
    """A power of two, and the cells divided by it."""
    power = power_of(max(max(cells, default=0.0), -min(cells, default=0.0)))
    return power, [math.ldexp(x, -power) for x in cells] if power else cells


def _root(cells: Sequence[float]) -> float:
    return math.sqrt(math.fsum(x * x for x in cells) / len(cells))
