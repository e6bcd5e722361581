"""y = (x − mean) / √(variance + eps) · gamma + beta, each row (Ba et al. 2016, equation 4).

x (…, d); gamma, beta (d) or left out. The variance divides by d (biased); eps stands inside the
root. The mean comes first, then the squared deviations; both sums are `math.fsum`. With eps=0 the mean is
corrected by that of the deviations from it, so that a row of equal cells has the variance 0 that exact
means give: it becomes NaN (0 / 0), and the step says so.
"""

from __future__ import annotations

import math

from ..core import masks
from ..core.axes import Spec, describe, need_kind, need_number, need_rank, unify
from ..core.cells import Cell, Literal, add, divide, multiply, named, sqrt, subtract, total
from ..core.elementwise import over, times, unbroadcast
from ..core.errors import Rejected
from ..core.nested import rows
from ..core.numbers import Numbers
from ..core.numbers import divide as quotient
from ..core.numbers import total as exact_sum
from ..core.op import Declared, Kernel, Op, Reject, Sample, register
from ..core.words import listed


def shape(x: Spec, gamma: Spec | None = None, beta: Spec | None = None, *, eps: float | str = 1e-05) -> Spec:
    need_kind("float", x=x, gamma=gamma, beta=beta)
    need_rank(1, x=x)
    feature = x.axes[-1]
    for name, row in (("gamma", gamma), ("beta", beta)):
        if row is not None:
            if row.shape != x.shape[-1:]:
                raise Rejected(f"{name} is {describe(row)}; expected one row of {x.shape[-1]}")
            feature = unify(feature, row.axes[-1])
    need_number("eps", eps)
    return Spec(x.shape, (*x.axes[:-1], feature))


def layernorm(row, gamma, beta, eps):
    if not row:
        return []
    mean = exact_sum(row) / len(row)
    if not eps:
        mean += exact_sum([v - mean for v in row]) / len(row)
    deviations = [v - mean for v in row]
    variance = exact_sum([v * v for v in deviations]) / len(row)
    root = math.sqrt(variance + eps)
    y = [v / root for v in deviations] if root else [quotient(v, root) for v in deviations]
    if gamma is not None:
        y = [v * g for v, g in zip(y, gamma)]
    if beta is not None:
        y = [v + b for v, b in zip(y, beta)]
    return y


def kernel(numbers: Numbers, x: Spec, gamma, beta, *, eps) -> Kernel:
    return Kernel(layernorm, 1, 1, 1, eps=float(eps))


def expand(g, x, gamma, beta, *, eps):
    deviation, root = _parts(g, x, eps)
    return _affine(g, g.divide(deviation, root, name="normalized"), gamma, beta)


def _affine(g, y, gamma, beta):
    if gamma is not None:
        y = g.multiply(y, gamma, name="scaled")
    if beta is not None:
        y = g.add(y, beta, name="shifted")
    return y


def by_standard_deviation(g, x, gamma, beta, *, eps):
    d = x.shape[-1]
    if d < 2:
        return None
    deviation = g.subtract(x, g.reduce_mean(x))
    squares = g.reduce_sum(g.multiply(deviation, deviation))
    root = g.add(g.sqrt(g.scale(squares, divide=d - 1)), g.constant(str(eps)))
    return _affine(g, g.divide(deviation, root), gamma, beta)


def annotated(g, x, gamma, beta, *, eps):
    """As The Annotated Transformer has it, where another eps is meant."""
    return None if float(eps) == 1e-6 else by_standard_deviation(g, x, gamma, beta, eps="1e-06")


def as_rows(g, x, gamma, beta, *, eps):
    """Means and variances without keepdims: those of row j for column j."""
    if len(x.shape) < 2 or x.shape[-1] != x.shape[-2]:
        return None
    deviation = g.subtract(x, g.transpose(g.reduce_mean(x)))
    variance = g.transpose(g.reduce_mean(g.multiply(deviation, deviation)))
    return _affine(g, g.divide(deviation, g.sqrt(g.add(variance, g.constant(str(eps))))), gamma, beta)


def uncentred(g, x, gamma, beta, *, eps):
    return _affine(g, g.divide(x, _parts(g, x, eps)[1], name="normalized"), gamma, beta)


