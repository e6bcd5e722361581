"""What is matched so far: the state that all ways of matching share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeVar

from ....core.graph import Ref
from ..recording import Recorded, Recording
from .alike import RELATED, TIGHT, alike, apart
from .arrangements import Layout, Order, in_order, layout
from .families import Family, families
from .first_cells import FirstCells
from .names import is_gradient, meaning, unique_by_words, unnumbered

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


class Pair(NamedTuple):
    """A tensor of the reference and what is the same of yours, in one shape. `key` is the name of the whole
    tensor of the reference; `how` says by what they were matched."""

    key: str
    reference: Recorded
    yours: Recorded
    how: str
    other: str = ""
    """The name of the whole tensor of yours."""


@dataclass
class Alignment:
    """What was matched, and what was not. `copies` are tensors of yours with the values of one that is
    matched already; `misfits` have the name of one of the reference but another shape: (reference, yours)."""

    pairs: list[Pair] = field(default_factory=list)
    reference_left: list[str] = field(default_factory=list)
    yours_left: list[str] = field(default_factory=list)
    copies: list[tuple[str, str]] = field(default_factory=list)
    misfits: list[tuple[Recorded, Recorded]] = field(default_factory=list)
    gradients: frozenset[str] = frozenset()
    """What of yours are gradients, by its name."""


class Matching:
    """Two recordings, and which tensor of one was matched with which of the other."""

    def __init__(self, reference: Recording, yours: Recording, near: float) -> None:
        self.near = near
        self.reference = reference
        self.yours = yours
        self.pairs: list[Pair] = []
        self.used_reference: set[str] = set()
        self.used_yours: set[str] = set()
        self.misfits: list[tuple[Recorded, Recorded]] = []
        self.copies: list[tuple[str, str]] = []
        self.votes: Counter[Layout] = Counter()
        """How many tensors agree in each `layout`."""

    @cached_property
    def reference_families(self) -> list[Family]:
        return families(self.reference)

    @cached_property
    def your_families(self) -> list[Family]:
        return families(self.yours)

    @cached_property
    def reference_families_of(self) -> dict[int, list[Family]]:
        """The families of the reference by how many cells they have."""
        return grouped(self.reference_families, lambda family: family.size)

    @cached_property
    def your_families_of(self) -> dict[int, list[Family]]:
        return grouped(self.your_families, lambda family: family.size)

    @cached_property
    def gradients(self) -> frozenset[str]:
        """The names of yours that are those of gradients."""
        leaves = {name.rpartition(".")[2].lower() for name in self.reference.tensors}
        joined = (n for n in self.yours.tensors if n[:1] == "d" and n not in leaves and n[1:].lower() in leaves)
        return frozenset((*filter(is_gradient, self.yours.tensors), *joined))

    @cached_property
    def by_words(self) -> dict[frozenset[str], Recorded]:
        """The tensors of the reference by the words of their names."""
        return unique_by_words(self.reference)

    @cached_property
    def by_meaning(self) -> dict[frozenset[str], Recorded]:
        """The same by what these mean."""
        return unique_by_words(self.reference, meaning)

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """What the names of the reference say, numbers aside."""
        return frozenset(word for name in self.reference.tensors for word in unnumbered(meaning(name)))

    def may_be(self, yours: str, *references: str) -> bool:
        """Whether a tensor of yours may be these of the reference, by its name: no gradient is a tensor of the
        forward pass."""
        return yours not in self.gradients or all(map(is_gradient, references))

    @property
    def done(self) -> bool:
        """Whether all of yours is placed."""
        return len(self.used_yours) == len(self.yours.tensors)

    def open_yours(self) -> list[Recorded]:
        return [t for name, t in self.yours.tensors.items() if name not in self.used_yours]

    def open_reference(self) -> list[Recorded]:
        return [t for name, t in self.reference.tensors.items() if name not in self.used_reference]

    @cached_property
    def first_cells(self) -> FirstCells:
        return FirstCells(self.reference.tensors.values(), self.near)

    def is_open(self, family: Family, yours: str) -> bool:
        """Whether no member of a family of the reference is matched already, and yours may be all of them."""
        names = [member.name for member in family.members]
        return self.used_reference.isdisjoint(names) and self.may_be(yours, *names)

    def is_input(self, name: str) -> bool:
        """Whether a tensor of the reference is fed, not computed; without a graph, none is known to be."""
        return name in self.fed

    @cached_property
    def fed(self) -> frozenset[str]:
        """The tensors that are fed to the graph of the reference."""
        trace = self.reference.trace
        nodes = () if trace is None else trace.graph.nodes.values()
        return frozenset(node.tensor_name(0) for node in nodes if node.op.fed)

    def is_output(self, name: str) -> bool:
        """Whether a tensor of the reference is a result of its graph."""
        trace = self.reference.trace
        return trace is not None and trace.graph.resolve(name) in self.results

    @cached_property
    def results(self) -> frozenset[Ref]:
        """What the graph of the reference gives."""
        trace = self.reference.trace
        return frozenset() if trace is None else frozenset(t.ref for t in trace.graph.outputs.values())

    def is_copy(self, yours: Recorded, reference: Recorded) -> bool:
        """Whether a tensor of yours is, but for its own rounding, one that is matched with that already."""
        near = max(TIGHT, 4 * 2.0**-self.yours.precision.bits)
        return any(
            pair.key == reference.name and pair.yours.size == yours.size and alike(pair.yours, yours, near)
            for pair in self.pairs
        )

    def add(
        self, key: str, reference: Recorded, yours: Recorded, how: str, whole: str | None = None,
        order: Order | None = None,
    ) -> None:  # fmt: skip
        """Match two tensors; `whole` is the tensor of yours that yours is a part of, and `order` the order
        of axes in which it was read."""
        if yours.shape != reference.shape:
            yours = yours.as_shape(reference.shape)
        whole = yours.name if whole is None else whole
        self.pairs.append(Pair(key, reference, yours, how + in_order(order), whole))
        self.used_reference.add(key)
        self.used_yours.add(whole)
        if order is not None:
            self._vote(layout(order, reference), reference, yours)

    def add_family(
        self, family: Family, parts: list[Recorded], how: str, whole: str, order: Order | None = None
    ) -> None:
        """The members of a family of the reference, with the parts of one tensor of yours."""
        for member, part in zip(family.members, parts, strict=True):
            self.add(member.name, member, part, how + in_order(order), whole)
            if order is not None:
                self._vote((True, order), member, part)

    def _vote(self, stored: Layout, reference: Recorded, yours: Recorded) -> None:
        if alike(reference, yours, self.near) or apart(reference, yours) <= RELATED:
            self.votes[stored] += 1

    def add_your_family(self, tensor: Recorded, parts: list[Recorded], family: Family, how: str) -> None:
        """The parts of one tensor of the reference, with what yours has one by one."""
        for part, member in zip(parts, family.members, strict=True):
            self.add(tensor.name, part, member, how)

    def add_misfit(self, reference: Recorded, yours: Recorded) -> None:
        """Two tensors of one name whose shapes do not fit; neither is matched with anything else."""
        self.misfits.append((reference, yours))
        self.used_reference.add(reference.name)
        self.used_yours.add(yours.name)

    def result(self) -> Alignment:
        return Alignment(
            self.pairs,
            [t.name for t in self.open_reference()],
            [t.name for t in self.open_yours()],
            self.copies,
            self.misfits,
            self.gradients,
        )


def by_shape(tensors: Iterable[Recorded]) -> dict[tuple[int, ...], list[Recorded]]:
    """Tensors by their shape, leading axes of size 1 aside."""
    return grouped(tensors, lambda tensor: tensor.squeezed)


def grouped(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """What has the same key together, in order."""
    groups: dict[K, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups
