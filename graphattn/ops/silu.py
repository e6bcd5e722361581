"""y = x · σ(x) = x / (1 + e⁻ˣ), every cell (Elfwing et al. 2017; also called swish).

x: any shape. σ is computed from eˣ below 0 and from e⁻ˣ above, so that nothing overflows. As in
PyTorch, silu(−∞) is −∞ · 0 = NaN; far below 0, y goes to −0.
"""

from __future__ import annotations

import math

from ..core.activations import ACTIVATIONS
from ..core.axes import Spec
from ..core.cells import Cell, multiply
from ..core.elementwise import times, unary
from ..core.numbers import Numbers
from ..core.op import Declared, Sample, find, register


def silu(x):
    if x < 0.0:
        raised = math.exp(x)
        return x * (raised / (1.0 + raised))
    return x * (1.0 / (1.0 + math.exp(-x)))


def function(numbers: Numbers):
    return silu


def expand(g, x):
    return g.multiply(x, g.sigmoid(x, name="gate"), name="product")


def gradient(g, dy, y, x):
    return (times(g, dy, g.sigmoid(x, name="gate") + times(g, y, g.sigmoid(-x, name="rest"))),)


def explain(index, x: Spec):
    gate = find("sigmoid").explain
    assert gate is not None
    return multiply(Cell(0, index), gate(index, x))


def steeper(g, x, *, number):
    return g.multiply(x, g.sigmoid(g.multiply(x, number)))


register(
    unary(
        "silu", "x·σ", "y = x / (1 + exp(−x))", function, level="op", expand=expand, explain=explain,
        torch="F.silu({x})",
        gradient=gradient,
        mistakes=(
            Declared("steeper", "with x · sigmoid({number} x)", steeper, number=1.702), *ACTIVATIONS,
        ),
        cost=lambda x: 5 * x.size, title="SiLU", range=(-0.2785, math.inf),
        samples=(
            Sample(([[0.5, -1.25, 2.0], [0.0, -40.0, 40.0]],)),
            Sample(([-700.0, -1e300, 1e300, math.inf, -math.inf, math.nan],)),
            Sample((-0.0,)),
            Sample(([[[]], [[]]],)),
        ),
    )
)  # fmt: skip
