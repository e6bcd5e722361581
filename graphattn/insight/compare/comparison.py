"""What a comparison says: of each tensor, of the first that differs, of all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ...core.errors import GraphError
from ...core.rounded import Format
from .alignment import Alignment, Pair
from .cell_classes import Difference, Tolerance
from .comparison_text import comparison_data, comparison_text
from .flow import Flow
from .recording import Recording, listed
from .relations import Relation
from .rounding_reach import Reach

DIFFERENT = ("differs", "other shape")


@dataclass
class TensorComparison:
    """One tensor on both sides. status: "equal", "close" (within the tolerance), "carried" (beyond it, but
    within what the rounding of its own inputs can do), "undecided" (too few digits to tell), "harmless"
    (differs, but nothing after it does), "differs", "other shape"."""

    pair: Pair
    difference: Difference
    tolerance: Tolerance
    status: str
    reach: Reach | None = None
    """What rounding can do there, where that was looked into."""

    @property
    def name(self) -> str:
        return self.pair.reference.name

    @property
    def index(self) -> tuple[int, ...] | None:
        """Where the largest difference is, or the first cell that does not agree."""
        at = self.difference.absolute_at
        if not self.difference.agrees and (
            self.difference.nan or self.difference.masked_reference or at is None
        ):
            at = self.difference.first_over
        return None if at is None else self.pair.reference.index(*at)


@dataclass
class Divergence:
    """A tensor that differs though its inputs agree. `between` are steps before it that were not recorded."""

    key: str
    comparison: TensorComparison
    inputs: tuple[str, ...]
    between: tuple[str, ...]
    find: Callable[[TensorComparison], list[Relation]] = field(repr=False)
    source: bool = False
    """Whether it is an input of the graph."""

    @cached_property
    def relations(self) -> list[Relation]:
        """What yours has to do with the reference there, the simplest first."""
        return self.find(self.comparison)


@dataclass
class Comparison:
    """What `compare` found (see the module's docstring)."""

    reference: Recording
    yours: Recording
    tensors: list[TensorComparison]
    alignment: Alignment
    divergences: list[Divergence]
    precision: Format
    tolerance_text: str
    flow: Flow | None
    harmless: dict[str, Divergence] = field(default_factory=dict)
    """What differs though everything computed from it agrees."""
    notes: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """ "the same", "different", or "undecided": printed with too few digits to tell."""
        if self.divergences:
            return "different"
        return "undecided" if self.undecided else "the same"

    @property
    def agrees(self) -> bool:
        """Whether nothing differs but what is harmless, and nothing is undecided."""
        return self.verdict == "the same"

    @property
    def undecided(self) -> list[TensorComparison]:
        """The tensors that were printed with too few digits to tell whether they are the same."""
        return [tensor for tensor in self.tensors if tensor.status == "undecided"]

    @property
    def first(self) -> Divergence | None:
        """The first divergence."""
        return self.divergences[0] if self.divergences else None

    def find(self, name: str) -> TensorComparison:
        """The comparison of a tensor, by its name in the reference."""
        for tensor in self.tensors:
            if name in (tensor.name, tensor.pair.key):
                return tensor
        known = listed([t.name for t in self.tensors])
        raise GraphError(f"tensor {name!r} was not compared; expected one of {known}")

    def text(self, everything: bool = False) -> str:
        """The report; `everything` lists also the tensors that agree."""
        return comparison_text(self, everything)

    def data(self) -> dict[str, Any]:
        """The same as dicts and lists that JSON can hold."""
        return comparison_data(self)

    def __str__(self) -> str:
        return self.text()
