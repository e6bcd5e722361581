"""Gradients that were observed: the graph is differentiated, and mistakes are looked for on its backward nodes
as on all others, and in the engine that put them together.

What names like `d_x` are gradients of is told by `passes.cotangents`; cotangents are called by the outputs
here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from ...core.errors import GraphError
from ...core.graph import Graph
from ...passes.cotangents import PREFIX, asked, need_cotangent
from ...passes.gradient import Differentiated, Tape, differentiate


@dataclass(frozen=True)
class Backward:
    """A differentiated graph, its tape, and the same of its primitives, as an engine on scalars derives it."""

    graph: Graph
    tape: Tape
    cotangents: Mapping[str, str]
    """The inputs that are the cotangents of what was differentiated."""
    fine: Callable[[], Differentiated]
    again: Callable[[Graph, bool], Differentiated]
    """A variant of the graph that was differentiated, or (True) of that of its primitives, differentiated."""

    @property
    def gradients(self) -> tuple[str, ...]:
        """How the gradients are called."""
        return tuple(f"{PREFIX}{name}" for name in self.tape.wrt)


def differentiated(graph: Graph, names: Iterable[str], feeds: Mapping[str, Any]) -> Backward | None:
    """The graph with the gradients that the names ask for; None where they ask for none."""
    of, wrt = asked(graph, names, feeds)
    if not wrt:
        return None
    if not of:
        raise GraphError(need_cotangent(graph, wrt))
    made = differentiate(graph, of, wrt, apart=True)
    assert made.tape is not None
    again = partial(_again, graph, of, wrt)
    return Backward(made.graph, made.tape, made.cotangents, lambda: again(graph.at("primitive"), True), again)


def _again(
    graph: Graph, of: tuple[str, ...], wrt: tuple[str, ...], variant: Graph, primitive: bool
) -> Differentiated:
    """Of primitives, the peak that a softmax takes away is a number."""
    peaks = [
        node.name
        for node in (graph.at("primitive").nodes.values() if primitive else ())
        if node.op.name == "reduce_max" and node.name not in graph.nodes
    ]
    return differentiate(variant, of, wrt, apart=True, stop=peaks)
