"""Gradients that were observed: the graph is differentiated, and mistakes are looked for on its backward nodes
as on all others, and in the engine that put them together.

What names like `d_x` are gradients of is told by `passes.cotangents`; cotangents are called by the outputs
here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...core.errors import GraphError
from ...core.graph import Graph
from ...core.run import run
from ...passes.cotangents import PREFIX, asked, need_cotangent
from ...passes.engine_mistakes import EngineMistake, engine_mistakes
from ...passes.gradient import differentiate
from ..compare.recording import rows_of
from ..variants.rules import Rules
from .judge import Judge, apart, widest, within


@dataclass(frozen=True)
class Backward:
    """A differentiated graph, and what it was differentiated from."""

    graph: Graph
    forward: Graph
    of: tuple[str, ...]
    wrt: tuple[str, ...]
    rules: Rules
    """Which of its nodes are steps of which rules."""

    @property
    def gradients(self) -> tuple[str, ...]:
        """How the gradients are called."""
        return tuple(f"{PREFIX}{name}" for name in self.wrt)

    def mistakes(self, everywhere: bool) -> Iterator[EngineMistake]:
        """Wrong engines, by whether they go wrong everywhere."""
        return (m for m in engine_mistakes(self.forward, self.of, self.wrt) if m.everywhere is everywhere)


def differentiated(graph: Graph, names: Iterable[str], feeds: Mapping[str, Any]) -> Backward | None:
    """The graph with the gradients that the names ask for; None where they ask for none."""
    of, wrt = asked(graph, names, feeds)
    if not wrt:
        return None
    if not of:
        raise GraphError(need_cotangent(graph, wrt))
    made = differentiate(graph, of, wrt, apart=True)
    return Backward(made.graph, graph, of, wrt, made.rules)


def fits(judge: Judge, graph: Graph, feeds: Mapping[str, Any]) -> float | None:
    """The largest difference left where a wrong engine gives what was observed, None where it does not."""
    names = [o.name for o in judge.observed]
    try:
        given = {name: value for name, value in feeds.items() if name in graph.nodes}
        trace = run(graph, given, targets=names, allow_nonfinite=True)
    except GraphError:
        return None
    largest = 0.0
    for o, rank, room in zip(judge.observed, judge.ranks, judge.strict, strict=True):
        rows = rows_of(trace[o.name], rank)
        if not within(rows, o.rows, widest(room, o.rows)):
            return None
        largest = max(largest, apart(rows, o.rows))
    return largest
