"""Which later cells one cell touches, and by how much: `why` the other way round.

The graph is run again with NaN in that cell. NaN goes wherever the cell's number goes, and nowhere
else: a cell that comes out NaN depends on it, one that does not (behind a causal mask, in another
head) does not. Then the cell is moved a little up and down, which gives the slope of every cell
that it touches. Where the number type has no NaN, and for cells that are no floats, the cell is
only moved.

>>> from graphattn import Graph, run
>>> g = Graph("example")
>>> y = g.softmax(g.input("x", shape=(2, 2)), name="y")
>>> print(run(g, {"x": [[0.0, 0.0], [1.0, 2.0]]}).reach("x", 0, 1))
x[0, 1] = 0 touches 2 of 4 later cells, in 1 of 1 tensor
<BLANKLINE>
tensor  touched  where  largest slope
y       2 of 4   row 0  -0.2500 at [0, 0]
<BLANKLINE>
y
  0  ████
  1  ····
<BLANKLINE>
█▓▒░ touched, from the largest slope down; · not touched
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from graphattn.core import nested
from graphattn.core.axes import Spec
from graphattn.core.errors import GraphError
from graphattn.core.graph import Ref
from graphattn.core.numbers import FLOAT, Numbers
from graphattn.core.words import left, listed, width, wrapped
from graphattn.dumps.rows import is_share
from graphattn.insight.why.derivation import Frame
from graphattn.insight.why.formula import number_text
from graphattn.insight.why.index import read_index, show_index, show_place, split_cell
from graphattn.insight.why.layout import _words
from graphattn.insight.why.remarks import unit

if TYPE_CHECKING:
    from graphattn.core.trace import Trace

FORMAT = "graphattn reach 1"
FEW = 8
"""Of so many tensors, each that is small enough is drawn; of more, only those of weights."""
ROWS, COLUMNS, SLICES = 24, 40, 6
"""The largest matrix, and the most slices, that are drawn."""
SHADES = (("█", 0.5), ("▓", 0.1), ("▒", 0.01), ("░", 0.0))
NOT, HIDDEN = "·", " "
Index = tuple[int, ...]


@dataclass(frozen=True)
class Touched:
    """A later tensor: which of its cells are touched, and the slope of each (None: not known)."""

    name: str
    spec: Spec
    labels: Sequence[Sequence[str] | None]
    cells: Mapping[Index, float | None]
    hidden: frozenset[Index]
    moved: bool = False
    """Whether its op only moves numbers."""
    drawn: bool = False
    """Whether its cells are shares, as weights are, which are worth a picture."""

    @property
    def visible(self) -> int:
        return self.spec.size - len(self.hidden)

    @property
    def largest(self) -> tuple[Index, float] | None:
        """The cell with the steepest slope."""
        known = [(index, slope) for index, slope in self.cells.items() if slope is not None]
        return max(known, key=lambda pair: abs(pair[1]), default=None)


@dataclass(frozen=True)
class Reach:
    """What one cell touches. `print` shows it; `text`, `markdown` and `json` write it."""

    tensor: str
    index: Index
    cell: str
    value: Any
    tensors: tuple[Touched, ...]
    """Every later tensor, in order of evaluation."""
    step: float
    """How far the cell was moved up and down for the slopes; 0 where it was not."""
    numbers: Numbers = FLOAT

    @property
    def touched(self) -> list[Touched]:
        """The tensors in which a cell is touched."""
        return [tensor for tensor in self.tensors if tensor.cells]

    def __getitem__(self, name: str) -> Touched:
        for tensor in self.tensors:
            if tensor.name == name:
                return tensor
        raise GraphError(f"{name!r} is no tensor after {self.cell}; expected one of {self._known()}")

    def _known(self) -> str:
        return ", ".join(tensor.name for tensor in self.tensors[:8]) or "none"

    def text(self, limit: int = 80) -> str:
        """Lines of text: a head, for each touched tensor which cells and a picture, a legend."""
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 40:
            raise GraphError(f"width is {limit!r}; expected a whole number of 40 or more")
        return "\n".join(line.rstrip() for line in self._lines(limit))

    def _lines(self, limit: int) -> Iterator[str]:
        yield from wrapped(self.summary, limit, "  ")
        shown = [tensor for tensor in self.touched if not tensor.moved]
        if shown:
            yield ""
            rows = [HEAD, *map(_row, shown)]
            if _across(rows) > limit:  # where the slope is largest can be seen in JSON
                rows = [(*row[:-1], row[-1].partition(" at ")[0]) for row in rows]
            yield from _table(rows, limit)
        drawn = [tensor for tensor in shown if tensor.drawn or len(shown) <= FEW]
        pictures = [(t, picture) for t in drawn if (picture := _picture(t, limit - 2))]
        for tensor, picture in pictures:
            yield ""
            yield tensor.name
            yield from (f"  {line}" for line in picture)
        if pictures:
            yield ""
            yield f"█▓▒░ touched, from the largest slope down; {NOT} not touched" + (
                "; blank: hidden" if any(tensor.hidden for tensor, _ in pictures) else ""
            )
        told = {
            "only moved to": [tensor.name for tensor in self.touched if tensor.moved],
            "not touched": [tensor.name for tensor in self.tensors if not tensor.cells],
        }
        for what, names in told.items():
            if names:
                yield ""
                yield from wrapped(f"{what}: {listed(names, 12)}", limit, "  ")

    def picture(self, name: str, limit: int = 80) -> str:
        """The cells of one later tensor as text, touched ones shaded by their slope; '' where it is
        too large."""
        return "\n".join(_picture(self[name], limit))

    @property
    def summary(self) -> str:
        """How much is touched, in one sentence."""
        count = sum(len(tensor.cells) for tensor in self.tensors)
        whole = sum(tensor.visible for tensor in self.tensors)
        several = "tensor" if len(self.tensors) == 1 else "tensors"
        shown = number_text(self.value, self.numbers)
        return (
            f"{self.cell} = {shown} touches {count} of {whole} later cells,"
            f" in {len(self.touched)} of {len(self.tensors)} {several}"
        )

    def markdown(self) -> str:
        """The same as a table."""
        rows = [f"{_words(self.summary)}.", ""]
        for i, row in enumerate([HEAD, *map(_row, self.touched)]):
            rows.append(f"| {' | '.join(map(_words, row))} |")
            if not i:
                rows.append("| --- " * len(HEAD) + "|")
        return "\n".join(rows) + "\n"

    def data(self) -> dict[str, Any]:
        """What JSON holds: for each later tensor its touched cells and their slopes."""
        return {
            "format": FORMAT,
            "tensor": self.tensor,
            "index": list(self.index),
            "step": self.step,
            "tensors": [
                {
                    "name": tensor.name,
                    "shape": list(tensor.spec.shape),
                    "hidden": len(tensor.hidden),
                    "cells": [list(index) for index in tensor.cells],
                    "slopes": [_finite(slope) for slope in tensor.cells.values()],
                }
                for tensor in self.tensors
            ],
        }

    def json(self) -> str:
        """`data` as JSON text."""
        return json.dumps(self.data(), ensure_ascii=False, allow_nan=False) + "\n"

    def __str__(self) -> str:
        return self.text()

    def _repr_markdown_(self) -> str:
        return self.markdown()


def _finite(slope: float | None) -> float | str | None:
    return slope if slope is None or math.isfinite(slope) else str(slope)


# ---------------------------------------------------------------- running again


def reach(trace: Trace, tensor: str, *at: Any) -> Reach:
    """What a cell of a trace touches. The graph is run again with the same feeds and patches.

    Raises a `GraphError` for an unknown tensor, an index that does not fit, or where the run
    cannot be made again since a feed was not kept.
    """
    tensor, index = split_cell(tensor, at)
    ref = trace.graph.resolve(tensor)
    value = trace[tensor]
    name = trace.graph.tensor_name(ref)
    spec = trace.graph.spec(ref)
    labels = trace.labels_of(spec)
    cell = read_index(index, spec, labels, tensor)
    again = _Again(trace, ref, name, value, cell)
    now = nested.at(value, cell)
    base = again.run(now)
    moves, step = again.moves(now, spec)
    moved = [again.run(move) for move in moves]
    tainted = again.tainted(spec)
    later = tuple(_compared(trace, ref, base, tainted, moved, step))
    return Reach(name, cell, name + show_index(cell, labels), now, later, step, trace.numbers)


class _Again:
    """Runs of a trace's graph with another number in one cell."""

    def __init__(self, trace: Trace, ref: Ref, name: str, value: Any, cell: Index) -> None:
        self.trace = trace
        self.name = name
        self.value = value
        self.cell = cell
        self.patch = {patched: trace[patched] for patched in trace.patched}
        self.feeds = {}
        for step in trace.recording.plan.fed.values():
            fed = trace.recording.values[step.start]
            if fed is None and step.node.name not in self.patch and step.node.name != name:
                raise GraphError(
                    f"reach runs the graph again, and input {step.node.name!r} was not kept; expected a run"
                    " that kept its feeds"
                )
            if fed is not None:
                self.feeds[step.node.name] = fed
        self.targets = [step.names[0] for step in trace.steps]

    def run(self, number: Any) -> Trace:
        """The run with that number in the cell."""
        from graphattn.core.run import run

        changed = _with(self.value, self.cell, number)
        return run(
            self.trace.graph, self.feeds, level="block", patch={**self.patch, self.name: changed},
            targets=self.targets, numbers=self.trace.numbers, allow_nonfinite=True,
        )  # fmt: skip

    def tainted(self, spec: Spec) -> Trace | None:
        """The run with NaN in the cell; None where there is no NaN."""
        if spec.kind != "float":
            return None
        try:
            return self.run(self.trace.numbers.lift(math.nan))
        except GraphError:
            return None

    def moves(self, now: Any, spec: Spec) -> tuple[list[Any], float]:
        """Other numbers for the cell, and how far they are from it."""
        if spec.kind == "bool":
            return [not now], 0.0
        if spec.kind == "int":
            return [now - 1 if now else now + 1], 0.0
        numbers = self.trace.numbers
        if not numbers.isfinite(now):
            return [], 0.0
        power = round(math.log2(unit(numbers)) / 3)
        size = abs(float(numbers.near(now)))
        step = math.ldexp(1.0, power + max(0, math.frexp(size)[1]))
        h = numbers.lift(step)
        return [numbers.add(now, h), numbers.subtract(now, h)], step


