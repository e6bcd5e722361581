"""Two mistakes at once.

What each variant by itself changes of the result is known, and two at once change about the sum of both. So
pairs are taken in the order of how little that leaves of the difference, and of how likely they are; each is
then run, both changes in one graph.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple

from ...core import nested
from ...core.errors import GraphError
from ...core.numbers import dot
from ..compare.masked_cells import is_masked
from ..variants import Variant, evaluate, merged
from ..variants.evaluation.sieve import digest
from .judge import alike
from .levels import Level
from .search import Hit, Search

DEAREST, BOTH = 2.2, 3.4
"""The price of the least likely variant that is tried as one of two, and of the least likely pair."""
SUMS = 12
"""So many sums of cells, each with a sign of its own, tell how much a pair leaves."""
KEPT, FIRSTS = 10_000, 8
"""So many pairs are run, and so many variants with every other."""
LEAST = 1e-6
"""What is left, as a share of the (squared) difference, that is no more than rounding may be."""
DECADE = 2.0
"""What ten times as much left of the (squared) difference costs, as a price."""
BAND = 0.4
"""How much dearer than the best pair another may be."""
SHARE = 0.2
"""So many more are tried after a hit, as a share of all that were tried before it."""
ASK = 64
"""After so many of the likelier variants, each held to all others, the budget is asked."""
LARGE = 1e140
"""What is this many times as large as the difference is no larger: squares of it are in range."""


class Change(NamedTuple):
    """What a variant by itself changes."""

    sums: list[float]
    """Of the cells of the first tensor that differs."""
    square: float
    weight: float
    """What its price makes of what is left."""
    variant: Variant


def look_for_pairs(search: Search, stages: Sequence[Level]) -> list[Hit]:
    """The pairs of op-level variants that explain what was observed."""
    level = stages[0]
    search.pairs = True
    hits: list[Hit] = []
    until = math.inf
    ranked = _ranked(search, level)
    if search.over:
        search.counted = False
        variants = search.left + search.tried - search.began[1]
        search.leave(len(ranked), KEPT + FIRSTS * variants)
        return []
    for place, (first, second) in enumerate(ranked):
        if search.over:
            search.leave(len(ranked) - place)
            break
        if search.tried > until:
            break
        if not place % 256:
            search.say(f"two mistakes: {place} of {len(ranked)}")
        both = merged(first.rewrite, second.rewrite, level.intended.graph)
        hit = None if both is None else search.look(level, _in_order(level, first, second), both)
        if hit is not None:
            if not hits:
                until = (1 + SHARE) * search.tried
            hits.append(hit)
    least = min((hit.price for hit in hits), default=0.0)
    return [hit for hit in hits if hit.price <= least + BAND]


def _in_order(level: Level, *pair: Variant) -> tuple[Variant, ...]:
    """As they stand in the graph."""
    order = level.intended.order
    return tuple(sorted(pair, key=lambda variant: max(order[name] for name in variant.nodes)))


def _ranked(search: Search, level: Level) -> list[tuple[Variant, Variant]]:
    """Pairs of variants, those first that are the likelier and leave the less of the difference; then those of
    the best by themselves, with any other."""
    judge = level.judge
    if not alike(judge.rows[judge.key], judge.observed[judge.key].rows):
        return []
    own, theirs = (
        [x for row in rows for x in row] for rows in (judge.rows[judge.key], judge.observed[judge.key].rows)
    )
    told = _telling(own, theirs)
    sums = _sketch(own, theirs, told)
    difference = sums(theirs)
    changes = _changes(search, level, told, sums)
    prices = [change.variant.price for change in changes]
    floor = LEAST * (dot(difference, difference) or 1.0)
    kept: list[tuple[float, int, int]] = []
    alone: list[tuple[float, int]] = []
    most = math.inf
    for place, first in enumerate(changes):
        if place % ASK == ASK - 1 and search.over:
            break
        left = [x - y for x, y in zip(difference, first.sums, strict=True)]
        square, twice = dot(left, left), [-2 * x for x in left]
        alone.append((square * first.weight, place))
        limit = most / first.weight
        others = changes[place + 1 : bisect_right(prices, BOTH - prices[place])]
        kept += [
            (cost * first.weight, place, other)
            for other, (moved, own_square, weight, _) in enumerate(others, place + 1)
            if (cost := max(square + own_square + dot(twice, moved), floor) * weight) < limit
        ]
        if len(kept) > 2 * KEPT:
            kept.sort()
            del kept[KEPT:]
            most = kept[-1][0]
    pairs = dict.fromkeys((a, b) for _, a, b in sorted(kept)[:KEPT])
    for _, first in sorted(alone)[:FIRSTS]:
        others = range(bisect_right(prices, BOTH - prices[first]))
        pairs |= dict.fromkeys((min(first, other), max(first, other)) for other in others if other != first)
    return [(changes[a].variant, changes[b].variant) for a, b in pairs]


def _telling(own: Sequence[float], theirs: Sequence[float]) -> list[int]:
    """The places of the cells that are numbers in both, and not masked."""
    return [
        place for place, (x, y) in enumerate(zip(own, theirs, strict=True))
        if math.isfinite(x - y) and not is_masked(x) and not is_masked(y)
    ]  # fmt: skip


def _sketch(
    own: Sequence[float], theirs: Sequence[float], told: Sequence[int]
) -> Callable[[Sequence[float]], list[float]]:
    """What takes the cells of a tensor to a few sums over how far those at some places are from the intended
    ones, in units of the largest difference."""
    unit = max((abs(theirs[place] - own[place]) for place in told), default=0.0) or 1.0
    signs = [[random.choice((-1.0, 1.0)) for _ in told] for random in map(Random, range(SUMS))]

    def sums(cells: Sequence[float]) -> list[float]:
        moved = [max(-LARGE, min((cells[place] - own[place]) / unit, LARGE)) for place in told]
        return [dot(row, moved) for row in signs]

    return sums


def _changes(
    search: Search, level: Level, told: Sequence[int], sums: Callable[[Sequence[float]], list[float]]
) -> list[Change]:
    """The variants that are graphs and change something, one of each effect, by price."""
    judge = level.judge
    ref, value = judge.refs[judge.key], judge.values[judge.key]
    own = list(nested.flat(value))
    seen, found = {digest([own])}, []
    every = [
        variant for rest in (False, True) for variant in level.variants(rest)
        if variant.price <= DEAREST and not variant.throughout
    ]  # fmt: skip
    for place, variant in enumerate(sorted(every, key=lambda variant: variant.price)):
        if search.over:
            search.leave(len(every) - place)
            break
        search.tried += 1
        try:
            (value,) = evaluate(level.intended, variant.rewrite, [ref])
        except GraphError:
            continue
        cells = list(nested.flat(value))
        effect = digest([cells])
        if len(cells) == len(own) and effect not in seen and all(math.isfinite(cells[i]) for i in told):
            seen.add(effect)
            moved, weight = sums(cells), 10 ** (variant.price / DECADE)
            found.append(Change(moved, dot(moved, moved), weight, variant))
    return found
