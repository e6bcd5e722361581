"""Rows of a cache go through what is done to new rows by their positions, with tables of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....core.graph import Node, Ref
from ..draft import Draft
from ..intended import Intended

STEPS = 4


def by_position(intended: Intended, ref: Ref) -> list[Node]:
    """The steps before a tensor, in order, from rows of features on that go through a step with tables
    that are known; none where there is no such step."""
    chain: list[Node] = []
    turned = False
    for _ in range(STEPS):
        node = intended.nodes[ref.node]
        first, *tables = node.operands or (None,)
        if first is None or not (tables or node.op.moves):
            return []
        if not all(other is not None and intended.is_known(other.node) for other in tables):
            return []
        chain.insert(0, node)
        turned, ref = turned or bool(tables), first
        if turned and intended.spec(ref).rank == 2:
            return chain
    return []


def through(draft: Draft, near: Node, ref: Ref, chain: Sequence[Node], more: int, rows: int, first: int) -> Ref:
    """A tensor through the steps that new rows go through, with tables of its own positions."""
    went: dict[Ref, Ref] = {}

    def table(old: Ref) -> Ref:
        if old not in went:
            maker = draft.graph.nodes[old.node]
            given = _sized(maker, more, rows)
            given |= {k: v for k, v in (("n", rows), ("offset", first)) if k in given and not maker.operands}
            operands = [None if other is None else table(other) for other in maker.operands]
            made = draft.add(maker.op, operands, given, near=near, name="of_rows")
            went.update({Ref(old.node, port): Ref(made.node, port) for port in range(len(maker.ports))})
        return went[old]

    for step in chain:
        operands = [ref, *(None if other is None else table(other) for other in step.operands[1:])]
        ref = draft.add(step.op, operands, _sized(step, more, rows), near=near, name="again")
    return ref


def _sized(node: Node, more: int, rows: int) -> dict[str, Any]:
    """The attributes of a step for another number of rows: in its shape, the first size that is theirs."""
    given = dict(node.attributes)
    shape = given.get("shape")
    if isinstance(shape, tuple) and more in shape:
        place = shape.index(more)
        given["shape"] = (*shape[:place], rows, *shape[place + 1 :])
    return given
