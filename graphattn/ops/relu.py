"""y = max(x, 0), every cell; NaN stays NaN. At 0 the slope is 0, as in PyTorch."""

import math
from functools import partial

from ..core.activations import ACTIVATIONS
from ..core.axes import Spec
from ..core.cells import Apply, Cell, Literal, where
from ..core.elementwise import unary
from ..core.numbers import Numbers
from ..core.op import register


def relu(x, zero, less):
    return x if less(zero, x) or x != x else zero


def explain(index, x: Spec):
    return where(Apply("positive", (Cell(0, index),)), Cell(0, index), Literal(0))


def function(numbers: Numbers):
    return partial(relu, zero=numbers.lift(0), less=numbers.less)


register(
    unary(
        "relu", "⌐", "y = max(x, 0)", function, explain=explain, onnx="Relu", range=(0.0, math.inf),
        torch="F.relu({x})",
        gradient=lambda g, dy, y, x: (g.where(g.is_positive(x), dy, g.constant(0)),),
        mistakes=ACTIVATIONS,
    )
)  # fmt: skip
