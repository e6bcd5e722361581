"""y = not x, every cell: PyTorch's True = masked becomes True = may attend, and back.

x: bools of any shape.
"""

from ..core.axes import Spec, need_kind
from ..core.elementwise import unary, x_like
from ..core.numbers import Numbers
from ..core.op import Reject, Sample, register


def logical_not(x):
    return not x


def shape(x: Spec) -> Spec:
    need_kind("bool", x=x)
    return x_like(x, "bool")


def function(numbers: Numbers):
    return logical_not


register(
    unary(
        "logical_not", "¬", "y = not x", function, title="not", family="mask", shape=shape, masked=None,
        onnx="Not", cost=lambda x: 0,
        torch="~{x}",
        samples=(Sample(([[True, False], [False, False]],)), Sample((True,)), Sample(([[[True]]],))),
        rejects=(Reject((Spec((2,)),), {}, "x holds float; expected bool"),),
    )
)  # fmt: skip
