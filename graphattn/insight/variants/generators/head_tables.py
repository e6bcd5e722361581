"""A table that all heads share, such as the angles of a rotary: taken by the number of the head instead of the
position, as where heads and tokens are not exchanged before; with all heads taken as one row, before they are
cut; or made for more features than a head has, of which it takes the first.

The heads are an axis of what the step takes, (n, h, d_k) or (h, n, d_k), along which the table is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ....core.axes import Spec
from ....core.errors import GraphError
from ....core.graph import Node, Ref
from ..draft import Draft
from ..intended import Intended
from ..structure.groups import Group
from ..variant import Option, Variant, each, like, maker
from .full_width import CELLS


class Turn(NamedTuple):
    """How a step takes tables: which slots, whether tokens come before heads, and the sizes."""

    slots: tuple[int, ...]
    tokens_first: bool
    lead: tuple[int, ...]
    tokens: int
    heads: int
    width: int
    half: int
    """Cells in a row of a table."""


def head_tables(intended: Intended, group: Group) -> Iterator[Variant]:
    yield from each("head tables", _options, intended, group)


def _options(intended: Intended, node: Node) -> Iterator[Option]:
    turn = _turn(intended, node)
    if turn is not None:
        words = "with {the} by the number of the head, not by position"
        yield Option("by head", words, 1.3, lambda d, n: _by_head(d, n, turn))
        words = "with {the} over the full width, before the heads are cut"
        yield Option("full width", words, 1.25, lambda d, n: _full_width(d, n, turn))
    elif _is_sized(node):
        yield from _wider(intended, node)
    elif _is_by_head(intended, node):
        words = "with {the} over the full width, before the heads are cut"
        yield Option("full width", words, 0.95, _at_once)


def _is_by_head(intended: Intended, node: Node) -> bool:
    """Whether a step takes each head by itself, with parameters that all heads share, and more than cell by
    cell: a norm of queries (n, h, d_k)."""
    x = node.operands[0] if node.operands else None
    if x is None or len(node.ports) > 1 or node.op.moves or node.op.family in CELLS:
        return False
    spec, others = intended.spec(x), [ref for ref in node.operands[1:] if ref is not None]
    if spec.rank < 3 or spec.axes[-2] != "head" or not like(spec, node.outputs[0]):
        return False
    return all(intended.spec(ref).shape == spec.shape[-1:] for ref in others)


def _at_once(draft: Draft, node: Node) -> None:
    *lead, heads, width = node.outputs[0].shape
    now = draft.node(node.name)
    whole = {"shape": (*lead, heads * width)}
    x = draft.add("reshape", now.operands[:1], whole, near=node, name="side_by_side")
    rest = [
        None if ref is None else draft.add("concat", [ref] * heads, {"axis": -1}, near=node, name="repeated")
        for ref in now.operands[1:]
    ]
    made = draft.add(now.op, [x, *rest], now.attributes, near=node, name="at_once")
    shape = {"shape": (*lead, heads, width)}
    draft.redirect(Ref(node.name), draft.add("reshape", [made], shape, near=node, name="parts"))


def _is_sized(node: Node) -> bool:
    """Whether a node is a table that is made for given sizes."""
    return not node.operands and not node.op.fed and any(type(v) is int for v in node.attributes.values())


def _wider(intended: Intended, node: Node) -> Iterator[Option]:
    """A table made for another width, all of it or its first columns."""
    for name, size in intended.sizes:
        for key, value in node.attributes.items() if name[0] == "d" else ():
            if type(value) is not int or size <= value:
                continue
            try:
                made = intended.call(node.op, [], {**node.attributes, key: size}).outputs
            except GraphError:
                continue
            specs = list(zip(made, node.outputs, strict=True))
            if all(a.shape[:-1] == b.shape[:-1] and a.shape[-1:] > b.shape[-1:] for a, b in specs):
                wide = f"2·{value}" if size == 2 * value and "/" in name else name
                told = f"made for {key}={wide} = {size}, not {value}"
                words, sizes = f"with the first columns of {{the}} {told}", {key: size}
                yield Option(("wider", key, size), words, 1.09, lambda d, n, v=sizes: _cut(d, n, v))
                words = f"with {{the}} {told}"
                yield Option(("all", key, size), words, 1.05, lambda d, n, v=sizes, w=made: _whole(d, n, v, w))


def _cut(draft: Draft, node: Node, sizes: dict[str, int]) -> None:
    wide = draft.add(node.op, [], {**node.attributes, **sizes}, near=node, name="wide")
    for port, spec in enumerate(node.outputs):
        at = {"at": f"..., :{spec.shape[-1]}"}
        first = draft.add("slice", [Ref(wide.node, port)], at, near=node, name="first")
        draft.redirect(Ref(node.name, port), first)


def _whole(draft: Draft, node: Node, sizes: dict[str, int], made: Sequence[Spec]) -> None:
    """Steps that lay the table out say how wide it is."""
    draft.change(node, attributes=sizes)
    todo = [(Ref(node.name, port), spec.shape[-1]) for port, spec in enumerate(made)]
    while todo:
        ref, width = todo.pop()
        for name, _ in draft.intended.users.get(ref, ()):
            reader = draft.graph.nodes[name]
            shape = reader.attributes.get("shape")
            if reader.op.moves and isinstance(shape, tuple) and shape[-1:] == draft.graph.spec(ref).shape[-1:]:
                draft.change(reader, attributes={"shape": (*shape[:-1], width)})
                todo.append((Ref(name), width))


def _turn(intended: Intended, node: Node) -> Turn | None:
    if len(node.ports) != 1 or not node.operands or node.operands[0] is None or node.op.moves:
        return None
    spec, made = intended.spec(node.operands[0]), node.outputs[0]
    slots = tuple(
        slot for slot, ref in enumerate(node.operands)
        if slot and ref is not None and intended.spec(ref).rank > 1
        and _is_sized(intended.nodes[maker(intended, ref)])
    )  # fmt: skip
    if spec.rank < 3 or not like(spec, made) or not slots:
        return None
    shapes = {intended.spec(node.operands[slot]).shape for slot in slots}  # pyright: ignore
    if len(shapes) > 1:
        return None
    (table,) = shapes
    *lead, first, second, width = spec.shape
    *outer, rows, half = table
    if outer and (outer[-1], rows) == (first, 1):
        sizes = first, second
    elif rows == second and all(size == 1 for size in outer):
        sizes = second, first
    else:
        return None
    if min(sizes) < 2:
        return None
    return Turn(slots, sizes[0] == first and rows == 1, tuple(lead), *sizes, width, half)


def _by_head(draft: Draft, node: Node, turn: Turn) -> None:
    for slot in turn.slots:
        table = _remade(draft, node, slot, {turn.tokens: turn.heads})
        shape = (1, turn.heads, turn.half) if turn.tokens_first else (turn.heads, 1, turn.half)
        draft.operand(node, slot, draft.add("reshape", [table], {"shape": shape}, near=node, name="of_heads"))


def _full_width(draft: Draft, node: Node, turn: Turn) -> None:
    whole, now = turn.heads * turn.width, draft.node(node.name)
    by_token = (*turn.lead, turn.tokens, turn.heads, turn.width)
    axes = tuple(range(len(by_token)))
    exchanged = {"perm": (*axes[:-3], axes[-2], axes[-3], axes[-1])}
    x = now.operands[0]
    if not turn.tokens_first:
        x = draft.add("transpose", [x], exchanged, near=node, name="by_token")
    operands = list(now.operands)
    operands[0] = draft.add("reshape", [x], {"shape": (*by_token[:-2], whole)}, near=node, name="side_by_side")
    for slot in turn.slots:
        operands[slot] = _remade(
            draft, node, slot, {turn.width: whole, 2 * turn.half: 2 * turn.half * turn.heads}
        )
    made = draft.add(now.op, operands, now.attributes, near=node, name="at_once")
    made = draft.add("reshape", [made], {"shape": by_token}, near=node, name="parts")
    if not turn.tokens_first:
        made = draft.add("transpose", [made], exchanged, near=node, name="by_head")
    draft.redirect(Ref(node.name), made)


def _remade(draft: Draft, node: Node, slot: int, sizes: dict[int, int]) -> Ref:
    """The table of a slot, made for other sizes."""
    ref = node.operands[slot]
    while ref is not None and draft.graph.nodes[ref.node].operands:
        ref = draft.graph.nodes[ref.node].operands[0]
    assert ref is not None
    table = draft.graph.nodes[ref.node]
    given = {k: sizes.get(v, v) if type(v) is int else v for k, v in table.attributes.items()}
    return Ref(draft.add(table.op, [], given, near=node, name="own_table").node, ref.port)
