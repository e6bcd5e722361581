"""What a comparison says: of each tensor, of the first that differs, of all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from textwrap import shorten
from typing import Any

from graphattn.dumps.table import place_text

from ...core.errors import GraphError
from ...core.rounded import Format
from ...core.words import listed
from .alignment import Alignment, Pair
from .cell_classes import Difference, Tolerance
from .comparison_data import comparison_data
from .comparison_html import comparison_html
from .comparison_text import comparison_text, headline
from .flow import Flow
from .printed import Print
from .recording import Recording
from .relations import Relation
from .rounding_reach import Reach

DIFFERENT = ("differs", "other shape")
SAYS_IT_ALL = frozenset(
    ("sign", "factor", "offset", "other tensor", "transpose", "rows permuted", "columns permuted",
     "heads permuted", "masked cells", "rounding", "NaN", "rows shifted", "dropout")
)  # fmt: skip
"""Kinds of relations that need no explanation beside them."""


@dataclass
class TensorComparison:
    """One tensor on both sides. status: "equal", "close" (within the tolerance), "carried" (beyond it, but
    within what the rounding of its own inputs can do), "undecided" (too few digits to tell), "harmless"
    (differs, but nothing after it does), "doubtful" (the same, with too few cells to tell whether what comes
    after it was computed from it), "differs", "other shape"."""

    pair: Pair
    difference: Difference
    tolerance: Tolerance
    status: str
    reach: Reach | None = None
    """What rounding can do there, where that was looked into."""
    relations: list[Relation] | None = field(default=None, repr=False)
    """What yours has to do with the reference, where that was looked for."""
    labels: Sequence[Sequence[str] | None] = field(default=(), repr=False)
    """Of each axis, where it has any."""
    called: str = ""
    """What a report calls it: its name, or that of the result that it is, where yours calls it so."""

    @property
    def name(self) -> str:
        return self.pair.reference.name

    @property
    def guessed(self) -> bool:
        """Whether it is undecided since the two sides may be two tensors: only their places speak for them."""
        return self.status == "undecided" and self.pair.how == "place" and not self.difference.agrees

    @property
    def place(self) -> tuple[int, int] | None:
        """Row and column of the cell to show: one that does not agree, if any does not."""
        return self.difference.place

    @property
    def index(self) -> tuple[int, ...] | None:
        """The same, as an index of the tensor."""
        return None if self.place is None else self.pair.reference.index(*self.place)

    @property
    def at(self) -> str:
        """The same as it is shown, with labels: [sat, 2]; nothing of a scalar."""
        return self.shown(self.index) if self.index else ""

    def shown(self, index: Sequence[int]) -> str:
        """The index of a cell, with labels."""
        return place_text(index, self.labels or [None] * len(index))


@dataclass
class Divergence:
    """A tensor that differs though its inputs agree. `between` are steps before it that were not recorded."""

    key: str
    comparison: TensorComparison
    inputs: tuple[str, ...]
    between: tuple[str, ...]
    find: Callable[[TensorComparison], list[Relation]] = field(repr=False)
    role: str = "computed"
    """"computed", "input" (it is fed), or "made" (the graph makes it without any input)."""
    unseen: tuple[str, ...] = ()
    """What is fed, weights aside, and goes into it, and yours did not record."""
    explain: Callable[[str], list[str]] = field(default=lambda key: [], repr=False)

    @cached_property
    def relations(self) -> list[Relation]:
        """What yours has to do with the reference there, the simplest first."""
        return self.find(self.comparison)

    @cached_property
    def explanations(self) -> list[str]:
        """Changes of the graph that give yours from your own recorded inputs ("without …", "with …"), where no
        relation says as much; the likeliest first."""
        plain = self.relations and self.relations[0].kind in SAYS_IT_ALL
        return [] if plain or self.role != "computed" else self.explain(self.key)


@dataclass(repr=False)
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
    explicit: bool = False
    """Whether the tolerance was given."""
    printed: Print | None = None
    """With how many digits yours was printed, if not in full."""
    notes: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """ "the same", "different", or "undecided": printed with too few digits to tell, nothing that is
        computed was compared, the result may be among what was compared with nothing, or a small tensor
        differs though all that is computed from it agrees."""
        if self.divergences:
            return "different"
        open_ = self.undecided or self.only_given or self.open_results or self.doubtful
        return "undecided" if open_ else "the same"

    @property
    def agrees(self) -> bool:
        """Whether nothing differs but what is harmless, and nothing is undecided."""
        return self.verdict == "the same"

    @property
    def undecided(self) -> list[TensorComparison]:
        """The tensors of which it cannot be told whether they are the same: printed with too few digits, or
        matched by place alone."""
        return [tensor for tensor in self.tensors if tensor.status == "undecided"]

    @property
    def doubtful(self) -> list[TensorComparison]:
        """The tensors that differ though all that is computed from them agrees, with too few cells to show how
        they follow from the reference's: something else may have been computed with."""
        return [tensor for tensor in self.tensors if tensor.status == "doubtful"]

    @property
    def uncompared(self) -> list[str]:
        """The tensors of yours that nothing was compared with."""
        return self.alignment.yours_left

    @cached_property
    def open_results(self) -> dict[str, list[str]]:
        """The results of the reference that nothing was compared with, and what of yours may be each of
        them: tensors that nothing was compared with, of as many cells."""
        if self.flow is None:
            return {}
        left = [self.yours.tensors[name] for name in self.uncompared if name not in self.alignment.gradients]
        open_names = set(self.alignment.reference_left)
        results = {t.name: t for t in self.flow.graph.outputs.values() if t.name in open_names}
        may_be = {name: [y.name for y in left if y.size == prod(t.shape)] for name, t in results.items()}
        return {name: yours for name, yours in may_be.items() if yours}

    @property
    def only_given(self) -> bool:
        """Whether nothing was compared that the graph computes, though it computes something."""
        flow = self.flow
        return flow is not None and bool(flow.computed) and flow.computed.isdisjoint(flow.refs.values())

    @property
    def only_ends(self) -> bool:
        """Whether only inputs and results of the graph were compared."""
        flow = self.flow
        return flow is not None and all(
            flow.graph.node(ref.node).op.fed or self.is_result(key) for key, ref in flow.refs.items()
        )

    def is_result(self, key: str) -> bool:
        """Whether a tensor is a result of the graph."""
        flow = self.flow
        return flow is not None and flow.refs[key] in {t.ref for t in flow.graph.outputs.values()}

    @property
    def first(self) -> Divergence | None:
        """The first divergence."""
        return self.divergences[0] if self.divergences else None

    def find(self, name: str) -> TensorComparison:
        """The comparison of a tensor, by its name in the reference."""
        for tensor in self.tensors:
            if name in (tensor.name, tensor.pair.key, tensor.called):
                return tensor
        known = listed([t.name for t in self.tensors])
        raise GraphError(f"tensor {name!r} was not compared; expected one of {known}")

    def text(self, everything: bool = False, width: int | None = None) -> str:
        """The report; `everything` lists also the tensors that agree, `width` is how long a line may be."""
        return comparison_text(self, everything, width)

    def data(self) -> dict[str, Any]:
        """The same as dicts and lists that JSON can hold."""
        return comparison_data(self)

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return comparison_html(headline(self), self.data(), self.text())

    def __repr__(self) -> str:
        return f"<comparison: {shorten(headline(self), 200)}>"
