"""constant_folding: the graph with everything that no feed can change computed beforehand.

A node whose operands are all known becomes a constant of the same name. It is computed in float,
so a graph that is to run in another number type should be folded only if float will do: 1/√8
folded is the double nearest to it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from graphattn.core.graph import Graph, Node, Ref
from graphattn.core.interpreter import plan_of
from graphattn.core.words import listed
from graphattn.passes.rebuild import Rebuild


def constant_folding(graph: Graph) -> Graph:
    """Compute what is known before a run; `notes` names it. Idempotent."""
    known = _known(graph)
    folded = [
        node.name
        for node in graph.nodes.values()
        if node.operands and node.name in known and all(spec.size for spec in node.outputs)
    ]
    if not folded:
        return graph
    chosen = set(folded)
    rebuild = Rebuild(graph)
    for node in graph.nodes.values():
        if node.name in chosen:
            _fold(rebuild, node, known[node.name])
        else:
            rebuild.keep(node)
    result = rebuild.finish()
    result.notes = (*result.notes, f"constant_folding: computed {len(folded)}: {listed(folded, 5)}")
    return result


def _known(graph: Graph) -> dict[str, tuple[Any, ...]]:
    """The outputs of every node that nothing fed reaches."""
    plan = plan_of(graph)
    known: dict[str, tuple[Any, ...]] = {}
    changing = graph.descendants(*graph.fed)
    for step in plan.steps:
        node = step.node
        if node.name in changing:
            continue
        if not node.operands:
            known[node.name] = tuple(plan.constants[place] for place in step.places)
            continue
        assert step.function is not None
        result = step.function(*(None if r is None else known[r.node][r.port] for r in node.operands))
        known[node.name] = tuple(result) if len(node.ports) > 1 else (result,)
    return known


def _fold(rebuild: Rebuild, node: Node, values: tuple[Any, ...]) -> None:
    """Put a constant for each output of a node."""
    for port, (value, spec) in enumerate(zip(values, node.outputs, strict=True)):
        constant = Graph().constant(value, axes=spec.axes).node
        name = node.tensor_name(port)
        rebuild.graph.adopt(replace(constant, name=name, title=node.title, scope=node.scope, outputs=(spec,)))
        rebuild.redirect(Ref(node.name, port), Ref(name))
