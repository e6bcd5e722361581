"""y = (x ≠ −∞), every cell: True where a score has not been hidden by a mask.

x: any shape of floats; y: the same shape of bools. NaN counts as visible, so that it shows.
"""

from ..core.axes import Spec, need_kind
from ..core.elementwise import unary, x_like
from ..core.numbers import Numbers
from ..core.op import Sample, register


def is_visible(x):
    return x != float("-inf")


def always(x):
    return True


def shape(x: Spec) -> Spec:
    need_kind("float", x=x)
    return x_like(x, "bool")


def function(numbers: Numbers):
    try:
        numbers.lift(float("-inf"))
    except ValueError:  # a type without infinity hides nothing
        return always
    return is_visible


register(
    unary(
        "is_visible", "?", "y = (x ≠ −∞)", function, family="mask", shape=shape, masked=None,
        onnx=lambda o, x: o.Not(o.IsInf(x, detect_positive=0)),
        torch='{x} != float("-inf")',
        samples=(Sample(([[0.5, float("-inf")], [float("-inf"), -2.0]],)), Sample(([1.0],))),
    )
)  # fmt: skip
