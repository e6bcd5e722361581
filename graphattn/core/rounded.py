"""Short floats as number types: every result is rounded after every operation.

A short float is a Python float that the type can hold. An operation is computed in double and
rounded once to nearest, ties to even (IEEE 754); for + − · / √ of float32 and shorter that is the
correctly rounded result, since a double has more than twice the digits. Sums and dot products
are taken from left to right in the accumulation type, then rounded: float32 for all three unless
another is chosen, as accelerators do.

>>> FLOAT32.round(0.1), BFLOAT16.round(0.1), FLOAT16.round(65520.0)
(0.10000000149011612, 0.10009765625, inf)
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from . import numbers
from .numbers import Numbers


@dataclass(frozen=True)
class Format:
    """A binary floating-point format: significant bits, and the exponents of its normal numbers
    (the smallest normal is 2^least, the largest is below 2^(most + 1))."""

    name: str
    bits: int
    least: int
    most: int

    def round(self, x: float) -> float:
        """The number of this format nearest to `x`, ties to even; ±inf beyond the largest."""
        if x == 0.0 or not math.isfinite(x):
            return x
        exponent = max(math.frexp(x)[1] - 1, self.least)
        if exponent > self.most:
            return math.copysign(math.inf, x)
        quantum = exponent - self.bits + 1
        scaled = round(math.ldexp(x, -quantum))
        if abs(scaled) >> self.bits and exponent == self.most:
            return math.copysign(math.inf, x)
        return math.ldexp(scaled, quantum) if scaled else math.copysign(0.0, x)

    def ulp(self, x: float) -> float:
        """The distance between neighbours of this format around `x`."""
        exponent = max(math.frexp(x)[1] - 1, self.least) if x else self.least
        return math.ldexp(1.0, exponent - self.bits + 1)


FLOAT32 = Format("float32", 24, -126, 127)
FLOAT16 = Format("float16", 11, -14, 15)
BFLOAT16 = Format("bfloat16", 8, -126, 127)
FORMATS = {fmt.name: fmt for fmt in (FLOAT32, FLOAT16, BFLOAT16)}


def rounded(fmt: Format, accumulate: Format = FLOAT32) -> Numbers:
    """The number type that holds `fmt` and sums in `accumulate`."""
    near, sum_near = fmt.round, accumulate.round

    def total(values: Sequence[float]) -> float:
        result = 0.0
        for value in values:
            result = sum_near(result + value)
        return near(result)

    def dot(p: Sequence[float], q: Sequence[float]) -> float:
        result = 0.0
        for a, b in zip(p, q):
            result = sum_near(result + sum_near(a * b))
        return near(result)

    def unary(function: Callable[[float], float]) -> Callable[[Any], float]:
        return lambda x: near(function(x))

    def binary(function: Callable[[float, float], float]) -> Callable[[Any, Any], float]:
        return lambda a, b: near(function(a, b))

    return Numbers(
        name=fmt.name if accumulate is FLOAT32 else f"{fmt.name}:{accumulate.name}",
        lift=lambda value: near(float(value)),
        dot=dot,
        total=total,
        maximum=numbers.maximum,
        less=operator.lt,
        isfinite=math.isfinite,
        divide=binary(numbers.divide),
        exp=unary(numbers.exp),
        log=unary(numbers.log),
        sqrt=unary(numbers.sqrt),
        tanh=unary(math.tanh),
        erf=unary(math.erf),
        sin=unary(numbers.sin),
        cos=unary(numbers.cos),
        add=binary(operator.add),
        subtract=binary(operator.sub),
        multiply=binary(operator.mul),
    )
