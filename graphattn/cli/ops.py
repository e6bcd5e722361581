"""`graphattn ops`: every op in a table; `graphattn ops NAME`: all there is to know of one; with
`--markdown`, the page that `docs/ops.md` is.

What is told of an op comes from its record and its samples, as the functions in the middle find it;
the card and the page lay the same out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill, indent
from typing import Any

import click

from ..core import nested
from ..core.axes import describe
from ..core.graph import Graph
from ..core.op import OPS, Op, Sample, find
from ..core.trace import run
from .output import OUTPUT, PIPE_WIDTH, aligned, emit


@click.command(short_help="List every op, or print the card of one.")
@click.argument("name", required=False)
@click.option(
    "--with", "files", metavar="FILE.py", multiple=True,
    help="Execute a Python file first, which may register ops of its own. May be repeated.",
)  # fmt: skip
@click.option(
    "--markdown", "as_markdown", is_flag=True,
    help="Markdown, one section for each op; -o FILE.md implies it.",
)  # fmt: skip
@OUTPUT
def command(name: str | None, files: tuple[str, ...], as_markdown: bool, output: str | None) -> None:
    """List every op, or print the card of the op NAME.

    A card has the formula, the signature, shapes and cost on the op's own samples, what it is made of,
    and an example with numbers.
    """
    from .source import execute

    Graph()  # fills the registry
    for file in files:
        execute(Path(file))
    if as_markdown or (output or "").lower().endswith((".md", ".markdown")):
        from .ops_page import page, section

        emit(section(find(name)) if name else page(), output)
    else:
        emit(card(find(name)) if name else table(), output)


# ---------------------------------------------------------------- what there is to tell


def families() -> dict[str, list[Op]]:
    """Every op by family, as they were registered; those of a family by name."""
    found: dict[str, list[Op]] = {}
    for op in OPS.values():
        found.setdefault(op.family, []).append(op)
    return {family: sorted(ops, key=lambda op: op.name) for family, ops in found.items()}


def remarks(op: Op) -> list[str]:
    """What kind of op it is, in a few words each."""
    said = [f"family {op.family}", f"level {op.level}"]
    if op.moves:
        said.append("moves numbers, without arithmetic")
    if op.range:
        said.append(f"values from {op.range[0]:g} to {op.range[1]:g}")
    return said


def signature(op: Op) -> str:
    """As the builder method takes it: operands, then attributes."""
    shown = []
    starred = False
    for p in op.parameters.values():
        if p.keyword_only and not starred:
            shown.append("*")
        starred = starred or p.keyword_only or p.variadic
        shown.append(f"*{p.name}" if p.variadic else p.name if p.required else f"{p.name}={p.default!r}")
    return f"g.{op.name}({', '.join(shown)})"


@dataclass(frozen=True, slots=True)
class SampleRow:
    """A sample: operands and attributes, results, and what it costs."""

    given: str
    results: str
    flops: int
    bytes: int


def sample_rows(op: Op) -> list[SampleRow]:
    """A row for each sample of an op; alike ones once."""
    from graphattn.passes.cost import cost

    rows = []
    for sample in op.samples:
        graph, _ = _sampled(op, sample)
        node, total = graph.node(RESULT), cost(graph)
        told = [
            f"{op.operand_name(slot)} {describe(graph.spec(ref))}"
            for slot, ref in enumerate(node.operands)
            if ref is not None
        ]
        told += [f"{name}={_brief(value)}" for name, value in node.given.items()]
        results = ", ".join(dict.fromkeys(describe(spec) for spec in node.outputs))
        rows.append(SampleRow(", ".join(told), results, total.flops, total.bytes))
    return list(dict.fromkeys(rows))


def expansion_rows(op: Op) -> list[tuple[str, str, str]]:
    """Name, expression and axes of each node that the op is made of, on its first sample."""
    from graphattn.dumps.rows import node_rows
    from graphattn.passes.zoom import expand

    graph, _ = _sampled(op, op.samples[0])
    composite = graph.node(RESULT)
    opened = Graph(op.name)
    for node in graph.nodes.values():
        if node is not composite:
            opened.adopt(node)
    expand(opened, composite, composite.operands)
    return [(_inner(row.name), _inner(row.expression), row.axes) for row in node_rows(opened) if not row.op.fed]


# ---------------------------------------------------------------- all of them


def table() -> str:
    """One line for each op, by family."""
    rows = [("", "op", "family", "level", "formula")]
    rows += [(op.glyph, op.name, op.family, op.level, op.formula) for ops in families().values() for op in ops]
    return aligned(rows) + f"\n{len(OPS)} ops; `graphattn ops NAME` prints the card of one.\n"


# ---------------------------------------------------------------- one of them


def card(op: Op) -> str:
    """All that the record of an op says, and what its samples show."""
    parts = {"": f"{_title(op)}\n\n{op.doc.strip()}", "call": _call(op)}
    if op.samples:
        parts["shapes and cost of its samples"] = _costs(op)
        if op.expand is not None:
            parts["made of"] = _expansion(op)
        parts["example"] = _example(op)
    return "\n".join(
        f"{name}\n\n{indent(text.rstrip(), '    ')}\n" if name else f"{text}\n" for name, text in parts.items()
    )


def _title(op: Op) -> str:
    return f"{op.name}   {op.glyph}   {op.title}\n\n    {op.formula}\n\n{', '.join(remarks(op))}"


def _call(op: Op) -> str:
    return _wrapped(signature(op), " " * len(f"g.{op.name}("))


def _costs(op: Op) -> str:
    """Operands, attributes, result, flops and bytes of each sample."""
    lines = (
        f"{row.given} → {row.results}   {_count(row.flops, 'flop')}, {_count(row.bytes, 'byte')}"
        for row in sample_rows(op)
    )
    return "\n".join(map(_wrapped, lines))


def _wrapped(text: str, hanging: str = "        ") -> str:
    return fill(text, PIPE_WIDTH - 8, subsequent_indent=hanging, break_on_hyphens=False, break_long_words=False)


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else "…"


def _count(number: int, unit: str) -> str:
    return f"{number:,} {unit}" + ("" if number == 1 else "s")


def _expansion(op: Op) -> str:
    """What the first sample is made of, one line a node."""
    return aligned([(name, f"= {expression}", axes) for name, expression, axes in expansion_rows(op)])


def _inner(text: str) -> str:
    """Without the name of the composite before the names of its parts."""
    return re.sub(rf"\b{RESULT}\.", "", text)


def _example(op: Op) -> str:
    """The first sample, number by number."""
    from graphattn.dumps.trace_text import trace_text

    graph, feeds = _sampled(op, op.samples[0])
    return trace_text(run(graph, feeds, level=op.level, allow_nonfinite=True))


RESULT = "y"


def _sampled(op: Op, sample: Sample) -> tuple[Graph, dict[str, Any]]:
    """A sample as a graph with the one node `y`, and its feeds."""
    graph = Graph(op.name)
    feeds = {}
    operands = []
    for slot, value in enumerate(sample.operands):
        if value is None:
            operands.append(None)
            continue
        name = re.sub(r"\[(\d+)\]", r"\1", op.operand_name(slot))
        cell = next(nested.flat(value), 0.0)
        kind = "bool" if isinstance(cell, bool) else "int" if isinstance(cell, int) else "float"
        operands.append(graph.input(name, nested.shape_of(value), kind=kind))
        feeds[name] = value
    graph.apply(op, *operands, **sample.attributes, name=RESULT)
    return graph, feeds