def _with(value: Any, index: Index, number: Any) -> Any:
    """A copy of nested lists with one other cell."""
    if not index:
        return number
    return [_with(item, index[1:], number) if i == index[0] else item for i, item in enumerate(value)]


def _compared(
    trace: Trace, ref: Ref, base: Trace, tainted: Trace | None, moved: Sequence[Trace], step: float
) -> Iterator[Touched]:
    """The later tensors of the graph, with the cells that came out otherwise."""
    graph, frame = trace.graph, Frame(0, trace)
    order = {name: place for place, name in enumerate(graph.nodes)}
    evaluated = {s.name for s in trace.steps}
    for node in graph.nodes.values():
        if order[node.name] <= order[ref.node] or not node.operands or node.name not in evaluated:
            continue
        for port, spec in enumerate(node.outputs):
            name = node.tensor_name(port)
            mask = trace.masked(name)
            hidden = frozenset(i for i in nested.indices(spec.shape) if mask is not None and nested.at(mask, i))
            cells: dict[Index, float | None] = {}
            tensors = [t[name] for t in (base, *moved)]
            marks = None if tainted is None else tainted[name]
            for index in nested.indices(spec.shape):
                if index in hidden:
                    continue
                was, *others = (nested.at(value, index) for value in tensors)
                is_nan = marks is not None and spec.kind == "float" and _is_nan(nested.at(marks, index))
                differs = any(not _same(was, other) for other in others)
                if (is_nan and not _is_nan(was)) or differs:
                    cells[index] = _slope(others, step, trace.numbers) if spec.kind == "float" else None
            yield Touched(
                frame.tensor_name(trace.recording.plan.places[Ref(node.name, port)]),
                spec,
                trace.labels_of(spec),
                cells,
                hidden,
                node.op.moves,
                is_share(node.op),
            )


