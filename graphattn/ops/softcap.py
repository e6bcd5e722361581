"""y = cap · tanh(x / cap), every cell: near x where x is small, never beyond ± cap (Gemma 2, 2024, 2).

x: any shape; cap: a number above 0, or decimal text. Scores are capped before they are masked: a
hidden cell (−∞) would come out as −cap, which a softmax sees; such a step carries a warning.
"""

from __future__ import annotations

import math

from ..core import masks, nested
from ..core.axes import Spec, need_number
from ..core.cells import Cell, Literal, divide, multiply, tanh
from ..core.elementwise import same, times
from ..core.numbers import Numbers
from ..core.op import Declared, Kernel, Op, Reject, Sample, register


def shape(x: Spec, *, cap: float | str) -> Spec:
    need_number("cap", cap, positive=True)
    return same(x)


def softcap(x, cap):
    return cap * math.tanh(x / cap)


def kernel(numbers: Numbers, x: Spec, *, cap) -> Kernel:
    return Kernel(softcap, 0, cap=float(cap))


def expand(g, x, *, cap):
    limit = g.constant(str(cap), name="cap")
    return g.multiply(limit, g.tanh(g.divide(x, limit, name="ratio"), name="tanh"), name="product")


def clipped(g, x, *, cap):
    """Between −cap and cap, and x itself there."""
    limit = g.constant(str(cap))
    return g.subtract(g.subtract(g.relu(g.add(x, limit)), g.relu(g.subtract(x, limit))), limit)


def gradient(g, dy, y, x, *, cap):
    bent = g.divide(y, g.constant(str(cap), name="cap"), name="tanh")
    return (times(g, dy, 1 - bent * bent),)


def explain(index, x: Spec, *, cap):
    limit = Literal(str(cap), str(cap))
    return multiply(limit, tanh(divide(Cell(0, index), limit)))


def warn(values, y, x: Spec, *, cap) -> list[str]:
    count = sum(cell == -math.inf for cell in nested.flat(values[0]))
    if not count:
        return []
    cells = "1 hidden cell (−∞) becomes" if count == 1 else f"{count} hidden cells (−∞) become"
    return [f"{cells} -{cap}, which a softmax sees; the mask belongs after softcap"]


register(
    Op(
        name="softcap",
        title="softcap",
        glyph="∩",
        family="scale",
        formula="y = cap · tanh(x / cap)",
        level="op",
        shape=shape,
        torch="{cap} * torch.tanh({x} / {cap})",
        kernel=kernel,
        expand=expand,
        explain=explain,
        gradient=gradient,
        cost=lambda x, *, cap: 3 * x.size,
        masked=masks.first,
        warn=warn,
        note=lambda x, *, cap: f"cap {cap}",
        mistakes=(Declared("clipped", "with x cut off at ± cap, not bent,", clipped, price=1.3),),
        samples=(
            Sample(([[0.5, -1.25, 2.0], [49.0, 1e-9, -1e300]],), {"cap": 50}),
            Sample(([[[1.0, -3.0]], [[0.0, 100.0]]],), {"cap": "0.1"}),
            Sample(([math.inf, -math.inf, math.nan],), {"cap": 2.5}),
            Sample((1.5,), {"cap": 1e-300}),
            Sample(([[], []],), {"cap": 30.0}),
        ),
        rejects=(
            Reject((Spec((2,)),), {"cap": 0}, "cap is 0; expected a number above 0"),
            Reject((Spec((2,)),), {"cap": "fifty"}, "cap is 'fifty'; expected a number above 0"),
            Reject((Spec((2,), kind="int"),), {"cap": 1}, "x holds int; expected float"),
        ),
    )
)
