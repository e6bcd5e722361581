"""Places that nothing was written to are attended to: a cache that is longer than what it holds, a padded
vocabulary. Their scores are 0, and what they bring is nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....core.graph import Node, Ref
from ..draft import Draft
from ..intended import Intended
from ..structure.groups import Group
from ..variant import Option, Variant, each

FEW = 8
ROOMS = (16, 32)
"""How many places more, and how many a cache usually has."""


def slots(intended: Intended, group: Group) -> Iterator[Variant]:
    if group == intended.siblings[group[0]]:  # all heads have one cache
        yield from each("slots", _options, intended, group)


def _options(intended: Intended, node: Node) -> Iterator[Option]:
    last = (-1, node.outputs[0].rank - 1)
    if node.op.family != "softmax" or len(node.operands) != 1 or node.attributes.get("axis", -1) not in last:
        return
    given = node.outputs[0].shape[-1]
    for more in sorted({*range(1, FEW + 1), *(room - given for room in ROOMS if room > given)}):
        places = f"{more} empty place{'s' * (more > 1)}"
        words = f"with {places} after the {given} of {{the}}, whose scores of 0 count too"
        yield Option(more, words, 1.5, lambda d, n, m=more: _longer(d, n, given, m))


def _longer(draft: Draft, node: Node, given: int, more: int) -> None:
    now = draft.node(node.name)
    longer = draft.add("pad", now.operands, {"before": 0, "after": more}, near=node, name="with_empty")
    whole = draft.add(now.op, [longer], now.attributes, near=node, name="over_all")
    kept = draft.add("slice", [whole], {"at": f"..., :{given}"}, near=node, name="given")
    draft.redirect(Ref(node.name), kept)
