"""The ops as one Markdown page, from the registry: `docs/ops.md`.

By family, a section for each op: what its record says (formula, signature, level, range), what its
file says, its samples with shapes and cost, and what it is made of. Nothing on the page is kept by
hand, so an op that is registered is on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import dedent

from graphattn.dumps.markdown import code, grid, heading, prose

from ..core.op import LEVELS, OPS, Op
from ..core.words import counted
from .op_facts import (
    blocks,
    expansion_rows,
    families,
    gradient_rows,
    remarks,
    rule_text,
    sample_rows,
    signature,
    told,
    torch_text,
)


def page() -> str:
    """The whole page."""
    return "\n\n".join(_blocks()) + "\n"


def section(op: Op) -> str:
    """The section of one op."""
    return "\n\n".join(_section(op)) + "\n"


def _blocks() -> Iterator[str]:
    yield heading(1, "Ops")
    yield (
        f"{len(OPS)} ops by family, as `graphattn ops --markdown` writes them from the registry (do not edit"
        " this page). `graphattn ops NAME` prints one in a terminal, with an example number by number."
    )
    yield "Each op has a level, from coarse to fine; a graph at a level shows what coarser ops are made of:"
    yield "\n".join(f"- {code(level)}: {_count(level)}" for level in LEVELS)
    yield (
        "In samples, shapes are of operands and results; a multiply-add counts 2 flops, and bytes are those of"
        " operands read and results written."
    )
    lines = [
        [prose(op.glyph), f"[{code(op.name)}](#{op.name})", prose(op.family), op.level, code(op.formula)]
        for ops in families().values()
        for op in ops
    ]
    yield grid(["", "op", "family", "level", "formula"], lines)
    for family, ops in families().items():
        yield heading(2, f"Family {prose(family)}")
        for op in ops:
            yield from _section(op)


def _count(level: str) -> str:
    return counted(sum(op.level == level for op in OPS.values()), "op")


def _section(op: Op) -> Iterator[str]:
    yield heading(3, code(op.name))
    yield f"{prose(op.glyph)} {prose(op.title)}: {code(op.formula)}"
    yield code(signature(op))
    if text := torch_text(op):
        yield f"In PyTorch: {code(text)}"
    yield prose(", ".join(remarks(op)))
    yield from _doc(op.doc)
    if not op.samples:
        return
    yield heading(4, f"Samples of {code(op.name)}")
    samples = (
        [code(row.given) if row.given else "", prose(row.results), f"{row.flops:,}", f"{row.bytes:,}"]
        for row in sample_rows(op)
    )
    yield grid(["operands and attributes", "result", "flops", "bytes"], samples, 2)
    if op.expand is not None:
        yield heading(4, f"What {code(op.name)} is made of")
        parts = ([code(name), code(made), prose(axes)] for name, made, axes in expansion_rows(op))
        yield grid(["node", "computed", "axes"], parts)
    if rows := gradient_rows(op):
        yield heading(4, f"Gradient of {code(op.name)}")
        if text := rule_text(op):
            yield _paragraph(text)
        yield grid(
            ["node", "computed", "axes"], ([code(name), code(made), prose(axes)] for name, made, axes in rows)
        )
    if op.mistakes:
        yield heading(4, f"Known mistakes with {code(op.name)}")
        yield "\n".join(f"- {prose(m.name)}: {prose(told(m))}" for m in op.mistakes)


def _doc(text: str) -> Iterator[str]:
    """A docstring: paragraphs as prose, what is indented or drawn as it stands."""
    for block, drawn in blocks(text):
        if drawn:
            fence = "`" * max(3, 1 + max(map(len, re.findall("`+", block)), default=0))
            yield f"{fence}text\n{dedent(block)}\n{fence}"
        else:
            yield _paragraph(" ".join(block.split()))


def _paragraph(text: str) -> str:
    """Prose in which what stands between backticks is code."""
    pieces = re.split(r"(?<!`)`([^`]+)`(?!`)", text)
    written = [
        code(piece) if place % 2 else re.sub(r"\S.*\S|\S", lambda found: prose(found[0]), piece)
        for place, piece in enumerate(pieces)
    ]
    return "".join(written)
