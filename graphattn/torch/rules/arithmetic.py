"""Cell by cell: sums, products, powers, functions. A number beside a tensor is an attribute where it scales."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...core.graph import Tensor
from ..values import Value
from . import masks
from .call import Call


def of_one(op: str) -> Callable[..., Tensor]:
    """The rule of an operator that is an op of one operand."""

    def build(c: Call, x: Any) -> Tensor:
        return c.apply(op, x)

    return build


def number(value: Any) -> bool:
    return not isinstance(value, (Value, Tensor))


def add(c: Call, x: Any, other: Any, alpha: float = 1) -> Tensor:
    """x + alpha · other; a known mask that is added hides."""
    if alpha != 1:
        other = alpha * other if number(other) else c.scale(other, multiply=alpha, name=c.inner("scaled"))
    return masks.added(c, x, other)


def subtract(c: Call, x: Any, other: Any, alpha: float = 1) -> Tensor:
    if alpha != 1:
        other = alpha * other if number(other) else c.scale(other, multiply=alpha, name=c.inner("scaled"))
    return c.subtract(x, other)


def reversed_subtract(c: Call, x: Any, other: Any, alpha: float = 1) -> Tensor:
    return subtract(c, other, x, alpha)


def multiply(c: Call, x: Any, other: Any) -> Tensor:
    if number(other):
        return c.scale(x, multiply=other)
    return c.scale(other, multiply=x) if number(x) else c.multiply(x, other)


def divide(c: Call, x: Any, other: Any) -> Tensor:
    return c.scale(x, divide=other) if number(other) and other else c.divide(x, other)


def power(c: Call, x: Any, exponent: Any) -> Tensor:
    """Whole powers are products, halves are roots."""
    whole = abs(exponent) if number(exponent) else math.nan
    if not (number(exponent) and 2 * whole == int(2 * whole) and 0 < whole <= 64):
        c.refuse(
            f"the exponent is {exponent if number(exponent) else 'computed'}; expected halves or wholes to 64"
        )
    inverse = exponent < 0
    result = _power(c, x, whole, inverse)
    return c.divide(1.0, result) if inverse else result


def _power(c: Call, x: Any, exponent: float, inverse: bool) -> Tensor:
    factors = [x] * int(exponent)
    if exponent != int(exponent):
        last = not factors and not inverse
        factors.append(c.sqrt(x, name=c.name if last else c.inner("root")))
    product = factors[0]
    for i, factor in enumerate(factors[1:], 2):
        last = i == len(factors) and not inverse
        product = c.multiply(product, factor, name=c.name if last else c.inner(f"power{i}"))
    return c.tensor(product)


def power_of_number(c: Call, x: Any, exponent: Any) -> Tensor:
    """aˣ = exp(x ln a)."""
    if not x > 0:
        c.refuse(f"{x} is raised to a computed power; expected a number above 0")
    return c.exp(c.scale(exponent, multiply=math.log(x), name=c.inner("exponent")))


def square(c: Call, x: Any) -> Tensor:
    return c.multiply(x, x)


def inverse_root(c: Call, x: Any) -> Tensor:
    return c.divide(1.0, c.sqrt(x, name=c.inner("root")))


def reciprocal(c: Call, x: Any) -> Tensor:
    return c.divide(1.0, x)


def absolute(c: Call, x: Any) -> Tensor:
    """|x| = x where x > 0, −x elsewhere."""
    return c.where(c.is_positive(x, name=c.inner("positive")), x, c.negate(x, name=c.inner("negative")))


def log1p(c: Call, x: Any) -> Tensor:
    return c.log(c.add(x, 1.0, name=c.inner("of")))


def expm1(c: Call, x: Any) -> Tensor:
    return c.subtract(c.exp(x, name=c.inner("exp")), 1.0)


def larger(c: Call, x: Any, other: Any) -> Tensor:
    """max(a, b), cell by cell: a where a − b > 0."""
    return c.where(_above(c, x, other), x, _floats(other))


def smaller(c: Call, x: Any, other: Any) -> Tensor:
    return c.where(_above(c, x, other), _floats(other), x)


def _above(c: Call, a: Any, b: Any) -> Tensor:
    return c.less(_floats(b), a, name=c.inner("above"))


def _floats(value: Any) -> Any:
    return float(value) if number(value) else value


def clamp(c: Call, x: Any, min: Any = None, max: Any = None) -> Tensor:
    for bound, name in ((min, "raised"), (max, "lowered")):
        if bound is not None and not number(bound) and c.kind(bound) != "float":
            c.refuse(f"{name} by {c.kind(bound)}s; expected numbers or floats")
    if min is not None and max is not None:
        raised = c.where(_above(c, x, min), x, _floats(min), name=c.inner("raised"))
        return smaller(c, raised, max)
    if min is not None:
        return larger(c, x, min)
    return c.tensor(x) if max is None else smaller(c, x, max)


def clamp_max(c: Call, x: Any, max: Any) -> Tensor:
    return clamp(c, x, None, max)


def clamp_min(c: Call, x: Any, min: Any) -> Tensor:
    return clamp(c, x, min)


def above(c: Call, x: Any, other: Any) -> Tensor:
    return c.less(_floats(other), x)


def below(c: Call, x: Any, other: Any) -> Tensor:
    return c.less(x, _floats(other))


def equals(c: Call, x: Any, other: Any) -> Tensor:
    return c.equal(x, _floats(other))


def differs(c: Call, x: Any, other: Any) -> Tensor:
    return c.logical_not(c.equal(x, _floats(other), name=c.inner("equal")))


def at_least(c: Call, x: Any, other: Any) -> Tensor:
    """a > b or a = b."""
    over = c.less(_floats(other), x, name=c.inner("above"))
    return c.logical_or(over, c.equal(x, _floats(other), name=c.inner("equal")))


def at_most(c: Call, x: Any, other: Any) -> Tensor:
    under = c.less(x, _floats(other), name=c.inner("below"))
    return c.logical_or(under, c.equal(x, _floats(other), name=c.inner("equal")))


def addcmul(c: Call, x: Any, tensor1: Any, tensor2: Any, value: float = 1) -> Tensor:
    product = c.multiply(tensor1, tensor2, name=c.inner("product"))
    if value != 1:
        product = c.scale(product, multiply=value, name=c.inner("scaled"))
    return c.add(x, product)


def lerp(c: Call, x: Any, end: Any, weight: Any) -> Tensor:
    """x + weight · (end − x)."""
    way = c.subtract(end, x, name=c.inner("way"))
    part = c.scale(way, multiply=weight, name=c.inner("part")) if number(weight) else None
    return c.add(x, part if part is not None else c.multiply(weight, way, name=c.inner("part")))


RULES: dict[str, Callable[..., Any]] = {
    **{f"{name}.{kind}": rule for kind in ("Tensor", "Scalar") for name, rule in {
        "add": add, "sub": subtract, "subtract": subtract, "rsub": reversed_subtract, "mul": multiply,
        "multiply": multiply, "div": divide, "divide": divide, "true_divide": divide, "gt": above,
        "greater": above, "lt": below, "less": below, "lerp": lerp, "eq": equals,
        "ne": differs, "ge": at_least, "le": at_most,
    }.items()},
    **{f"{name}.default": of_one(op) for name, op in {
        "neg": "negate", "negative": "negate", "exp": "exp", "log": "log", "sqrt": "sqrt", "sin": "sin",
        "cos": "cos", "tanh": "tanh", "erf": "erf", "special_erf": "erf", "sigmoid": "sigmoid",
        "special_expit": "sigmoid",
    }.items()},
    "pow.Tensor_Scalar": power,
    "pow.Scalar": power_of_number,
    "square.default": square,
    "rsqrt.default": inverse_root,
    "reciprocal.default": reciprocal,
    "abs.default": absolute,
    "log1p.default": log1p,
    "expm1.default": expm1,
    "special_expm1.default": expm1,
    "special_log1p.default": log1p,
    "maximum.default": larger,
    "minimum.default": smaller,
    "max.other": larger,
    "min.other": smaller,
    "clamp.default": clamp,
    "clamp.Tensor": clamp,
    "clamp_min.default": clamp_min,
    "clamp_max.default": clamp_max,
    "clamp_min.Tensor": clamp_min,
    "clamp_max.Tensor": clamp_max,
    "addcmul.default": addcmul,
}  # fmt: skip
"""By the operator."""