def _is_nan(value: Any) -> bool:
    return bool(value != value)


def _same(a: Any, b: Any) -> bool:
    return bool(a == b) or (_is_nan(a) and _is_nan(b))


def _slope(moved: Sequence[Any], step: float, numbers: Numbers) -> float | None:
    """The slope between the cell moved up and down."""
    if len(moved) != 2 or not step or not all(map(numbers.isfinite, moved)):
        return None
    up, down = moved
    return float(numbers.near(numbers.subtract(up, down))) / (2 * step)


# ---------------------------------------------------------------- in words and pictures


HEAD = ("tensor", "touched", "where", "largest slope")


def _row(tensor: Touched) -> tuple[str, ...]:
    """What there is to say of one tensor."""
    largest = tensor.largest
    slope = ""
    if largest is not None:
        at = show_index(largest[0], tensor.labels)
        slope = number_text(largest[1], FLOAT, 4) + (f" at {at}" if at and largest[1] else "")
    return tensor.name, f"{len(tensor.cells)} of {tensor.visible}", _where(tensor), slope


def _table(rows: Sequence[Sequence[str]], limit: int) -> Iterator[str]:
    """Rows in columns; where they are too wide, the first column has lines of its own."""
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    apart = _across(rows) > limit
    for first, *rest in rows:
        line = "  ".join(map(left, rest, widths[1:]))
        if apart:
            yield first
            yield from _wrapped_row(f"    {line}", limit)
        else:
            yield f"{left(first, widths[0])}  {line}"


