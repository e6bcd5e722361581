"""rename: the graph with other names for some of its nodes, which move into one scope.

Values do not change, nor does the order of the nodes. A scope inside the new one that no node is left
in goes, with the aliases inside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from graphattn.core.graph import Graph
from graphattn.passes.rebuild import Rebuild


def rename(graph: Graph, names: Mapping[str, str], scope: str) -> Graph:
    """Move nodes into `scope`; `names` has the new name of each (its own where that stays). A
    `GraphError` says which new name is taken."""
    rebuild = Rebuild(graph)
    held = {node.scope for node in graph.nodes.values() if node.name not in names}
    for name in graph.scopes:
        if name.startswith(f"{scope}.") and name not in held:
            rebuild.forget_scope(name)
    for node in graph.nodes.values():
        if node.name in names:
            moved = replace(node, name=names[node.name], operands=rebuild.operands(node), scope=scope)
            rebuild.replace(node, moved)
        else:
            rebuild.keep(node)
    return rebuild.finish()
