"""A trace or a graph as Markdown, for notebooks, reports and issues.

    ### `head0.weights`

    `softmax(head0.masked)` — token 3 × token 3 — `exp(x − max) / Σ exp(x − max), each row`

    |     |    the |    cat |    sat |
    | :-- | -----: | -----: | -----: |
    | the | 1.0000 |      · |      · |

Scopes and steps are headings, each one level below what it is in; a tensor is a table (a slice of
more than two axes a table each), numbers as in the pretty text. Tables are those of GitHub, which
pandoc and most others read too.

Free text cannot act. Two ways of writing it: `code` for names, expressions and labels, within which
Markdown knows no markup; `prose` for titles and warnings, where every mark that could act is escaped
and a word that a page may turn into a link (`@name`, `www.…`) is written as code. A bar is an entity
throughout, so that no text has a raw one, whatever a reader thinks of bars within code.

>>> code("a|b"), code("`")
('`a`&#124;`b`', '`` ` ``')
>>> prose("X + multi_head(LN(X)) <b> @you")
'X + multi\\\\_head(LN(X)) &lt;b&gt; `@you`'
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from graphattn.core.graph import Graph, Scope
from graphattn.core.numbers import Numbers
from graphattn.core.trace import Trace
from graphattn.core.words import width
from graphattn.dumps.literals import quote
from graphattn.dumps.rows import (
    NodeRow,
    StepRow,
    TensorRow,
    as_read,
    call,
    node_rows,
    operand_names,
    scope_paths,
    shape_text,
    step_rows,
)
from graphattn.dumps.table import LEFT_OUT, NO_CELLS, Exact, Pretty, index_text, one_cell, slices
from graphattn.dumps.trace_text import form_of, printing, told

BAR = "&#124;"
ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": BAR}
DEEPEST = 6
"""The most levels of headings that Markdown has; what is deeper stays at this one."""
_BARE = re.compile(r"[^\W_]+")
_MARKS = re.compile(r"[\\`*_\[\]{}~^]|==|\+\+")
_LINKED = re.compile(r"[@#$]|:\S|www\.", re.IGNORECASE)
_LEADING = re.compile(r"[-+=:%>]|\(?\w{1,9}[.)]")


# ---------------------------------------------------------------- words


def code(text: str) -> str:
    """Text word for word, as code."""
    text = text if text.isprintable() else quote(text)
    return BAR.join(map(_span, text.split("|")))


def _span(text: str) -> str:
    if not text:
        return ""
    fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    pad = " " if "`" in (text[0], text[-1]) or (text[0] == text[-1] == " " and text.strip()) else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def prose(text: str) -> str:
    """Free text as text, on one line."""
    words = (text if text.isprintable() else quote(text)).split()
    return " ".join(
        code(word) if _LINKED.search(word) or (not place and _LEADING.match(word)) else _escaped(word)
        for place, word in enumerate(words)
    )


def _escaped(word: str) -> str:
    word = _MARKS.sub(r"\\\g<0>", word)
    return "".join(ENTITIES.get(letter, letter) for letter in word)


def cell(text: str) -> str:
    """A label: as it is where it is a plain word, else as code."""
    return text if not text or text == LEFT_OUT or _BARE.fullmatch(text) else code(text)


# ---------------------------------------------------------------- blocks


def heading(level: int, text: str) -> str:
    return f"{'#' * min(level, DEEPEST)} {text}"


def grid(head: Sequence[str], rows: Iterable[Sequence[str]], numbers_from: int | None = None) -> str:
    """A table of Markdown texts; columns from `numbers_from` on stand on the right."""
    rows = [head, *rows]
    first = len(head) if numbers_from is None else numbers_from
    widths = [max(3, *map(width, column)) for column in zip(*rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        filled = []
        for place, (text, places) in enumerate(zip(cells, widths, strict=True)):
            gap = " " * (places - width(text))
            filled.append(gap + text if place >= first else text + gap)
        return f"| {' | '.join(filled)} |"

    rule = [
        f"{'-' * (places - 1)}:" if place >= first else f":{'-' * (places - 1)}"
        for place, places in enumerate(widths)
    ]
    return "\n".join([line(rows[0]), f"| {' | '.join(rule)} |", *map(line, rows[1:])])


class _Outline:
    """Where in the scopes of a graph a dump is, and which headings lead on from there."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.paths = scope_paths(graph)
        self.path: tuple[str, ...] = ()
        self.opened: set[str] = set()

    def move(self, scope: str | None) -> Iterator[str]:
        """The headings of the scopes that are entered on the way to `scope`."""
        path, old = self.paths[scope], self.path
        self.path = path
        common = 0
        while common < min(len(path), len(old)) and path[common] == old[common]:
            common += 1
        for depth in range(common, len(path)):
            yield from self._entered(self.graph.scopes[path[depth]], depth + 2)

    def _entered(self, scope: Scope, level: int) -> Iterator[str]:
        again = scope.name in self.opened
        self.opened.add(scope.name)
        made = ""
        if scope.op is not None and not again:
            written = call(scope.op, operand_names(self.graph, scope.operands), scope.attributes, brief=True)
            made = f" = {code(written)}"
        yield heading(level, code(scope.name) + made + (" (continued)" if again else ""))
        if not again:
            yield from _title(scope.title)


