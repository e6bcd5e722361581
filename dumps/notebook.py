"""What notebooks show: tables in HTML, scopes folded by `<details>`, without a script.

    trace_html(trace), step_html(step), graph_html(graph), table_html(head, rows), outline_html(lines)

Text has the page's own colour, and cells are tinted by translucent colours, so that the tables read on a
light page and on a dark one. Where styles are stripped, the tables hold the same text, with `·` for what
is masked; everything that comes from a graph, a label or a title is escaped.

>>> table_html(["a", "b"], [["1", "<2>"]], numbers={1})[-80:]
'<td style="text-align:right;padding:1px 6px">&lt;2&gt;</td></tr></tbody></table>'
"""

from __future__ import annotations

import html
from collections.abc import Collection, Iterable, Iterator, Sequence

from graphattn.core.errors import GraphError
from graphattn.core.graph import Graph
from graphattn.core.trace import Step, Trace
from graphattn.core.words import counted
from graphattn.dumps import wording
from graphattn.dumps.alike import title_of
from graphattn.dumps.heat import HeatMap, heat_maps
from graphattn.dumps.rows import NodeRow, StepRow, TensorRow, as_read, node_rows, scope_paths, step_rows
from graphattn.dumps.table import LEFT_OUT, NO_CELLS, Pretty, index_text, one_cell, slices
from graphattn.dumps.trace_text import told

STEPS = 400
"""The most steps that a notebook shows with their numbers."""

TINT = 0.45
"""How strong the strongest tint is: text in the page's own colour stays readable on it."""

TINTS = {"share": (130, 70, 190), "plus": (214, 120, 40), "minus": (50, 130, 220)}

HATCHED = "background:repeating-linear-gradient(135deg,rgba(128,128,128,.4) 0 1px,transparent 1px 5px)"

FRAME = 'style="font-family:sans-serif;font-size:13px;line-height:1.4"'
MONO = "font-family:monospace"
PLAIN = "border-collapse:collapse;margin:4px 0 8px 16px;width:auto;color:inherit;font-size:12px"


def escaped(text: str) -> str:
    """Text without what controls a terminal or turns its direction, safe in HTML."""
    return html.escape(wording.clean(text), quote=True)


# ---------------------------------------------------------------- traces


def trace_html(trace: Trace, decimals: int = 4, limit: int = 12) -> str:
    """A trace: what it is of, then its steps below their scopes, each with its tables."""
    graph = trace.graph
    title = f"{graph.name}: {graph.title}" if graph.title else graph.name
    told = f"{counted(len(trace), 'step')}, {counted(len(trace.names), 'tensor')}"
    kind = "" if trace.numbers.name == "float" else f", numbers {trace.numbers.name}"
    parts = [f"<div {FRAME}><p><b>{escaped(title)}</b> · {escaped(told + kind)}</p>"]
    rows = list(as_read(step_rows(trace)))
    parts += _nested(trace, rows[:STEPS], Pretty(decimals, limit))
    if len(rows) > STEPS:
        more = counted(len(rows) - STEPS, "more step")
        parts.append(f"<p>… and {more}; <code>trace.step(name)</code> shows one of them.</p>")
    return "".join([*parts, "</div>"])


def step_html(step: Step, decimals: int = 4, limit: int = 12) -> str:
    """One step of a trace, opened."""
    for row in step_rows(step.trace, [step.names[0]]):
        return f"<div {FRAME}>{_step(row, step.trace, Pretty(decimals, limit), opened=True)}</div>"
    return f"<div {FRAME}><code>{escaped(step.name)}</code></div>"


def _nested(trace: Trace, rows: Sequence[StepRow], form: Pretty) -> Iterator[str]:
    """The steps, in a `<details>` for each scope that they are in."""
    paths = scope_paths(trace.graph)
    results = {tensor.ref.node for tensor in trace.graph.outputs.values()}
    around: tuple[str, ...] = ()
    for row in rows:
        path = paths.get(row.written.node.scope, ())
        shared = 0
        while shared < min(len(path), len(around)) and path[shared] == around[shared]:
            shared += 1
        yield "</div></details>" * (len(around) - shared)
        for name in path[shared:]:
            title = escaped(title_of(trace.graph.scopes[name]))
            yield f"<details><summary><b>{title}</b> <code>{escaped(name)}</code></summary>"
            yield '<div style="margin-left:16px">'
        around = path
        yield _step(row, trace, form, opened=row.name in results)
    yield "</div></details>" * len(around)


def _step(row: StepRow, trace: Trace, form: Pretty, opened: bool) -> str:
    written = row.written
    head = f"<code>{escaped(f'{row.name} = {written.expression}')}</code> · {escaped(written.axes)}"
    parts = [f"<details{' open' if opened else ''}><summary>{head}</summary>"]
    for warning in row.warnings:
        parts.append(f"<p>! {escaped(warning)}</p>")
    for tensor in row.tensors:
        if len(row.tensors) > 1:
            parts.append(f'<p style="margin:4px 0 0 16px"><code>{escaped(tensor.name)}</code></p>')
        parts += _tensor(tensor, row, trace, form)
    return "".join([*parts, "</details>"])


