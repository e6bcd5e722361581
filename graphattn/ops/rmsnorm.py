"""y = x / √(mean(x²) + eps) · gamma, each row (Zhang and Sennrich 2019, equation 4).

x (…, d); gamma (d) or left out. Unlike layernorm it takes no mean away and adds no bias. The sum is
`math.fsum`; eps stands inside the root. Where x² overflows (|x| > 1.3e154), y is 0.
"""

from __future__ import annotations

import math

from ..core import masks
from ..core.axes import Spec, describe, need_kind, need_number, need_rank, unify
from ..core.cells import Cell, Literal, add, divide, multiply, named, sqrt, total
from ..core.elementwise import over, times, unbroadcast
from ..core.errors import Rejected
from ..core.nested import rows
from ..core.numbers import Numbers
from ..core.numbers import divide as quotient
from ..core.numbers import total as exact_sum
from ..core.op import Declared, Kernel, Op, Reject, Sample, register
from ..core.words import listed


def shape(x: Spec, gamma: Spec | None = None, *, eps: float | str = 1e-05) -> Spec:
    need_kind("float", x=x, gamma=gamma)
    need_rank(1, x=x)
    feature = x.axes[-1]
    if gamma is not None:
        if gamma.shape != x.shape[-1:]:
            raise Rejected(f"gamma is {describe(gamma)}; expected one row of {x.shape[-1]}")
        feature = unify(feature, gamma.axes[-1])
    need_number("eps", eps)
    return Spec(x.shape, (*x.axes[:-1], feature))


def rmsnorm(row, gamma, eps):
    if not row:
        return []
    root = math.sqrt(exact_sum([v * v for v in row]) / len(row) + eps)
    y = [v / root for v in row] if root else [quotient(v, root) for v in row]
    return y if gamma is None else [v * g for v, g in zip(y, gamma)]


def kernel(numbers: Numbers, x: Spec, gamma, *, eps) -> Kernel:
    return Kernel(rmsnorm, 1, 1, eps=float(eps))


def expand(g, x, gamma, *, eps):
    mean = g.reduce_mean(g.multiply(x, x, name="squared"), name="mean")
    root = g.sqrt(g.add(mean, g.constant(str(eps), name="eps"), name="stabilized"), name="root")
    y = g.divide(x, root, name="normalized")
    return y if gamma is None else g.multiply(y, gamma, name="scaled")


def gradient(g, dy, y, x, gamma, *, eps):
    """dx = (dn − n · mean(dn · n)) / root, with n what is normalized and dn = dy · gamma."""
    mean = g.reduce_mean(g.multiply(x, x, name="squared"), name="mean")
    root = g.sqrt(g.add(mean, g.constant(str(eps), name="eps"), name="stabilized"), name="root")
    n = y if gamma is None else g.divide(x, root, name="normalized")
    d_n = dy if gamma is None else times(g, dy, gamma, name="d_normalized")
    along = times(g, n, g.reduce_mean(times(g, d_n, n, name="weighted"), name="inner"), name="along")
    d_gamma = None if gamma is None else unbroadcast(g, times(g, dy, n), gamma)
    return over(g, g.subtract(d_n, along, name="across"), root), d_gamma


def of_sum(g, x, gamma, *, eps):
    root = g.sqrt(g.add(g.reduce_sum(g.multiply(x, x)), g.constant(str(eps))))
    y = g.divide(x, root)
    return y if gamma is None else g.multiply(y, gamma)


def by_length(g, x, gamma, *, eps, number=None):
    """x / ‖x‖, or x / (‖x‖ + ε), as `normalize` functions have it."""
    length = g.sqrt(g.reduce_sum(g.multiply(x, x)))
    y = g.divide(x, length if number is None else g.add(length, number))
    return y if gamma is None else g.multiply(y, gamma)


def over_rows(g, x, gamma, *, eps):
    if len(x.shape) < 2:
        return None
    y = g.transpose(g.rmsnorm(g.transpose(x), eps=eps))
    return y if gamma is None else g.multiply(y, gamma)


def over_everything(g, x, gamma, *, eps):
    if len(x.shape) < 2:
        return None
    *lead, rows, d = x.shape
    y = g.reshape(g.rmsnorm(g.reshape(x, shape=(*lead, rows * d)), eps=eps), shape=x.shape)
    return y if gamma is None else g.multiply(y, gamma)


