"""A mask that is given as numbers, 0 and 1 or 0 and a large negative one, hides nothing or something else."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ....core.graph import Node, Ref
from ....core.nested import flat
from ..draft import Draft
from ..intended import Intended
from ..structure.groups import Group
from ..variant import Option, Variant, each
from .constants import FILLS
from .masks import changing, mirrored

LARGE = -50.0
"""So far below 0 is a number that hides."""


def mask_numbers(intended: Intended, group: Group) -> Iterator[Variant]:
    yield from each("mask", _options, intended, group)


def _options(intended: Intended, node: Node) -> Iterator[Option]:
    spec = node.outputs[0]
    if node.operands or node.op.drawn == "inside" or spec.kind != "float" or not spec.rank:
        return
    cells = set(flat(intended.values[Ref(node.name)]))
    if len(cells) != 2 or (cells != {0.0, 1.0} and not (max(cells) == 0 and min(cells) < LARGE)):
        return
    if max(cells) == 1:
        yield Option("nothing", "with {the} hiding nothing: 1 everywhere", 1.1, _instead(0.0, 1.0))
        yield Option("inverted", "with {the} inverted: 1 for 0 and 0 for 1", 1.15, changing(0, _inverted))
    else:
        fill = min(cells)
        yield Option("nothing", "with {the} hiding nothing: 0 everywhere", 1.1, _instead(fill, 0.0))
        for other in (*FILLS, -math.inf, -fill):
            if other not in (fill, 0.0, math.inf):
                words = f"with {other:g} instead of {fill:g} in the hidden cells of {{the}}"
                yield Option(other, words, 1.15, _instead(fill, other))
    if spec.shape[-1] > 1:
        words = "with {the} from its other end, as for padding on the other side"
        yield Option("mirrored", words, 1.25, changing(0, mirrored))


def _instead(one: float, other: float):
    """Another number for the cells of one."""

    def change(draft: Draft, node: Node, ref: Ref) -> Ref:
        old = draft.add("constant", [], {"value": one}, near=node, name="given")
        new = draft.add("constant", [], {"value": other}, near=node, name="instead")
        found = draft.add("equal", [ref, old], near=node, name="found")
        return draft.add("where", [found, new, ref], near=node, name="changed")

    return changing(0, change)


def _inverted(draft: Draft, node: Node, ref: Ref) -> Ref:
    one = draft.add("constant", [], {"value": 1.0}, near=node, name="one")
    return draft.add("subtract", [one, ref], near=node, name="inverted")
