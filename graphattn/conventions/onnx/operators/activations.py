"""Activation functions, and softmax."""

from __future__ import annotations

from math import prod
from typing import Any

from ....core.axes import position
from ....core.errors import GraphError
from ....core.graph import Graph, Tensor
from ..operator import Outputs, operator
from .elementwise import absolute


@operator("Y")
def Sigmoid(g: Graph, X: Tensor) -> Outputs:
    """1 / (1 + e⁻ˣ)."""
    return [g.sigmoid(X)]


@operator("Y")
def Relu(g: Graph, X: Tensor) -> Outputs:
    """max(x, 0)."""
    return [g.relu(X)]


@operator("Y")
def Gelu(g: Graph, X: Tensor, *, approximate: str = "none") -> Outputs:
    """x · Φ(x); approximate: none (erf) or tanh."""
    return [g.gelu(X, approximate=approximate)]


def _joint(g: Graph, op: str, x: Tensor, axis: int | None, opset: int | None, **attributes: Any) -> Tensor:
    """An op along one axis; before opset 13, along that axis (1 if not given) and all after it, as one."""
    if opset is None or opset >= 13:
        return g.apply(op, x, axis=-1 if axis is None else axis, **attributes)
    place = len(x.shape) if axis == len(x.shape) else position(1 if axis is None else axis, len(x.shape))
    if place == len(x.shape) - 1:
        return g.apply(op, x, axis=place, **attributes)
    rows = g.reshape(x, (prod(x.shape[:place]), prod(x.shape[place:])), name="flattened")
    return g.reshape(g.apply(op, rows, axis=-1, **attributes), x.shape, axes=x.axes)


@operator("output")
def Softmax(g: Graph, input: Tensor, *, axis: int | None = None, opset: int | None = None) -> Outputs:
    """Along `axis` (−1); a row of −∞ alone is NaN. Before opset 13 along axis 1 and all after it."""
    return [_joint(g, "softmax", input, axis, opset, empty="nan")]


@operator("output")
def LogSoftmax(g: Graph, input: Tensor, *, axis: int | None = None, opset: int | None = None) -> Outputs:
    """ln Softmax."""
    return [_joint(g, "log_softmax", input, axis, opset)]


@operator("output")
def Hardmax(g: Graph, input: Tensor, *, axis: int | None = None, opset: int | None = None) -> Outputs:
    """1 at the first of the largest along `axis`, 0 elsewhere."""
    return [g.where(_joint(g, "one_hot_argmax", input, axis, opset), g.constant(1), g.constant(0))]


def _branched(g: Graph, x: Tensor, otherwise: Tensor) -> Tensor:
    """x where it is positive (or NaN), something else elsewhere."""
    below = g.logical_or(g.is_positive(g.negate(x)), g.equal(x, g.constant(0)), name="not_above_0")
    return g.where(below, otherwise, x)


@operator("Y")
def LeakyRelu(g: Graph, X: Tensor, *, alpha: float = 0.01) -> Outputs:
    """x above 0, alpha · x below."""
    return [_branched(g, X, g.scale(X, multiply=alpha, name="leak"))]


@operator("Y")
def PRelu(g: Graph, X: Tensor, slope: Tensor, *, opset: int | None = None) -> Outputs:
    """x above 0, slope · x below; before opset 7, a slope is for each channel (axis 1)."""
    if opset is not None and opset < 7 and len(slope.shape) == 1 and len(X.shape) > 2 and slope.shape[0] != 1:
        slope = g.reshape(slope, (*slope.shape, *[1] * (len(X.shape) - 2)), name="slope_aligned")
    elif opset is not None and opset < 7 and len(slope.shape) == 1 and slope.shape[0] != 1:
        slope = g.reshape(slope, (slope.shape[0],), name="slope_aligned")
    return [_branched(g, X, g.multiply(slope, X, name="leak"))]


@operator("Y")
def Elu(g: Graph, X: Tensor, *, alpha: float = 1.0) -> Outputs:
    """x above 0, alpha · (eˣ − 1) below."""
    return [_branched(g, X, g.scale(_grown(g, X), multiply=alpha, name="bent"))]