def by_length(g, x, gamma, beta, *, eps, number=None):
    """x / ‖x‖, or x / (‖x‖ + ε), as `normalize` functions have it."""
    length = g.sqrt(g.reduce_sum(g.multiply(x, x)))
    return _affine(g, g.divide(x, length if number is None else g.add(length, number)), gamma, beta)


def by_length_and_width(g, x, gamma, beta, *, eps):
    """√d · x / ‖x‖."""
    unit = by_length(g, x, None, None, eps=eps)
    return _affine(g, g.scale(unit, multiply=math.sqrt(x.shape[-1])), gamma, beta)


def over_rows(g, x, gamma, beta, *, eps):
    if len(x.shape) < 2:
        return None
    return _affine(g, g.transpose(g.layernorm(g.transpose(x), eps=eps)), gamma, beta)


def over_batch(everything):
    """Over all rows of all sequences for each feature, as batch norm has it, or over every cell."""

    def build(g, x, gamma, beta, *, eps):
        if len(x.shape) < 3 or not x.shape[-1]:
            return None
        d = x.shape[-1]
        rows = g.reshape(x, (1, math.prod(x.shape)) if everything else (math.prod(x.shape) // d, d))
        y = g.layernorm(rows, eps=eps) if everything else g.transpose(g.layernorm(g.transpose(rows), eps=eps))
        return _affine(g, g.reshape(y, x.shape), gamma, beta)

    return build


def over_everything(g, x, gamma, beta, *, eps):
    if len(x.shape) < 2:
        return None
    *lead, rows, d = x.shape
    flat = g.layernorm(g.reshape(x, shape=(*lead, rows * d)), eps=eps)
    return _affine(g, g.reshape(flat, shape=x.shape), gamma, beta)


def _parts(g, x, eps):
    """The deviations from the mean, and √(variance + eps)."""
    mean = g.reduce_mean(x, name="mean")
    if not float(eps):
        drift = g.reduce_mean(g.subtract(x, mean, name="deviation_0"), name="drift")
        mean = g.add(mean, drift, name="exact_mean")
    deviation = g.subtract(x, mean, name="deviation")
    variance = g.reduce_mean(g.multiply(deviation, deviation, name="squared"), name="variance")
    root = g.sqrt(g.add(variance, g.constant(str(eps), name="eps"), name="stabilized"), name="root")
    return deviation, root


def gradient(g, dy, y, x, gamma, beta, *, eps):
    """dx = (dn − mean(dn) − n · mean(dn · n)) / root, with n what is normalized and dn = dy · gamma."""
    deviation, root = _parts(g, x, eps)
    plain = gamma is None and beta is None
    n = y if plain else g.divide(deviation, root, name="normalized")
    d_n = dy if gamma is None else times(g, dy, gamma, name="d_normalized")
    along = times(g, n, g.reduce_mean(times(g, d_n, n, name="weighted"), name="inner"), name="along")
    d_x = over(
        g,
        g.subtract(g.subtract(d_n, g.reduce_mean(d_n, name="level"), name="centred"), along, name="across"),
        root,
    )
    d_gamma = None if gamma is None else unbroadcast(g, times(g, dy, n), gamma)
    return d_x, d_gamma, None if beta is None else unbroadcast(g, dy, beta)


def in_torch(x: Spec, gamma, beta, *, eps):
    shift = "" if beta is None else ", bias={beta}"
    return f"F.layer_norm({{x}}, ({x.shape[-1]},){'' if gamma is None else ', {gamma}'}{shift}, eps={eps})"


def onnx(o, x, gamma, beta, *, eps):
    if not o.holds(float(eps)) or not float(eps):
        return None
    gamma = o.full(x.shape[-1:], 1.0) if gamma is None else gamma
    return o.LayerNormalization(x, gamma, beta, axis=-1, epsilon=float(eps))


def explain(index, x: Spec, gamma, beta, *, eps):
    *lead, j = index
    row = [Cell(0, (*lead, k)) for k in range(x.shape[-1])]
    count = Literal(x.shape[-1])
    mean = named("mean" if float(eps) else "mean₀", divide(total(row), count))
    if not float(eps):
        mean = named("mean", add(mean, divide(total(subtract(cell, mean) for cell in row), count)))
    squares = (multiply(subtract(cell, mean), subtract(cell, mean)) for cell in row)
    variance = named("variance", divide(total(squares), count))
    root = sqrt(add(variance, Literal(str(eps), "eps")))
    y = divide(subtract(Cell(0, index), mean), root)
    if gamma is not None:
        y = multiply(y, Cell(1, (j,)))
    if beta is not None:
        y = add(y, Cell(2, (j,)))
    return y


def cost(x: Spec, gamma, beta, *, eps) -> int:
    rows = x.size // max(x.shape[-1], 1)
    return x.size * (5 + (gamma is not None) + (beta is not None)) + 4 * rows


def warn(values, y, x: Spec, gamma, beta, *, eps) -> list[str]:
    if float(eps) or not x.size:
        return []
    flat = [list(index) for index, row in rows(values[0], x.rank) if row.count(row[0]) == len(row)]
    where = f" {listed(flat, 3)}" if x.rank > 1 else ""
    return (
        [f"all cells are equal in row{where}: the variance is 0 and so is eps, and 0 / 0 is NaN"]
        if flat
        else []
    )


def note(x: Spec, gamma, beta, *, eps) -> str:
    return f"eps={eps}"


matrix = [[0.5, -1.25, 2.0], [1e8, 1e8 + 1, 1e8 + 3]]

register(
    Op(
        name="layernorm",
        title="LayerNorm",
        glyph="μσ",
        family="norm",
        formula="(x − mean) / √(variance + eps), each row",
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
        note=note,
        mistakes=(
            Declared("uncentred", "with x itself, not x − mean, over the standard deviation", uncentred),
            Declared(
                "by standard deviation",
                "with (x − mean) / (s + eps), s the standard deviation with n − 1,",
                by_standard_deviation,
                "torch.std divides by n − 1; the paper divides by n, and adds eps inside the root.",
            ),
            Declared(
                "by standard deviation, 1e-06",
                "with (x − mean) / (s + 1e-06), s the standard deviation with n − 1,",
                annotated,
                price=1.25,
            ),
            Declared("as rows", "with mean and variance as rows, not columns (as without keepdims),", as_rows),
            Declared("by length", "with x / ‖x‖", by_length, price=1.4),
            Declared("by length, times √d", "with √d · x / ‖x‖", by_length_and_width, price=1.4),
            Declared(
                "by length and ε",
                "with x / (‖x‖ + {number})",
                by_length,
                price=1.4,
                number=1e-12,
                between=(0.0, 1.0),
            ),
            Declared("over the rows", "with mean and variance over the tokens, not the features,", over_rows),
            Declared(
                "over everything", "with mean and variance over rows and columns at once", over_everything
            ),
            Declared(
                "over the batch",
                "with mean and variance over all tokens of the batch, for each feature, as batch norm has it,",
                over_batch(everything=False),
            ),
            Declared(
                "over all", "with mean and variance over the whole batch at once", over_batch(everything=True)
            ),
        ),
        samples=(
            Sample((matrix,)),
            Sample((matrix, [1.5, 0.5, -1.0], [0.1, 0.0, 0.2]), {"eps": "1e-12"}),
            Sample((matrix, None, [0.1, 0.0, 0.2]), {"eps": 0.1}),
            Sample(([[3.0, 3.0], [1.0, 2.0]],), {"eps": 0}),
            Sample(([[0.1, 0.1, 0.1], [0.1, 0.1, 0.3]], [2.0, 1.0, 0.5]), {"eps": "0.0"}),
            Sample(([0.75, 0.5],)),
            Sample(([matrix, [[0.25, -1.0, 2.0], [1.0, 0.0, -0.5]]], [1.5, 0.5, -1.0])),
        ),
        rejects=(
            Reject((Spec((2, 3)), Spec((2,))), {}, "gamma is 2; expected one row of 3"),
            Reject((Spec((2, 3)),), {"eps": -1e-5}, "eps is -1e-05; expected a number of 0 or more"),
            Reject((Spec(()),), {}, "x has rank 0; expected rank 1 or more"),
        ),
    )
)
