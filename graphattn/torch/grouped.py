"""Attention that a program spells out (matmul, scale, mask, softmax, matmul) as scopes that know what they are.

The nodes of such a scope go by their parts: scores, scaled, masked, weights, out.
"""

from __future__ import annotations

from ..core.graph import Graph
from ..onnx.grouping import grouped


def with_attention(graph: Graph, named: dict[str, str]) -> tuple[Graph, list[str]]:
    """The graph with its attention in scopes, and sentences on what was done. `named`, the names of tensors
    by those of the program, is kept right. Without numpy, which this takes, the graph as it is."""
    marks = {f"value {value}": graph.resolve(name) for value, name in named.items()}
    for mark, ref in marks.items():
        graph.adopt_alias(mark, ref)
    try:
        new, notes = grouped(graph, {})
    except ImportError:
        new, notes = graph, []
    for mark in marks:
        named[mark.removeprefix("value ")] = new.tensor_name(new.aliases[mark])
        new.forget_alias(mark)
    return new, notes
