"""y = max(x, 0), every cell; NaN stays NaN. At 0 the slope is 0, as in PyTorch."""

import math
from functools import partial

from ..core.axes import Spec
from ..core.cells import Apply, Cell, Literal, where
from ..core.elementwise import unary
from ..core.numbers import Numbers
from ..core.op import Declared, register


def relu(x, zero, less):
    return x if less(zero, x) or x != x else zero


def leaky(g, x, *, number):
    return g.where(g.is_positive(x), x, g.multiply(x, number))


def softplus(g, x):
    """ln(1 + eˣ), as max(x, 0) + ln(1 + e^−|x|)."""
    far = g.negate(g.add(g.relu(x), g.relu(g.negate(x))))
    return g.add(g.relu(x), g.log(g.add(g.exp(far), g.constant(1))))


def elu(g, x):
    below = g.negate(g.relu(g.negate(x)))
    return g.add(g.relu(x), g.subtract(g.exp(below), g.constant(1)))


def explain(index, x: Spec):
    return where(Apply("positive", (Cell(0, index),)), Cell(0, index), Literal(0))


def function(numbers: Numbers):
    return partial(relu, zero=numbers.lift(0), less=numbers.less)


register(
    unary(
        "relu", "⌐", "y = max(x, 0)", function, explain=explain, onnx="Relu", range=(0.0, math.inf),
        gradient=lambda g, dy, y, x: (g.where(g.is_positive(x), dy, g.constant(0)),),
        mistakes=(
            Declared("leaky", "with {number} x for x below 0, a leaky ReLU,", leaky, number=0.01),
            Declared("softplus", "with ln(1 + exp x), a softplus,", softplus),
            Declared("elu", "with exp x − 1 for x below 0, an ELU,", elu),
        ),
    )
)  # fmt: skip
