"""A step is left out, or one of the two that it brings together."""

from __future__ import annotations

from collections.abc import Iterator

from ...core.graph import Node, Ref
from .draft import Draft
from .groups import Group
from .intended import Intended
from .variant import Option, Variant, each, through


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


def _by(draft: Draft, node: Node, slot: int) -> None:
    operand = draft.node(node.name).operands[slot]
    assert operand is not None
    draft.redirect(Ref(node.name), operand)
