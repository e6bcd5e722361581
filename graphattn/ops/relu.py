"""y = max(x, 0), every cell; NaN stays NaN."""

import math
from functools import partial

from ..axes import Spec
from ..cells import Apply, Cell, Literal, where
from ..elementwise import unary
from ..numbers import Numbers
from ..op import register


def relu(x, zero, less):
    return zero if less(x, zero) else x


def explain(index, x: Spec):
    return where(Apply("positive", (Cell(0, index),)), Cell(0, index), Literal(0))


def function(numbers: Numbers):
    return partial(relu, zero=numbers.lift(0), less=numbers.less)


register(
    unary(
        "relu", "⌐", "y = max(x, 0)", function, explain=explain, range=(0.0, math.inf),
        gradient=lambda g, dy, y, x: (g.where(g.positive(x), dy, g.constant(0)),),
    )
)  # fmt: skip
