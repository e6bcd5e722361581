"""One variant in the intended graph, with the value of every tensor that it changes, so that any number of
others are evaluated beside it at the cost of what these change themselves.

    reach_of(intended, first).before(reach_of(intended, second))    whether the second may depend on the first,
                                                                    and the first does not on the second
    planted = plant(intended, first, ref)
    Beside(intended, second, ref, row).value(planted)               the tensor with both, or its row
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ....core.errors import GraphError
from ....core.graph import Node, Ref
from ..draft import Rewrite
from ..intended import Intended, alike
from ..structure.rows import row_of
from .planned import Planned
from .tail import Step, Tail, Values, fill, given_from


class Reach(NamedTuple):
    """What a change depends on, and what depends on it: nodes as bits by place in the order."""

    touched: int
    """What it changes, and what that reads."""
    read: frozenset[Ref]
    moved: frozenset[Ref]
    """The tensors in whose place it puts others."""
    below: int
    """What it changes, and all that depends on it; and what nothing reads any more."""

    def before(self, other: Reach) -> bool:
        """Whether it is the same change beside another, that may depend on it."""
        return not self.touched & other.below and self.read.isdisjoint(other.moved)


def reach_of(intended: Intended, rewrite: Rewrite) -> Reach:
    """Who does nothing but read one tensor in the place of another is not changed: the tensor is."""
    own = {name: node for name, node in rewrite.nodes.items() if not only_reads(intended, rewrite, node)}
    read = {ref for node in own.values() for ref in node.operands if ref is not None}
    read.update(rewrite.went.values())
    touched = {*own, *(ref.node for ref in read), *(ref.node for ref in rewrite.went)}
    order = intended.order
    bits = sum(1 << order[name] for name in touched if name in order)
    taken = {ref for node in rewrite.nodes.values() for ref in node.operands}
    unread = {ref.node for ref in rewrite.went if ref not in taken}
    below = intended.all_below(rewrite.nodes) | sum(1 << order[name] for name in unread if name in order)
    return Reach(bits, frozenset(read), frozenset(rewrite.went), below)


def only_reads(intended: Intended, rewrite: Rewrite, node: Node) -> bool:
    """Whether a node reads what all others read in the place of a tensor, and is otherwise as intended."""
    before = intended.nodes.get(node.name)
    if before is None or not rewrite.went:
        return False
    instead = [None if ref is None else rewrite.now(ref) for ref in before.operands]
    if before.op is not node.op or before.attributes != node.attributes or [*node.operands] != instead:
        return False
    return all(
        user in rewrite.nodes and rewrite.nodes[user].operands[slot] == rewrite.now(ref)
        for ref in before.operands if ref is not None and ref in rewrite.went
        for user, slot in intended.users[ref]
    )  # fmt: skip


@dataclass(eq=False)
class Planted:
    """The values of all tensors, with a variant in the graph: those of the intended graph, by its names."""

    values: Mapping[Ref, Any]
    changed: frozenset[Ref]
    """Those that may be others than the intended."""
    tails: dict[Tail, Sequence[Step]] = field(default_factory=dict)

    def steps_of(self, tail: Tail) -> Sequence[Step]:
        """The steps of a tail, given these values."""
        if tail not in self.tails:
            self.tails[tail] = self.given(tail.steps, tail.row)
        return self.tails[tail]

    def given(self, steps: Sequence[Step], row: int | None) -> list[Step]:
        """The same steps, given these values."""
        values, changed = self.values, self.changed
        return [
            step._replace(given=given_from(values, step.known, step.given[:], row))
            if any(ref in changed for _, ref, _ in step.known) else step
            for step in steps
        ]  # fmt: skip


def plant(intended: Intended, rewrite: Rewrite, wanted: Ref) -> Planted | None:
    """A variant with its values, as far as `wanted` needs them; None for one that puts another tensor in the
    place of that, or gives some tensor another shape, or is no graph."""
    if wanted in rewrite.went:
        return None
    order, below = intended.order, intended.all_below(rewrite.nodes)
    refs = tuple(
        ref for ref in intended.values
        if ref in rewrite.went
        or (below >> order[ref.node] & 1 and intended.depends(wanted.node, on=ref.node))
    )  # fmt: skip
    new = tuple(map(rewrite.now, refs))
    planned = Planned(intended, rewrite.nodes, new, None)
    try:
        if not planned.prepare() or not alike([*map(planned.spec, new)], [*map(intended.spec, refs)]):
            return None
        planned.run()
    except GraphError:
        return None
    return Planted({**intended.values, **dict(zip(refs, planned.results(), strict=True))}, frozenset(refs))


class Beside:
    """A variant that is evaluated beside others, planned once. Raises a `GraphError` for what is no graph."""

    def __init__(self, intended: Intended, rewrite: Rewrite, wanted: Ref, row: int | None) -> None:
        self.wanted, self.row = rewrite.now(wanted), row
        planned = Planned(intended, rewrite.nodes, (self.wanted,), row)
        self.fits = planned.prepare()
        """Whether all tensors that others read keep their shapes: if not, it cannot be evaluated here."""
        self.rank = planned.spec(self.wanted).rank if self.fits else 0
        self.tail = planned.tail
        self.steps = [
            step._replace(given=given_from(intended.values, step.known, step.given, row))
            for step in (planned.steps() if self.fits else ())
        ]

    def value(self, planted: Planted) -> Any:
        """The wanted tensor, or its row, with another variant in the graph. Raises a `GraphError` for numbers
        that an op cannot take."""
        done: Values = {}
        fill(done, planted.given(self.steps, self.row), self.row)
        fill(done, planted.steps_of(self.tail), self.row)
        cut = self.row is not None and self.rank > 1
        if (self.wanted, cut) in done:
            return done[(self.wanted, cut)]
        value = done[(self.wanted, False)] if (self.wanted, False) in done else planted.values[self.wanted]
        return row_of(value, self.row, self.rank) if cut else value  # pyright: ignore
