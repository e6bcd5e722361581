"""A step is left out, or one of the two that it brings together, or the gate of an activation."""

from __future__ import annotations

from collections.abc import Iterator

from ....core.graph import Node, Ref
from ....core.interpreter import padded
from ..draft import Draft
from ..intended import Intended
from ..structure.groups import Group
from ..variant import Option, Variant, each, through


def skip(intended: Intended, group: Group) -> Iterator[Variant]:
    yield from each("skip", _options, intended, group)


def _options(intended: Intended, node: Node) -> Iterator[Option]:
    slots = through(intended, node)
    given = [slot for slot, ref in enumerate(node.operands) if ref is not None]
    narrowed = not slots and len(given) == 1 and len(node.ports) == 1  # the result is of another shape
    if narrowed:
        slots = given if intended.spec(node.operands[0]).kind == node.outputs[0].kind else []  # pyright: ignore
    for slot in slots:
        left = [f"{{{s}}}" for s in given if s != slot]
        both = len(slots) > 1
        words = f"without {' and '.join(left)} in {{the}}" if both else "without {the}"
        price = 1.0 + 0.1 * (narrowed or (both and slot))
        yield Option(slot, words, price, lambda draft, node, slot=slot: _by(draft, node, slot))
    yield from _zeroed(intended, node, slots)
    yield from _ungated(intended, node, slots)


def _ungated(intended: Intended, node: Node, slots: list[int]) -> Iterator[Option]:
    """f(b) in the place of f(a) · b: an activation with the gate left out."""
    if len(slots) != 2 or len(node.operands) != 2 or node.op.family != "function" or intended.is_inside(node):
        return
    for slot in slots:
        ref, other = node.operands[slot], node.operands[1 - slot]
        if ref is None or other is None:
            continue
        active = intended.nodes[ref.node]
        if active.op.family == "function" and len(active.operands) == 1 and active.operands[0] != other:
            words = f"with {active.op.title} of {{{1 - slot}}} in the place of {{the}}"
            yield Option(("ungated", slot), words, 1.3, lambda d, n, a=active, b=other: _active(d, n, a, b))


def _active(draft: Draft, node: Node, active: Node, ref: Ref) -> None:
    draft.redirect(Ref(node.name), draft.add(active.op, [ref], active.attributes, near=node))


def _zeroed(intended: Intended, node: Node, slots: list[int]) -> Iterator[Option]:
    """What is taken away or added with a sign of its own goes on with that sign where the other is left out:
    −b of a − b."""
    specs = padded(node.op, intended.graph.operand_specs(node.operands))
    if node.op.family == "add" or len(node.operands) != 2 or None in node.operands:
        return
    if (0, 1) not in [tuple(sorted(group)) for group in node.op.linear_groups(specs, node.attributes)]:
        return
    for slot in slots:
        if slot:
            words = f"without {{{1 - slot}}} in {{the}}, the other sign left as it is"
            yield Option(("zero", slot), words, 1.0, lambda d, n, s=slot: d.operand(n, 1 - s, _zero(d, n)))


def _zero(draft: Draft, node: Node) -> Ref:
    return draft.add("constant", [], {"value": 0.0}, near=node, name="zero")


def _by(draft: Draft, node: Node, slot: int) -> None:
    operand = draft.node(node.name).operands[slot]
    assert operand is not None
    draft.redirect(Ref(node.name), operand)
