"""y[i] = x[i] − max x − ln Σₖ exp(x[k] − max x), along an axis: the logarithm of softmax.

x: any rank from 1. A hidden cell (−∞) stays −∞. As in PyTorch, a row with nothing visible, and one
with +∞ or NaN, gives NaN. The logarithm is taken of the sum, not of each weight, so that a weight
too small to be written as a number still has one.
"""

from __future__ import annotations

import math

from ..core import masks
from ..core.axes import Spec, position
from ..core.cells import Cell, exp, log, maximum, named, subtract, total
from ..core.elementwise import times
from ..core.numbers import Numbers
from ..core.op import Declared, Kernel, Op, Reject, Sample, register
from ..core.reductions import along_axis, folded, line, nothing_visible


def shape(x: Spec, *, axis: int = -1) -> Spec:
    folded(x, axis=axis)
    return Spec(x.shape, x.axes)


def log_softmax(row):
    if not row:
        return []
    peak = max(row)
    shifted = [v - peak for v in row]
    log_total = math.log(math.fsum([math.exp(v) for v in shifted]))
    return [v - log_total for v in shifted]


def kernel(numbers: Numbers, x: Spec, *, axis) -> Kernel:
    return along_axis(log_softmax, x, axis)


def expand(g, x, *, axis):
    shifted = g.subtract(x, g.reduce_max(x, axis=axis, name="peak"), name="shifted")
    total = g.reduce_sum(g.exp(shifted, name="raised"), axis=axis, name="total")
    return g.subtract(shifted, g.log(total, name="log_total"), name="logarithm")


def each_by_itself(g, x, *, axis):
    """ln σ(x): binary cross entropy."""
    return g.log(g.sigmoid(x))


def smoothed(g, x, *, axis, number):
    """(1 − ε) y + ε · mean y: what a smoothed target picks in the place of what its one class picks."""
    y = g.log_softmax(x, axis=axis)
    mean = g.reduce_mean(y, axis=axis)
    return g.add(y, g.multiply(g.subtract(mean, y), number))


def of_probabilities(g, x, *, axis, number):
    """ln(p + ε)."""
    return g.log(g.add(g.softmax(x, axis=axis), number))


def gradient(g, dy, y, x, *, axis):
    """dx = dy − softmax(x) · Σ dy."""
    return (dy - times(g, g.exp(y, name="softmax"), g.reduce_sum(dy, axis=axis)),)


def onnx(o, x, *, axis):
    """In a row with NaN, runtimes differ."""
    return None if o.exact else o.LogSoftmax(x, axis=position(axis, x.rank))


def explain(index, x: Spec, *, axis):
    row = list(line(index, x, axis))
    peak = named("max", maximum(row))
    log_total = log(named("Σ exp", total(exp(subtract(cell, peak)) for cell in row)))
    return subtract(subtract(Cell(0, index), peak), log_total)


def cost(x: Spec, *, axis) -> int:
    return 5 * x.size + folded(x, axis=axis).size


def warn(values, y, x: Spec, *, axis) -> list[str]:
    told = nothing_visible(values[0], x, axis)
    return [f"{told}: all its logarithms are NaN"] if told else []


matrix = [[0.5, -1.25, 2.0], [1000.0, 1001.0, 1002.0]]

register(
    Op(
        name="log_softmax",
        title="log softmax",
        glyph="ln σ",
        family="softmax",
        formula="x − max − ln Σ exp(x − max), each row",
        level="op",
        shape=shape,
        kernel=kernel,
        onnx=onnx,
        torch="{x}.log_softmax(dim={axis})",
        expand=expand,
        explain=explain,
        gradient=gradient,
        cost=cost,
        masked=masks.first,
        warn=warn,
        range=(-math.inf, 0.0),
        mistakes=(
            Declared(
                "binary",
                "with ln σ(x) for each score by itself, a binary cross entropy,",
                each_by_itself,
                "The scores of one row share a softmax: the probabilities of all classes sum to 1.",
            ),
            Declared("smoothed", "with labels smoothed by {number}", smoothed, number=0.1, between=(0.0, 0.9)),
            Declared(
                "of probabilities",
                "with ln(p + {number}) of probabilities p",
                of_probabilities,
                number=1e-09,
                between=(0.0, 0.1),
            ),
        ),
        note=lambda x, *, axis: "" if position(axis, x.rank) == x.rank - 1 else f"axis {axis}",
        samples=(
            Sample((matrix,)),
            Sample((matrix,), {"axis": 0}),
            Sample(([matrix, matrix],), {"axis": -2}),
            Sample(([[0.5, -math.inf, 1.0], [-math.inf, -math.inf, -math.inf]],)),
            Sample(([[math.nan, 0.5], [0.5, math.nan], [-math.inf, math.nan], [math.inf, 0.5]],)),
            Sample(([-745.2, 0.0, 800.0],)),
            Sample(([[], []],)),
            Sample(([[], []],), {"axis": 0}),
        ),
        rejects=(
            Reject((Spec(()),), {}, "x has rank 0; expected rank 1 or more"),
            Reject((Spec((2, 2)),), {"axis": 5}, "axis 5 does not exist; expected an axis from -2 to 1"),
            Reject((Spec((2, 2), kind="bool"),), {}, "x holds bool; expected float"),
        ),
    )
)
