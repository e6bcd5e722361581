"""Another number of heads: one over the full width, as many as a head has features, twice or half as many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

from ....core.graph import Node, Ref
from ..draft import Draft
from ..intended import Intended
from ..structure.groups import Group
from ..variant import Variant, one, the
from .within_tokens import first_head

Head = tuple[Node, dict[Ref, Ref], list[Node]]
"""A step that puts heads side by side, the parts that the first head takes of what is cut, its steps."""


def head_count(intended: Intended, group: Group) -> Iterator[Variant]:
    """For steps that put heads side by side."""
    found: list[Head] = []
    for name in group:
        node = intended.nodes[name]
        if (made := first_head(intended, node)) is not None:
            found.append((node, *made))
    if len(found) < len(group) or not all(_are_like(intended, head) for head in found):
        return
    heads, whole = len(found[0][0].operands), found[0][0].outputs[0].shape[-1]
    width = whole // heads
    told = f"not {heads} of {width}, before {the(intended, group)}"
    for count, price in {heads // 2: 1.35, 2 * heads: 1.35, width: 1.3, 1: 1.25}.items():
        if count and count != heads and not whole % count:
            words = f"with {count} heads" if count > 1 else "with one head"
            words = f"{words} of {whole // count} features, {told}"
            act = partial(_counted, found, count, True)
            mend = f"x.view(b, n, {heads}, {width}).transpose(1, 2) cuts into {heads} heads."
            yield Variant("head count", words, price, group, one(intended, act), mend)
            if count == 1 and any(_resized(step.attributes, width, whole) for _, _, c in found for step in c):
                act = partial(_counted, found, count, False)
                words = f"{words}, the width still {width} in what is done with them"
                yield Variant("head count", words, price + 0.05, group, one(intended, act), mend)


def _are_like(intended: Intended, head: Head) -> bool:
    """Whether all that is cut is as wide as what is put together."""
    node, cuts, _ = head
    return all(intended.spec(whole).shape == node.outputs[0].shape for whole in cuts.values())


def _resized(attributes: Mapping[str, Any], width: int, other: int) -> dict[str, Any]:
    """Attributes that are the width of a head, for another width."""
    return {key: other for key, value in attributes.items() if type(value) is int and value == width}


def _counted(found: Sequence[Head], count: int, resized: bool, draft: Draft) -> None:
    for node, cuts, chain in found:
        *lead, tokens, whole = node.outputs[0].shape
        width, other = whole // len(node.operands), whole // count
        axes = tuple(range(len(lead)))
        exchanged = {"perm": (*axes, len(lead) + 1, len(lead), len(lead) + 2)}
        went: dict[Ref, Ref] = {}
        for part, cut in cuts.items():
            by_token = {"shape": (*lead, tokens, count, other)}
            ref = draft.add("reshape", [cut], by_token, near=node, name="by_token")
            went[part] = draft.add("transpose", [ref], exchanged, near=node, name="by_head")
        for step in chain:
            for ref in step.operands:
                if ref is not None and ref not in went and (own := _table(draft, ref, width, other)):
                    table = draft.graph.nodes[ref.node]
                    made = draft.add(table.op, [], {**table.attributes, **own}, near=node, name="of_width")
                    went[ref] = Ref(made.node, ref.port)
            operands = [None if ref is None else went.get(ref, ref) for ref in step.operands]
            given = {**step.attributes, **(_resized(step.attributes, width, other) if resized else {})}
            made = draft.add(step.op, operands, MappingProxyType(given), near=node, name="counted")
            went |= {Ref(step.name, port): Ref(made.node, port) for port in range(len(step.ports))}
        out = node.operands[0]
        assert out is not None
        ref = draft.add("transpose", [went[out]], exchanged, near=node, name="by_token")
        joined = draft.add("reshape", [ref], {"shape": node.outputs[0].shape}, near=node, name="joined")
        draft.redirect(Ref(node.name), joined)


def _table(draft: Draft, ref: Ref, width: int, other: int) -> dict[str, Any]:
    """What a table that knows the width of a head is made with for another width."""
    maker = draft.graph.nodes[ref.node]
    if maker.operands or maker.op.fed:
        return {}
    for key in _resized(maker.attributes, width, other):
        shapes = [spec.shape for spec in draft.intended.call(maker.op, [], maker.attributes).outputs]
        made = draft.intended.call(maker.op, [], {**maker.attributes, key: other}).outputs
        if all(a[:-1] == b.shape[:-1] and a != b.shape for a, b in zip(shapes, made, strict=True)):
            return {key: other}
    return {}