@operator("Y")
def Celu(g: Graph, X: Tensor, *, alpha: float = 1.0) -> Outputs:
    """x above 0, alpha · (e^(x / alpha) − 1) below."""
    part = g.divide(X, g.constant(alpha, name="alpha"), name="part")
    return [_branched(g, X, g.scale(_grown(g, part), multiply=alpha, name="bent"))]


@operator("Y")
def Selu(
    g: Graph, X: Tensor, *, alpha: float = 1.67326319217681884765625, gamma: float = 1.05070102214813232421875
) -> Outputs:
    """gamma · x above 0, gamma · alpha · (eˣ − 1) below."""
    return [g.scale(_branched(g, X, g.scale(_grown(g, X), multiply=alpha, name="bent")), multiply=gamma)]


def _grown(g: Graph, x: Tensor) -> Tensor:
    """eˣ − 1, where x is not above 0 (a large x does not overflow)."""
    return g.subtract(g.exp(g.negate(g.relu(g.negate(x), name="depth"))), g.constant(1), name="grown")


@operator("Y")
def HardSigmoid(g: Graph, X: Tensor, *, alpha: float = 0.2, beta: float = 0.5) -> Outputs:
    """max(0, min(1, alpha · x + beta))."""
    return [_bounded(g, g.add(g.scale(X, multiply=alpha), g.constant(beta, name="beta")))]


def _bounded(g: Graph, x: Tensor) -> Tensor:
    """x between 0 and 1: 1 − max(0, 1 − max(0, x))."""
    one = g.constant(1, name="one")
    return g.subtract(one, g.relu(g.subtract(one, g.relu(x))))


@operator("Y")
def HardSwish(g: Graph, X: Tensor) -> Outputs:
    """x · max(0, min(1, x / 6 + 1/2))."""
    slope = g.add(g.divide(X, g.constant(6)), g.constant(0.5))
    return [g.multiply(X, _bounded(g, slope))]


@operator("Y")
def Softplus(g: Graph, X: Tensor) -> Outputs:
    """ln(1 + eˣ)."""
    return [softplus(g, X)]


def softplus(g: Graph, x: Tensor) -> Tensor:
    """max(x, 0) + ln(1 + e^(−|x|)), which does not overflow."""
    far = absolute(g, x)
    rest = g.log(g.add(g.constant(1), g.exp(g.negate(far))), name="rest")
    return g.add(g.relu(x), rest)


@operator("Y")
def Mish(g: Graph, X: Tensor) -> Outputs:
    """x · tanh(ln(1 + eˣ))."""
    return [g.multiply(X, g.tanh(softplus(g, X)))]


@operator("output")
def Softsign(g: Graph, input: Tensor) -> Outputs:
    """x / (1 + |x|)."""
    return [g.divide(input, g.add(g.constant(1), absolute(g, input)))]


@operator("Y")
def ThresholdedRelu(g: Graph, X: Tensor, *, alpha: float = 1.0) -> Outputs:
    """x above alpha, 0 elsewhere."""
    return [g.where(g.less(g.constant(alpha, name="alpha"), X), X, g.constant(0))]


@operator("output")
def Shrink(g: Graph, input: Tensor, *, bias: float = 0.0, lambd: float = 0.5) -> Outputs:
    """x + bias below −lambd, x − bias above lambd, 0 between."""
    shift = g.constant(bias, name="bias")
    above = g.where(g.less(g.constant(lambd), input), g.subtract(input, shift), g.constant(0), name="above")
    return [g.where(g.less(input, g.constant(-lambd)), g.add(input, shift), above)]


@operator("Y")
def Swish(g: Graph, X: Tensor, *, alpha: float = 1.0) -> Outputs:
    """x · sigmoid(alpha · x)."""
    return [swish(g, X, alpha)]


def swish(g: Graph, x: Tensor, alpha: float) -> Tensor:
    return g.silu(x) if alpha == 1 else g.multiply(x, g.sigmoid(g.scale(x, multiply=alpha)))


@operator("Y")
def SwiGLU(g: Graph, A: Tensor, B: Tensor, *, alpha: float = 1.0) -> Outputs:
    """A · sigmoid(alpha · A) · B, of one shape."""
    if A.shape != B.shape:
        raise GraphError(f"A is {A.shape} and B is {B.shape}; expected one shape")
    return [g.multiply(swish(g, A, alpha), B)]
