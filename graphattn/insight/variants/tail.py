"""What is computed below a set of changed nodes: the same for every variant that changes these, as long as
their results keep their shapes. Planned once, so that a search pays for the arithmetic alone.

    tail = tail_of(intended, {"scaled"}, [out], row=2)
    tail.heads              which of the changed nodes it reads: {name: whether one row of it will do}
    tail.fill(values)       adds the results of its nodes to those of the heads
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from ...core.graph import Ref
from .intended import Call, Intended
from .rows import row_of, spread

Values = dict[tuple[Ref, bool], Any]
"""Results by tensor, and whether it is one row of it."""


@dataclass(frozen=True)
class Step:
    """One node: what it is called on is known (`known`) but for what is computed below the change (`open`)."""

    call: Call
    results: tuple[tuple[Ref, bool], ...]
    known: list[Any]
    open: tuple[tuple[int, tuple[Ref, bool], int], ...]
    """(slot, which result, the rank of the tensor of which one row is cut; 0 = all of it)."""


@dataclass(frozen=True)
class Tail:
    """See the module's docstring."""

    heads: dict[str, bool]
    read: frozenset[str]
    """The heads that the nodes of the tail read."""
    steps: list[Step]
    row: int | None

    def fill(self, values: Values) -> None:
        """Raises a `GraphError` for numbers that an op cannot take."""
        for step in self.steps:
            operands = step.known[:]
            for slot, result, rank in step.open:
                value = values[result]
                operands[slot] = row_of(value, self.row, rank) if rank else value  # pyright: ignore
            for result, value in zip(step.results, step.call(operands)):
                values[result] = value


def tail_of(intended: Intended, changed: frozenset[str], refs: Sequence[Ref], row: int | None) -> Tail:
    """The nodes between those of the intended graph that are changed and the tensors that are asked for."""
    key = (changed, tuple(refs), row)
    if key not in intended.tails:
        intended.tails[key] = _planned(intended, changed, refs, row)
    return intended.tails[key]


def _planned(intended: Intended, changed: Collection[str], refs: Sequence[Ref], row: int | None) -> Tail:
    nodes, order, dirty = intended.graph.nodes, intended.order, intended.all_below(changed)
    heads: dict[str, None] = {}
    found: set[str] = set()
    stack = [ref.node for ref in refs]
    while stack:
        name = stack.pop()
        if name in changed or name not in order:
            heads[name] = None
        elif name not in found and dirty >> order[name] & 1:
            found.add(name)
            stack += [ref.node for ref in nodes[name].operands if ref is not None]
    names = sorted(found, key=order.__getitem__)
    calls = {name: intended.call_of(name) for name in names}
    single = _by_rows(intended, calls, heads, refs, row)
    steps = [_step(intended, name, calls, single, row) for name in names]
    read = frozenset(ref.node for name in names for ref in nodes[name].operands if ref and ref.node in heads)
    return Tail({name: single.get(name, row is not None) for name in heads}, read, steps, row)


def _by_rows(
    intended: Intended, calls: dict[str, Call], heads: Collection[str], refs: Sequence[Ref], row: int | None
) -> dict[str, bool]:
    """For each node of the tail and its heads, whether one row of its results will do."""
    single: dict[str, bool] = {}
    if row is None:
        return dict.fromkeys((*calls, *heads), False)
    for ref in refs:
        if ref.node in calls:
            single[ref.node] = single.get(ref.node, True) and intended.spec(ref).rank > 1
    nodes = intended.graph.nodes
    spread(single, reversed(calls), calls, lambda name: nodes[name].operands, {*calls, *heads})
    return single


def _step(
    intended: Intended, name: str, calls: dict[str, Call], single: dict[str, bool], row: int | None
) -> Step:
    node, call = intended.graph.nodes[name], calls[name]
    key = (name, row, single[name], *(None if ref is None else single.get(ref.node) for ref in node.operands))
    if key in intended.tails:
        return intended.tails[key]
    local: Sequence[bool] = (False,) * len(node.operands)
    if single[name]:
        assert call.by_row is not None
        local, call = call.by_row
    known: list[Any] = []
    more: list[tuple[int, tuple[Ref, bool], int]] = []
    for slot, (ref, here) in enumerate(zip(node.operands, local, strict=True)):
        known.append(None)
        if ref is not None and ref.node in single:
            cut = here and not single[ref.node]
            more.append((slot, (ref, single[ref.node]), intended.spec(ref).rank if cut else 0))
        elif ref is not None:
            value = intended.values[ref]
            known[slot] = row_of(value, row, intended.spec(ref).rank) if here else value  # pyright: ignore
    results = tuple((Ref(name, port), single[name]) for port in range(len(node.ports)))
    step = intended.tails[key] = Step(call, results, known, tuple(more))
    return step
