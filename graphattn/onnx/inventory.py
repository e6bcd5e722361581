"""Which operators a model has, how often, and which of them are read."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from ..conventions.onnx import OPERATORS
from .folding import folds
from .reading import OWN, read_model
from .refusals import refusal


@dataclass(frozen=True)
class Found:
    """One operator of a model: its name, domain, how many nodes have it, and how it is read."""

    op: str
    domain: str
    count: int
    how: str
    """read, folded (only where all its inputs are known), missing, or why it is refused."""

    @property
    def read(self) -> bool:
        return self.how == "read"


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
    if op in OPERATORS:
        return "read"
    if folds(op):
        return "read where all that goes into it is known before a run"
    return "missing"
