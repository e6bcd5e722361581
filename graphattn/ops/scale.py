"""y = x / √s, x / s, or x · s: one of the three, since their bits differ.

x: any shape. `sqrt=64` divides by √64 and keeps it as the root of an integer, so that every
number type takes its own root; `divide=` and `multiply=` take a number or decimal text.
Attention divides by √d_k (Vaswani et al. 2017, equation 1); ONNX multiplies by a factor.
"""

from __future__ import annotations

import math

from ..core import masks
from ..core.axes import Spec
from ..core.cells import Cell, Literal, divide, multiply
from ..core.cells import sqrt as root
from ..core.elementwise import same
from ..core.errors import Rejected
from ..core.numbers import Numbers
from ..core.op import Kernel, Op, Reject, Sample, register
from ..core.words import shown


def shape(
    x: Spec,
    *,
    sqrt: float | None = None,
    divide: float | str | None = None,
    multiply: float | str | None = None,
) -> Spec:
    given = [value for value in (sqrt, divide, multiply) if value is not None]
    if len(given) != 1:
        raise Rejected(f"{len(given)} of sqrt, divide and multiply are given; expected exactly one")
    try:
        number = float("bool" if isinstance(given[0], bool) else given[0])
    except (TypeError, ValueError):
        raise Rejected(f"the factor is {shown(given[0])}; expected a number") from None
    except OverflowError:
        raise Rejected("the factor is an integer that no float holds; expected a smaller one") from None
    if (sqrt is not None and not number > 0) or (divide is not None and number == 0):
        raise Rejected(f"the divisor is {'√' if sqrt is not None else ''}{given[0]}; expected more than 0")
    return same(x)


def scale_dividing(row, divisor):
    return [v / divisor for v in row]


def scale_multiplying(row, factor):
    return [v * factor for v in row]


def scale_cell_dividing(v, divisor):
    return v / divisor


def scale_cell_multiplying(v, factor):
    return v * factor


def kernel(numbers: Numbers, x: Spec, *, sqrt, divide, multiply) -> Kernel:
    if multiply is not None:
        factor = numbers.lift(multiply)
        return (
            Kernel(scale_multiplying, 1, factor=factor)
            if x.rank
            else Kernel(scale_cell_multiplying, 0, factor=factor)
        )
    divisor = numbers.lift(divide) if sqrt is None else numbers.sqrt(numbers.lift(sqrt))
    return (
        Kernel(scale_dividing, 1, divisor=divisor)
        if x.rank
        else Kernel(scale_cell_dividing, 0, divisor=divisor)
    )


def expand(g, x, *, sqrt, divide, multiply):
    if multiply is not None:
        return g.multiply(x, g.constant(multiply, name="factor"), name="product")
    if sqrt is None:
        return g.divide(x, g.constant(divide, name="divisor"), name="quotient")
    divisor = g.sqrt(g.constant(sqrt, name="radicand"), name="divisor")
    return g.divide(x, divisor, name="quotient")


def gradient(g, dy, y, x, *, sqrt, divide, multiply):
    return (g.scale(dy, sqrt=sqrt, divide=divide, multiply=multiply),)


def in_torch(x: Spec, *, sqrt, divide, multiply):
    if sqrt is not None:
        return "{x} / math.sqrt({sqrt})"
    return "{x} / {divide}" if divide is not None else "{x} * {multiply}"


def onnx(o, x, *, sqrt, divide, multiply):
    if multiply is not None:
        return o.Mul(x, float(multiply))
    return o.Div(x, float(divide) if sqrt is None else math.sqrt(float(sqrt)))


def explain(index, x: Spec, *, sqrt, divide, multiply):
    cell = Cell(0, index)
    if multiply is not None:
        return times(cell, Literal(multiply))
    return over(cell, Literal(divide) if sqrt is None else root(Literal(sqrt)))


times, over = multiply, divide


def note(x: Spec, *, sqrt, divide, multiply) -> str:
    return f"· {multiply}" if multiply is not None else f"÷ √{sqrt}" if sqrt is not None else f"÷ {divide}"


register(
    Op(
        name="scale",
        title="scale",
        glyph="÷",
        family="scale",
        formula="y = x / √s, x / s or x · s",
        level="op",
        shape=shape,
        kernel=kernel,
        onnx=onnx,
        torch=in_torch,
        expand=expand,
        explain=explain,
        linear=(("x",),),
        gradient=gradient,
        cost=lambda x, **_: x.size,
        masked=masks.first,
        note=note,
        samples=(
            Sample(([[1.0, -2.5], [0.3, 7.0]],), {"sqrt": 8}),
            Sample(([[1.0, -2.5], [0.3, 7.0]],), {"divide": 3}),
            Sample(([[1.0, -2.5], [0.3, 7.0]],), {"multiply": "0.125"}),
            Sample((1.5,), {"sqrt": 2}),
            Sample(([[[1.0]], [[-3.0]]],), {"multiply": 0.1}),
        ),
        rejects=(
            Reject((Spec((2, 2)),), {}, "0 of sqrt, divide and multiply are given; expected exactly one"),
            Reject((Spec((2, 2)),), {"sqrt": 0}, "the divisor is √0; expected more than 0"),
            Reject((Spec((2, 2)),), {"multiply": 10**400}, "the factor is an integer that no float holds"),
            Reject((Spec((2, 2)),), {"divide": "x"}, "the factor is 'x'; expected a number"),
        ),
    )
)
