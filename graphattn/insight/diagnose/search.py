"""The search: variants by price, a quick look at each, a close one at those that pass, within a budget.

After the first hit all variants of its price band are tried; those that are the same function are one finding,
under its plainest wording; the others are told apart by inputs on which they differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from ...core.errors import GraphError
from ..variants import Rewrite, Variant
from .levels import Level

BAND = 0.5
"""How much dearer than the best a finding may be."""
CLOSE_LOOKS = 60
"""The most variants that are measured closely at one level."""
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


@dataclass(eq=False)
class Search:
    """Counts what was tried, and keeps to the budget (seconds)."""

    budget: float
    say: Say = lambda text: None
    tried: int = 0
    finished: bool = True
    started: float = field(default_factory=monotonic)
    looked: int = 0

    @property
    def seconds(self) -> float:
        return monotonic() - self.started

    @property
    def over(self) -> bool:
        if self.seconds > self.budget:
            self.finished = False
            return True
        return False

    def singles(self, levels: Sequence[Level]) -> list[Hit]:
        """The hits of the first level that has any."""
        for level in levels:
            hits = self._among(level, level.variants())
            if hits or self.over:
                return hits
        return []

    def _among(self, level: Level, candidates: Sequence[Variant]) -> list[Hit]:
        hits: list[Hit] = []
        for place, variant in enumerate(candidates):
            if hits and variant.price > hits[0].price + BAND:
                break
            if not place % 16 and self.over:
                break
            if not place % 256:
                self.say(f"{self.tried} variants tried")
            hit = self.look(level, (variant,))
            if hit is not None:
                hits.append(hit)
        return hits

    def look(self, level: Level, chosen: tuple[Variant, ...], rewrite: Rewrite | None = None) -> Hit | None:
        """Whether these variants, at once, explain what was observed."""
        self.tried += 1
        try:
            rewrite = chosen[0].rewrite if rewrite is None else rewrite
            if not level.judge.roughly(rewrite) or self.looked > CLOSE_LOOKS:
                return None
            self.looked += 1
            error = level.judge.closely(rewrite)
        except GraphError:
            return None
        return None if error is None else Hit(chosen, rewrite, level, error)


def ordered(levels: Iterator[Level]) -> list[Level]:
    return list(levels)


Feeds = Mapping[str, Any]
