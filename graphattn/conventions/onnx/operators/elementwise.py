"""Arithmetic cell by cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....core.axes import broadcast as stretched
from ....core.axes import position
from ....core.errors import GraphError
from ....core.graph import Graph, Tensor
from ....core.nested import flat
from ..operator import Cells, Numbers, Outputs, operator
from .places import floats, known


def aligned(g: Graph, a: Tensor, b: Tensor, broadcast: int, axis: int | None, opset: int | None) -> Tensor:
    """The second operand; before opset 7, its axes may line up with those of the first from `axis` on."""
    if (opset is not None and opset >= 7) or axis is None:
        return b
    if not broadcast:
        raise GraphError("axis is given without broadcast=1; expected both, as before opset 7")
    after = len(a.shape) - position(axis, len(a.shape)) - len(b.shape)
    if after < 0:
        raise GraphError(f"B has rank {len(b.shape)}, which does not fit into A from axis {axis} on")
    return g.reshape(b, (*b.shape, *[1] * after), name="B_aligned") if after else b


@operator("C")
def Add(
    g: Graph, A: Numbers, B: Numbers, *, broadcast: int = 0, axis: int | None = None, opset: int | None = None
) -> Outputs:
    """A + B; sizes of 1 stretch. broadcast and axis: before opset 7."""
    return [g.add(A, aligned(g, A, B, broadcast, axis, opset))]


@operator("C")
def Sub(
    g: Graph, A: Numbers, B: Numbers, *, broadcast: int = 0, axis: int | None = None, opset: int | None = None
) -> Outputs:
    """A − B; as Add."""
    return [g.subtract(A, aligned(g, A, B, broadcast, axis, opset))]


@operator("C")
def Mul(
    g: Graph, A: Numbers, B: Numbers, *, broadcast: int = 0, axis: int | None = None, opset: int | None = None
) -> Outputs:
    """A · B; as Add."""
    return [g.multiply(A, aligned(g, A, B, broadcast, axis, opset))]


@operator("C")
def Div(
    g: Graph, A: Tensor, B: Tensor, *, broadcast: int = 0, axis: int | None = None, opset: int | None = None
) -> Outputs:
    """A / B, of floats; as Add."""
    return [g.divide(A, aligned(g, A, B, broadcast, axis, opset))]


@operator("sum")
def Sum(g: Graph, *data_0: Tensor) -> Outputs:
    """The sum of all inputs, from left to right."""
    return [summed(g, data_0)]


def summed(g: Graph, xs: Sequence[Tensor]) -> Tensor:
    first, *others = xs
    for other in others:
        first = g.add(first, other)
    return first


@operator("Y")
def Neg(g: Graph, X: Tensor) -> Outputs:
    """−X."""
    return [g.negate(X)]


@operator("output")
def Exp(g: Graph, input: Tensor) -> Outputs:
    """eˣ."""
    return [g.exp(input)]


@operator("output")
def Log(g: Graph, input: Tensor) -> Outputs:
    """ln x."""
    return [g.log(input)]


@operator("Y")
def Sqrt(g: Graph, X: Tensor) -> Outputs:
    """√x."""
    return [g.sqrt(X)]


@operator("output")
def Erf(g: Graph, input: Tensor) -> Outputs:
    """erf x."""
    return [g.erf(input)]


@operator("output")
def Sin(g: Graph, input: Tensor) -> Outputs:
    """sin x."""
    return [g.sin(input)]


@operator("output")
def Cos(g: Graph, input: Tensor) -> Outputs:
    """cos x."""
    return [g.cos(input)]


@operator("output")
def Tanh(g: Graph, input: Tensor) -> Outputs:
    """tanh x."""
    return [g.tanh(input)]


@operator("mean")
def Mean(g: Graph, *data_0: Tensor) -> Outputs:
    """The mean of all inputs."""
    total = summed(g, data_0)
    return [total] if len(data_0) == 1 else [g.divide(total, g.constant(len(data_0), name="count"))]


@operator("max")
def Max(g: Graph, *data_0: Tensor) -> Outputs:
    """The largest of all inputs, cell by cell; NaN where one of them is."""
    return [largest(g, data_0)]


@operator("min")
def Min(g: Graph, *data_0: Tensor) -> Outputs:
    """The smallest of all inputs, cell by cell; NaN where one of them is."""
    return [data_0[0]] if len(data_0) == 1 else [g.negate(largest(g, [g.negate(x) for x in data_0]))]


def largest(g: Graph, xs: Sequence[Tensor]) -> Tensor:
    """max(xs), cell by cell: side by side along an axis of their own, which is folded."""
    if len(xs) == 1:
        return xs[0]
    sizes = stretched(*(x.spec for x in xs))[0]
    wide = [x if x.shape == sizes else g.broadcast(x, sizes) for x in xs]
    return g.reshape(g.reduce_max(g.stack(*wide, name="side_by_side"), axis=0, name="largest"), sizes)


@operator("output")
def Clip(
    g: Graph, input: Tensor, min: Tensor | None = None, max: Tensor | None = None, *,
    opset: int | None = None,
) -> Outputs:  # fmt: skip
    """min(max(x, min), max); what is left out bounds nothing."""
    y = input
    if min is not None:
        y = g.where(g.less(y, min, name="below"), min, y, name="raised")
    if max is not None:
        y = g.where(g.less(max, y, name="above"), max, y, name="lowered")
    return [y]


@operator("Y")
def Abs(g: Graph, X: Tensor) -> Outputs:
    """|x| = max(x, 0) + max(−x, 0)."""
    return [absolute(g, X)]


def absolute(g: Graph, x: Tensor) -> Tensor:
    return g.add(g.relu(x), g.relu(g.negate(x)))


@operator("Y")
def Reciprocal(g: Graph, X: Tensor) -> Outputs:
    """1 / x."""
    return [g.divide(g.constant(1, name="one"), X)]


@operator("output")
def Sign(g: Graph, input: Tensor) -> Outputs:
    """−1, 0 or 1; NaN stays NaN."""
    return [_sign(g, input)]


def _sign(g: Graph, x: Tensor) -> Tensor:
    below = g.where(g.is_positive(g.negate(x)), g.constant(-1), x, name="below_0")
    return g.where(g.is_positive(x), g.constant(1), below)


@operator("output")
def Tan(g: Graph, input: Tensor) -> Outputs:
    """tan x = sin x / cos x."""
    return [g.divide(g.sin(input), g.cos(input))]


@operator("output")
def Sinh(g: Graph, input: Tensor) -> Outputs:
    """sinh x = (eˣ − e⁻ˣ) / 2."""
    return [g.scale(g.subtract(g.exp(input), g.exp(g.negate(input))), multiply=0.5)]


@operator("output")
def Cosh(g: Graph, input: Tensor) -> Outputs:
    """cosh x = (eˣ + e⁻ˣ) / 2."""
    return [g.scale(g.add(g.exp(input), g.exp(g.negate(input))), multiply=0.5)]


@operator("output")
def Asinh(g: Graph, input: Tensor) -> Outputs:
    """sign x · ln(|x| + √(x² + 1))."""
    far = absolute(g, input)
    root = g.sqrt(g.add(g.multiply(input, input), g.constant(1)), name="root")
    return [g.multiply(_sign(g, input), g.log(g.add(far, root)))]


@operator("output")
def Acosh(g: Graph, input: Tensor) -> Outputs:
    """ln(x + √(x² − 1))."""
    root = g.sqrt(g.subtract(g.multiply(input, input), g.constant(1)), name="root")
    return [g.log(g.add(input, root))]


@operator("output")
def Atanh(g: Graph, input: Tensor) -> Outputs:
    """ln((1 + x) / (1 − x)) / 2."""
    one = g.constant(1, name="one")
    return [g.scale(g.log(g.divide(g.add(one, input), g.subtract(one, input))), multiply=0.5)]


@operator("Z")
def Pow(
    g: Graph, X: Tensor, Y: Cells, *, broadcast: int = 0, axis: int | None = None, opset: int | None = None
) -> Outputs:
    """xʸ, where y is known when the graph is built: by products, roots, or exp(y · ln |x|) with its sign."""
    y = aligned(g, X, Y, broadcast, axis, opset)
    value = known(Y)
    if value is None:
        raise GraphError("the exponents are computed or fed as floats; expected known ones")
    exponents = [float(cell) for cell in flat(value)]
    if len(set(exponents)) == 1 and exponents[0] in POWERS:
        sizes = stretched(X.spec, y.spec)[0]
        z = POWERS[exponents[0]](g, X)
        return [z if z.shape == sizes else g.broadcast(z, sizes)]
    return [_power(g, X, floats(g, y), exponents, y.shape)]


POWERS: dict[float, Callable[[Graph, Tensor], Tensor]] = {
    1.0: lambda g, x: x,
    2.0: lambda g, x: g.multiply(x, x),
    3.0: lambda g, x: g.multiply(g.multiply(x, x, name="squared"), x),
    4.0: lambda g, x: (lambda s: g.multiply(s, s))(g.multiply(x, x, name="squared")),
    0.5: lambda g, x: g.sqrt(x),
    -0.5: lambda g, x: g.divide(g.constant(1, name="one"), g.sqrt(x, name="root")),
    -1.0: lambda g, x: g.divide(g.constant(1, name="one"), x),
}


def _power(g: Graph, x: Tensor, y: Tensor, exponents: Sequence[float], shape: tuple[int, ...]) -> Tensor:
    """exp(y ln x); below 0 for whole y alone, with the sign of (−1)ʸ; 1 where y is 0."""

    def where(test: Callable[[float], bool], name: str) -> Tensor:
        cells = g.constant(tuple(map(test, exponents)), name=name)
        return g.reshape(cells, shape, name=f"{name}_shaped")

    def odd(e: float) -> bool:
        return e % 2 == 1

    power = g.exp(g.multiply(y, g.log(absolute(g, x), name="log")), name="of_absolute")
    below = g.is_positive(g.negate(x), name="below_0")
    power = g.where(g.logical_and(below, where(odd, "odd")), g.negate(power), power, name="signed")
    broken = where(lambda e: not e.is_integer(), "broken")
    power = g.where(g.logical_and(below, broken), g.constant("nan"), power, name="real")
    return g.where(where(lambda e: e == 0, "nought"), g.constant(1), power)
