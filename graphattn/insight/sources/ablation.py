"""The causal test beside the parts of a cell: what it becomes when a source is taken away.

A part keeps norms and weights as they were recorded. Here a source's tensor is replaced by zeros and everything
behind it is evaluated again, so that norms and weights change with it: value − value without the source.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ...core import nested
from ...core.errors import GraphError
from ...core.graph import Ref
from ...core.run import run
from ...core.trace import Trace


def effects(
    trace: Trace, cells: Sequence[tuple[Ref, Sequence[int], float]], tensors: Mapping[str, Ref]
) -> dict[str, float]:
    """By source (`tensors` has their names): how much the sum of cells (tensor, index, factor) loses
    without it. Raises a `GraphError` where the run was patched or not kept whole."""
    if trace.patched:
        raise GraphError(f"the run has patched tensors ({', '.join(trace.patched)}); expected one without")
    graph = trace.graph
    feeds = trace.feeds
    targets = list(dict.fromkeys(graph.tensor_name(ref) for ref, _, _ in cells))

    def total(of: Any) -> float:
        return sum(factor * nested.at(of[graph.tensor_name(ref)], at) for ref, at, factor in cells)

    def without(ref: Ref) -> float:
        zeros = nested.full(graph.spec(ref).shape, 0.0)
        name = graph.tensor_name(ref)
        if graph.nodes[ref.node].op.fed:
            return total(run(graph, {**feeds, name: zeros}, targets=targets, numbers=trace.numbers))
        return total(run(graph, feeds, patch={name: zeros}, targets=targets, numbers=trace.numbers))

    value = total(trace)
    return {name: value - without(ref) for name, ref in tensors.items()}


def largest(parts: Mapping[Any, float], count: int, known: Collection[str]) -> list[str]:
    """The names of the sources with the largest parts, of those that are `known` to be tensors."""
    size: dict[str, float] = {}
    for key, part in parts.items():
        for source in key:
            if source.name in known:
                size[source.name] = size.get(source.name, 0.0) + abs(part)
    return sorted(size, key=lambda name: -size[name])[:count]
