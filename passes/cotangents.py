"""d_y: how the cotangent of a result y is called, where gradients were observed or are to be computed.

    cotangent_of(graph, "d_mixed")    "d_out", of an output out that is the tensor mixed
    by_results(graph, tensors)        the same tensors, cotangents by the names of the outputs

A graph with one result calls its cotangent d_out as well.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from graphattn.core.graph import Graph

PREFIX = "d_"
ONLY = "d_out"
"""What the cotangent of the only result may be called, too."""


def cotangent_of(graph: Graph, name: str) -> str | None:
    """The cotangent that a name means, by the name of the output; None where it means none."""
    if name in graph or not name.startswith(PREFIX):
        return None
    of = name.removeprefix(PREFIX)
    results = {result: tensor.ref for result, tensor in graph.outputs.items() if tensor.kind == "float"}
    if of in results:
        return name
    if of in graph:
        ref = graph.resolve(of)
        return next((PREFIX + result for result, own in results.items() if own == ref), None)
    return PREFIX + next(iter(results)) if name == ONLY and len(results) == 1 else None


def otherwise_called(graph: Graph, names: Collection[str]) -> dict[str, str]:
    """The cotangents that are not called by the output, {by the output: as called}."""
    found = {cotangent_of(graph, name): name for name in names}
    return {by: name for by, name in found.items() if by is not None and by not in names}


def by_results(graph: Graph, tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Tensors with cotangents called by the outputs, unless these are there too."""
    called = {name: by for by, name in otherwise_called(graph, tensors.keys()).items()}
    return {called.get(name, name): value for name, value in tensors.items()}
