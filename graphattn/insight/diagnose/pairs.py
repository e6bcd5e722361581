"""Two mistakes at once.

The likeliest variants of the intended graph, those first after which more cells agree or less of the difference
is left, are each taken as the graph that was meant, and the others planted on top of it. Of two changes the
earlier is taken first, so that the other costs only what lies below it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from ...core.errors import GraphError
from ...core.graph import Graph, Ref
from ..variants import Intended, Rewrite, Variant, evaluate, merged
from .judge import near
from .levels import Level
from .search import Hit, Search

FIRSTS = 400
"""The most variants that are tried as one of two."""
BAND = 0.4
"""How much dearer than the best pair another may be."""


def look_for_pairs(search: Search, stages: Sequence[Level]) -> list[Hit]:
    """The pairs of op-level variants that explain what was observed."""
    level = stages[0]
    search.pairs = True
    candidates = _candidates(search, level)
    hits: list[Hit] = []
    after = 0.0
    ranked = _by_promise(search, level, candidates)
    for place, (first, base) in enumerate(ranked):
        if search.over:
            search.leave(_count(ranked[place:], candidates))
            break
        if hits and search.seconds > after:
            break
        search.say(f"two mistakes: {place} of {len(candidates)}")
        for hit in _on_top(search, level, first, base, candidates):
            after = after or search.seconds * 1.2
            hits.append(hit)
    least = min((hit.price for hit in hits), default=0.0)
    return [hit for hit in hits if hit.price <= least + BAND]


def _candidates(search: Search, level: Level) -> list[Variant]:
    """Variants that are graphs and change something, by price, one of each effect."""
    kept: list[Variant] = []
    seen: set[int] = set()
    base = level.intended.values[level.judge.refs[level.judge.key]]
    for variant in level.variants():
        if len(kept) >= FIRSTS or search.over:
            break
        try:
            (value,) = evaluate(level.intended, variant.rewrite, [level.judge.refs[level.judge.key]])
        except GraphError:
            continue
        effect = hash(repr(value))
        if value != base and effect not in seen:
            seen.add(effect)
            kept.append(variant)
    return kept


def _by_promise(search: Search, level: Level, candidates: Sequence[Variant]) -> list[tuple[Variant, Intended]]:
    """The candidates as graphs that were meant: those first that leave less of the difference."""
    judge = level.judge
    agreeing, whole = judge.residual(Rewrite({}, {}))
    ranked: list[tuple[float, int, Variant]] = []
    for place, variant in enumerate(candidates):
        agree, left = judge.residual(variant.rewrite)
        gain = (agree - agreeing) / max(1, judge.size) + (1 - min(left / whole, 2.0) if whole else 0.0)
        ranked.append((variant.price - gain, place, variant))
    ranked.sort(key=lambda item: item[:2])
    return [(variant, level.intended) for _, _, variant in ranked]


def _on_top(
    search: Search, level: Level, first: Variant, base: Intended, candidates: Sequence[Variant]
) -> list[Hit]:
    """The pairs of one variant with those that stand after it in the graph."""
    try:
        graph = first.rewrite.graph(base.graph)
        known = _known(graph, base, first.rewrite)
        planted = Intended(graph, level.intended.feeds, known)
    except GraphError:
        return []
    judge = level.judge
    key, row = judge.key, judge.row
    ref = first.rewrite.now(judge.refs[key])
    theirs, loose = judge.observed[key].rows, judge.loose[key]
    place = _last(base, first)
    hits: list[Hit] = []
    for second in candidates:
        if search.over:
            break
        if second is first or _last(base, second) < place:
            continue
        both = merged(first.rewrite, second.rewrite, base.graph)
        if both is None:
            continue
        search.tried += 1
        over = Rewrite({n: r for n, r in both.nodes.items() if not _is(planted.graph, r)}, both.went)
        if not over.nodes and over.went == first.rewrite.went:
            continue
        try:
            if row is not None:
                (value,) = evaluate(planted, over, [ref], row)
                if not near(value[0], theirs[row], loose[row]):
                    continue
        except (GraphError, KeyError):
            continue
        search.tried -= 1
        hit = search.look(level, (first, second), both)
        if hit is not None:
            hits.append(hit)
    return hits


def _is(graph: Graph, record: Any) -> bool:
    """Whether the graph has this very record."""
    node = graph.nodes.get(record.name)
    return node is not None and node.op is record.op and node.operands == record.operands and (
        repr(node.attributes) == repr(record.attributes)
    )  # fmt: skip


def _known(graph: Graph, base: Intended, rewrite: Rewrite) -> dict[Ref, Any]:
    """The values of the intended graph that the change does not touch."""
    dirty = base.all_below(rewrite.nodes)
    return {
        ref: value
        for ref, value in base.values.items()
        if ref.node in graph.nodes and ref.node not in rewrite.nodes and not dirty >> base.order[ref.node] & 1
    }


def _count(firsts: Sequence[tuple[Variant, Intended]], candidates: Sequence[Variant]) -> int:
    """How many pairs there are of some with those that do not stand before them."""
    if not firsts:
        return 0
    places = sorted(_last(firsts[0][1], variant) for variant in candidates)
    return sum(len(places) - bisect_left(places, _last(base, first)) for first, base in firsts)


def _last(base: Intended, variant: Variant) -> int:
    return max(base.order[name] for name in variant.nodes)