def by_variance(g, x, gamma, *, eps):
    deviation = g.subtract(x, g.reduce_mean(x, name="mean"), name="deviation")
    variance = g.reduce_mean(g.multiply(deviation, deviation, name="squared"), name="variance")
    root = g.sqrt(g.add(variance, g.constant(str(eps), name="eps"), name="stabilized"), name="root")
    y = g.divide(x, root, name="normalized")
    return y if gamma is None else g.multiply(y, gamma, name="scaled")


def in_torch(x: Spec, gamma, *, eps):
    return f"F.rms_norm({{x}}, ({x.shape[-1]},){'' if gamma is None else ', {gamma}'}, eps={eps})"


def onnx(o, x, gamma, *, eps):
    if not x.size or not o.has("RMSNormalization") or not o.holds(float(eps)) or not float(eps):
        return None
    gamma = o.full(x.shape[-1:], 1.0) if gamma is None else gamma
    return o.RMSNormalization(x, gamma, axis=-1, epsilon=float(eps))


def explain(index, x: Spec, gamma, *, eps):
    *lead, j = index
    row = [Cell(0, (*lead, k)) for k in range(x.shape[-1])]
    mean = named("mean square", divide(total(multiply(cell, cell) for cell in row), Literal(x.shape[-1])))
    y = divide(Cell(0, index), sqrt(add(mean, Literal(str(eps), "eps"))))
    return y if gamma is None else multiply(y, Cell(1, (j,)))


def warn(values, y, x: Spec, gamma, *, eps) -> list[str]:
    if float(eps) or not x.size:
        return []
    zero = [list(index) for index, row in rows(values[0], x.rank) if not any(row)]
    where = f" {listed(zero, 3)}" if x.rank > 1 else ""
    return [f"all cells are 0 in row{where}, and so is eps: 0 / 0 is NaN"] if zero else []


def cost(x: Spec, gamma, *, eps) -> int:
    rows = x.size // max(x.shape[-1], 1)
    return x.size * (3 + (gamma is not None)) + 3 * rows


matrix = [[0.5, -1.25, 2.0], [1e8, 1e8 + 1, 1e-8]]

register(
    Op(
        name="rmsnorm",
        title="RMSNorm",
        glyph="rms",
        family="norm",
        formula="x / √(mean(x²) + eps), each row",
        level="op",
        shape=shape,
        kernel=kernel,
        onnx=onnx,
        torch=in_torch,
        expand=expand,
        explain=explain,
        gradient=gradient,
        cost=cost,
        masked=masks.first,
        warn=warn,
        note=lambda x, gamma, *, eps: f"eps={eps}",
        mistakes=(
            Declared("sum", "with the sum of the squares, not their mean,", of_sum),
            Declared("by length", "with x / ‖x‖", by_length),
            Declared(
                "by length and ε", "with x / (‖x‖ + {number})", by_length, number=1e-12, between=(0.0, 1.0)
            ),
            Declared("over the rows", "with the mean square over the tokens, not the features,", over_rows),
            Declared("over everything", "with the mean square over rows and columns at once", over_everything),
            Declared("variance", "with the variance of x in place of its mean square", by_variance),
        ),
        samples=(
            Sample((matrix,)),
            Sample((matrix, [1.5, 0.5, -1.0]), {"eps": "1e-12"}),
            Sample(([[0.0, 0.0], [-3.0, 4.0]],), {"eps": 0}),
            Sample(([[[1e150, 1.0]], [[1e-150, -1e-150]]], [2.0, 3.0]), {"eps": 0.1}),
            Sample(([0.75],)),
            Sample(([[], []],)),
        ),
        rejects=(
            Reject((Spec((2, 3)), Spec((2,))), {}, "gamma is 2; expected one row of 3"),
            Reject((Spec((2, 3)),), {"eps": -1e-5}, "eps is -1e-05; expected a number of 0 or more"),
            Reject((Spec((2, 3)),), {"eps": "inf"}, "eps is 'inf'; expected a number of 0 or more"),
            Reject((Spec(()),), {}, "x has rank 0; expected rank 1 or more"),
            Reject((Spec((2, 3), kind="int"),), {}, "x holds int; expected float"),
        ),
    )
)
