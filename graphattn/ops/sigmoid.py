"""y = 1 / (1 + e⁻ˣ), every cell.

x: any shape. Below 0 it is computed as eˣ / (1 + eˣ): nothing overflows, and a result near 0 keeps
its digits. σ(∞) = 1, σ(−∞) = 0.
"""

from __future__ import annotations

from functools import partial

from ..core.axes import Spec
from ..core.cells import Apply, Cell, Literal, add, divide, exp, where
from ..core.elementwise import times, unary
from ..core.numbers import Numbers
from ..core.op import Sample, register


def sigmoid(x, zero, one, less, add, divide, negate, exp):
    if less(x, zero):
        raised = exp(x)
        return divide(raised, add(one, raised))
    return divide(one, add(one, exp(negate(x))))


def function(numbers: Numbers):
    return partial(
        sigmoid, zero=numbers.lift(0), one=numbers.lift(1), less=numbers.less, add=numbers.add,
        divide=numbers.divide, negate=numbers.negate, exp=numbers.exp,
    )  # fmt: skip


def explain(index, x: Spec):
    cell, one = Cell(0, index), Literal(1)
    above = divide(one, add(one, exp(Apply("negate", (cell,)))))
    below = divide(exp(cell), add(one, exp(cell)))
    return where(Apply("positive", (cell,)), above, below)


register(
    unary(
        "sigmoid", "sig", "y = 1 / (1 + exp(−x))", function, explain=explain, onnx="Sigmoid",
        range=(0.0, 1.0),
        torch="torch.sigmoid({x})",
        gradient=lambda g, dy, y, x: (times(g, dy, y * g.sigmoid(-x)),),
        cost=lambda x: 4 * x.size,
        samples=(
            Sample(([[0.5, -1.25, 2.0], [0.0, -40.0, 40.0]],)),
            Sample(([-745.0, -1e300, 1e300, float("inf"), float("-inf"), float("nan")],)),
            Sample((-0.0,)),
            Sample(([[], []],)),
        ),
    )
)  # fmt: skip
