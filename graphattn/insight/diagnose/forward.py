"""Mistakes before the results that only gradients show: a variant of the forward graph is differentiated anew.

Along one direction of what is fed, Σ of the results times their cotangents changes by what the gradients that
were observed say, or it is not the variant: two evaluations tell. The few that pass are differentiated, and
held to all cells.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from typing import Any

from ...core import nested
from ...core.errors import GraphError
from ...core.graph import Graph, Node, Ref
from ...passes.gradient import Tape
from ..variants import Intended, Rewrite, Variant, evaluate, variants
from .backward import Backward
from .levels import FORWARD, INSIDE, Level
from .search import BAND, Hit, Search

STEP = 1e-4
"""How far the two values are from what was fed, in its unit."""
NEAR = 1e-4
"""How far the derivative may be off, of what it would be if nothing cancelled."""
MORE = 200
"""So many variants more are tried after a hit."""


def forward(search: Search, stages: Sequence[Level], backward: Backward) -> list[Hit]:
    """Variants of the forward graph whose gradients are those that were observed, of the price band of the
    first one."""
    if stages[0].stands:
        return []
    fine = next((stage for stage in stages if stage.tape is not None and stage is not stages[0]), None)
    sides = [Side(stage, backward, stage is fine) for stage in (stages[0], fine) if stage is not None]
    found = [(side, variant) for side in sides if side.measures for variant in side.variants()]
    hits: list[Hit] = []
    likely, last = math.inf, math.inf
    for side, variant in sorted(found, key=lambda each: each[1].rank):
        if variant.price > likely + BAND or search.tried > last or search.over:
            break
        search.tried += 1
        if not side.may_be(variant):
            continue
        hit = side.look(search, variant)
        if hit is not None:
            hits.append(hit)
            likely, last = min(likely, hit.price), min(last, search.tried + MORE)
    return hits


@dataclass
class Side:
    """The forward graph at the magnification of a level of the differentiated one."""

    level: Level
    backward: Backward
    primitive: bool

    @property
    def tape(self) -> Tape:
        assert self.level.tape is not None
        return self.level.tape

    @cached_property
    def intended(self) -> Intended:
        return Intended(self.tape.source, self.level.feeds, shared=self.level.shared)

    def variants(self) -> Iterator[Variant]:
        known = self.backward.tape.source.nodes if self.primitive else {}
        fresh = [name for name in self.intended.nodes if name not in known]
        for variant in variants(self.intended, fresh, thorough=False):
            variant.price += FORWARD + INSIDE * self.primitive
            if not variant.is_open:
                yield variant

    # ------------------------------------------------------------ along one direction

    @cached_property
    def observed(self) -> dict[str, list[float]]:
        """The gradients that were observed of what is fed, cell by cell."""
        graph, found = self.level.intended.graph, {}
        for tensor in self.level.observed:
            of = self.tape.tensors.get(graph.resolve(tensor.name))
            cells = list(nested.flat(tensor.theirs.nested()))
            fed = of is not None and self.intended.nodes[of.node].op.fed
            if of is not None and fed and self.intended.spec(of).size == len(cells):
                found[of.node] = cells
        return found

    @property
    def measures(self) -> bool:
        return bool(self.observed) and all(
            map(math.isfinite, (cell for own in self.observed.values() for cell in own))
        )

    @cached_property
    def direction(self) -> dict[str, list[float]]:
        random = Random(1)
        return {name: [random.uniform(-1, 1) for _ in cells] for name, cells in self.observed.items()}

    @cached_property
    def wanted(self) -> tuple[float, float]:
        """The derivative along the direction, and how far it may be off."""
        pairs = [
            (cell, along)
            for name, cells in self.observed.items()
            for cell, along in zip(cells, self.direction[name], strict=True)
        ]
        accuracy = self.level.accuracy
        room = NEAR * math.hypot(*(cell * along for cell, along in pairs))
        room += sum((accuracy.half + accuracy.relative * abs(cell)) * abs(along) for cell, along in pairs)
        return math.fsum(cell * along for cell, along in pairs), room

    @cached_property
    def ends(self) -> tuple[Intended, Intended]:
        """The graph on feeds a little on along the direction, and a little back."""
        given = {
            name: self.intended.values[Ref(name)] for name, node in self.intended.nodes.items() if node.op.fed
        }
        before, after = ({**given, **self._moved(given, step)} for step in (-STEP, STEP))
        return Intended(self.tape.source, before), Intended(self.tape.source, after)

    def _moved(self, given: Mapping[str, Any], step: float) -> dict[str, Any]:
        moved = {}
        for name, along in self.direction.items():
            cells = [cell + step * way for cell, way in zip(nested.flat(given[name]), along, strict=True)]
            each = iter(cells)
            moved[name] = nested.build(self.intended.spec(Ref(name)).shape, lambda *_, each=each: next(each))
        return moved

    @cached_property
    def results(self) -> list[Ref]:
        return [self.tape.source.resolve(name) for name in self.tape.of]

    @cached_property
    def cotangents(self) -> list[list[float]]:
        values = self.level.intended.values
        return [list(nested.flat(values[Ref(self.backward.cotangents[name])])) for name in self.tape.of]

    def may_be(self, variant: Variant) -> bool:
        """Whether the derivative along the direction is that which was observed."""
        try:
            before, after = (self._weighed(evaluate(end, variant.rewrite, self.results)) for end in self.ends)
        except GraphError:
            return False
        wanted, room = self.wanted
        return abs((after - before) / (2 * STEP) - wanted) <= room

    def _weighed(self, values: Sequence[Any]) -> float:
        total = 0.0
        for value, cotangent in zip(values, self.cotangents, strict=True):
            cells = list(nested.flat(value))
            if len(cells) != len(cotangent):
                raise GraphError("a result of another size has no cotangent")
            total += sum(x * d for x, d in zip(cells, cotangent, strict=True))
        return total

    # ------------------------------------------------------------ differentiated

    def look(self, search: Search, variant: Variant) -> Hit | None:
        """Whether the gradients of the variant explain what was observed."""
        try:
            graph = variant.rewrite.graph(self.tape.source)
            again = self.backward.again(graph, self.primitive).graph
            rewrite = becoming(self.level.whole, again.at("op"))
        except GraphError:
            return None
        made = replace(variant, make=lambda: rewrite)
        made.intended = self.level.intended
        return search.look(self.level, (made,), rewrite)


def becoming(graph: Graph, other: Graph) -> Rewrite:
    """What makes another graph of one, with the same outputs."""
    nodes = {name: node for name, node in other.nodes.items() if not _same(graph.nodes.get(name), node)}
    went = {}
    for name, tensor in graph.outputs.items():
        new = other.resolve(name)
        if new != tensor.ref:
            went[tensor.ref] = new
    return Rewrite(nodes, went)


def _same(a: Node | None, b: Node) -> bool:
    if a is None or a.op is not b.op or a.operands != b.operands:
        return False
    return repr(sorted(a.attributes.items())) == repr(sorted(b.attributes.items()))
