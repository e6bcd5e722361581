"""In which order pairs of changes are tried: by how likely both are, and by how little they leave.

Two changes at once change about the sum of both, or leave about what the larger one leaves; and neither leaves
many times what the other changes. Where one leaves rows alone, what was observed there is what the other gives:
the last row under a mask that is missing, the first one, which sees nothing but itself.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from heapq import nsmallest
from typing import NamedTuple

from ...core.numbers import dot
from .alone import Change, Rows, Sketch
from .search import Search

BOTH = 3.4
"""The price of the least likely pair, but for those of a change that tells by itself."""
KEPT, FIRSTS = 150_000, 8
"""So many pairs are kept, and so many changes are tried with every other."""
LEAST = 1e-6
"""What is left, as a share of the (squared) difference, that is no more than rounding may be."""
DECADE = 1.0
"""What ten times as much left of the (squared) difference costs, as a price."""
TIMES = 10.0
"""How many times as much (squared) as it changes by itself one may change beside the other."""
TOLD, UNTOLD = 1e-3, 10.0
"""How much less a pair costs of which one gives rows that the other leaves alone, and how much more one that
changes other rows than those that differ."""
ENTANGLED = 4.0
"""How many times the work it is to evaluate two of which each needs the other."""
ASK = 64
"""After so many of the likelier variants, each held to all others, the budget is asked."""

Pair = tuple[Change, Change]


class Told(NamedTuple):
    """What is told of a change."""

    sums: list[float]
    size: float
    """Their square."""
    left: float
    """What it leaves of the (squared) difference, at most all."""
    weight: float
    """What its price makes of a cost."""
    kind: int
    """Which rows it changes and gives, as a number."""
    price: float
    place: int


def ranked(search: Search, changes: Sequence[Change], sketch: Sketch) -> list[Pair]:
    """Pairs of changes (these by price), the likeliest first."""
    if not sketch.alike:
        return _of_one_shape(changes)
    kinds = {rows: kind for kind, rows in enumerate(dict.fromkeys(change.rows for change in changes))}
    factors = cache(lambda kind: [_by_rows(sketch.differing, list(kinds)[kind], rows) for rows in kinds])
    told = list(_told(changes, sketch, kinds))
    best = {one.place for one in nsmallest(FIRSTS, told, key=lambda one: one.left * one.weight)}
    best.update(place for place, change in enumerate(changes) if change.rows.given)
    common = [one for one in told if one.place not in best]
    least = min((one.left for one in common), default=0.0)
    common = [one for one in common if one.size * TIMES >= least]
    prices = [one.price for one in common]
    kept: list[tuple[float, int, int]] = []
    most = math.inf
    for count, one in enumerate((*(told[place] for place in sorted(best)), *common)):
        if count % ASK == ASK - 1 and search.over:
            break
        if one.place in best:
            others, room = told, math.inf
        else:
            own = count - len(best)
            others, room = common[own + 1 : bisect_right(prices, BOTH - one.price)], TIMES
        kept += _held(one, others, sketch, factors(one.kind), room, most)
        if len(kept) > 2 * KEPT:
            kept.sort()
            del kept[KEPT:]
            most = kept[-1][0]
    likeliest = ((cost * _work(changes[a], changes[b]), a, b) for cost, a, b in nsmallest(KEPT, kept) if a != b)
    pairs = dict.fromkeys((min(a, b), max(a, b)) for _, a, b in sorted(likeliest))
    return [(changes[a], changes[b]) for a, b in pairs]


def _work(a: Change, b: Change) -> float:
    """How many times as much work as for others it is to evaluate both at once."""
    return 1.0 if a.reach.before(b.reach) or b.reach.before(a.reach) else ENTANGLED


def _held(
    one: Told, others: Sequence[Told], sketch: Sketch, factors: Sequence[float], room: float, most: float
) -> list[tuple[float, int, int]]:  # fmt: skip
    """What pairs of one with others cost, where that is less than `most`. An inner loop."""
    sums, size, alone, weight, _, _, place = one
    left = [x - y for x, y in zip(sketch.difference, sums, strict=True)]
    square, twice, whole = dot(left, left), [-2 * x for x in left], dot(sketch.difference, sketch.difference)
    floor, limit, widest, least = LEAST * whole or LEAST, most / weight, room * size, alone / room
    return [
        (cost * weight, place, other)
        for moved, own, less, dearer, rows, _, other in others
        if less <= widest
        and own >= least
        and (
            cost := max(min(square + own + dot(twice, moved), alone, less), floor) * dearer * factors[rows]
        ) < limit
    ]  # fmt: skip


def _told(changes: Sequence[Change], sketch: Sketch, kinds: dict[Rows, int]) -> Iterator[Told]:
    whole = dot(sketch.difference, sketch.difference)
    for place, change in enumerate(changes):
        left = [x - y for x, y in zip(sketch.difference, change.sums, strict=True)]
        price, sums = change.variant.price, change.sums
        weight = 10 ** (price / DECADE)
        yield Told(sums, dot(sums, sums), min(dot(left, left), whole), weight, kinds[change.rows], price, place)


def _by_rows(differing: int, a: Rows, b: Rows) -> float:
    """What the rows tell of two changes, as a factor of their cost."""
    if a.given & ~b.changed or b.given & ~a.changed:
        return TOLD
    return 1.0 if a.changed | b.changed == differing else UNTOLD


def _of_one_shape(changes: Sequence[Change]) -> list[Pair]:
    """Where the result has another shape, one of the two gives it that, and the other does not; the likeliest
    first."""
    others = [change for change in changes if not change.shaped]
    pairs = [(a, b) for a in changes if a.shaped for b in others if a.variant.price + b.variant.price <= BOTH]
    return sorted(pairs, key=lambda pair: pair[0].variant.price + pair[1].variant.price)[:KEPT]
