"""Gradients that were observed: the graph is differentiated, and mistakes are looked for on its backward nodes
as on all others, and in the engine that put them together.

What names like `d_x` are gradients of is told by `passes.cotangents`; cotangents are called by the outputs
here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
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
    fine: Callable[[], Differentiated]

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
    return Backward(made.graph, made.tape, lambda: _of_primitives(graph, of, wrt))


def _of_primitives(graph: Graph, of: tuple[str, ...], wrt: tuple[str, ...]) -> Differentiated:
    """The graph of its primitives, differentiated: the peak that a softmax takes away is a number there."""
    fine = graph.at("primitive")
    peaks = [
        node.name
        for node in fine.nodes.values()
        if node.op.name == "reduce_max" and node.name not in graph.nodes
    ]
    return differentiate(fine, of, wrt, apart=True, stop=peaks)