def _title(text: str | None) -> Iterator[str]:
    if text and text.strip():
        yield prose(text)


# ---------------------------------------------------------------- graphs


def graph_markdown(graph: Graph) -> str:
    """The graph as Markdown: a heading for each scope, a table line for each node."""
    return "\n\n".join(_graph_blocks(graph)) + "\n"


def _graph_blocks(graph: Graph) -> Iterator[str]:
    yield heading(1, f"graphattn graph {code(graph.name)}")
    yield from _title(graph.title)
    outline = _Outline(graph)
    lines: list[list[str]] = []
    scope: str | None = None
    for row in node_rows(graph):
        if row.node.scope != scope:
            yield from _node_table(lines)
            lines, deeper, scope = [], len(outline.path), row.node.scope
            moved = list(outline.move(scope))
            yield from moved
            if not moved and outline.path:  # back in a scope that was left for an inner one
                yield heading(len(outline.path) + 1, f"{code(outline.path[-1])} (continued)")
            elif deeper and not outline.path:
                yield heading(2, "Outside the scopes")
        lines.append(_node_line(row))
    yield from _node_table(lines)
    if graph.outputs:
        yield heading(2, "Outputs")
        named = ([code(name), code(tensor.name)] for name, tensor in graph.outputs.items())
        yield grid(["output", "tensor"], named)


def _node_line(row: NodeRow) -> list[str]:
    return [code(row.name), code(row.expression), prose(row.axes), code(row.formula)]


def _node_table(lines: list[list[str]]) -> Iterator[str]:
    if lines:
        yield grid(["node", "computed", "axes", "formula"], lines)


# ---------------------------------------------------------------- traces


def trace_markdown(trace: Trace, decimals: int = 4, limit: int = 12, only: Iterable[str] | None = None) -> str:
    """The trace as Markdown (see the module's docstring).

    decimals: how many a number has, 0 to 17. limit: the most rows, columns and slices of a tensor that
    are shown, 2 or more. only: names or patterns (`*.weights`) of the tensors to show.
    """
    form = form_of("pretty", decimals, limit)
    patterns = None if only is None else [only] if isinstance(only, str) else list(only)
    with printing():
        return "\n\n".join(_trace_blocks(trace, form, patterns)) + "\n"


def _trace_blocks(trace: Trace, form: Pretty | Exact, only: list[str] | None) -> Iterator[str]:
    yield heading(1, f"graphattn trace {code(trace.graph.name)}")
    yield from _title(trace.graph.title)
    yield from _head(trace, only)
    outline = _Outline(trace.graph)
    for row in as_read(step_rows(trace, only)):
        yield from outline.move(row.written.node.scope)
        yield heading(len(outline.path) + 2, code(row.name))
        yield from _step(row, form, trace.numbers)


def _head(trace: Trace, only: list[str] | None) -> Iterator[str]:
    """What was fed, and what came out."""
    graph = trace.graph
    done = {step.name for step in trace.steps}
    lines = [
        [graph.nodes[name].op.name, code(name), prose(shape_text([spec]))]
        for name, spec in graph.fed.items()
        if name in done
    ]
    for name, tensor in graph.outputs.items():
        if tensor.ref.node in done:
            same = "" if name == tensor.name else f"{code(tensor.name)}, "
            lines.append(["output", code(name), same + prose(shape_text([tensor.spec]))])
    lines += [["patched", code(name), ""] for name in trace.patched]
    if only is not None:
        lines += [["only", code(pattern), ""] for pattern in only]
    if lines:
        yield grid(["", "tensor", "axes"], lines)


def _step(row: StepRow, form: Pretty | Exact, numbers: Numbers) -> Iterator[str]:
    several = len(row.tensors) > 1
    if row.op.fed:
        yield f"{row.op.name} — {prose(row.written.axes)}"
    else:
        yield f"{code(row.written.expression)} — {prose(row.written.axes)} — {code(row.written.formula)}"
    for tensor in row.tensors:
        if several:
            yield f"**{code(tensor.name)}** — {prose(shape_text([tensor.spec]))}"
        if tensor.value is None:
            yield "not kept"
            continue
        yield from _tensor(tensor, form, numbers)
        below = told(tensor, row, form, numbers)
        if below:
            yield " — ".join(map(prose, below))
    for warning in row.warnings:
        yield f"> **Warning:** {prose(warning)}"


def _tensor(tensor: TensorRow, form: Pretty | Exact, numbers: Numbers) -> Iterator[str]:
    """The tables of a tensor; one cell alone is a line."""
    if not tensor.spec.rank:
        yield code(one_cell(tensor, form, numbers))
        return
    if not tensor.spec.size:
        yield NO_CELLS
        return
    for part in slices(tensor, form, numbers):
        if part.index is None:
            yield LEFT_OUT
            continue
        heads = list(map(cell, part.heads))
        if tensor.spec.rank == 1:
            yield grid(heads, part.cells, 0)
            continue
        corner = code(index_text(tensor, part.index)) if part.index else ""
        rows = ([cell(name), *cells] for name, cells in zip(part.names, part.cells, strict=True))
        yield grid([corner, *heads], rows, 1)
