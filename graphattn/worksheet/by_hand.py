"""The numbers of a worksheet: exact fractions, with 2 where a graph says e.

A hand can raise 2 to a whole power, and take the root of a square. So that weights are fractions, what is
raised is counted in units of ln 2: e^(x · ln 2) = 2^x. What a hand cannot do (a root that is not whole, 2 to
a broken power, sin) is NaN, and so is all that comes of it; the search (`nice`) draws other numbers then. A
number below 1/1000 that a graph brings in (eps) is left out.

>>> BY_HAND.exp(-2), BY_HAND.sqrt(Fraction(9, 4)), BY_HAND.exp(Fraction(1, 2)), BY_HAND.lift("1e-05")
(Fraction(1, 4), Fraction(3, 2), nan, 0)
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from operator import mul
from typing import Any

from ..core.numbers import FLOAT, Numbers, exp, log

HIDDEN = -math.inf
LARGEST_POWER = 12
LEFT_OUT = Fraction(1, 1000)

Number = int | Fraction | float
"""A whole number, a fraction that is none, −∞ where a mask hides, or NaN."""


def lift(value: Any) -> Number:
    """An int, a float or decimal text; what is smaller than LEFT_OUT is 0."""
    if isinstance(value, int):
        return value
    if isinstance(value, float) and not math.isfinite(value):
        return value
    exact = Fraction(repr(value) if isinstance(value, float) else value)
    return whole(exact) if abs(exact) >= LEFT_OUT else 0


def whole(x: Number) -> Number:
    """The same number, as an int where it is whole."""
    return x.numerator if isinstance(x, Fraction) and x.denominator == 1 else x


def dot(p: Sequence[Any], q: Sequence[Any]) -> Number:
    """Σ pₖ qₖ."""
    return whole(sum(map(mul, p, q)))


def total(values: Sequence[Number]) -> Number:
    """Σ values."""
    return whole(sum(values))


def divide(a: Number, b: Number) -> Number:
    """a / b; NaN where b is 0."""
    if isinstance(a, float) or isinstance(b, float):
        return a / b if b else math.nan
    return whole(Fraction(a) / b) if b else math.nan


def raised(x: Number) -> Number:
    """2^x of a whole x; 0 at −∞."""
    if x == HIDDEN:
        return 0
    if not isinstance(x, int) or abs(x) > LARGEST_POWER:
        return math.nan
    return 2**x if x >= 0 else Fraction(1, 2**-x)


def logarithm(x: Number) -> Number:
    """log₂ x of a power of 2; −∞ at 0."""
    if x == 0:
        return HIDDEN
    for power in range(-LARGEST_POWER, LARGEST_POWER + 1):
        if x == Fraction(2) ** power:
            return power
    return math.nan


def root(x: Number) -> Number:
    """√x of a square."""
    if isinstance(x, float) or x < 0:
        return math.nan
    y = Fraction(math.isqrt(x.numerator), math.isqrt(x.denominator))
    return whole(y) if y * y == x else math.nan


def maximum(values: Sequence[Number]) -> Number:
    """The largest; NaN if one of them is."""
    return math.nan if any(v != v for v in values) else max(values, default=HIDDEN)


def _at_zero(value: int) -> Any:
    """A function that a hand knows at 0 alone."""
    return lambda x: value if x == 0 else math.nan


BY_HAND = Numbers(
    "by hand", lift, dot, total, maximum, operator.lt, math.isfinite, divide, raised, logarithm, root,
    tanh=_at_zero(0), erf=_at_zero(0), sin=_at_zero(0), cos=_at_zero(1),
    multiply=lambda a, b: whole(a * b), add=lambda a, b: whole(a + b), subtract=lambda a, b: whole(a - b),
    text=lambda x: str(whole(x)),
)  # fmt: skip

LN2 = math.log(2)
NEAR = replace(FLOAT, name="by hand, rounded", exp=lambda x: exp(x * LN2), log=lambda x: log(x) / LN2)
"""The same in floats, for what a learner has written."""
