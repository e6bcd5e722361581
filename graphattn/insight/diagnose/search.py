"""The search: variants by rank, a quick look at each, a close one at those that pass, within a budget.

After the first hit the variants of its price band are tried, as far as so much work again reaches; those that
are the same function are one finding, under its plainest wording; the others are told apart by inputs on which
they differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from heapq import heappop, heappush, heapreplace

from ...core.errors import GraphError
from ...core.graph import Graph
from ...core.words import counted
from ...passes.cost import cost
from ..variants import TWICE, UNLIKELY, Rewrite, Variant, seen, solved
from ..variants.clock import Clock
from ..variants.structure.groups import numbered
from .chance import numbers_tell
from .levels import Level

BAND = 0.3
"""How much dearer than the best a finding may be."""
SMALLEST = 1e-9
"""What is left of a difference that is no more than this is rounding."""
WORSE = 4.0
"""How many times farther off than the best match says nothing yet."""
DECADE = 0.4
"""What ten times as far off costs, as a price."""
LESS = 8
NUMBER = 0.85
"""What it costs at the least to believe in a number that is solved for."""
MORE = 3000
"""So many variants more are tried after a hit, besides as many as before it: of a graph of little work."""
STEP, LITTLE = 5_000, 150_000
"""What evaluating a step costs besides its flops, in flops; and what is little work, all in all. Of a graph of
twice as much, half as many are tried."""
EVERY = 1.0
"""So many seconds after one word of how far it is comes the next."""
MOMENT = 0.1
"""So many seconds at the least are spent on counting what is left."""
ENOUGH = 100
"""So many tell how long one more takes."""
CLOSE_LOOKS = 24
"""The most variants that are measured closely, but for those that are as near as the intended graph may be."""
Say = Callable[[str], None]


@dataclass(eq=False)
class Hit:
    """Variants that explain what was observed."""

    variants: tuple[Variant, ...]
    rewrite: Rewrite
    level: Level
    error: float

    @property
    def price(self) -> float:
        return sum(variant.price for variant in self.variants)

    @cached_property
    def left(self) -> float:
        """How large the rest of the difference is, over all cells of the first tensor that differs."""
        return self.level.judge.residual(self.rewrite)

    @cached_property
    def rounding(self) -> float:
        """What rounding what was observed makes of it, over all cells of that tensor, at the least."""
        judge, accuracy = self.level.judge, self.level.accuracy
        cells = [x for row in judge.observed[judge.key].rows for x in row if math.isfinite(x)]
        made = max(accuracy.relative * math.hypot(*cells), accuracy.half * math.sqrt(len(cells)))
        return made / 4 or SMALLEST

    def cost(self, least: float) -> float:
        """What it costs to believe in it where others leave as little as `least`: its price, and how much worse
        its match is."""
        worse = self.left / least
        return self.price + (DECADE * math.log10(worse) if WORSE < worse < math.inf else 0.0)


@dataclass(eq=False)
class Search:
    """Counts what was tried, and keeps to the budget (seconds of work: see `Clock`)."""

    budget: float
    say: Say = lambda text: None
    tried: int = 0
    finished: bool = True
    clock: Clock = field(default_factory=Clock)
    looked: int = 0
    began: tuple[float, int] = (0.0, 0)
    """Seconds and variants before the part of the search that is under way."""
    left: int = 0
    """How many variants the budget left untried, as far as they were counted."""
    counted: bool = True
    """Whether these are all."""
    needed: float = 0.0
    """The budget of a part that would have reached them, in seconds."""
    pairs: bool = False
    """Whether two mistakes at once were looked for."""
    word: float = 0.0
    """When it is said next how far the search is."""

    @property
    def seconds(self) -> float:
        return self.clock.seconds

    @property
    def over(self) -> bool:
        """Whether the budget is spent; says how far it is every second."""
        seconds = self.seconds
        if seconds >= self.word:
            self.word = seconds + EVERY
            self.say(f"{counted(self.tried, 'variant')} tried")
        self.finished = self.finished and seconds <= self.budget
        return seconds > self.budget

    def start(self, budget: float) -> None:
        """Begin a part of the search, with a budget of its own."""
        self.budget, self.looked = self.seconds + budget, 0
        self.began = self.seconds, self.tried

    def leave(self, left: int, reckoned: int = 0) -> None:
        """So many are left untried by the part of the search that is under way; where not all were counted, the
        budget is reckoned for so many. Where too few were tried to tell how long one takes, all that was tried
        before tells."""
        seconds, tried = self.began
        self.left += left
        before = (0.0, 0) if self.tried - tried < ENOUGH else self.began
        pace = (self.seconds - before[0]) / max(1, self.tried - before[1])
        self.needed = max(self.needed, self.seconds - seconds + max(self.left, reckoned) * pace)

    def _count(self, left: Iterator[object]) -> int:
        """How many there are, counted for no longer than a tenth of the time that was spent, or a moment."""
        spent = self.seconds
        until, count = spent + max(spent / 10, MOMENT), 1
        for count, _ in enumerate(left, 2):
            if not count % 64 and self.seconds > until:
                self.counted = False
                break
        return count

    def singles(self, levels: Sequence[Level], parts: Sequence[bool] = (False, True)) -> list[Hit]:
        """Every hit of the price band of the first one, as far as so much more work reaches: counted, so that
        a slow machine finds the same. parts: what is likely (False), the rest (True)."""
        hits: list[Hit] = []
        began, until, likely = self.tried, math.inf, math.inf
        everything = _by_rank(levels, parts, lambda: likely + BAND)
        for level, variant in everything:
            if hits and (variant.rank > likely + BAND + UNLIKELY or self.tried > until):
                break
            if hits and variant.price > likely + BAND:
                continue
            if self.over:
                if not hits:
                    self.leave(self._count(everything))
                break
            hit = self.look(level, (variant,))
            if hit is not None:
                if not hits:
                    until = 2 * self.tried - began + _more(levels[0].whole)
                hits.append(hit)
                likely = min(likely, hit.cost(hit.rounding))
        return hits + [less for hit in hits[:4] for less in self._less(hit)]

    def _less(self, hit: Hit) -> list[Hit]:
        """The same done to fewer of the nodes, where that explains it too: the others do not matter. Of one
        step in several heads it is still likelier that it is wrong in all. And the step done twice, where
        that is the same: a scale by another number may be one that was applied before."""
        (variant,) = hit.variants
        found = []
        for other in hit.level.variants(True, variant.nodes) if len(variant.nodes) <= LESS else ():
            fewer = other.kind == variant.kind and set(other.nodes) < set(variant.nodes)
            again = other.kind == TWICE != variant.kind and other.nodes == variant.nodes
            hit_too = self.look(hit.level, (other,)) if fewer or again else None
            if hit_too is not None:
                if fewer:
                    other.price = variant.price + (0.01 if numbered(variant.nodes) else -0.01)
                found.append(hit_too)
        return found

    def _solved(self, level: Level, variant: Variant) -> Variant | None:
        """A variant that leaves a number open with that which was observed, if any; with that with which it
        begins where too little was observed to tell."""
        judge = level.judge
        if variant.shown is not None:
            told = numbers_tell(judge, self.tried, sum(map(len, variant.shown)))
            return seen(variant, judge.fits_first, judge.fitting) if told else None
        if not numbers_tell(judge, self.tried):
            return variant
        if not judge.reaches(variant.rewrite):
            return None
        return solved(variant, judge.cells, judge.theirs, judge.nearly)

    def look(self, level: Level, chosen: tuple[Variant, ...], rewrite: Rewrite | None = None) -> Hit | None:
        """Whether these variants, at once, explain what was observed."""
        self.tried += 1
        try:
            if rewrite is None:
                variant = self._solved(level, chosen[0]) if chosen[0].is_open else chosen[0]
                if variant is None:
                    return None
                chosen, rewrite = (variant,), variant.make()
            if not level.judge.roughly(rewrite):
                return None
            self.looked += 1
            if self.looked > CLOSE_LOOKS and not level.judge.nearly(rewrite):
                return None
            error = level.judge.closely(rewrite)
            if error is None or (level.stands and level.misses(rewrite) and level.judged is None):
                return None
        except GraphError:
            return None
        return Hit(chosen, rewrite, level, error)


def _more(graph: Graph) -> float:
    """How many variants more of a graph are tried after a hit."""
    work = cost(graph).flops + STEP * len(graph.nodes)
    return MORE / max(1.0, work / LITTLE)


def _by_rank(
    levels: Sequence[Level], which: Sequence[bool], most: Callable[[], float]
) -> Iterator[tuple[Level, Variant]]:
    """The variants of all levels, by rank; each part of a level is made when its cheapest could be next, and
    costs no more than `most`."""
    parts: list[tuple[float, Level, Callable[[], list[Variant]]]] = [
        (level.least + UNLIKELY * rest, level, partial(level.variants, rest))
        for level in levels
        for rest in which
    ]
    parts += [(level.least + NUMBER, level, level.numbers) for level in levels if True in which]
    parts.sort(key=lambda part: part[0])
    heap: list[tuple[float, int, int, Level, list[Variant]]] = []
    while True:
        while parts and (not heap or heap[0][0] >= parts[0][0]) and parts[0][0] <= most():
            _, level, make = parts.pop(0)
            found = sorted(make(), key=lambda variant: variant.rank)
            if found:
                heappush(heap, (found[0].rank, -len(parts), 0, level, found))
        if not heap:
            return
        _, order, place, level, found = heap[0]
        yield level, found[place]
        if place + 1 < len(found):
            heapreplace(heap, (found[place + 1].rank, order, place + 1, level, found))
        else:
            heappop(heap)
