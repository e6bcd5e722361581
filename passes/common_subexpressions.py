"""common_subexpressions: the graph with equal nodes computed once.

Two nodes are equal if they have the same op, the same operands and the same attributes. The later
one goes; its tensor names become aliases of the earlier one's. What is fed is never merged. A
scope that lost a node to another no longer equals its expansion, and `fuse` says so.
"""

from __future__ import annotations

from collections.abc import Collection

from graphattn.graph import Graph, Node, Ref
from graphattn.passes.rebuild import Rebuild


def common_subexpressions(graph: Graph, among: Collection[str] | None = None) -> Graph:
    """Merge equal nodes; `notes` names what became what. Idempotent. `among`: the names of the nodes
    that may go, if not all may."""
    rebuild = Rebuild(graph)
    first: dict[str, Node] = {}
    merged: list[str] = []
    for node in graph.nodes.values():
        key = repr((node.op.name, rebuild.operands(node), sorted(node.attributes.items())))
        may_go = among is None or node.name in among
        if node.op.fed or key not in first or not may_go:
            first.setdefault(key, node)
            rebuild.keep(node)
        else:
            twin = first[key]
            rebuild.become(node, tuple(Ref(twin.name, port) for port in range(len(node.ports))))
            merged.append(f"{node.name} is {twin.name}")
    if not merged:
        return graph
    result = rebuild.finish()
    shown = ", ".join(merged[:5]) + (f" and {len(merged) - 5} more" if len(merged) > 5 else "")
    result.notes = (*result.notes, f"common_subexpressions: merged {len(merged)}: {shown}")
    return result
