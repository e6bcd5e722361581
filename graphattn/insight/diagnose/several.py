"""Several mistakes, each found by itself in a tensor that its own observed inputs do not give, as one graph.

Each explains its tensor from what was observed before it. All of them in one graph are run from what is fed,
and have to give everything that was observed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice, product

from ..variants import Rewrite, merged
from .levels import Level
from .search import Hit, Search

EACH, ALL = 3, 24
"""So many hits of each tensor are taken, and so many choices of one of each are tried."""


def all_at_once(search: Search, stages: Sequence[Level], found: Mapping[str, Sequence[Hit]]) -> list[Hit]:
    """Hits that explain all that was observed, of one hit of each tensor; none where these are changes of the
    graph at two magnifications, or at odds."""
    hits = []
    search.looked = 0
    for chosen in islice(product(*(hits[:EACH] for hits in found.values())), ALL):
        level = next((stage for stage in stages if all(hit.level.whole is stage.whole for hit in chosen)), None)
        rewrite = None if level is None else _merged(level, chosen)
        if level is not None and rewrite is not None:
            variants = {variant.phrase: variant for hit in chosen for variant in hit.variants}  # each once
            hit = search.look(level, tuple(variants.values()), rewrite)
            hits += [] if hit is None else [hit]
    return hits


def _merged(level: Level, chosen: Sequence[Hit]) -> Rewrite | None:
    """All changes in one."""
    rewrite: Rewrite | None = Rewrite({}, {})
    for hit in chosen:
        if rewrite is not None:
            rewrite = merged(rewrite, hit.rewrite, level.intended.graph)
    return rewrite
