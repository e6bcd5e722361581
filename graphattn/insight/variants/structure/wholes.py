"""Which composites of a graph can be computed by themselves, though the graph has them step by step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ....core.graph import Graph, Ref, Scope


def wholes_of(graph: Graph, coarse: Graph, order: Mapping[str, int]) -> dict[Ref, list[Scope]]:
    """For each tensor, the composites with a kernel whose result it is, the outermost first: they stand in
    `coarse`, of which the graph is made, and take nothing but their operands."""
    taken: dict[str, set[Ref]] = {}
    for node in graph.nodes.values():
        for name in scopes_around(graph, node.name):
            read = {ref for ref in node.operands if ref is not None}
            outside = {ref for ref in read if name not in scopes_around(graph, ref.node)}
            taken.setdefault(name, set()).update(outside)
    found: dict[Ref, list[Scope]] = {}
    for name, scope in graph.scopes.items():
        if scope.op is None or scope.op.kernel is None or name not in coarse.nodes:
            continue
        first = min(order[ref.node] for ref in scope.outputs)
        before = all(order[ref.node] < first for ref in scope.operands if ref is not None)
        if before and taken.get(name, set()) <= set(scope.operands):
            for ref in scope.outputs:
                found.setdefault(ref, []).append(scope)
    for scopes in found.values():
        scopes.sort(key=lambda scope: len(scopes_of(graph, scope.name)))
    return found


def owners(graph: Graph, names: Iterable[str]) -> set[str]:
    """The scopes that nodes stand in; one that the graph does not have stands in none."""
    return {owner for name in names if name in graph.nodes for owner in scopes_around(graph, name)}


def scopes_around(graph: Graph, name: str) -> list[str]:
    """The scopes that a node is in, the innermost first."""
    return scopes_of(graph, graph.nodes[name].scope)


def scopes_of(graph: Graph, scope: str | None) -> list[str]:
    """A scope and those around it, from the inside."""
    found: list[str] = []
    while scope is not None:
        found.append(scope)
        scope = graph.scopes[scope].parent
    return found
