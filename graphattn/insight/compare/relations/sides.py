"""The two tensors that a relation is looked for between, and what is known beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ....core.rounded import Format
from ..constants import Dimensions
from ..masked_cells import hidden_cells, is_masked
from ..precision import FLOAT64
from ..recording import Recorded
from .chance import crowding, finite, size_of

Cells = list[tuple[int, int, float, float]]
"""(row, column, a, b)"""


@dataclass(frozen=True)
class Relation:
    """How yours follows from the reference. `text` reads on from "yours is"; `kind` is a word for programs, and
    `detail` what it found (a factor, an order, …). `factor` is there to be named."""

    kind: str
    text: str
    detail: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Context:
    """What is known beside the two tensors: sizes with names, how far rounding goes (as a part of the
    largest cell), which other tensors of the reference might be the same, and which axis is cut into heads."""

    dimensions: Dimensions = field(default_factory=Dimensions)
    tau: float = 1e-9
    others: Sequence[Recorded] = ()
    operands: Sequence[Recorded] = ()
    masked_below: float | None = None
    precision: Format = FLOAT64
    bound: float = 64.0


class Sides:
    """The two tensors, cell by cell; `a` and `b` hold the cells that are visible on both sides."""

    def __init__(self, reference: Recorded, yours: Recorded, context: Context) -> None:
        self.reference, self.yours, self.context = reference, yours, context
        self.width = reference.width
        below = context.masked_below
        self.same_shape = reference.shape == yours.shape
        self.bools = _visibility(reference) and _visibility(yours)
        if self.bools:  # masks themselves: False hides
            self.hidden_reference = [not x for x in reference.flat]
            self.hidden_yours = [not y for y in yours.flat]
        elif self.same_shape:
            rows = [hidden_cells(a, b, below) for a, b in zip(reference.rows, yours.rows)]
            self.hidden_reference = [hidden for row, _ in rows for hidden in row]
            self.hidden_yours = [hidden for _, row in rows for hidden in row]
        else:
            self.hidden_reference = [is_masked(x, below) for x in reference.flat]
            self.hidden_yours = [is_masked(y, below) for y in yours.flat]
        self.nan = any(y != y for y in yours.flat) or any(x != x for x in reference.flat)
        self.infinite = self.same_shape and any(
            finite(x) != finite(y) and x == x and y == y and not (p or q)
            for x, y, p, q in zip(reference.flat, yours.flat, self.hidden_reference, self.hidden_yours)
        )
        """Whether a cell is infinite on one side alone."""
        self.tau = context.tau
        self.chance = context.tau * crowding([y for y in yours.flat if finite(y) and not is_masked(y)])
        """The tolerance as a part of how far the cells are spread, which says how easily one is met."""

    @cached_property
    def limit(self) -> float:
        """How far apart two cells may be."""
        return self.tau * size_of([x for x in self.reference.flat if finite(x) and not is_masked(x)])

    def cells(self) -> list[tuple[int, int, float, float]]:
        """(row, column, a, b) of the cells that are finite on both sides."""
        width = self.width
        return [
            (k // width, k % width, float(x), float(y))
            for k, (x, y) in enumerate(zip(self.reference.flat, self.yours.flat))
            if not self.hidden_reference[k] and not self.hidden_yours[k] and finite(x) and finite(y)
        ]


def _visibility(tensor: Recorded) -> bool:
    """Whether it holds what may be seen: True and False."""
    return all(isinstance(x, bool) for x in tensor.flat)
