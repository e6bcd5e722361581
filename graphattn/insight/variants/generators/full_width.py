"""What is to be done head by head is done once, over the full width: a norm or a turn before the cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from ....core.graph import Node, Ref
from ..draft import Draft
from ..intended import Intended
from ..structure.groups import NUMBER, Group
from ..variant import Variant, like, one, the, through

CELLS = ("function", "add", "scale", "mask", "move")
"""Families of what is done cell by cell, where it takes one or two tensors: side by side it is the same."""

MEND = "Cut into heads first, x.view(b, n, h, d_k).transpose(1, 2), then do it to each head by itself."
"""How to mend that."""

Make = Callable[[Draft], Ref | None]
"""Makes the operand of a step over the full width."""


def full_width(intended: Intended, group: Group) -> Iterator[Variant]:
    nodes = [intended.nodes[name] for name in group]
    op, series = nodes[0].op, dict[str, list[Node]]()
    by_cell = op.family in CELLS and len(op.operands) < 3
    if len(nodes) < 2 or by_cell or op.moves or any(n.op is not op or not through(intended, n) for n in nodes):
        return
    for node in nodes:
        series.setdefault(_cut_from(intended, node), []).append(node)
    made = [(heads, makers) for heads in series.values() if (makers := _makers(intended, heads)) is not None]
    if len(made) < len(series):
        return

    def act(draft: Draft) -> None:
        for heads, makers in made:
            _at_once(draft, heads, makers)

    words = f"with {the(intended, group)} over the full width, not head by head"
    yield Variant("full width", words, 1.25, group, one(intended, act), MEND)


def _cut_from(intended: Intended, node: Node) -> str:
    """The step that cut what a node stands on into heads; without one, what all of its name share."""
    now = node
    while slots := through(intended, now):
        ref = now.operands[slots[0]]
        assert ref is not None
        now = intended.nodes[ref.node]
        if len(now.ports) > 1:
            return now.name
    return NUMBER.sub("*", node.name)


def _makers(intended: Intended, nodes: Sequence[Node]) -> list[Make] | None:
    """How each operand is made over the full width: what the heads stand on side by side, a row of parameters
    repeated, a table that knows its width made wider. None where the nodes cannot be taken together."""
    slot = through(intended, nodes[0])[0]
    found: list[Make] = []
    if len(nodes) < 2 or any(intended.depends(b.name, on=a.name) for a, b in pairwise(nodes)):
        return None
    for place, ref in enumerate(nodes[0].operands):
        refs = [node.operands[place] for node in nodes if place < len(node.operands)]
        if place == slot:
            specs = [intended.spec(ref) for ref in refs if ref is not None]
            if any(spec.rank < 2 or spec.kind != "float" or not like(spec, specs[0]) for spec in specs):
                return None
            found.append(lambda draft, r=refs: draft.add("concat", r, near=nodes[-1], name="side_by_side"))
        elif len(set(refs)) > 1 or len(refs) < len(nodes):
            return None
        else:
            width = nodes[0].outputs[0].shape[-1]
            found.append(lambda draft, r=ref, w=width: _wide(draft, nodes, r, w))
    return found


def _wide(draft: Draft, nodes: Sequence[Node], ref: Ref | None, width: int) -> Ref | None:
    if ref is None:
        return None
    maker, near, count = draft.graph.nodes[ref.node], nodes[-1], len(nodes)
    sized = {name: width * count for name, v in maker.attributes.items() if v == width and type(v) is int}
    if maker.op.fed and maker.outputs[0].shape[-1:] == (width,):
        return draft.add("concat", [ref] * count, near=near, name="repeated")
    if sized and not maker.op.fed and not maker.operands:
        return Ref(
            draft.add(maker.op, [], {**maker.attributes, **sized}, near=near, name="wide").node, ref.port
        )
    return ref


def _at_once(draft: Draft, nodes: Sequence[Node], makers: Sequence[Make]) -> None:
    last = nodes[-1]
    operands = [make(draft) for make in makers]
    whole = draft.add(last.op, operands, last.attributes, near=last, name="at_once")
    parts = draft.add("split", [whole], {"parts": len(nodes)}, near=last, name="parts")
    for place, node in enumerate(nodes):
        draft.redirect(Ref(node.name), Ref(parts.node, place))
