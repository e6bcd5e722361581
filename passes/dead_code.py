"""dead_code: the graph without the nodes that no output needs.

What must be fed stays, used or not, so that the graph is called as before. A graph without
declared outputs is returned as it is: every node may be what its author wanted.
"""

from __future__ import annotations

from collections.abc import Collection

from graphattn.core.graph import Graph
from graphattn.core.words import listed
from graphattn.passes.rebuild import Rebuild


def dead_code(graph: Graph, among: Collection[str] | None = None) -> Graph:
    """Remove what no output needs; `notes` names what was removed. `among`: the names of the nodes that
    may go, if not all may."""
    if not graph.outputs and among is None:
        return graph
    needed = graph.ancestors(*(tensor.ref.node for tensor in graph.outputs.values()))
    dead = [
        node.name
        for node in graph.nodes.values()
        if node.name not in needed and not node.op.fed and (among is None or node.name in among)
    ]
    if not dead:
        return graph
    gone = set(dead)
    rebuild = Rebuild(graph)
    for node in graph.nodes.values():
        if node.name not in gone:
            rebuild.keep(node)
    pruned = rebuild.finish()
    pruned.notes = (*pruned.notes, f"dead_code: removed {len(dead)} of {len(graph)} nodes: {listed(dead, 5)}")
    return pruned
