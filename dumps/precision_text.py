"""A short-float run beside one in doubles: where precision goes, node by node.

    graphattn precision 1
    float32 beside float; errors in ulps: units in the last place of float32

                           error      own  worst cell
    scores = matmul         2.73     0.60  [cat, sat]  0.122620054  exactly 0.122620033
    weights = softmax       2.30     1.62  [sat, cat]  0.214864358  exactly 0.214864393
    largest error 2.73 at scores

`error` is the largest distance of a cell from what the run in doubles has, in units in the last place of
the short format around the latter. `own` is what the node added by itself: the same, beside what the
node gives in doubles for the very operands that it got. Cells that are hidden, or the same infinity or
NaN in both, count as right; a cell that is finite in one run only is `lost`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from graphattn.core import nested
from graphattn.core.errors import GraphError
from graphattn.core.graph import Node
from graphattn.core.interpreter import function_of
from graphattn.core.numbers import FLOAT
from graphattn.core.rounded import FORMATS, Format
from graphattn.core.trace import Trace
from graphattn.core.words import left, right, typed, width
from graphattn.dumps.rows import StepRow, TensorRow, step_rows
from graphattn.dumps.table import index_text

HEADER = "graphattn precision 1"
TEXT_LIMIT = 56
"""How wide the column of the nodes gets at most."""


@dataclass(frozen=True, slots=True)
class PrecisionRow:
    """A tensor in both runs: its largest error and the node's own part of it in ulps (infinite where a
    cell is lost; `own` None where it has no operands), and the cell where the error is largest."""

    written: str
    tensor: TensorRow
    error: float
    own: float | None
    index: tuple[int, ...]
    short: Any
    exact: Any


def precision_rows(exact: Trace, short: Trace) -> Iterator[PrecisionRow]:
    """A row for each tensor of floats that both runs have, in order of evaluation.

    exact: a run in doubles, at any level. short: a run of the same graph and feeds in float32, float16
    or bfloat16, at that level or a finer one. Raises a `GraphError` where they do not belong together.
    """
    fmt = _format(exact, short)
    known = {name for name in short.graph.tensor_names() if _recorded(short, name)}
    for step in step_rows(exact):
        for port, tensor in enumerate(step.tensors):
            if tensor.spec.kind == "float" and tensor.value is not None and tensor.name in known:
                yield _row(step, port, tensor, exact, short, fmt)


def _recorded(trace: Trace, name: str) -> bool:
    """Whether a run has that tensor."""
    try:
        return trace[name] is not None
    except GraphError:
        return False


def precision_text(exact: Trace, short: Trace) -> str:
    """The rows as text (see the module's docstring)."""
    rows = list(precision_rows(exact, short))
    lines = [
        HEADER,
        f"{short.numbers.name} beside {exact.numbers.name}; errors in ulps: units in the last place of",
    ]
    lines[1] += f" {_format(exact, short).name}"
    column = min(TEXT_LIMIT, max([width(row.written) for row in rows], default=0)) + 2
    lines += ["", " " * column + right("error", 9) + right("own", 9) + "  worst cell"]
    for row in rows:
        text = row.written
        if width(text) > column - 2:
            lines.append(text)
            text = ""
        own = "" if row.own is None else _ulps(row.own)
        lines.append(left(text, column) + right(_ulps(row.error), 9) + right(own, 9) + _worst(row))
    worst = max(rows, key=lambda row: row.error, default=None)
    if worst is not None:
        lines.append(f"largest error {_ulps(worst.error)} at {worst.tensor.name}")
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _format(exact: Trace, short: Trace) -> Format:
    for what, trace in (("exact", exact), ("short", short)):
        if not isinstance(trace, Trace):
            raise GraphError(f"{what} is {typed(trace)}; expected a Trace")
    name = short.numbers.name.partition(":")[0]
    if exact.numbers is not FLOAT:
        raise GraphError(f"the exact run has {exact.numbers.name} numbers; expected float")
    if name not in FORMATS:
        raise GraphError(f"the short run has {name} numbers; expected {', '.join(FORMATS)}")
    if exact.graph.name != short.graph.name or exact.graph.fed != short.graph.fed:
        raise GraphError(
            f"the runs are of graphs {exact.graph.name!r} and {short.graph.name!r}; expected one graph"
        )
    return FORMATS[name]


def _row(step: StepRow, port: int, tensor: TensorRow, exact: Trace, short: Trace, fmt: Format) -> PrecisionRow:
    value, shape = short[tensor.name], tensor.spec.shape
    hidden: set[tuple[int, ...]] = set()
    if tensor.mask is not None:
        hidden = {index for index in nested.indices(shape) if nested.at(tensor.mask, index)}
    error, index = _largest(value, tensor.value, shape, fmt, hidden)
    alone = _alone(step.written.node, exact, short)
    own = None if alone is None else _largest(value, alone[port], shape, fmt, hidden)[0]
    written = tensor.name if step.op.fed else f"{tensor.name} = {step.op.name}"
    shown = (nested.at(block, index) if tensor.spec.size else None for block in (value, tensor.value))
    return PrecisionRow(written, tensor, error, own, index, *shown)


def _alone(node: Node, exact: Trace, short: Trace) -> list[Any] | None:
    """What the node gives in doubles for the operands that it got in the short run, whose graph may be
    finer and knows them by alias."""
    if not node.operands:
        return None
    names = [None if ref is None else exact.graph.tensor_name(ref) for ref in node.operands]
    operands = [None if name is None else short[name] for name in names]
    specs = exact.graph.operand_specs(node.operands)
    result = function_of(node.op, specs, node.attributes)(*operands)
    return [result] if len(node.ports) == 1 else list(result)


def _largest(
    short: Any, exact: Any, shape: tuple[int, ...], fmt: Format, hidden: set[tuple[int, ...]]
) -> tuple[float, tuple[int, ...]]:
    """The largest error in ulps, and where it is (the first of several)."""
    worst, place = 0.0, (0,) * len(shape)
    for index in nested.indices(shape):
        if index in hidden:
            continue
        error = _error(nested.at(short, index), nested.at(exact, index), fmt)
        if error > worst:
            worst, place = error, index
    return worst, place


def _error(short: float, exact: float, fmt: Format) -> float:
    if short == exact or (short != short and exact != exact):
        return 0.0
    if not (math.isfinite(short) and math.isfinite(exact)):
        return math.inf
    return abs(short - exact) / fmt.ulp(exact)


def _ulps(error: float) -> str:
    return "lost" if error == math.inf else f"{error:.2f}" if error < 1e5 else f"{error:.1e}"


def _worst(row: PrecisionRow) -> str:
    if not row.error:
        return ""
    return f"  {index_text(row.tensor, row.index)}  {row.short:.9g}  exactly {row.exact:.9g}"
