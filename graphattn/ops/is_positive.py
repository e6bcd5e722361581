"""y = (x > 0), every cell; False at NaN.

x: any shape of floats; y: the same shape of bools. It is where relu lets a change through.
"""

from functools import partial

from ..core.axes import Spec, need_kind
from ..core.cells import Apply, Cell, Literal
from ..core.elementwise import unary, x_like
from ..core.numbers import Numbers
from ..core.op import register


def shape(x: Spec) -> Spec:
    need_kind("float", x=x)
    return x_like(x, "bool")


def is_positive(x, zero, less):
    return less(zero, x)


def function(numbers: Numbers):
    return partial(is_positive, zero=numbers.lift(0), less=numbers.less)


def explain(index, x: Spec):
    return Apply("less", (Literal(0), Cell(0, index)))


register(
    unary(
        "is_positive", "> 0", "y = (x > 0)", function, family="mask", shape=shape, explain=explain,
        onnx=lambda o, x: o.Greater(x, 0.0), cost=lambda x: 0, masked=None,
        torch="{x} > 0",
    )
)  # fmt: skip