def _tensor(tensor: TensorRow, row: StepRow, trace: Trace, form: Pretty) -> Iterator[str]:
    if tensor.value is None or not tensor.spec.size or not tensor.spec.rank:
        plain = "not kept" if tensor.value is None else NO_CELLS if not tensor.spec.size else ""
        plain = plain or one_cell(tensor, form, trace.numbers)
        yield f'<p style="margin:4px 0 8px 16px;{MONO}">{escaped(plain)}</p>'
        return
    maps = {shown.index: shown for shown in heat_maps(tensor, trace.numbers)}
    shape = (1, *tensor.spec.shape)[-2:]
    down, across = form.shown(shape[0]), form.shown(shape[1])
    for part in slices(tensor, form, trace.numbers):
        if part.index is None:
            yield f"<p>{LEFT_OUT}</p>"
            continue
        where = index_text(tensor, part.index) if part.index else ""
        named = tensor.spec.rank > 1
        head = [where, *part.heads] if named else part.heads
        yield f'<table style="{PLAIN}"><thead><tr>'
        yield "".join(f'<th scope="col" style="{_align(True)}">{escaped(text)}</th>' for text in head)
        yield "</tr></thead><tbody>"
        for name, cells, i in zip(part.names, part.cells, down, strict=True):
            yield "<tr>"
            if named:
                yield f'<th scope="row" style="{_align(False)}">{escaped(name)}</th>'
            for text, j in zip(cells, across, strict=True):
                tint = _tint(maps[part.index], i, j)
                style = f"{_align(True)};{MONO}{tint}"
                yield f'<td style="{style}">{escaped(text)}</td>'
            yield "</tr>"
        yield "</tbody></table>"
    facts = told(tensor, row, form, trace.numbers)
    if facts:
        yield f'<p style="margin:0 0 8px 16px">{escaped(" · ".join(facts))}</p>'


def _tint(shown: HeatMap, i: int | None, j: int | None) -> str:
    """The translucent colour of a cell."""
    if i is None or j is None:
        return ""
    cell = shown.cell(i, j)
    if cell.state == "masked":
        return f";{HATCHED}"
    if cell.state == "broken":
        return ";font-weight:bold;outline:1px solid currentColor"
    kind = shown.scale.kind if shown.scale.kind == "share" else "plus" if cell.level > 0 else "minus"
    alpha = abs(cell.level) * TINT
    return f";background:rgba({','.join(map(str, TINTS[kind]))},{alpha:.2f})" if alpha >= 0.005 else ""


def _align(right: bool) -> str:
    return f"text-align:{'right' if right else 'left'};padding:1px 6px"


# ---------------------------------------------------------------- graphs, tables, outlines


def graph_html(graph: Graph) -> str:
    """A graph: its picture, and below it a table of its nodes, folded."""
    from graphattn.dumps.picture import svg

    try:
        drawn = svg(graph)
    except GraphError as error:  # no pygraphviz, or no layout
        drawn = f"<p>{escaped(str(error))}</p>"
    head = ["node", "is", "axes", "note"]
    nodes = [_node(row) for row in node_rows(graph)]
    more = f"<p>… and {len(nodes) - STEPS:,} more.</p>" if len(nodes) > STEPS else ""
    table = table_html(head, nodes[:STEPS])
    counted_nodes = counted(len(nodes), "node")
    return (
        f'<div {FRAME}><div style="overflow:auto">{drawn}</div>'
        f"<details><summary>{escaped(counted_nodes)}</summary>{table}{more}</details></div>"
    )


def _node(row: NodeRow) -> list[str]:
    return [row.name, row.expression, row.axes, row.note]


def table_html(
    head: Sequence[str], rows: Iterable[Sequence[str]], numbers: Collection[int] = (), foot: Sequence[str] = ()
) -> str:
    """A table of texts; the columns in `numbers` are set to the right. The first of a row is its name."""

    def line(cells: Sequence[str], heading: str, first: str) -> str:
        told = []
        for column, text in enumerate(cells):
            tag = first if column == 0 else heading
            told.append(f'<{tag} style="{_align(column in numbers)}">{escaped(text)}</{tag}>')
        return f"<tr>{''.join(told)}</tr>"

    body = "".join(line(row, "td", "th") for row in rows)
    end = f"<tfoot>{line(foot, 'th', 'th')}</tfoot>" if foot else ""
    return f'<table style="{PLAIN}"><thead>{line(head, "th", "th")}</thead>{end}<tbody>{body}</tbody></table>'


def report_html(report: str) -> str:
    """A report of text, line by line."""
    return f"<div {FRAME}><pre>{html.escape(report)}</pre></div>"


def outline_html(title: str, lines: Iterable[tuple[int, str, str]]) -> str:
    """Lines with a level, an expression and a remark, as lists inside lists."""
    parts = [f"<div {FRAME}><p><b>{escaped(title)}</b></p>"]
    depth = -1
    for level, expression, remark in lines:
        if level > depth:
            parts.append("<ul>" + "<li><ul>" * (level - depth - 1))
        else:
            parts.append("</li>" + "</ul></li>" * (depth - level))
        depth = level
        note = f" <i>{escaped(remark)}</i>" if remark else ""
        code = f"<code>{escaped(expression)}</code>" if expression else ""
        parts.append(f"<li>{code}{note}")
    return "".join([*parts, "</li></ul>" * (depth + 1), "</div>"])
