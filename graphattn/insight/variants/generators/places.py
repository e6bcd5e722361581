"""Positions of a part of the stream for another: a class token without one, one place on, one for all; and ids
in the place of positions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise

from ....core import nested
from ....core.graph import Node, Ref
from ..draft import Draft
from ..intended import Intended
from ..structure.groups import Group
from ..variant import Option, Variant, each, like, of_parameters, one, tensor

Rows = Callable[[Draft, Node, Ref], Ref]
"""Makes of a table another with as many rows."""


def places(intended: Intended, group: Group) -> Iterator[Variant]:
    yield from each("places", _options, intended, group)
    if len(group) == 1:
        yield from _of_ids(intended, intended.nodes[group[0]])


def _options(intended: Intended, node: Node) -> Iterator[Option]:
    made = node.outputs[0]
    if node.op.family == "add" and made.rank > 1 and len(node.operands) == 2 and not intended.is_inside(node):
        for slot, ref in enumerate(node.operands):
            if ref is not None and _is_table(intended, ref) and intended.spec(ref).shape == made.shape[-2:]:
                yield from _added(intended, slot, ref)
    yield from _counted(intended, node)
    yield from _around(intended, node)


def _is_table(intended: Intended, ref: Ref) -> bool:
    """Whether a tensor is a parameter, rows of one, or known."""
    node = intended.nodes[ref.node]
    if intended.spec(ref).kind != "float":
        return False
    if node.op.fed:
        return node.op.drawn == "inside"
    return intended.is_known(node.name) or (node.op.moves and of_parameters(intended, node))


def _added(intended: Intended, slot: int, ref: Ref) -> Iterator[Option]:
    """What each row of the stream is given of a table."""
    if intended.spec(ref).shape[0] < 2:
        return
    ways: list[tuple[str, float, Rows]] = [
        (f"with {{{slot}}} added in {{the}} from row 1 on, nothing to row 0", 1.4, _without_first),
        (f"with {{{slot}}} added in {{the}} from row 1 on, its row 0 to row 1", 1.45, _one_later),
    ]
    if intended.nodes[ref.node].op.fed:  # of other tables it is tried there
        words = f"with row 0 of {{{slot}}} added to every row in {{the}}"
        ways.append((words, 1.5, partial(_first, count=intended.spec(ref).shape[0])))
    for words, price, rows in ways:
        yield Option((slot, words), words, price, lambda d, n, s=slot, make=rows: _put(d, n, s, make))


def _put(draft: Draft, node: Node, slot: int, rows: Rows) -> None:
    ref = draft.node(node.name).operands[slot]
    assert ref is not None
    draft.operand(node, slot, rows(draft, node, ref))


def _without_first(draft: Draft, node: Node, ref: Ref) -> Ref:
    later = draft.add("slice", [ref], {"at": "1:"}, near=node, name="later")
    return draft.add("pad", [later], {"before": 1, "after": 0, "axis": 0}, near=node, name="without_first")


def _one_later(draft: Draft, node: Node, ref: Ref) -> Ref:
    earlier = draft.add("slice", [ref], {"at": ":-1"}, near=node, name="earlier")
    return draft.add("pad", [earlier], {"before": 1, "after": 0, "axis": 0}, near=node, name="one_later")


def _first(draft: Draft, node: Node, ref: Ref, count: int) -> Ref:
    row = draft.add("slice", [ref], {"at": ":1"}, near=node, name="first")
    return draft.add("concat", [row] * count, {"axis": 0}, near=node, name="for_all")


def _counted(intended: Intended, node: Node) -> Iterator[Option]:
    """Ids in the place of positions that are counted: 0, 1, 2, …"""
    spec = node.outputs[0] if len(node.ports) == 1 else None
    if spec is None or node.operands or node.op.fed or spec.kind == "bool" or spec.size < 2:
        return
    at = list(nested.flat(intended.values[Ref(node.name)]))
    if any(b - a != 1 for a, b in pairwise(at)):
        return
    for name in _ids(intended, spec.size):
        words = f"with {name}, not positions, as {{the}}"
        yield Option(("ids", name), words, 1.4, lambda d, n, i=name: _by_ids(d, n, i))


def _ids(intended: Intended, size: int) -> Iterator[str]:
    for node in intended.nodes.values():
        if node.op.fed and node.outputs[0].kind == "int" and node.outputs[0].shape == (size,):
            yield node.name


def _by_ids(draft: Draft, node: Node, name: str) -> None:
    spec = node.outputs[0]
    ids = draft.intended.values[Ref(name)]
    table = tuple((float(i),) for i in range(max(ids, default=0) + 1))
    made = Ref(name)
    if spec.kind == "float":
        counted = draft.add("constant", [], {"value": table}, near=node, name="numbers")
        made = draft.add("embedding", [counted, made], near=node, name="of_ids")
    draft.redirect(Ref(node.name), draft.add("reshape", [made], {"shape": spec.shape}, near=node, name="ids"))


def _looked_up(intended: Intended, node: Node) -> tuple[Ref, Ref] | None:
    """(table, ids) of a step that takes rows of parameters by ids."""
    if not node.op.moves or len(node.operands) != 2 or None in node.operands:
        return None
    table, ids = (ref for ref in node.operands if ref is not None)
    is_table = intended.nodes[table.node].op.drawn == "inside" and intended.spec(table).rank == 2
    found = is_table and intended.spec(ids).kind == "int" and intended.nodes[ids.node].op.fed
    return (table, ids) if found else None


def _around(intended: Intended, node: Node) -> Iterator[Option]:
    """Ids one more or less where that is outside the table: around its end, as a negative index counts."""
    found = _looked_up(intended, node)
    if found is None:
        return
    table, ids = found
    rows = intended.spec(table).shape[0]
    given = list(nested.flat(intended.values[ids]))
    for step, told in ((1, "more"), (-1, "less")):
        if rows > 1 and any(not 0 <= i + step < rows for i in given):
            words = f"with {{1}} one {told} in {{the}}, around the end of {{0}}"
            yield Option(("around", step), words, 1.35, lambda d, n, s=step: _rolled(d, n, s))


def _rolled(draft: Draft, node: Node, step: int) -> None:
    table = draft.node(node.name).operands[0]
    parts = [draft.add("slice", [table], {"at": at}, near=node, name="rows") for at in (f"{step}:", f":{step}")]
    draft.operand(node, 0, draft.add("concat", parts, {"axis": 0}, near=node, name="around"))


def _of_ids(intended: Intended, node: Node) -> Iterator[Variant]:
    """Rows 0 to n − 1 of a table taken by ids, as tokens are; and tokens by position instead."""
    source = node.operands[0] if len(node.operands) == 1 and len(node.ports) == 1 else None
    if source is None or not node.op.moves or intended.spec(source).rank != 2:
        return
    made, maker = node.outputs[0], intended.nodes[source.node]
    if not maker.op.fed or maker.op.drawn != "inside" or made.shape[1:] != intended.spec(source).shape[1:]:
        return
    for other in intended.nodes.values():
        found = _looked_up(intended, other)
        if found is None or not like(other.outputs[0], made):
            continue
        ids = tensor(intended, found[1])

        def by_ids(draft: Draft, ids: Ref = found[1]) -> None:
            draft.redirect(Ref(node.name), draft.add("embedding", [source, ids], near=node, name="by_ids"))

        def exchanged(draft: Draft, other: Node = other, table: Ref = found[0], act=by_ids) -> None:
            act(draft)
            first = draft.add(node.op, [table], node.attributes, near=other, name="by_place")
            draft.redirect(Ref(other.name), first)

        name = tensor(intended, source)
        words = f"with {ids} in the place of positions for {name}"
        yield Variant("places", words, 1.4, (node.name,), one(intended, by_ids))
        words = f"with {ids} and positions exchanged: {name} by {ids}, {tensor(intended, found[0])} by position"
        yield Variant("places", words, 1.4, (node.name, other.name), one(intended, exchanged))
