"""y[i] = exp(x[i] − max x) / Σₖ exp(x[k] − max x), along an axis.

x: any rank from 1. Subtracting the maximum changes nothing in exact arithmetic and keeps exp from
overflowing. A hidden cell (−∞) gets exactly 0. A row with nothing visible gives 0 everywhere with
empty="zero" (as PyTorch's scaled_dot_product_attention and ONNX Attention do) and NaN with
empty="nan" (as a plain softmax does). A row with +∞ or NaN gives NaN.
"""

from __future__ import annotations

import math

from ..core import masks
from ..core.attention_weights import WEIGHTS
from ..core.axes import Spec, position
from ..core.cells import Apply, Cell, Literal, divide, exp, maximum, named, subtract, total, where
from ..core.elementwise import times
from ..core.errors import Rejected, suggest
from ..core.numbers import Numbers
from ..core.op import Declared, Kernel, Op, Reject, Sample, register
from ..core.reductions import along_axis, folded, line, nothing_visible
from ..core.words import shown

EMPTY = ("zero", "nan")
SUMMED = {-1: "rows", -2: "columns"}


def shape(x: Spec, *, axis: int = -1, empty: str = "zero") -> Spec:
    folded(x, axis=axis)
    if empty not in EMPTY:
        raise Rejected(f"empty is {shown(empty)}; expected 'zero' or 'nan'{suggest(empty, EMPTY)}")
    return Spec(x.shape, x.axes)


def softmax(row, empty="zero"):
    if not row:
        return []
    peak = max(row)
    if peak == -math.inf and not any(v != v for v in row):  # nothing is visible
        return [0.0 if empty == "zero" else math.nan] * len(row)
    raised = [math.exp(v - peak) for v in row]
    total = math.fsum(raised)
    return [v / total for v in raised]


def kernel(numbers: Numbers, x: Spec, *, axis, empty) -> Kernel:
    return along_axis(softmax, x, axis, empty=empty)


def expand(g, x, *, axis, empty):
    peak = g.reduce_max(x, axis=axis, name="peak")
    some = g.is_visible(peak, name="some_visible") if empty == "zero" else None
    if some is not None:
        peak = g.where(some, peak, g.constant(0, name="zero"), name="safe_peak")
    raised = g.exp(g.subtract(x, peak, name="shifted"), name="raised")
    total = g.reduce_sum(raised, axis=axis, name="total")
    if some is not None:
        total = g.where(some, total, g.constant(1, name="one"), name="safe_total")
    return g.divide(raised, total, name="quotient")


def nan_where_empty(g, x, *, axis, empty):
    return None if empty == "nan" else g.softmax(x, axis=axis, empty="nan")


def gradient(g, dy, y, x, *, axis, empty):
    """dx = y · (dy − Σ dy · y); behind a weight of 0, dy may be anything."""
    inner = g.reduce_sum(times(g, dy, y, name="weighted"), axis=axis, name="inner")
    return (times(g, y, g.subtract(dy, inner, name="centred")),)


def onnx(o, x, *, axis, empty):
    """ONNX gives NaN for a row with nothing visible."""
    place = position(axis, x.rank)
    y = o.Softmax(x, axis=place)
    if empty == "nan" or o.always_visible(x, place):
        return y
    if not o.exact:
        return o.Where(o.IsInf(o.ReduceMax(x, (place,)), detect_positive=0), 0.0, y)
    seen = o.ReduceMax(o.Where(o.IsInf(x, detect_positive=0), 0.0, 1.0), (place,))  # a maximum may skip NaN
    return o.Where(o.Greater(seen, 0.0), y, 0.0)


def explain(index, x: Spec, *, axis, empty):
    row = list(line(index, x, axis))
    peak = named("max", maximum(row))
    all_raised = named("Σ exp", total(exp(subtract(cell, peak)) for cell in row))
    weight = divide(exp(subtract(Cell(0, index), peak)), all_raised)
    if empty == "nan":
        return weight
    return where(Apply("is_visible", (peak,)), weight, Literal(0))


def warn(values, y, x: Spec, *, axis, empty) -> list[str]:
    told = nothing_visible(values[0], x, axis)
    return [f"{told}: all its weights are {'0' if empty == 'zero' else 'NaN'}"] if told else []


matrix = [[0.5, -1.25, 2.0], [1000.0, 1001.0, 1002.0]]

register(
    Op(
        name="softmax",
        title="softmax",
        glyph="σ",
        family="softmax",
        formula="exp(x − max) / Σ exp(x − max), each row",
        level="op",
        shape=shape,
        kernel=kernel,
        onnx=onnx,
        torch="{x}.softmax(dim={axis})",
        expand=expand,
        explain=explain,
        gradient=gradient,
        cost=lambda x, **_: 5 * x.size,
        masked=masks.first,
        warn=warn,
        range=(0.0, 1.0),
        mistakes=WEIGHTS,
        note=lambda x, *, axis, empty: (
            f"{SUMMED.get(position(axis, x.rank) - x.rank, f'slices along axis {axis}')} sum to 1"
        ),
        values={"empty": EMPTY},
        guises=(Declared("NaN", "with NaN in rows that see nothing", nan_where_empty, only_nan=True),),
        samples=(
            Sample((matrix,)),
            Sample((matrix,), {"axis": 0}),
            Sample(([matrix, matrix],), {"axis": -2}),
            Sample(([[0.5, -math.inf], [-math.inf, -math.inf]],)),
            Sample(([[0.5, -math.inf], [-math.inf, -math.inf]],), {"empty": "nan"}),
            Sample(([math.nan, 0.5],)),
            Sample(([-math.inf, math.nan],)),
            Sample(([math.inf, 0.5],)),
            Sample(([-745.2, 0.0, 1e300],)),
            Sample(([0.5, -1.0, 2.0, 0.25, 1.5],)),
        ),
        rejects=(
            Reject((Spec(()),), {}, "x has rank 0; expected rank 1 or more"),
            Reject((Spec((2, 2)),), {"axis": 5}, "axis 5 does not exist; expected an axis from -2 to 1"),
            Reject((Spec((2, 2)),), {"empty": "zeros"}, "expected 'zero' or 'nan'; did you mean 'zero'?"),
        ),
    )
)
