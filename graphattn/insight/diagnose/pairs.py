"""Two mistakes at once.

What each variant by itself changes of the result is known (`alone`), and in which order pairs are likely
(`ranking`). Of most pairs one does not depend on the other: its numbers are computed once, for all that are
evaluated beside it. What may be it is then planted in one graph.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from ...core.errors import GraphError
from ..variants import Rewrite, Variant, merged
from ..variants.evaluation.planted import Planted, plant
from .alone import Change, Sketch, changes
from .levels import Level
from .ranking import KEPT, Pair, ranked
from .search import Hit, Search

BAND = 0.4
"""How much dearer than the best pair another may be."""
SHARE, MORE = 0.2, 1000
"""So many more are tried after a hit: a share of all pairs that were tried before it, and as many more."""
CELLS = 4_000_000
"""The cells of all graphs with a variant in them that are kept."""
ASK = 16
"""After so many pairs the budget is asked."""


def look_for_pairs(search: Search, stages: Sequence[Level]) -> list[Hit]:
    """The pairs of variants at op level, or inside the ops, that explain what was observed."""
    level = stages[0]
    search.pairs = True
    hits: list[Hit] = []
    sketch = Sketch(level.judge)
    inside = [stage for stage in stages if stage.name == "primitive" and level.tape is None]
    fed = level.intended.graph.inputs.keys()
    alone = changes(
        search, [level, *(one for one in inside if one.intended.graph.inputs.keys() == fed)], sketch
    )
    whole = search.finished
    pairs = ranked(search, alone, sketch)
    if search.over:
        search.counted = False
        search.leave(len(pairs), KEPT)
        return []
    bench, until = Bench(level), len(pairs)
    for place, pair in enumerate(pairs):
        if place > until:
            break
        if not place % ASK and search.over:
            search.leave(len(pairs) - place, 0 if whole else KEPT)
            break
        if not place % 256:
            search.say(f"two mistakes: {place} of {len(pairs)}")
        hit = _look(search, bench, pair)
        if hit is not None:
            if not hits:
                until = (1 + SHARE) * place + MORE
            hits.append(hit)
    least = min((hit.price for hit in hits), default=0.0)
    return [hit for hit in hits if hit.price <= least + BAND]


def _look(search: Search, bench: Bench, pair: Pair) -> Hit | None:
    """Whether two changes explain what was observed."""
    level = bench.level
    if bench.refuses(*pair):
        search.tried += 1
        return None
    both = _at_once(level, *pair)
    variants = _in_order(level, *(change.variant for change in pair))
    return None if both is None else search.look(level, variants, both)


def _at_once(level: Level, first: Change, second: Change) -> Rewrite | None:
    """Two changes in one; inside the ops, where one of them changes an op inside of which the other is. None
    where they are at odds."""
    if first.opened.isdisjoint(second.touched) and second.opened.isdisjoint(first.touched):
        return merged(first.variant.rewrite, second.variant.rewrite, level.intended.graph)
    lift, a, b = first.lift, first.fine, second.fine
    both = None if lift is None or a is None or b is None else merged(a, b, lift.fine.graph)
    try:
        return None if both is None or lift is None else lift.rewrite(both)
    except GraphError:
        return None


def _in_order(level: Level, *pair: Variant) -> tuple[Variant, ...]:
    """As they stand in the graph."""
    order = level.intended.order
    return tuple(sorted(pair, key=lambda variant: max(order[name] for name in variant.nodes)))


class Bench:
    """Evaluates one change beside another."""

    def __init__(self, level: Level) -> None:
        self.level, self.judge = level, level.judge
        cells = sum(spec.size for spec in level.intended.specs.values())
        self.most = max(2, CELLS // max(1, cells))
        self.kept: OrderedDict[Change, Planted | None] = OrderedDict()
        """Graphs with a change in them, those that were asked for last."""

    def refuses(self, first: Change, second: Change) -> bool:
        """Whether two at once are not it. False too where neither can be evaluated beside the other."""
        for planted, other in ((first, second), (second, first)):
            if planted.reach.before(other.reach) and other.beside is not None:
                values = self._planted(planted)
                if values is None:
                    continue
                try:
                    return not self.judge.may_be(other.beside.value(values))
                except GraphError:
                    return True
        return False

    def _planted(self, change: Change) -> Planted | None:
        if change in self.kept:
            self.kept.move_to_end(change)
            return self.kept[change]
        judge = self.judge
        found = plant(self.level.intended, change.variant.rewrite, judge.refs[judge.key])
        self.kept[change] = found
        if len(self.kept) > self.most:
            self.kept.popitem(last=False)
        return found
