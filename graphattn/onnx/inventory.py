"""Which operators a model has, how often, and which of them are read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..conventions.onnx import OPERATORS
from ..core.words import aligned, counted
from .folding import folds
from .reading import OWN, read_model
from .refusals import refusal

ALWAYS = ("Constant", "Shape", "Size")
"""What is known whatever goes in."""
READ, FOLDED, MISSING = "read", "read where all that goes into it is known before a run", "missing"


@dataclass(frozen=True)
class Found:
    """One operator of a model: its name, domain, how many nodes have it, and how it is read (`READ`, `FOLDED`,
    `MISSING`, or why it is refused)."""

    op: str
    domain: str
    count: int
    how: str

    @property
    def read(self) -> bool:
        """Whether nothing stands against it."""
        return self.how in (READ, FOLDED)


def operators(source: Any) -> list[Found]:
    """The operators of a model, those that stand in most nodes first. `source` is as for `load`."""
    model = read_model(source)
    counts = Counter((node.op_type, "" if node.domain in OWN else node.domain) for node in model.graph.node)
    found = [Found(op, domain, count, how_read(op, domain)) for (op, domain), count in counts.items()]
    return sorted(found, key=lambda item: (-item.count, item.domain, item.op))


def how_read(op: str, domain: str = "") -> str:
    """How an operator is read (see `Found.how`)."""
    why = refusal(op, domain)
    if why is not None:
        return f"refused: {why}"
    if op in OPERATORS or op in ALWAYS:
        return READ
    return FOLDED if folds(op) else MISSING


def inventory_text(found: Sequence[Found]) -> str:
    """A table of operators, and how many nodes have one that is not read."""
    rows = [("operator", "nodes", "")]
    rows += [(f"{f.domain}.{f.op}" if f.domain else f.op, f"{f.count:,}", f.how) for f in found]
    total, unread = sum(f.count for f in found), [f for f in found if not f.read]
    told = "all of them are read"
    if unread:
        told = f"{counted(len(unread), 'operator')} in {counted(sum(f.count for f in unread), 'node')} not read"
    return (
        "\n".join(aligned(rows))
        + f"\n\n{counted(len(found), 'operator')} in {counted(total, 'node')}; {told}\n"
    )
