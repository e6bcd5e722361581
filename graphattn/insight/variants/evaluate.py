"""What a variant computes: only what lies below its changes, and of that, if asked, only what one row needs.

    evaluate(intended, rewrite, [ref], row=2)  →  [the row 2 of that tensor, as a tensor of one row]

Records are taken on demand from the results that are asked for, so that a node may read a tensor that comes
later in the intended order; one that would read what is computed from it is refused. Shapes are inferred
again below a change. Raises a `GraphError` for a variant that is no graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...core.axes import Spec
from ...core.errors import GraphError
from ...core.graph import Node, Ref
from .draft import Rewrite
from .intended import Call, Intended
from .rows import row_of, spread
from .tail import Tail, Values, tail_of

Disturb = Callable[[Node, Any], Any]


def evaluate(
    intended: Intended, rewrite: Rewrite, wanted: Sequence[Ref], row: int | None = None,
    disturb: Disturb | None = None,
) -> list[Any]:  # fmt: skip
    """The values of tensors of the variant, by their refs in the intended graph. With `row`, that row alone of
    each tensor of rank 2 or more (as a tensor with one row). `disturb` is applied to every result, and then
    everything is computed again."""
    return _Evaluation(intended, rewrite, disturb).values([rewrite.now(ref) for ref in wanted], row)


def specs(intended: Intended, rewrite: Rewrite, wanted: Sequence[Ref]) -> list[Spec]:
    """Shapes, axes and kinds of tensors of the variant."""
    run = _Evaluation(intended, rewrite, None)
    refs = [rewrite.now(ref) for ref in wanted]
    run.prepare(ref.node for ref in refs)
    return [run.spec(ref) for ref in refs]


class _Evaluation:
    def __init__(self, intended: Intended, rewrite: Rewrite, disturb: Disturb | None) -> None:
        self.intended = intended
        self.records = rewrite.nodes
        self.disturb = disturb
        self.nodes = intended.graph.nodes
        self.changed = frozenset(name for name in rewrite.nodes if name in intended.order)
        self.dirty = intended.all_below(self.changed)
        self.done: Values = {}
        self._begin()

    def _begin(self) -> None:
        self.calls: dict[str, Call] = {}
        self.reshaped: set[str] = set()
        """Nodes that the intended graph does not have, or has with results of other shapes."""
        self.order: list[str] = []

    def values(self, refs: Sequence[Ref], row: int | None) -> list[Any]:
        tail = None if self.disturb is not None else self._tail(refs, row)
        if tail is None:
            self._begin()
            self.prepare(ref.node for ref in refs)
        narrow = self._narrow(refs, tail) if row is not None else {}
        for name in self.order:
            self._compute(name, row, narrow)
        if tail is not None:
            self._cut_heads(tail, row)
            tail.fill(self.done)
        return [self._value(ref, row if self._rows(ref) else None) for ref in refs]

    def _tail(self, refs: Sequence[Ref], row: int | None) -> Tail | None:
        """What follows the changed nodes, these themselves prepared; None where it is not what it was: where a
        shape is another, or a changed node reads what lies below one."""
        tail = tail_of(self.intended, self.changed, refs, row)
        self.prepare(tail.heads)
        if all(name in self.records for name in self.order) and self.reshaped.isdisjoint(tail.read):
            return tail
        return None

    def _cut_heads(self, tail: Tail, row: int | None) -> None:
        """One row of those changed nodes of which one will do, but that had to be computed whole."""
        for name in tail.read:
            if tail.heads[name] and (Ref(name), True) not in self.done:
                for port, spec in enumerate(self.calls[name].outputs):
                    if spec.rank > 1:
                        ref = Ref(name, port)
                        self.done[(ref, True)] = self._value(ref, row)

    def _rows(self, ref: Ref) -> bool:
        return self.spec(ref).rank > 1

    # ------------------------------------------------------------ what is to be computed, in which shapes

    def record(self, name: str) -> Node:
        return self.records.get(name) or self.nodes[name]

    def is_clean(self, name: str) -> bool:
        """Whether a node's value is that of the intended graph."""
        if name in self.records:
            return False
        if self.disturb is not None:
            return False
        return not self.dirty >> self.intended.order[name] & 1

    def spec(self, ref: Ref) -> Spec:
        call = self.calls.get(ref.node)
        if call is not None:
            if ref.port >= len(call.outputs):
                raise GraphError(f"node {ref.node!r} has {len(call.outputs)} outputs; expected more")
            return call.outputs[ref.port]
        return self.nodes[ref.node].outputs[ref.port]

    def prepare(self, wanted: Iterable[str]) -> None:
        """Find the nodes to compute, producers first, and how each is called. (An inner loop of a search:
        `is_clean` is asked once of each node, and written out.)"""
        records, nodes, place, dirty = self.records, self.nodes, self.intended.order, self.dirty
        everything = self.disturb is not None
        state: dict[str, bool] = {}  # whether a node is done, or clean; False while it waits
        stack = [name for name in wanted if not self.is_clean(name)]
        while stack:
            name = stack[-1]
            if state.get(name):
                stack.pop()
                continue
            record = records.get(name) or nodes[name]
            missing = []
            for ref in record.operands:
                if ref is None:
                    continue
                other = ref.node
                known = state.get(other)
                if known is None and not (everything or other in records or dirty >> place[other] & 1):
                    state[other] = known = True
                if known is False:
                    raise GraphError(f"node {name!r} would read what is computed from it")
                if not known:
                    missing.append(other)
            if missing:
                state[name] = False
                stack += missing
                continue
            state[name] = True
            self.order.append(name)
            self.calls[name] = self._call(record)
            stack.pop()

    def _call(self, record: Node) -> Call:
        """How a node is called: as in the intended graph, unless it or the shape of an operand is changed."""
        name = record.name
        same = name not in self.records
        if same and self.reshaped:
            same = not any(ref is not None and ref.node in self.reshaped for ref in record.operands)
        if same:
            kept = self.intended.calls.get(name)
            if type(kept) is Call:
                return kept
        operands = [None if ref is None else self.spec(ref) for ref in record.operands]
        call = self.intended.call(record.op, operands, record.attributes, name if same else "")
        before = self.nodes.get(name)
        if before is None or [_shape(s) for s in call.outputs] != [_shape(s) for s in before.outputs]:
            self.reshaped.add(name)
        return call

    # ------------------------------------------------------------ which rows are needed

    def _narrow(self, refs: Sequence[Ref], tail: Tail | None) -> dict[str, bool]:
        """For each node to compute, whether one row of its results will do."""
        narrow: dict[str, bool] = {} if tail is None else dict(tail.heads)
        for ref in refs:
            narrow[ref.node] = narrow.get(ref.node, True) and self._rows(ref)
        spread(narrow, reversed(self.order), self.calls, lambda name: self.record(name).operands, self.calls)
        return narrow

    def _compute(self, name: str, row: int | None, narrow: dict[str, bool]) -> None:
        record, call = self.record(name), self.calls[name]
        single = call.by_row if narrow.get(name) else None
        if record.op.fed:
            found: Sequence[Any] = [self.intended.values[Ref(name)]]
        elif single is not None:
            local, by_row = single
            found = by_row(
                [
                    None if ref is None else self._value(ref, row if here else None)
                    for ref, here in zip(record.operands, local, strict=True)
                ]
            )
        else:
            found = call([None if ref is None else self._value(ref, None) for ref in record.operands])
        if self.disturb is not None:
            found = [self.disturb(record, value) for value in found]
        for port, value in enumerate(found):
            self.done[(Ref(name, port), single is not None)] = value

    def _value(self, ref: Ref, row: int | None) -> Any:
        """The value of a tensor, or of one row of it."""
        if (ref, True) in self.done:
            return self.done[(ref, True)]
        value = self.done[(ref, False)] if (ref, False) in self.done else self.intended.values[ref]
        return value if row is None else row_of(value, row, self.spec(ref).rank)


def _shape(spec: Spec) -> tuple[tuple[int, ...], str]:
    return spec.shape, spec.kind
