"""common_subexpressions: the graph with equal nodes computed once.

Two nodes are equal if they have the same op, the same operands and the same attributes. The later
one goes; its tensor names become aliases of the earlier one's. What is fed is never merged. A
scope that lost a node to another no longer equals its expansion, and `fuse` says so.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import Any

from graphattn.core.graph import Graph, Ref
from graphattn.core.packed import Packed
from graphattn.core.words import listed
from graphattn.passes.rebuild import Rebuild


def common_subexpressions(graph: Graph, among: Collection[str] | None = None) -> Graph:
    """Merge equal nodes; `notes` names what became what. Idempotent. `among`: the names of the nodes that
    may be given up, if not all may."""
    same = _repeated(graph, among)
    if not same:
        return graph
    rebuild = Rebuild(graph)
    for node in graph.nodes.values():
        if node.name in same:
            rebuild.become(node, tuple(Ref(same[node.name], port) for port in range(len(node.ports))))
        else:
            rebuild.keep(node)
    result = rebuild.finish()
    merged = [f"{name} is {twin}" for name, twin in same.items()]
    result.notes = (*result.notes, f"common_subexpressions: merged {len(merged)}: {listed(merged, 5)}")
    return result


def _repeated(graph: Graph, among: Collection[str] | None) -> dict[str, str]:
    """For each node that an earlier one equals, the name of the earlier one."""
    first: dict[Hashable, str] = {}
    same: dict[str, str] = {}
    for node in graph.nodes.values():
        operands = [r if r is None else Ref(same.get(r.node, r.node), r.port) for r in node.operands]
        key = (node.op, *operands, *((key, _exactly(value)) for key, value in node.attributes.items()))
        if node.op.fed or first.setdefault(key, node.name) == node.name:
            continue
        if among is None or node.name in among:
            same[node.name] = first[key]
    return same


def _exactly(value: Any) -> Hashable:
    """What tells an attribute from any other, 1 from 1.0 and 0.0 from -0.0 too."""
    return value if isinstance(value, Packed) else repr(value)
