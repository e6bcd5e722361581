"""bind: the graph with some of what it must be fed made part of it.

A bound input or parameter becomes a constant of the same name, so that a run is fed only the
rest, an export carries its weights, and what can be prepared from a constant is prepared once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from graphattn.core import nested
from graphattn.core.axes import describe
from graphattn.core.errors import GraphError, suggest
from graphattn.core.graph import Graph, Node
from graphattn.passes.rebuild import Rebuild


def bind(graph: Graph, values: Mapping[str, Any]) -> Graph:
    """Replace inputs by constants: `values` are nested lists by input name, as for a run.

    Raises a `GraphError` for a name that is not an input, or a value that is not as declared, or
    that no constant holds: a single integer (a constant 3 is a number to compute with, not an
    index), or a tensor without cells.
    """
    for name in values:
        if name not in graph.fed:
            raise GraphError(f"bind: graph {graph.name!r} has no input {name!r}{suggest(name, graph.fed)}")
    rebuild = Rebuild(graph)
    for node in graph.nodes.values():
        if node.name not in values:
            rebuild.keep(node)
            continue
        value = nested.read(values[node.name], node.outputs[0], node.name)
        constant = _constant(value, node)
        rebuild.replace(
            node, replace(constant, name=node.name, title=node.title, scope=node.scope, outputs=node.outputs)
        )
    bound = rebuild.finish()
    bound.notes = (*bound.notes, f"bind: {', '.join(values)} became constant")
    return bound


def _constant(value: Any, node: Node) -> Node:
    """The constant that holds an input's value."""
    declared = node.outputs[0]
    if declared.size:
        constant = Graph().constant(value, axes=declared.axes).node
        if constant.outputs[0] == declared:
            return constant
    raise GraphError(f"bind: {node.name} is {describe(declared)}, which no constant holds; expected it fed")
