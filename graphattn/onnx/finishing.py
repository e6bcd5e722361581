"""What is left to do when all nodes of a model are in the graph: names.

Each ONNX node is built in a scope of its own. Where that came to one op, the op takes the name of the scope
(`layer0.query.MatMul` for `layer0.query.MatMul.matmul_x_w`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from graphattn.passes.rebuild import Rebuild

from ..core.graph import Graph, Tensor
from .grouping import grouped as by_attention
from .grouping import known_refs
from .naming import identifier, parts


def finished(
    graph: Graph, results: Mapping[str, Tensor], own: Collection[str], known: Mapping[str, Any], grouped: bool
) -> tuple[Graph, list[str]]:
    """The graph with short names and its outputs, and sentences on what was done. `own` are the scopes of
    single ONNX nodes."""
    for name, tensor in results.items():
        graph.output(**{_output_name(graph, name, tensor): tensor})
    graph = _short(graph, own)
    return by_attention(graph, known_refs(graph, known)) if grouped else (graph, [])


def _output_name(graph: Graph, name: str, tensor: Tensor) -> str:
    word = identifier("_".join(parts(name)))
    count, free = 1, word
    while free in graph.outputs or not (graph.is_free(free) or graph.aliases.get(free) == tensor.ref):
        count += 1
        free = f"{word}_{count}"
    return free


def _short(graph: Graph, own: Collection[str]) -> Graph:
    """Each scope of an ONNX node that holds nothing but one op is that op."""
    inside: dict[str, int] = {}
    for node in graph.nodes.values():
        if node.scope is not None:
            inside[node.scope] = inside.get(node.scope, 0) + 1
    parents = {scope.parent for scope in graph.scopes.values()}
    alone = {
        name for name in own if name in graph.scopes and inside.get(name) == 1 and name not in parents
    }  # fmt: skip
    rebuild = Rebuild(graph)
    for name, scope in graph.scopes.items():
        if name in alone or (scope.op is None and name not in inside and name not in parents):
            rebuild.forget_scope(name)
    for node in graph.nodes.values():
        if node.scope in alone:
            scope = graph.scopes[node.scope]
            moved = replace(node, name=scope.name, operands=rebuild.operands(node), scope=scope.parent)
            rebuild.replace(node, moved)
        else:
            rebuild.keep(node)
    new = rebuild.finish()
    for name, ref in graph.aliases.items():  # those too whose names look as if they stood in such a scope
        new.adopt_alias(name, rebuild.went(ref))
    return new
