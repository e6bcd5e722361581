"""A trace as text, step by step: what was computed, from what, and every number.

    head0.weights = softmax(head0.masked)       token 3 × token 3       exp(x − max) / Σ exp(x − max), each row
                    the      cat      sat
            the   1.0000        ·        ·
            cat   0.2339   0.7661        ·
            sat   0.0130   0.0123   0.9747
            rows sum to 1   largest 1.0000 at [the, the]   · = masked

`pretty` is for reading: fixed decimals, and what is beyond the limit left out, which is said.
`exact` is for keeping: it carries the graph, the labels and the shortest digits that read back to
the same number, and `read_trace` gives the same trace, bit for bit. Both are stable: no addresses,
times or counters. Below the numbers stand facts, and warnings behind `!`. In a graph with derivatives a
pretty dump has the gradient with respect to a tensor beside it, where both fit on a line:

            the      cat      sat    d_weights      the      cat      sat
    the   1.0000        ·        ·          the   0.2513        ·        ·
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from graphattn.core import nested
from graphattn.core.axes import Spec
from graphattn.core.errors import GraphError, suggest
from graphattn.core.graph import Graph, Node
from graphattn.core.limits import ANOTHER, need_bytes, raised
from graphattn.core.numbers import FLOAT, Numbers, of
from graphattn.core.trace import Trace
from graphattn.core.words import left, typed, width, wrapped
from graphattn.dumps.assembly import place
from graphattn.dumps.graph_text import check_header, graph_text, read_lines
from graphattn.dumps.literals import Line, literal, plain, quote, shortened, unplain
from graphattn.dumps.recording import Recording
from graphattn.dumps.rows import (
    StepRow,
    TensorRow,
    as_read,
    cotangent,
    facts,
    labels_of,
    shape_text,
    step_rows,
)
from graphattn.dumps.table import HIDDEN, Exact, Pretty, index_text, left_out, read_table, table
from graphattn.dumps.uncollected import uncollected

HEADER = "graphattn trace 1"
EXACT_HEADER = "graphattn trace 1 exact"
PRECISIONS = ("pretty", "exact")
MARGIN = " " * 8
AXES_COLUMN = 44
BEFORE_AXES = " " * AXES_COLUMN
FORMULA_COLUMN = 68
WIDTH = 112
"""The longest line of a tensor with its gradient beside it."""
SOURCE_LIMIT = 50_000_000
"""The most cells of one tensor that is part of the graph, where a trace is read back."""


# ---------------------------------------------------------------- writing


def trace_text(
    trace: Trace,
    precision: str = "pretty",
    decimals: int = 4,
    limit: int = 12,
    only: Iterable[str] | None = None,
    width: int | None = None,
    parameters: bool = True,
) -> str:
    """The trace as text (see the module's docstring).

    precision: "pretty" or "exact". decimals: how many a pretty number has, 0 to 17. limit: the
    most rows, columns and slices of a tensor that a pretty dump shows, 2 or more. only: names or
    patterns (`*.weights`) of the tensors to show; an exact dump gives the others as not kept. width: the
    places of a line, 40 or more: a pretty dump shows as many columns as go into it. parameters: whether
    a pretty dump shows the tensors that were trained, which stand below what was computed.
    """
    patterns = None if only is None else [only] if isinstance(only, str) else list(only)
    if width is not None and (isinstance(width, bool) or not isinstance(width, int) or width < 40):
        raise GraphError(f"width is {width!r}; expected an int of 40 or more")
    form = form_of(precision, decimals, limit, None if width is None else width - len(MARGIN))
    with printing():
        text = "\n".join(_lines(trace, form, patterns, parameters)) + "\n"
    if isinstance(form, Exact):
        need_bytes("the exact text of the trace", len(text))
    return text


def form_of(
    precision: str = "pretty", decimals: int = 4, limit: int = 12, width: int | None = None
) -> Pretty | Exact:
    """How numbers are written. Raises a `GraphError` for what `trace_text` does not take."""
    if precision not in PRECISIONS:
        raise GraphError(
            f"precision is {precision!r}; expected 'pretty' or 'exact'{suggest(precision, PRECISIONS)}"
        )
    for what, value, least, most in (("decimals", decimals, 0, 17), ("limit", limit, 2, 10**9)):
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise GraphError(f"{what} is {value!r}; expected an int from {least} to {most}")
    return Exact() if precision == "exact" else Pretty(decimals, limit, width)


@contextmanager
def printing() -> Iterator[None]:
    """Say of what cannot be written in decimal that this is so: an integer of thousands of digits."""
    try:
        yield
    except ValueError as error:
        if isinstance(error, GraphError):
            raise
        raise GraphError(f"the trace holds a number that Python does not print: {error}") from None


def _lines(
    trace: Trace, form: Pretty | Exact, only: list[str] | None, parameters: bool = True
) -> Iterator[str]:
    exact = isinstance(form, Exact)
    yield EXACT_HEADER if exact else HEADER
    yield from _head(trace, only, _room(form))
    if exact:
        if trace.numbers.name != "float":
            yield f"numbers {trace.numbers.name}"
        for axis, labels in trace.labels.items():
            yield f"labels  {quote(axis)} {literal(labels)}"
        yield ""
        yield graph_text(trace.graph)[:-1]
    rows = step_rows(trace, only, others=exact)
    for row in rows if exact else as_read(rows):
        if row.trained and not (parameters or exact):
            continue
        yield "\n".join(["", *_step(row, form, trace)])
    if exact:
        yield ""
        yield "end"


def _head(trace: Trace, only: list[str] | None, room: int | None) -> Iterator[str]:
    """What the trace is of: the graph, what was fed, what came out; in lines of so many places."""
    graph = trace.graph
    lines = [("graph", graph.name, plain(graph.title) if graph.title else "")]
    done = {step.node.name for step in trace.recording.done}
    for name, spec in graph.fed.items():
        if name in done:
            lines.append((graph.nodes[name].op.name, name, shape_text([spec])))
    for name, tensor in graph.outputs.items():
        if tensor.ref.node in done:
            same = name == tensor.name
            lines.append(("output", name, shape_text([tensor.spec]) if same else tensor.name))
    for name in trace.patched:
        lines.append(("patched", name, ""))
    if trace.engine:
        lines.append(("engine", trace.engine, ""))
    if only is not None:
        lines.append(("only", " ".join(map(plain, only)), ""))
    kinds = max(8, *(len(kind) + 1 for kind, _, _ in lines))
    names = max(8, *(len(name) + 2 for _, name, _ in lines))
    for kind, name, rest in lines:
        yield from _fitted(f"{kind:<{kinds}}{name:<{names}}{rest}".rstrip(), room)


def _room(form: Pretty | Exact) -> int | None:
    """The places of a line, where a width is given."""
    return None if isinstance(form, Exact) or form.width is None else form.width + len(MARGIN)


def _fitted(line: str, room: int | None) -> list[str]:
    return [line] if room is None else wrapped(line, room, MARGIN + "  ")


def step_text(row: StepRow, trace: Trace, decimals: int = 4, limit: int = 12) -> str:
    """One step as it stands in the pretty text of the trace."""
    with printing():
        return "\n".join(_step(row, form_of("pretty", decimals, limit), trace)) + "\n"


def _step(row: StepRow, form: Pretty | Exact, trace: Trace) -> list[str]:
    written, several = row.written, len(row.tensors) > 1
    name, fed = written.node.name, written.node.op.fed
    lines: list[str] = []
    if not fed:
        axes = f"{len(row.tensors)} outputs" if several else written.axes
        formula = written.formula
        if written.gives and not isinstance(form, Exact):
            formula += f"   gives {written.gives}"
        lines += _heading(f"{name} = {written.expression}", axes, formula, form)
    for port, tensor in enumerate(row.tensors):
        if port:
            lines.append("")
        if several or fed:
            lines += _heading(MARGIN + tensor.name, shape_text([tensor.spec]), "", form)
        gradient = None if isinstance(form, Exact) else cotangent(trace, tensor)
        lines += [MARGIN + line for line in _tensor(tensor, row, form, trace.numbers, gradient)]
    warnings = [f"{MARGIN}! {plain(warning)}" for warning in row.warnings]
    return lines + [line for warning in warnings for line in _fitted(warning, _room(form))]


def _heading(text: str, axes: str, formula: str, form: Pretty | Exact | None = None) -> list[str]:
    """What is computed, its axes, its formula: in three columns that stand still. The first stands
    on a line of its own where it is too long; where a width is given, so does the last."""
    room = None if form is None else _room(form)
    end = AXES_COLUMN + width(axes)
    if room is not None and (max(FORMULA_COLUMN, end + 2) + width(formula) if formula else end) > room:
        both = f"{axes}   {formula}".rstrip()
        below = wrapped(both, room - len(MARGIN), "  ")
        return [*wrapped(text, room, MARGIN), *(MARGIN + line for line in below)]
    lines: list[str] = []
    wide = width(text)
    if wide > AXES_COLUMN - 2:
        lines.append(text)
        text, wide = "", 0
    lines.append(text + " " * (AXES_COLUMN - wide) + axes)
    if formula:
        gap = max(FORMULA_COLUMN - AXES_COLUMN - width(axes), 2)
        lines[-1] += " " * gap + formula
    return lines


def _tensor(
    tensor: TensorRow, row: StepRow, form: Pretty | Exact, numbers: Numbers, gradient: TensorRow | None
) -> list[str]:
    if tensor.value is None:
        return ["not kept"]
    lines = table(tensor, form, numbers)
    if gradient is not None:
        lines = _beside(lines, gradient, form, numbers)
    below = told(tensor, row, form, numbers)
    return lines + _together(below, form) if below else lines


def _together(facts: list[str], form: Pretty | Exact) -> list[str]:
    """Facts on one line, or where a width is given on as few as they take."""
    room = None if isinstance(form, Exact) else form.width
    lines: list[str] = []
    for fact in facts:
        joined = f"{lines[-1]}   {fact}" if lines else fact
        if lines and (room is None or width(joined) <= room):
            lines[-1] = joined
        else:
            lines.append(fact)
    return lines


def _beside(lines: list[str], gradient: TensorRow, form: Pretty | Exact, numbers: Numbers) -> list[str]:
    """A tensor's table, with that of its gradient on the right of it if there is room."""
    name, right = gradient.name, table(gradient, form, numbers)
    wide = [max(map(width, side), default=0) for side in (lines, right)]
    if len(right) != len(lines) or wide[0] + len(name) + wide[1] + 6 > _both(form):
        return lines
    names = [name] + [" " * len(name)] * (len(lines) - 1)
    return [
        f"{left(one, wide[0])}    {name}  {other}".rstrip()
        for one, name, other in zip(lines, names, right, strict=True)
    ]


def _both(form: Pretty | Exact) -> int:
    """How many places a tensor with its gradient beside it may take."""
    return WIDTH if isinstance(form, Exact) or form.width is None else form.width


def told(tensor: TensorRow, row: StepRow, form: Pretty | Exact, numbers: Numbers) -> list[str]:
    """The facts that stand below a recorded tensor."""
    omitted = left_out(tensor, form, numbers)
    lines = [omitted] if omitted else []
    if (omitted or tensor.share) and tensor.spec.kind == "float" and tensor.spec.size:
        found = facts(tensor, numbers)
        write = form.cell(tensor, numbers)
        if found.sums:
            lines.append(f"{found.sums} sum to 1")
        if omitted and not tensor.share and found.smallest is not None:
            lines.append(_cell_told("smallest", tensor, found.smallest, write))
        if found.largest is not None:
            lines.append(_cell_told("largest", tensor, found.largest, write))
    if tensor.mask is not None and any(True in row for _, row in nested.rows(tensor.mask, tensor.spec.rank)):
        lines.append(f"{HIDDEN} = masked")
    if tensor.patched:
        lines.append("patched")
    return lines


def _cell_told(what: str, tensor: TensorRow, found: tuple[tuple[int, ...], Any], write: Any) -> str:
    index, cell = found
    return f"{what} {write(cell)}" + (f" at {index_text(tensor, index)}" if index else "")


# ---------------------------------------------------------------- reading


@uncollected()
def read_trace(text: str) -> Trace:
    """The trace that an exact dump holds. Raises a `GraphError` that names the line and says what
    was expected there; a pretty dump is refused, since its digits are rounded."""
    if not isinstance(text, str):
        raise GraphError(f"a trace text is {typed(text)}; expected text")
    lines = _Lines(text)
    with lines.place():
        first = lines.take()
        if first.removeprefix("\ufeff").strip() == HEADER:
            raise GraphError("this dump is pretty: its digits are rounded; expected precision='exact'")
        check_header(first.replace(" exact", ""), HEADER)
    labels, patched, numbers = _read_head(lines)
    graph = read_lines(lines.numbered(), "trace text")
    need_sources(graph, "trace text")
    reader = _StepReader(lines, graph, labels, numbers)
    reader.patched += patched
    reader.read()
    with place("trace text"):
        return reader.restore(labels)


def need_sources(graph: Graph, what: str) -> None:
    """Refuse a graph whose own tensors (masks, positions) would fill the memory when it is planned."""
    for node in graph.nodes.values():
        if node.operands or node.op.fed:
            continue
        size = sum(spec.size for spec in node.outputs)
        if size > raised(SOURCE_LIMIT):
            raise GraphError(
                f"{what}: {node.op.name} {node.name!r} has {size} cells;"
                f" expected at most {raised(SOURCE_LIMIT)} ({ANOTHER})"
            )


def _read_head(lines: _Lines) -> tuple[dict[str, tuple[str, ...]], list[str], Numbers]:
    """Labels, patched tensors and number type, up to where the graph begins."""
    labels: dict[str, tuple[str, ...]] = {}
    patched: list[str] = []
    numbers = FLOAT
    while not lines.peek().startswith("graphattn "):
        with lines.place():
            text = lines.take()
            kind, _, rest = text.partition(" ")
            if kind == "labels":
                line = Line(rest)
                axis, found = line.text(), line.value()
                line.end()
                if not isinstance(found, tuple) or not all(isinstance(item, str) for item in found):
                    raise GraphError(f"the labels of axis {axis!r} are not a tuple of texts")
                labels[axis] = found
            elif kind == "patched":
                patched.append(rest.strip())
            elif kind == "numbers":
                numbers = of(rest.strip())
    return labels, patched, numbers


class _Lines:
    """The lines of a text, and how far it is read."""

    def __init__(self, text: str) -> None:
        self.lines = [line.rstrip("\r") for line in text.split("\n")]
        self.next = 0

    def peek(self) -> str:
        """The next line."""
        try:
            return self.lines[self.next]
        except IndexError:
            raise GraphError(
                f"trace text, line {self.next}: the text stops without 'end'; expected a whole trace"
            ) from None

    def take(self) -> str:
        """Go past the next line, which is returned."""
        line = self.lines[self.next] if self.next < len(self.lines) else self.peek()
        self.next += 1
        return line

    def numbered(self) -> Iterator[tuple[int, str]]:
        """The lines that come, with their numbers; each counts as read."""
        while self.next < len(self.lines):
            yield self.next + 1, self.take()

    @contextmanager
    def place(self) -> Iterator[None]:
        """Let errors name the line that was read last."""
        try:
            yield
        except GraphError as error:
            if str(error).startswith("trace text, line "):
                raise
            raise GraphError(f"trace text, line {self.next}: {error}") from None


class _StepReader(Recording):
    """Reads the recorded steps."""

    def __init__(
        self, lines: _Lines, graph: Graph, labels: dict[str, tuple[str, ...]], numbers: Numbers
    ) -> None:
        super().__init__(graph, numbers)
        self.lines = lines
        self.labels = labels

    def read(self) -> None:
        """Take in all steps, and the end."""
        with self.lines.place():
            while (line := self._past_blank()) != "end":
                self._step(self.step(line.strip().partition(" ")[0]))

    def _past_blank(self) -> str:
        line = self.lines.take()
        while not line.strip():
            line = self.lines.take()
        return line

    def _step(self, node: Node) -> None:
        several = len(node.outputs) > 1
        self._past_axes(node.outputs)
        for port, spec in enumerate(node.outputs):
            name = node.tensor_name(port)
            if several:
                heading = self._past_blank()
                if heading.strip().partition(" ")[0] != name:
                    raise GraphError(f"{shortened(heading.strip())} stands where {name!r} was expected")
                self._past_axes([spec])
            value, mask = read_table(self._take_row, spec, labels_of(self.labels, spec), self.numbers)
            self.tensor(name, value, mask)
            self._past_facts(node.name)

    def _past_axes(self, specs: Sequence[Spec]) -> None:
        """Go past the axes where they have a line of their own."""
        line = self.lines.peek()
        if line.startswith(BEFORE_AXES):
            axes = f"{len(specs)} outputs" if len(specs) > 1 else shape_text(specs)
            if line.startswith(axes, AXES_COLUMN):
                self.lines.next += 1

    def _take_row(self) -> str:
        line = self.lines.take()
        if not line.startswith(MARGIN):
            raise GraphError(f"found {shortened(line)}; expected a line of numbers, indented by {len(MARGIN)}")
        return line[len(MARGIN) :]

    def _past_facts(self, name: str) -> None:
        while self.lines.peek().startswith(MARGIN):
            told = self.lines.take()[len(MARGIN) :]
            if told.startswith("! "):
                self.warnings[name].append(unplain(told[2:]))
