"""Every op in a table, and one op on a card, for a terminal."""

from __future__ import annotations

from textwrap import indent

from graphattn.dumps.trace_text import trace_text

from ..core.op import OPS, Op
from ..core.run import run
from ..core.words import aligned, counted, left, wrapped
from ..core.words import width as width_of
from .op_facts import (
    blocks,
    expansion_rows,
    families,
    gradient_rows,
    remarks,
    rule_text,
    sample_rows,
    sampled,
    signature,
    to_copy,
    told,
    torch_text,
)
from .output import PIPE_WIDTH

INDENT = "    "
PROSE = 112
"""A wider terminal has its lines of prose no longer than this."""
SAMPLES, NODES = 4, 12
"""The most samples, and nodes of its gradient, that are shown of an op."""


def table(width: int | None = None) -> str:
    """One line for each op, by family; fitted into lines of `width` places."""
    ops = [op for family in families().values() for op in family]
    glyphs = max(width_of(op.glyph) for op in ops) + 2
    rows = [(" " * glyphs + "op", "family", "level", "formula")]
    rows += [(left(op.glyph, glyphs) + op.name, op.family, op.level, op.formula) for op in ops]
    lines = aligned(rows, limit=width)
    return "\n".join([*lines, "", f"{len(OPS)} ops; `graphattn ops NAME` prints the card of one."]) + "\n"


def card(op: Op, width: int | None = None) -> str:
    """All that the record of an op says, and what its samples show; fitted into lines of `width` places."""
    inner = None if width is None else width - len(INDENT)
    room = min(inner or PIPE_WIDTH - 8, PROSE)
    parts = {"": f"{_title(op)}\n\n{_doc(op.doc, width)}", "call": _call(op, room)}
    if op.samples:
        parts = {
            "": _title(op),
            "to copy": to_copy(op, room),
            "what it is": _doc(op.doc, inner),
            "call": parts["call"],
        }
        if text := torch_text(op):
            parts["in PyTorch"] = _wrapped(text, room)
        parts["shapes and cost of its samples"] = _first(_costs(op, room), SAMPLES)
        if op.expand is not None:
            parts["made of"] = _rows(expansion_rows(op), inner)
        if rows := gradient_rows(op):
            parts["gradient"] = _rule(op, room) + _first(_rows(rows, inner).splitlines(), NODES)
        if op.mistakes:
            parts["mistakes that are known"] = "\n".join(
                _wrapped(f"{m.name}: {told(m)}", room) for m in op.mistakes
            )
        parts["example"] = _example(op, inner)
    return "\n".join(
        f"{name}\n\n{indent(text.rstrip(), INDENT)}\n" if name else f"{text}\n" for name, text in parts.items()
    )


def _title(op: Op) -> str:
    return f"{op.name}   {op.glyph}   {op.title}\n\n    {op.formula}\n\n{', '.join(remarks(op))}"


def _doc(text: str, width: int | None) -> str:
    """A docstring as it stands, or where a width is given with its prose in lines of that."""
    if width is None:
        return text.strip()
    return "\n\n".join(
        block if drawn else "\n".join(wrapped(" ".join(block.split()), min(width, PROSE)))
        for block, drawn in blocks(text)
    )


def _call(op: Op, room: int) -> str:
    return _wrapped(signature(op), room, " " * len(f"g.{op.name}("))


def _costs(op: Op, room: int) -> list[str]:
    """Operands, attributes, result, flops and bytes of each sample."""
    return [
        _wrapped(
            f"{row.given} → {row.results}   {counted(row.flops, 'flop')}, {counted(row.bytes, 'byte')}", room
        )
        for row in sample_rows(op)
    ]


def _first(lines: list[str], most: int) -> str:
    """The first lines, and how many more there are."""
    more = len(lines) - most
    return "\n".join([*lines[:most], *([f"and {more} more (--markdown has all)"] if more > 0 else [])])


def _wrapped(text: str, room: int, hanging: str = "        ") -> str:
    return "\n".join(wrapped(text, room, hanging))


def _rows(rows: list[tuple[str, str, str]], room: int | None) -> str:
    """Nodes, one on a line: name, expression, axes."""
    return "\n".join(aligned([(name, f"= {expression}", axes) for name, expression, axes in rows], limit=room))


def _rule(op: Op, room: int) -> str:
    text = rule_text(op)
    return f"{_wrapped(text, room, '')}\n\n" if text else ""


def _example(op: Op, room: int | None) -> str:
    """The first sample, number by number."""
    graph, feeds = sampled(op, op.samples[0])
    return trace_text(run(graph, feeds, level=op.level, allow_nonfinite=True), width=room)
