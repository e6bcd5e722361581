"""How a gradient goes on from a Value to what it was computed from: one rule for each operation.

A rule is called with the value y and its gradient g = ∂L/∂y, and adds g · ∂y/∂x to the gradient
of each operand x. Local derivatives are found from the operands and the result when they are
needed, so that a Value keeps nothing but its operands.

    y = a + b       ∂y/∂a = 1            ∂y/∂b = 1
    y = a · b       ∂y/∂a = b            ∂y/∂b = a
    y = a / b       ∂y/∂a = 1/b          ∂y/∂b = −y/b
    y = Σ pₖ qₖ     ∂y/∂pₖ = qₖ          ∂y/∂qₖ = pₖ
    y = max xₖ      1 for the first that is largest, 0 for the others
    y = eˣ          y                    ln x:   1/x         √x:     1 / 2y
    y = tanh x      1 − y²               erf x:  2/√π · e^(−x²)
    y = sin x       cos x                cos x:  −sin x      |x|:    the sign of x
    y = relu x      1 where x > 0        xⁿ:     n xⁿ⁻¹

A gradient that is exactly 0 goes nowhere: what a mask hides gets no gradient, and never 0 · ∞.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ..core.numbers import cos, divide, exp, sin

Push = Callable[[Any, float], None]


class Rule:
    """What an operation is called, and how it passes a gradient on. `own`: a user's `_backward`,
    which is called whatever the gradient is."""

    __slots__ = ("name", "own", "push")

    def __init__(self, name: str, push: Push, own: bool = False) -> None:
        self.name = name
        self.push = push
        self.own = own

    def __repr__(self) -> str:
        return f"<rule {self.name!r}>"


def _add(y: Any, g: float) -> None:
    a, b = y._operands
    a.grad += g
    b.grad += g


def _subtract(y: Any, g: float) -> None:
    a, b = y._operands
    a.grad += g
    b.grad -= g


def _multiply(y: Any, g: float) -> None:
    a, b = y._operands
    a.grad += g * b.data
    b.grad += g * a.data


def _divide(y: Any, g: float) -> None:
    a, b = y._operands
    share = divide(g, b.data)
    a.grad += share
    b.grad -= share * y.data


def _dot(y: Any, g: float) -> None:
    p, q = y._operands
    for a, b in zip(p, q):
        a.grad += g * b.data
        b.grad += g * a.data


def _total(y: Any, g: float) -> None:
    for x in y._operands:
        x.grad += g


def _maximum(y: Any, g: float) -> None:
    largest = y.data
    for x in y._operands:
        if x.data == largest or x.data != x.data:
            x.grad += g
            return


def _unary(derivative: Callable[[float, float], float]) -> Push:
    """The rule of a function of one operand, from ∂y/∂x as a function of x and y."""

    def push(y: Any, g: float) -> None:
        (x,) = y._operands
        x.grad += g * derivative(x.data, y.data)

    return push


def _gaussian(x: float) -> float:
    """The derivative of erf."""
    return 2.0 / math.sqrt(math.pi) * exp(-x * x)


def power(x: float, n: float) -> float:
    """xⁿ by IEEE 754: infinite where it overflows or divides by 0, nan where no real number is."""
    odd = n % 2 == 1
    try:
        return math.pow(x, n)
    except OverflowError:
        return -math.inf if x < 0 and odd else math.inf
    except ValueError:
        return math.nan if x else math.copysign(math.inf, x) if odd else math.inf


def slope(x: float, n: float) -> float:
    """The derivative n xⁿ⁻¹ of xⁿ; 0 where n is."""
    return n * power(x, n - 1) if n else 0.0


@lru_cache(maxsize=64)
def power_rule(n: float, name: str) -> Rule:
    """The rule of a power with a constant exponent."""
    return Rule(name, _unary(lambda x, y: slope(x, n)))


def _power(y: Any, g: float) -> None:
    x, n = y._operands
    x.grad += g * slope(x.data, n.data)
    if y.data:  # xⁿ ln x goes to 0 with xⁿ
        n.grad += g * y.data * (math.log(x.data) if x.data > 0 else math.nan)


def _nothing(y: Any, g: float) -> None:
    """An operation whose `_backward` was not given yet."""


ADD = Rule("+", _add)
SUBTRACT = Rule("-", _subtract)
MULTIPLY = Rule("*", _multiply)
DIVIDE = Rule("/", _divide)
POWER = Rule("**", _power)
DOT = Rule("dot", _dot)
TOTAL = Rule("sum", _total)
MAXIMUM = Rule("max", _maximum)
NEGATE = Rule("neg", _unary(lambda x, y: -1.0))
ABSOLUTE = Rule("abs", _unary(lambda x, y: (x > 0) - (x < 0)))
EXP = Rule("exp", _unary(lambda x, y: y))
LOG = Rule("log", _unary(lambda x, y: divide(1.0, x)))
SQRT = Rule("sqrt", _unary(lambda x, y: divide(0.5, y)))
TANH = Rule("tanh", _unary(lambda x, y: 1.0 - y * y))
RELU = Rule("relu", _unary(lambda x, y: 1.0 if x > 0 else x if x != x else 0.0))
ERF = Rule("erf", _unary(lambda x, y: _gaussian(x)))
SIN = Rule("sin", _unary(lambda x, y: cos(x)))
COS = Rule("cos", _unary(lambda x, y: -sin(x)))


def named(name: str) -> Rule:
    """The rule of an operation that others add, before its `_backward` is known."""
    return Rule(name, _nothing)


def own(name: str, backward: Callable[[], Any]) -> Rule:
    """The rule of an operation that brings its own `_backward`."""
    return Rule(name, lambda y, g: backward(), own=True)
