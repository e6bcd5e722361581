"""y = (a < b), cell by cell; False where one of them is NaN.

a, b: both floats or both integers, of shapes that broadcast; y: bools. What makes a mask where it
depends on positions, lengths or scores.
"""

from ..core.axes import Spec
from ..core.elementwise import binary, numeric, x_like
from ..core.op import Sample, register


def shape(a: Spec, b: Spec) -> Spec:
    return x_like(numeric(a, b), "bool")


def less(a, b):
    return a < b


matrix = [[0.5, float("inf"), -2.0], [1.0, float("-inf"), 3.0]]

register(
    binary(
        "less", "<", "y = (a < b)", lambda numbers: numbers.less, less, family="mask", shape=shape,
        onnx="Less", cost=lambda a, b: 0, masked=None,
        torch="{a} < {b}",
        samples=(
            Sample((matrix, [0.75, float("inf"), -2.0])),
            Sample((matrix, 1.0)),
            Sample(([[0], [1], [2]], [0, 1, 2])),
            Sample(([float("nan"), 1.0], [1.0, float("nan")])),
            Sample(([], [])),
        ),
    )
)  # fmt: skip
