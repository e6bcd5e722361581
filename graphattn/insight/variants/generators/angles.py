"""Tables of cosines and sines that are given as numbers, with other angles: as where no scaling is known.

Such tables have in row p row 0 turned by p times the same angles. √(cos² + sin²) may be other than 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from ....core.graph import Node, Ref
from ..draft import Draft
from ..intended import Intended
from ..structure.groups import Group
from ..variant import Variant, like, one
from .attributes import BASES

NEAR = 1e-6


class Turn(NamedTuple):
    """The angles of row p are first + p · rates."""

    first: list[float]
    rates: list[float]
    size: float


def angles(intended: Intended, group: Group) -> Iterator[Variant]:
    if len(group) != 2:
        return
    cos, sin = (intended.nodes[name] for name in group)
    turn = _turn(intended, cos, sin)
    if turn is not None and turn.first[0] > 1:
        cos, sin = sin, cos
        turn = _turn(intended, cos, sin)
    if turn is None:
        return
    start = turn.first[-1] / turn.rates[-1] if turn.rates[-1] else 0.0
    n, half, told = len(intended.values[Ref(cos.name)]), len(turn.rates), f"{cos.name} and {sin.name}"

    def rated(base: float, size: float) -> Variant:
        rates = [base ** (-i / half) for i in range(half)]
        number = f" times {size:.4g}" if abs(size - 1) > NEAR else ""
        words = f"with {told} of unscaled angles p / {base}^(2i/d){number}"
        act = one(
            intended,
            lambda draft: _put(draft, cos, sin, n, Turn([start * rate for rate in rates], rates, size)),
        )
        return Variant("angles", words, 1.25, group, act)

    for base in BASES:
        for size in dict.fromkeys((1.0, turn.size)):
            yield rated(base, size)
    make = one(intended, lambda draft: _put(draft, cos, sin, n, turn, number=2.0))
    yield Variant("angles", f"with the angles of {told} times {{number}}", 1.4, group, make, number=2.0)


def _turn(intended: Intended, cos: Node, sin: Node) -> Turn | None:
    """What the two tables are made of, None where they are no such tables."""
    for node in (cos, sin):
        if node.operands or node.op.fed or len(node.ports) > 1 or node.outputs[0].rank != 2:
            return None
    if not like(cos.outputs[0], sin.outputs[0]) or cos.outputs[0].kind != "float":
        return None
    c, s = intended.values[Ref(cos.name)], intended.values[Ref(sin.name)]
    if len(c) < 2 or not c[0] or not any(any(row) for row in s):
        return None
    size = math.hypot(c[0][0], s[0][0])
    if not size or any(
        abs(math.hypot(x, y) - size) > NEAR * size
        for a, b in zip(c, s, strict=True)
        for x, y in zip(a, b, strict=True)
    ):
        return None
    at = [[math.atan2(y, x) for x, y in zip(a, b, strict=True)] for a, b in zip(c, s, strict=True)]
    rates = [(y - x) % (2 * math.pi) for x, y in zip(at[0], at[1], strict=True)]
    for above, below in pairwise(at):
        for x, y, rate in zip(above, below, rates, strict=True):
            if abs(math.remainder(y - x - rate, 2 * math.pi)) > NEAR:
                return None
    return Turn(at[0], rates, size)


def _put(draft: Draft, cos: Node, sin: Node, n: int, turn: Turn, number: float | None = None) -> None:
    """The tables of these angles; with a number, this times them, and it is open."""
    rows = [[f + p * r for f, r in zip(turn.first, turn.rates, strict=True)] for p in range(n)]
    turned = draft.add("constant", [], {"value": tuple(map(tuple, rows))}, near=cos, name="angles")
    if number is not None:
        turned = draft.add("scale", [turned], {"multiply": number}, near=cos, name="turned")
        draft.solve_for(turned.node, "multiply")
    for node in (cos, sin):
        made = draft.add("cos" if node is cos else "sin", [turned], near=node)
        if abs(turn.size - 1) > NEAR:
            made = draft.add("scale", [made], {"multiply": turn.size}, near=node, name="sized")
        draft.redirect(Ref(node.name), made)
