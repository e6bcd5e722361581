"""y = (a = b), cell by cell; False where one of them is NaN.

a, b: both floats or both integers, of shapes that broadcast; y: bools. `equal(ids, padding_id)` is where
a text is padding; a number that does not equal itself is NaN.
"""

from ..core.axes import Spec
from ..core.cells import Apply, Literal
from ..core.elementwise import binary, cell_of, numeric, x_like
from ..core.op import Sample, register


def shape(a: Spec, b: Spec) -> Spec:
    return x_like(numeric(a, b), "bool")


def equal(a, b):
    return a == b


def explain(index, a: Spec, b: Spec):
    """Neither is less than the other; floats: and no cell is NaN, which is positive by that rule alone."""
    p, q = cell_of(0, a, index), cell_of(1, b, index)
    apart = Apply("logical_or", (Apply("less", (p, q)), Apply("less", (q, p))))
    found = Apply("logical_not", (apart,))
    for cell in (p, q) if a.kind == "float" else ():
        number = Apply(
            "logical_or",
            (Apply("less", (Literal(0), cell)), Apply("logical_not", (Apply("positive", (cell,)),))),
        )
        found = Apply("logical_and", (found, number))
    return found


matrix = [[0.5, float("inf"), -0.0], [1.0, float("-inf"), 3.0]]

register(
    binary(
        "equal", "=", "y = (a = b)", lambda numbers: equal, equal, family="mask", shape=shape,
        explain=explain, onnx="Equal", cost=lambda a, b: 0, masked=None,
        samples=(
            Sample((matrix, [0.75, float("inf"), 0.0])),
            Sample((matrix, 1.0)),
            Sample(([[0], [1], [2]], [0, 1, 2])),
            Sample(([float("nan"), 1.0, float("nan")], [1.0, float("nan"), float("nan")])),
            Sample(([], [])),
        ),
    )
)  # fmt: skip
