"""The number types that a graph can be evaluated in.

The primitive level of a graph runs on any type that has a record here. `FLOAT` is Python's
float under the rules of IEEE 754: where `math` would raise, these functions return the infinity
or NaN that the standard names. `fraction` is exact and lacks the irrational functions; `mpmath`
(an extra) has 50 digits and is the judge of our own rounding; `value` are floats that keep what
they came from, for gradients (`scalar/`); `float32`, `float16` and `bfloat16` round after every
operation (`rounded.py`).

The float functions are plain ones, since the Python export copies their source.

>>> exp(1000.0), log(0.0), divide(1.0, 0.0), divide(0.0, 0.0)
(inf, -inf, inf, nan)
>>> of("fraction").lift("1e-05")
Fraction(1, 100000)
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from operator import mul
from typing import Any

from . import elsewhere
from .errors import GraphError, suggest
from .words import integer, read_integer


@dataclass(frozen=True, repr=False)
class Numbers:
    """A number type: what the primitive ops need of it.

    `lift` takes an int, a float (its exact value) or decimal text ("1e-05") into the type.
    `dot` and `total` and `maximum` take sequences, so that each result is one number with many
    parents. `text` gives digits that `lift` reads back to the same number. A function that a type
    lacks raises a `GraphError` that names it.
    """

    name: str
    lift: Callable[[Any], Any]
    dot: Callable[[Sequence[Any], Sequence[Any]], Any]
    total: Callable[[Sequence[Any]], Any]
    maximum: Callable[[Sequence[Any]], Any]
    less: Callable[[Any, Any], bool]
    isfinite: Callable[[Any], bool]
    divide: Callable[[Any, Any], Any]
    exp: Callable[[Any], Any]
    log: Callable[[Any], Any]
    sqrt: Callable[[Any], Any]
    tanh: Callable[[Any], Any]
    erf: Callable[[Any], Any]
    sin: Callable[[Any], Any]
    cos: Callable[[Any], Any]
    add: Callable[[Any, Any], Any] = operator.add
    subtract: Callable[[Any, Any], Any] = operator.sub
    multiply: Callable[[Any, Any], Any] = operator.mul
    negate: Callable[[Any], Any] = operator.neg
    text: Callable[[Any], str] = repr
    near: Callable[[Any], float] = float
    """The nearest float, for what is only shown (it may overflow as `float` does)."""
    cell: type | None = None
    """The class of its numbers, where rows of just these need no lifting."""

    def __repr__(self) -> str:
        return f"<numbers {self.name}>"

    def nearest(self, cell: Any) -> float:
        """The nearest float of a number, an int or a bool; an infinity beyond what floats hold."""
        if type(cell) is float:
            return cell
        try:
            return float(cell if isinstance(cell, int) else self.near(cell))
        except OverflowError:
            return math.inf if cell > 0 else -math.inf

    @property
    def finite(self) -> Callable[[Sequence[Any]], bool]:
        """Whether all numbers of a row are finite."""
        return finite if self.cell is float else partial(each_finite, isfinite=self.isfinite)


# ---------------------------------------------------------------- float, by IEEE 754


def dot(p: Sequence[float], q: Sequence[float]) -> float:
    """Σ pₖ qₖ, from left to right."""
    return sum(map(mul, p, q), 0.0)


if hasattr(math, "sumprod"):  # Python 3.12: correctly rounded, and twice as fast
    dot = math.sumprod  # pyright: ignore


def total(values: Sequence[float]) -> float:
    """Σ values, correctly rounded (math.fsum); by IEEE rules where that overflows."""
    try:
        return math.fsum(values)
    except (OverflowError, ValueError):
        return sum(values, 0.0)


def maximum(values: Sequence[float]) -> float:
    """The largest of the values; NaN if one of them is."""
    largest = max(values, default=-math.inf)
    return math.nan if any(v != v for v in values) else largest


def finite(values: Sequence[float]) -> bool:
    """Whether all of the values are finite. Mostly their sum tells it."""
    return math.isfinite(sum(values)) or all(map(math.isfinite, values))


def each_finite(values: Sequence[Any], isfinite: Callable[[Any], bool]) -> bool:
    """Whether all of the values are finite, in any number type."""
    return all(map(isfinite, values))


def divide(a: float, b: float) -> float:
    """a / b, with 1/0 = inf and 0/0 = nan."""
    try:
        return a / b
    except ZeroDivisionError:
        return math.nan if a == 0.0 or a != a else math.copysign(1.0, a) * math.copysign(math.inf, b)


def exp(x: float) -> float:
    """eˣ; inf where it overflows."""
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def log(x: float) -> float:
    """ln x; −inf at 0, nan below."""
    return math.log(x) if x > 0.0 else -math.inf if x == 0.0 else math.nan


def sqrt(x: float) -> float:
    """√x; nan below 0."""
    return math.nan if x < 0.0 else math.sqrt(x)


def sin(x: float) -> float:
    """sin x; nan at an infinity."""
    return math.nan if math.isinf(x) else math.sin(x)


def cos(x: float) -> float:
    """cos x; nan at an infinity."""
    return math.nan if math.isinf(x) else math.cos(x)


FLOAT = Numbers(
    "float", float, dot, total, maximum, operator.lt, math.isfinite, divide,
    exp, log, sqrt, math.tanh, math.erf, sin, cos, cell=float,
)  # fmt: skip


# ---------------------------------------------------------------- exact and long numbers


def _lacks(type_name: str, function: str) -> Callable[[Any], Any]:
    def lacking(_: Any) -> Any:
        raise GraphError(f"{type_name} numbers have no {function}; expected a graph without it")

    return lacking


FRACTION = re.compile(r"-?(0x[0-9a-f]+|[0-9]+)(/(0x[0-9a-f]+|[0-9]+))?")


def _fraction_text(x: Any) -> str:
    return integer(x.numerator) + (f"/{integer(x.denominator)}" if x.denominator != 1 else "")


def _fraction() -> Numbers:
    from fractions import Fraction

    def lift(value: Any) -> Any:
        if isinstance(value, str) and FRACTION.fullmatch(value):
            top, _, below = value.partition("/")
            return Fraction(read_integer(top), read_integer(below or "1"))
        exponent = re.search(r"[eE][+-]?0*(\d+)\s*$", value) if isinstance(value, str) else None
        if exponent and len(exponent[1]) > 4:  # Fraction would write all those digits out
            raise GraphError(f"fraction numbers have no {value}; expected an exponent of at most 4 digits")
        try:
            return Fraction(value)
        except (ValueError, OverflowError):
            hidden = ", or numbers='mpmath' where a mask hides cells" if value == -math.inf else ""
            raise GraphError(f"fraction numbers have no {value}; expected finite numbers{hidden}") from None

    def root(x: Any) -> Any:
        y = Fraction(math.isqrt(max(x.numerator, 0)), math.isqrt(x.denominator))
        if y * y != x:
            raise GraphError(f"fraction numbers have no square root of {x}; expected a perfect square")
        return y

    def quotient(a: Any, b: Any) -> Any:
        if not b:
            raise GraphError(f"fraction numbers have no {a}/0; expected a divisor other than 0")
        return a / b

    lacks: dict[str, Any] = {
        name: _lacks("fraction", name) for name in ("exp", "log", "tanh", "erf", "sin", "cos")
    }
    return Numbers(
        name="fraction", lift=lift, dot=lambda p, q: sum(map(mul, p, q), Fraction(0)),
        total=lambda values: sum(values, Fraction(0)), maximum=max, less=operator.lt,
        isfinite=lambda x: True, divide=quotient, sqrt=root, text=_fraction_text, **lacks,
    )  # fmt: skip


def _mpmath(digits: int = 50) -> Numbers:
    try:
        import mpmath
    except ImportError:
        raise GraphError("mpmath numbers need the package mpmath: pip install 'graphattn[mpmath]'") from None
    context: Any = mpmath.MPContext()
    context.dps = digits

    def peak(values: Sequence[Any]) -> Any:
        return context.nan if any(v != v for v in values) else max(values, default=-context.inf)

    def quotient(a: Any, b: Any) -> Any:
        if b:
            return a / b
        return context.nan if a == 0 or a != a else context.inf * context.sign(a)

    def root(x: Any) -> Any:
        return context.nan if x < 0 else context.sqrt(x)

    def logarithm(x: Any) -> Any:
        return context.log(x) if x > 0 else -context.inf if x == 0 else context.nan

    return Numbers(
        name="mpmath", lift=context.mpf, dot=lambda p, q: context.fdot(zip(p, q, strict=True)),
        total=context.fsum, maximum=peak, less=operator.lt, isfinite=context.isfinite,
        divide=quotient, exp=context.exp, log=logarithm, sqrt=root, tanh=context.tanh,
        erf=context.erf, sin=context.sin, cos=context.cos, text=lambda x: repr(x)[5:-2],
    )  # fmt: skip


def _short(name: str, accumulate: str = "float32") -> Numbers:
    from .rounded import FORMATS, rounded

    return rounded(FORMATS[name], FORMATS[accumulate])


def _value() -> Numbers:
    from ..scalar.record import VALUE

    return VALUE


_makers: dict[str, Callable[[], Numbers]] = {
    "float": lambda: FLOAT,
    "fraction": _fraction,
    "mpmath": _mpmath,
    "value": _value,
    "float32": lambda: _short("float32"),
    "float16": lambda: _short("float16"),
    "bfloat16": lambda: _short("bfloat16"),
    "float16:float16": lambda: _short("float16", "float16"),
    "bfloat16:bfloat16": lambda: _short("bfloat16", "bfloat16"),
}


@cache
def _made(name: str) -> Numbers:
    return _makers[name]()


def of(numbers: str | Numbers) -> Numbers:
    """The record of a number type, by name; a record stands for itself."""
    if isinstance(numbers, Numbers):
        return numbers
    if not isinstance(numbers, str) or numbers not in _makers:
        hint = elsewhere.numbers(str(numbers)) or (
            f"; expected one of {', '.join(_makers)}{suggest(numbers, _makers)}"
        )
        raise GraphError(f"unknown number type {numbers!r}{hint}")
    return _made(numbers)


def names() -> Iterable[str]:
    """The number types that can be named."""
    return tuple(_makers)
