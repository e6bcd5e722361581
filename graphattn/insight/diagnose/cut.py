"""The intended graph cut where it was observed: what is computed from an observed tensor is computed from it.

So each observed tensor is held to what its own observed inputs give, and a mistake further down is found too.
Names of the tensors that stand for observed ones end in `_as_observed`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...core.errors import GraphError
from ...core.graph import Graph, Node, Ref
from ...core.op import find
from ...passes.rebuild import Rebuild
from ..variants import Rewrite

ENDING = "_as_observed"


def cut(graph: Graph, names: Sequence[str]) -> tuple[Graph, dict[str, str], dict[Ref, Ref]]:
    """The graph, what to feed it (input: name of the observed tensor), and what each such input stands for."""
    refs = {graph.resolve(name): name for name in names}
    used = {ref for node in graph.nodes.values() for ref in node.operands}
    feeds: dict[str, str] = {}
    stands: dict[Ref, Ref] = {}
    if not used & set(refs):
        return graph, feeds, stands
    rebuild = Rebuild(graph)
    instead: dict[Ref | None, Ref] = {}
    for node in graph.nodes.values():
        operands = tuple(instead.get(ref, ref) for ref in node.operands)
        rebuild.graph.adopt(replace(node, operands=operands))
        for port in range(len(node.ports)):
            ref = Ref(node.name, port)
            rebuild.redirect(ref, ref)
            if ref in refs and ref in used and not node.op.fed:
                name = refs[ref].replace(".part", "_part") + ENDING
                spec = node.outputs[port]
                own = {"shape": spec.shape, "axes": spec.axes, "kind": spec.kind}
                attributes = {**find("input").defaults, **own}
                rebuild.graph.adopt(rebuild.graph.infer(find("input"), (), attributes, name))
                instead[ref] = Ref(name)
                stands[Ref(name)] = ref
                feeds[name] = refs[ref]
    return rebuild.finish(), feeds, stands


def uncut(rewrite: Rewrite, whole: Graph, stands: Mapping[Ref, Ref]) -> Rewrite:
    """The same change to the whole graph: who read an observed tensor reads what stands for it after the
    change, and what was added to the tensor itself still does. Raises a `GraphError` where a tensor would be
    what was observed of itself."""
    if not stands:
        return rewrite
    if any(stands.get(b) == a for a, b in rewrite.went.items()):
        raise GraphError("a tensor would be what was observed of itself")
    changed = Rewrite({}, {a: stands.get(b, b) for a, b in rewrite.went.items() if a not in stands})

    def read(node: Node, seen: Mapping[Ref, Ref]) -> Node:
        own = tuple(seen.get(ref, ref) if ref else None for ref in node.operands)
        now = tuple(changed.now(ref) if ref and old in seen else ref for old, ref in zip(node.operands, own))
        return replace(node, operands=own if any(ref and ref.node == node.name for ref in now) else now)

    nodes = {name: read(node, stands) for name, node in rewrite.nodes.items() if Ref(name) not in stands}
    seen = {ref: ref for ref in stands.values() if ref in changed.went}
    for node in whole.nodes.values():
        if node.name not in nodes and not seen.keys().isdisjoint(node.operands):
            nodes[node.name] = read(node, seen)
    return Rewrite(nodes, changed.went)


def plain(text: str) -> str:
    """A phrase as one says it of the whole graph."""
    return text.replace(ENDING, "")
