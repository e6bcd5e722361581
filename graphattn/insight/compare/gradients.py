"""Gradients among what was recorded: which of a graph they are, and the graph differentiated for them.

`d_x` is the gradient of x, where the graph has no tensor of that name (`passes.cotangents`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...core.errors import GraphError
from ...core.graph import Graph
from ...core.words import typed
from ...passes.cotangents import PREFIX, asked, by_results, need_cotangent, otherwise_called
from ...passes.gradient import differentiate
from .recording import Recording


def named_as(graph: Graph, recording: Recording, names: Mapping[str, str]) -> dict[str, str]:
    """The names that were given, {the graph's: yours}, with cotangents by the outputs of the graph, and those
    cotangents that are called otherwise."""
    return {**otherwise_called(graph, recording.tensors.keys()), **by_results(graph, names)}


def feeds_as(graph: Graph, feeds: Any) -> dict[str, Any]:
    """The feeds that were given, cotangents by the outputs of the graph."""
    if not isinstance(feeds, (Mapping, type(None))):
        raise GraphError(f"feeds is {typed(feeds)}; expected a dict of tensors by input name")
    return by_results(graph, feeds or {})


def recorded_as(graph: Graph, recording: Recording, names: Mapping[str, str]) -> list[str]:
    """What tensors are called in the graph, those that `names` ({the graph's: yours}) do not tell of by their
    own names; without a single number that is called as the gradient of more: d_k, a size."""
    called = {name: name for name in recording.tensors if name not in names.values()}
    called |= {name: yours for name, yours in names.items() if yours in recording.tensors}
    return [
        name for name, yours in called.items() if not _is_a_size(graph, name, recording.tensors[yours].size)
    ]


def _is_a_size(graph: Graph, name: str, cells: int) -> bool:
    of = name.removeprefix(PREFIX)
    return (
        cells == 1
        and name not in graph
        and of != name
        and of in graph
        and graph.spec(graph.resolve(of)).size > 1
    )


def with_gradients(
    graph: Graph, yours: Recording, names: dict[str, str], feeds: Mapping[str, Any] | None
) -> tuple[Graph, dict[str, str], Mapping[str, Any] | None, tuple[str, ...]]:
    """The graph with the gradients that yours recorded, as far as what they are of is known; the names and
    feeds that were given, cotangents by the outputs; and what there is to say."""
    more, fed = named_as(graph, yours, names), feeds_as(graph, feeds)
    of, wrt = asked(graph, recorded_as(graph, yours, more), fed)
    if not wrt:
        return graph, names, feeds, ()
    if not of:
        return graph, names, feeds, (need_cotangent(graph, wrt),)
    return differentiate(graph, of, wrt).graph, more, fed, ()
