"""Gradients that were observed: the graph is differentiated, and mistakes are looked for on its backward nodes
as on all others, and in the engine that put them together.

A name `d_x` that the graph does not have is the gradient of x, of the results that have one cell or whose
cotangent (`d_y` for y) is fed, or was observed. The `d_y` of a result is its cotangent, unless another such
result is computed from it. Names of cotangents are those of the outputs here (`passes.cotangents`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...core.errors import GraphError
from ...core.graph import Graph
from ...core.run import run
from ...passes.cotangents import PREFIX
from ...passes.engine_mistakes import EngineMistake, engine_mistakes
from ...passes.gradient import differentiate
from ..variants.rules import Rules
from .judge import Judge, apart, widest, within
from .observed import rows_of


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
    asked = tuple(
        name.removeprefix(PREFIX) for name in names
        if name.startswith(PREFIX) and not (name in graph or name in feeds) and name[len(PREFIX) :] in graph
    )  # fmt: skip
    results = {name: tensor for name, tensor in graph.outputs.items() if tensor.kind == "float"}
    known = {name for name, t in results.items() if t.spec.size == 1 or PREFIX + name in feeds or name in asked}
    last = {name for name in known if not _is_below(graph, known - {name}, name)}
    wrt = tuple(name for name in asked if name not in last)
    if not wrt:
        return None
    of = tuple(name for name in results if name in known and (name not in asked or name in last))
    if not of:
        raise GraphError(
            f"gradients were observed ({PREFIX}{wrt[0]}, …), but no result has one cell or a known cotangent;"
            f" expected {PREFIX}{next(iter(results), 'y')} too, in the shape of that result, among the feeds or"
            " what was observed"
        )
    made = differentiate(graph, of, wrt, apart=True)
    return Backward(made.graph, graph, of, wrt, made.rules)


def _is_below(graph: Graph, names: Iterable[str], name: str) -> bool:
    """Whether one of several tensors is computed from another."""
    own = graph.resolve(name).node
    return not {graph.resolve(other).node for other in names}.isdisjoint(graph.descendants(own) - {own})


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
