"""What each variant by itself changes of the first tensor that differs: what is known before two are planted at
once. Variants inside the ops are among them, each as one of the graph at op level."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Any, NamedTuple

from ...core.errors import GraphError
from ...core.numbers import dot
from ..compare.masked_cells import is_masked
from ..compare.recording import rows_of
from ..variants import Rewrite, Variant
from ..variants.evaluation import sifted
from ..variants.evaluation.planted import Beside, Reach, reach_of
from ..variants.evaluation.sieve import Sieve, digest
from ..variants.lifted import Lift
from .judge import Judge, alike, near
from .levels import Level
from .search import Search

DEAREST = 2.2
"""The price of the least likely variant that is tried as one of two."""
SUMS = 12
"""So many sums of cells, each with a sign of its own, tell how much two at once leave."""
LARGE = 1e140
"""What is this many times as large as the difference is no larger: squares of it are in range."""
SHARE = 0.4
"""The share of the budget that is spent on them, at the most."""


class Rows(NamedTuple):
    """Rows of a tensor, as bits."""

    changed: int
    """Those that a variant changes."""
    given: int
    """Those that it gives as they were observed, and the intended graph does not."""


@dataclass(eq=False)
class Change:
    """What a variant by itself changes."""

    variant: Variant
    """At op level."""
    level: Level
    shaped: bool
    """Whether its result has the shape that was observed."""
    sums: list[float]
    """Of how far it moves cells (see `Sketch`)."""
    rows: Rows
    lift: Lift | None
    """What takes changes of the graph into its ops, where there is such a level."""
    inner: Variant | None
    """The variant inside the ops, where it is one."""

    @cached_property
    def fine(self) -> Rewrite | None:
        """The change inside the ops; None where it is no graph, or there is no such level."""
        if self.lift is None or self.inner is not None:
            return None if self.inner is None else self.inner.rewrite
        try:
            return self.lift.lowered(self.variant.rewrite)
        except GraphError:
            return None

    @cached_property
    def opened(self) -> set[str]:
        """The ops that it changes inside."""
        return set() if self.inner is None else {ref.node for ref in self.variant.rewrite.went}

    @cached_property
    def touched(self) -> set[str]:
        """The records of the graph that it changes."""
        return {*self.variant.rewrite.nodes, *self.opened}

    @cached_property
    def reach(self) -> Reach:
        return reach_of(self.level.intended, self.variant.rewrite)

    @cached_property
    def beside(self) -> Beside | None:
        """What is looked at first, with others in the graph; None where it cannot be had so."""
        judge = self.level.judge
        try:
            found = Beside(self.level.intended, self.variant.rewrite, judge.refs[judge.key], judge.row)
        except GraphError:
            return None
        return found if found.fits else None


class Sketch:
    """What is told of the cells of a tensor: a few sums over how far those that tell anything are from the
    intended ones, in units of the largest difference; and which rows are as intended, or as observed."""

    def __init__(self, judge: Judge) -> None:
        self.rank = judge.ranks[judge.key]
        self.rows, self.theirs = judge.rows[judge.key], judge.observed[judge.key].rows
        self.room = judge.loose[judge.key]
        self.alike = alike(self.rows, self.theirs)
        """Whether what was observed has the shape of the intended tensor: if not, it tells nothing of cells."""
        self.own = [x for row in self.rows for x in row]
        theirs = [x for row in self.theirs for x in row] if self.alike else []
        self.told = [
            place for place, (x, y) in enumerate(zip(self.own, theirs, strict=self.alike))
            if math.isfinite(x - y) and not is_masked(x) and not is_masked(y)
        ]  # fmt: skip
        self.unit = max((abs(theirs[place] - self.own[place]) for place in self.told), default=0.0) or 1.0
        self.signs = [[random.choice((-1.0, 1.0)) for _ in self.told] for random in map(Random, range(SUMS))]
        self.difference = self.sums(theirs)
        """Of what was observed."""
        self.differing = self.unlike(self.rows, self.theirs) if self.alike else 0
        """The rows that are not as intended, as bits."""

    def sums(self, cells: Sequence[float]) -> list[float]:
        own, unit = self.own, self.unit
        moved = [max(-LARGE, min((cells[place] - own[place]) / unit, LARGE)) for place in self.told]
        return [dot(row, moved) for row in self.signs]

    def takes(self, value: Any) -> bool:
        """Whether a result is one of numbers, where those of both are, and of a shape that a mistake may have
        together with another: of that which was observed, or of the intended one."""
        rows = rows_of(value, self.rank)
        if not alike(rows, self.rows):
            return not self.alike and alike(rows, self.theirs)
        cells = [x for row in rows for x in row]
        return all(math.isfinite(cells[place]) for place in self.told)

    def of(self, value: Any) -> tuple[bool, list[float], Rows]:
        """What a change is told by (see `Change`)."""
        rows = rows_of(value, self.rank)
        if not self.alike:
            return alike(rows, self.theirs), [], Rows(0, 0)
        given = self.differing & ~self.unlike(rows, self.theirs)
        return True, self.sums([x for row in rows for x in row]), Rows(self.unlike(rows, self.rows), given)

    def unlike(self, rows: Sequence[Sequence[float]], others: Sequence[Sequence[float]]) -> int:
        """The rows that differ, as bits."""
        fine = map(near, rows, others, self.room)
        return sum(1 << place for place, same in enumerate(fine) if not same)


def changes(search: Search, stages: Sequence[Level], sketch: Sketch) -> list[Change]:
    """The variants that are graphs and change something, one of each effect, by price: as many as a part of the
    budget reaches. `stages` are the graph at op level, and with its ops in steps if there are any."""
    level = stages[0]
    judge, until = level.judge, search.seconds + SHARE * (search.budget - search.seconds)
    name, own = level.observed[judge.key].name, judge.values[judge.key]
    lift = Lift(stages[1].intended, level.intended) if len(stages) > 1 else None
    every = [
        (stage, variant) for stage in stages for rest in (False, True) for variant in stage.variants(rest)
        if variant.price <= DEAREST and not variant.throughout
    ]  # fmt: skip
    sieves = {
        stage.name: (stage.intended.graph.resolve(name), Sieve(stage.intended, None, False, None, 0.0))
        for stage in stages
    }
    seen, found = {digest([own])}, []
    for place, (stage, variant) in enumerate(sorted(every, key=lambda one: one[1].price)):
        if search.over or search.seconds > until:
            search.finished = False
            search.leave(len(every) - place)
            spent = search.seconds - search.began[0]
            search.needed = max(search.needed, spent * len(every) / max(1, place) / SHARE)
            break
        search.tried += 1
        ref, sieve = sieves[stage.name]
        try:
            value = sifted(stage.intended, variant.rewrite, ref, None, sieve)
            if value is None:
                continue
            sieve.refuse()
            effect = digest([value])
            if effect in seen or not sketch.takes(value):
                continue
            inner = None
            if stage is not level and lift is not None:
                variant, inner = lift(variant), variant
                variant.rewrite  # noqa: B018 - it is none where it cannot be lifted
        except GraphError:
            continue
        seen.add(effect)
        found.append(Change(variant, level, *sketch.of(value), lift, inner))
    return found
