"""Hits that are the same function, and inputs that tell the others apart.

Two hits are one finding where they give the same on other inputs and other parameters too. Where they do not, a
set of inputs (parameters as they are, if that will do) on which they differ is found, and kept as verified.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from ...core import nested
from ...core.axes import Spec
from ...core.errors import GraphError
from ...core.graph import Graph
from ..variants import Intended, Rewrite, evaluate
from ..variants.structure.groups import numbered
from .cut import uncut
from .search import Hit

SAME = 1e-9


def classes(hits: Sequence[Hit], feeds: Mapping[str, Any]) -> list[tuple[list[Hit], Mapping[str, Any] | None]]:
    """The hits by function, the likeliest first; with each an input that tells it from the first. A function
    that leaves much more of the difference than another is the less likely."""
    if len(hits) < 2:
        return [([hit], None) for hit in hits]
    others = [other_feeds(hits[0].level.whole, feeds, seed) for seed in (1, 2)]
    groups: list[list[Hit]] = []
    values: list[list[list[Any] | None]] = []
    for hit in sorted(hits, key=lambda hit: (round(hit.price, 6), len(hit.rewrite.nodes))):
        given = [_results(hit, other) for other in others]
        for group, known in zip(groups, values, strict=True):
            if all(map(_same, given, known)):
                group.insert(0 if _within(hit, group[0]) else len(group), hit)
                break
        else:
            groups.append([hit])
            values.append(given)
    costs = _costs(groups)
    order = sorted(range(len(groups)), key=lambda i: (round(costs[i], 6), i))
    first = values[order[0]]
    return [(groups[i], None if i == order[0] else _telling(others, values[i], first)) for i in order]


def _costs(groups: Sequence[list[Hit]]) -> list[float]:
    """What it costs to believe in each group: the price of its best, and how much worse its match is."""
    least = max(min(group[0].left for group in groups), groups[0][0].rounding)
    return [group[0].cost(least) for group in groups]


def _telling(
    others: Sequence[Mapping[str, Any]], a: Sequence[list[Any] | None], b: Sequence[list[Any] | None]
) -> Mapping[str, Any] | None:
    """The first inputs on which two functions differ."""
    return next((fed for fed, x, y in zip(others, a, b, strict=True) if not _same(x, y)), None)


def _within(hit: Hit, other: Hit) -> bool:
    """Whether it is about fewer nodes, and changes none but those that another changes: the rest does not
    matter. Of one step in several heads it is still likelier that it is wrong in all."""
    nodes, more = ({name for v in h.variants for name in v.nodes} for h in (hit, other))
    return nodes < more and not numbered(more) and _changed(hit) <= _changed(other)


def _changed(hit: Hit) -> set[str]:
    """The nodes of the rewrite that are other than the intended graph's."""
    known = hit.level.intended.nodes
    return {name for name, node in hit.rewrite.nodes.items() if known.get(name) != node}


def other_feeds(graph: Graph, feeds: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Other numbers for the inputs; from seed 2 on for the parameters too. Masks and indices stay."""
    random = Random(seed)
    fed = dict(feeds)
    for name, spec in graph.inputs.items():
        parameter = graph.nodes[name].op.drawn == "inside"
        if spec.kind == "float" and name in feeds and (seed > 1 or not parameter):
            fed[name] = _drawn(random, spec, parameter)
    return fed


def _drawn(random: Random, spec: Spec, parameter: bool) -> Any:
    divisor = math.sqrt(max(spec.shape[-1], 1)) if parameter and spec.rank > 1 else 1.0
    return nested.build(spec.shape, lambda *_: round(random.gauss(0.0, 1.0) / divisor, 3))


def _results(hit: Hit, feeds: Mapping[str, Any]) -> list[Any] | None:
    """What the whole graph with the mistake gives; None where it cannot be computed."""
    level = hit.level
    key = ("classes", id(feeds))
    if key not in level.others:
        level.others[key] = Intended(level.whole, feeds)
    intended = level.others[key]
    refs = [tensor.ref for tensor in level.whole.outputs.values()] or [
        intended.graph.resolve(o.name) for o in level.observed
    ]
    try:
        full: Rewrite = uncut(hit.rewrite, level.whole, level.stands)
        return [list(nested.flat(value)) for value in evaluate(intended, full, refs)]
    except GraphError:
        return None


def _same(a: list[Any] | None, b: list[Any] | None) -> bool:
    if a is None or b is None:
        return a is b
    return all(map(same, a, b))


def same(x: Sequence[float], y: Sequence[float]) -> bool:
    """Whether two lists of cells are the same but for rounding in double."""
    if len(x) != len(y):
        return False
    size = max((abs(v) for v in x if math.isfinite(v)), default=0.0)
    return all(p == q or abs(p - q) <= SAME * size or (p != p and q != q) for p, q in zip(x, y, strict=True))
