"""What one variant computes, planned: its changed and new nodes on demand, and by tails what lies between and
below them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from ....core.axes import Spec
from ....core.errors import GraphError
from ....core.graph import Node, Ref
from ..intended import Call, Intended, alike, called
from ..structure.rows import carry, row_of
from .sieve import Sieve
from .tail import Result, Step, Tail, Values, tail_of

Item = str | Ref
"""What is computed: a changed or new node, or a tensor below one, by its tail."""


class Planned:
    """The changed and new nodes, and by tails what lies between and below them: the inner loop of a search."""

    def __init__(
        self, intended: Intended, records: Mapping[str, Node], refs: tuple[Ref, ...], row: int | None
    ) -> None:
        self.intended = intended
        self.records = records
        self.refs = refs
        self.row = row
        self.changed = frozenset(records.keys() & intended.order.keys())
        self.tail = tail_of(intended, self.changed, refs, row)
        self.order: list[Item] = []
        """What is computed before the tail, in this order."""
        self.calls: dict[Item, Call | None] = {}
        """How each node is called; None for a tensor."""
        self.done: Values = {}

    def prepare(self) -> bool:
        """Find what to compute, producers first, and how each node is called. Whether all that tails read has
        the shape that it should have."""
        calls, records = self.calls, self.records
        waiting: set[Item] = set()
        stack: list[Item] = list(reversed(self.tail.heads))
        while stack:
            item = stack[-1]
            if item in calls:
                stack.pop()
                continue
            if isinstance(item, str):
                given, missing = self._given(records[item])
            else:
                given, missing = [], [head for head in self._tail_to(item).heads if head not in calls]
            if missing:
                if not waiting.isdisjoint(missing):
                    raise GraphError(f"node {item!r} would read what is computed from it")
                waiting.add(item)
                stack += missing
                continue
            if isinstance(item, str):
                calls[item] = called(self.intended, records[item], given)
            elif self._reshaped(self._tail_to(item)):
                return False
            else:
                calls[item] = None
            self.order.append(item)
            stack.pop()
        return not self._reshaped(self.tail)

    def _given(self, record: Node) -> tuple[list[Spec | None], list[Item]]:
        """The operands of a node, and those that are to be prepared before it."""
        known, place, dirty = self.intended.specs, self.intended.order, self.tail.dirty
        calls, records = self.calls, self.records
        given: list[Spec | None] = []
        missing: list[Item] = []
        for ref in record.operands:
            if ref is None:
                given.append(None)
            elif ref.node in records:
                call = calls.get(ref.node)
                if call is None:
                    missing.append(ref.node)
                elif ref.port >= len(call.outputs):
                    raise GraphError(f"node {ref.node!r} has {len(call.outputs)} outputs; expected more")
                else:
                    given.append(call.outputs[ref.port])
            else:
                if dirty >> place[ref.node] & 1 and ref not in calls:
                    missing.append(ref)
                given.append(known[ref])
        return given, missing

    def _reshaped(self, tail: Tail) -> bool:
        """Whether a changed node that a tail reads has results of other shapes."""
        calls, nodes = self.calls, self.intended.nodes
        for name in tail.read:
            made, before = calls[name], nodes[name].outputs
            assert made is not None
            if made.outputs is not before and not alike(made.outputs, before):
                return True
        return False

    def _tail_to(self, ref: Ref, row: int | None = None) -> Tail:
        return tail_of(self.intended, self.changed, (ref,), row)

    def run(self, sieve: Sieve | None = None) -> bool:
        """Compute it all; False where the sieve knows what comes of it, or sees early what does not."""
        early = None if sieve is None else sieve.early(self.tail)
        if early is None:
            self._compute_all(self.order)
            return self._fill(self.tail, sieve)
        first = 1 + max(map(self.order.index, early.heads), default=-1)
        self._compute_all(self.order[:first])
        self._fill(self.tail, end=early.steps)
        if early.refuses(self.done):
            return False
        self._compute_all(self.order[first:])
        return self._fill(self.tail, start=early.steps)

    def _compute_all(self, items: Sequence[Item]) -> None:
        single = self.single if items else {}
        for item in items:
            if isinstance(item, str):
                self._compute(item, single.get(item, False))
            else:
                self._fill(self._tail_to(item, self.row if single.get(item) else None))

    @cached_property
    def single(self) -> dict[Item, bool]:
        """For each item, whether one row of its results will do."""
        calls, row = self.calls, self.row
        if row is None:
            return {}
        single: dict[Item, bool] = dict(self.tail.heads)  # pyright: ignore
        for ref in self.refs:
            if ref.node in calls:
                single[ref.node] = single[ref.node] and self.spec(ref).rank > 1
        for item in reversed(self.order):
            call = calls[item]
            if call is not None:
                read = [
                    None if ref is None else ref.node if ref.node in calls else ref if ref in calls else None
                    for ref in self.records[item].operands  # pyright: ignore
                ]
                carry(single, item, call, read)
            else:
                tail = self._tail_to(item, row if single.get(item, True) else None)  # pyright: ignore
                for head, one in tail.heads.items():
                    single[head] = single.get(head, True) and one
        return single

    def _compute(self, name: str, single: bool) -> None:
        record, call = self.records[name], self.calls[name]
        assert call is not None
        if record.op.fed:
            found: Sequence[Any] = [self.intended.values[Ref(name)]]
        elif single:
            local, call = call.by_row  # pyright: ignore
            found = call(
                [
                    None if ref is None else self._value(ref, here)
                    for ref, here in zip(record.operands, local, strict=True)
                ]
            )
        else:
            found = call([None if ref is None else self._value(ref, False) for ref in record.operands])
        for port, value in enumerate(found):
            self.done[(Ref(name, port), single)] = value

    def _fill(
        self, tail: Tail, sieve: Sieve | None = None, start: int = 0, end: int | None = None
    ) -> bool:  # fmt: skip
        """Steps of a tail, and before them one row of those changed nodes of which one will do, but that had to
        be computed whole."""
        done = self.done
        for name in tail.read:
            if tail.heads[name] and (Ref(name), False) in done and (Ref(name), True) not in done:
                for port, spec in enumerate(self.calls[name].outputs):  # pyright: ignore
                    if spec.rank > 1:
                        ref = Ref(name, port)
                        done[(ref, True)] = row_of(done[(ref, False)], tail.row, spec.rank)  # pyright: ignore
        return tail.fill(done, None if sieve is None else sieve.knows, start, end)

    def steps(self) -> list[Step]:
        """What is computed before the tail, and cut for it, as steps like those of a tail: the rest of the
        graph may then have other values. After `prepare`."""
        steps: list[Step] = []
        made: set[Result] = set()

        def add(step: Step) -> None:
            steps.append(step)
            made.update(step.results)

        for item in self.order:
            if isinstance(item, str):
                add(self._step(item, made))
            else:
                tail = self._tail_to(item, self.row if self.single.get(item) else None)
                for step in (*self._cuts(tail, made), *tail.steps):
                    add(step)
        return [*steps, *self._cuts(self.tail, made)]

    def _step(self, name: str, made: Collection[Result]) -> Step:
        """A changed or new node."""
        record, call, single = self.records[name], self.calls[name], self.single.get(name, False)
        assert call is not None
        local, function = (False,) * len(record.operands), call.function
        if single:
            local, function = call.by_row[0], call.by_row[1].function  # pyright: ignore
        open_: list[tuple[int, Result, int]] = []
        known: list[tuple[int, Ref, int]] = []
        for slot, (ref, here) in enumerate(zip(record.operands, local, strict=True)):
            if ref is None:
                continue
            if (ref, here) in made:
                open_.append((slot, (ref, here), 0))
            elif (ref, False) in made:
                open_.append((slot, (ref, False), self.spec(ref).rank))
            else:
                known.append((slot, ref, self.spec(ref).rank if here else 0))
        results = tuple((Ref(name, port), single) for port in range(len(call.outputs)))
        if record.op.fed:
            return Step(_same, results, [None], (), False, ((0, Ref(name), 0),))
        return Step(function, results, [None] * len(record.operands), tuple(open_), False, tuple(known))

    def _cuts(self, tail: Tail, made: Collection[Result]) -> Iterator[Step]:
        """One row of those changed nodes of which one will do, but that are computed whole."""
        for name in tail.read:
            if tail.heads[name] and (Ref(name), False) in made and (Ref(name), True) not in made:
                for port, spec in enumerate(self.calls[name].outputs):  # pyright: ignore
                    if spec.rank > 1:
                        ref = Ref(name, port)
                        yield Step(_same, ((ref, True),), [None], ((0, (ref, False), spec.rank),), True, ())

    def spec(self, ref: Ref) -> Spec:
        call = self.calls.get(ref.node)
        return self.intended.specs[ref] if call is None else call.outputs[ref.port]

    def _value(self, ref: Ref, single: bool) -> Any:
        """The value of a tensor, or of one row of it."""
        done = self.done
        if single and (ref, True) in done:
            return done[(ref, True)]
        value = done[(ref, False)] if (ref, False) in done else self.intended.values[ref]
        return row_of(value, self.row, self.spec(ref).rank) if single else value  # pyright: ignore

    def results(self) -> list[Any]:
        return [self._value(ref, self.row is not None and self.spec(ref).rank > 1) for ref in self.refs]


def _same(value: Any) -> Any:
    return value
