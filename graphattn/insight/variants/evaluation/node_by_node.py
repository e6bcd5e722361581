"""Everything below a change, node by node, with shapes inferred again: what `evaluate` does where a change
gives its results another shape, and where every result is disturbed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ....core.axes import Spec
from ....core.errors import GraphError
from ....core.graph import Node, Ref
from ..intended import Call, Intended
from ..structure.rows import carry, row_of
from .tail import Values

Disturb = Callable[[Node, Any], Any]


class NodeByNode:
    """The values of one variant. `disturb` is applied to every result: then all is computed again."""

    def __init__(self, intended: Intended, records: Mapping[str, Node], disturb: Disturb | None = None) -> None:
        self.intended = intended
        self.records = records
        self.disturb = disturb
        self.nodes = intended.nodes
        self.dirty = intended.all_below(name for name in records if name in intended.order)
        self.done: Values = {}
        self.calls: dict[str, Call] = {}
        self.reshaped: set[str] = set()
        """Nodes that the intended graph does not have, or has with results of other shapes."""
        self.order: list[str] = []

    def values(self, refs: Sequence[Ref], row: int | None) -> list[Any]:
        """The values of tensors, or their rows `row`."""
        self.prepare(ref.node for ref in refs)
        narrow = self._narrow(refs) if row is not None else {}
        for name in self.order:
            self._compute(name, row, narrow)
        return [self._value(ref, row if self._rows(ref) else None) for ref in refs]

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
            return self.intended.call_of(name)
        operands = [None if ref is None else self.spec(ref) for ref in record.operands]
        call = self.intended.call(record.op, operands, record.attributes)
        before = self.nodes.get(name)
        if before is None or [_shape(s) for s in call.outputs] != [_shape(s) for s in before.outputs]:
            self.reshaped.add(name)
        return call

    # ------------------------------------------------------------ which rows are needed

    def _narrow(self, refs: Sequence[Ref]) -> dict[str, bool]:
        """For each node to compute, whether one row of its results will do."""
        narrow: dict[str, bool] = {}
        for ref in refs:
            narrow[ref.node] = narrow.get(ref.node, True) and self._rows(ref)
        for name in reversed(self.order):
            read = [
                None if r is None or r.node not in self.calls else r.node for r in self.record(name).operands
            ]
            carry(narrow, name, self.calls[name], read)
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