def _across(rows: Sequence[Sequence[str]]) -> int:
    """The width of rows in columns."""
    return sum(max(map(width, column)) + 2 for column in zip(*rows, strict=True)) - 2


def _wrapped_row(line: str, limit: int) -> list[str]:
    return [line.rstrip()] if width(line.rstrip()) <= limit else wrapped(line, limit, "      ")


def _where(tensor: Touched) -> str:
    """'rows 2…5, column 0': where the touched cells stand."""
    rank = tensor.spec.rank
    if not rank or len(tensor.cells) == tensor.visible:
        return "all" if rank else ""
    told = []
    for axis, what in ((rank - 3, "slice"), (rank - 2, "row"), (rank - 1, "column")):
        if axis < 0:
            continue
        places = sorted({index[axis] for index in tensor.cells})
        if len(places) < tensor.spec.shape[axis]:
            told.append(
                f"{'cell' if rank == 1 else what}{'s' * (len(places) > 1)} {_span(tensor, axis, places)}"
            )
    return ", ".join(told)


def _span(tensor: Touched, axis: int, places: Sequence[int]) -> str:
    runs: list[list[int]] = []
    for place in places:
        if runs and place == runs[-1][-1] + 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    names = tensor.labels[axis]
    shown = [
        show_place(r[0], names) if len(r) == 1
        else f"{show_place(r[0], names)}{', ' if len(r) == 2 else '…'}{show_place(r[-1], names)}"
        for r in runs[:6]
    ]  # fmt: skip
    return ", ".join(shown) + (", …" if len(runs) > 6 else "")


def _picture(tensor: Touched, limit: int) -> Iterator[str]:
    """The cells of a small tensor, touched ones shaded by their slope."""
    shape = tensor.spec.shape
    if not shape:
        return
    rows, columns = (1, *shape)[-2:]
    lead = shape[:-2]
    if rows > ROWS or columns > COLUMNS or math.prod(lead) > SLICES:
        return
    names = tensor.labels[-2] if len(shape) > 1 else None
    heads = [show_place(i, names) if len(shape) > 1 else "" for i in range(rows)]
    margin = max(map(width, heads))
    broad = 2 if margin + 2 + 2 * columns <= limit else 1
    if margin + 2 + columns > limit:
        return
    largest = tensor.largest
    peak = abs(largest[1]) if largest else 0.0
    for slice_ in nested.indices(lead):
        if lead:
            yield f"[{', '.join(map(str, slice_))}]"
        for i in range(rows):
            row = (*slice_, i) if len(shape) > 1 else ()
            yield (
                left(heads[i], margin)
                + "  "
                + "".join(_shade(tensor, (*row, j), peak) * broad for j in range(columns))
            )


def _shade(tensor: Touched, index: Index, peak: float) -> str:
    if index in tensor.hidden:
        return HIDDEN
    if index not in tensor.cells:
        return NOT
    slope = tensor.cells[index]
    if slope is None or not math.isfinite(peak) or not peak:
        return "█" if slope is None or slope else "░"
    return next(shade for shade, least in SHADES if abs(slope) >= least * peak)
