"""Every op in a table, and one op on a card, for a terminal."""

from __future__ import annotations

from textwrap import indent

from graphattn.dumps.trace_text import trace_text

from ..core.op import OPS, Declared, Op
from ..core.run import run
from ..core.words import aligned, counted, wrapped
from .op_facts import (
    expansion_rows,
    families,
    gradient_rows,
    remarks,
    rule_text,
    sample_rows,
    sampled,
    signature,
)
from .output import PIPE_WIDTH


def table() -> str:
    """One line for each op, by family."""
    rows = [("", "op", "family", "level", "formula")]
    rows += [(op.glyph, op.name, op.family, op.level, op.formula) for ops in families().values() for op in ops]
    return "\n".join(aligned(rows)) + f"\n\n{len(OPS)} ops; `graphattn ops NAME` prints the card of one.\n"


def card(op: Op) -> str:
    """All that the record of an op says, and what its samples show."""
    parts = {"": f"{_title(op)}\n\n{op.doc.strip()}", "call": _call(op)}
    if op.samples:
        parts["shapes and cost of its samples"] = _costs(op)
        if op.expand is not None:
            parts["made of"] = _expansion(op)
        if rows := gradient_rows(op):
            parts["gradient"] = "\n".join([*_rule(op), *aligned([(n, f"= {e}", axes) for n, e, axes in rows])])
        if op.mistakes:
            parts["mistakes that are known"] = "\n".join(_wrapped(_mistake(m)) for m in op.mistakes)
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
        f"{row.given} → {row.results}   {counted(row.flops, 'flop')}, {counted(row.bytes, 'byte')}"
        for row in sample_rows(op)
    )
    return "\n".join(map(_wrapped, lines))


def _wrapped(text: str, hanging: str = "        ") -> str:
    return "\n".join(wrapped(text, PIPE_WIDTH - 8, hanging))


def _expansion(op: Op) -> str:
    """What the first sample is made of, one line a node."""
    return "\n".join(
        aligned([(name, f"= {expression}", axes) for name, expression, axes in expansion_rows(op)])
    )


def _rule(op: Op) -> list[str]:
    text = rule_text(op)
    return [*wrapped(text, PIPE_WIDTH - 8), ""] if text else []


def _mistake(mistake: Declared) -> str:
    return f"{mistake.name}: {mistake.sentence or mistake.phrase}"


def _example(op: Op) -> str:
    """The first sample, number by number."""
    graph, feeds = sampled(op, op.samples[0])
    return trace_text(run(graph, feeds, level=op.level, allow_nonfinite=True))
