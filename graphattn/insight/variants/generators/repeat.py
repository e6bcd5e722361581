"""A step is done twice: once more on its own result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ....core.graph import Node, Ref
from ..draft import Draft
from ..intended import Intended
from ..structure.groups import Group
from ..variant import Option, Variant, each, through

TWICE = "twice"


def repeat(intended: Intended, group: Group) -> Iterator[Variant]:
    yield from each(TWICE, _options, intended, group)


def _options(intended: Intended, node: Node) -> Iterator[Option]:
    if node.op.moves and len(node.operands) == 1 and node.attributes.get("perm", ()) is not None:
        return
    slots = through(intended, node)
    for ref in dict.fromkeys(node.operands[slot] for slot in slots):
        taken = tuple(slot for slot in slots if node.operands[slot] == ref)
        yield Option(taken, "with {the} done twice", 1.6, lambda d, n, slots=taken: _again(d, n, slots))


def _again(draft: Draft, node: Node, slots: Sequence[int]) -> None:
    now = draft.node(node.name)
    operands = [Ref(node.name) if s in slots else ref for s, ref in enumerate(now.operands)]
    again = draft.add(now.op, operands, now.attributes, near=now, name="again")
    draft.redirect(Ref(node.name), again, apart_from=(again.node,))
