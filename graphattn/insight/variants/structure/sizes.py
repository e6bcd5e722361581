"""The sizes of a graph that a number in it may be meant to be, by the names that the field has for them.

They are read off the graph: what the axes are called, and where the features of a token are cut into heads
(h heads of d_k features of d_model).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....core.graph import Graph, Node, Ref

if TYPE_CHECKING:
    from ..intended import Intended

AXES = {"token": "n", "feature": "d", "head": "h"}


def sizes_of(intended: Intended) -> list[tuple[str, int]]:
    """(name, size), each pair once, the likeliest first; of one size there may be several names."""
    graph, found = intended.graph, dict[tuple[str, int], None]()
    cuts = [cut for node in graph.nodes.values() if (cut := _heads(intended, node)) is not None]
    most = max((count for _, count in cuts), default=0)
    widths = _widths(graph)
    for width, count in cuts:
        heads = "h" if count == most else "kv_heads"  # grouped heads share their keys and values
        found[("d_k", width)] = None
        if count < most and width * most in widths:
            found[("d_model/kv_heads", width * most // count)] = None
        found[("d_model" if width * count in widths else f"{heads}·d_k", width * count)] = None
        found[(heads, count)] = None
    for node in graph.nodes.values():
        if node.op.fed and node.op.drawn != "inside":
            spec = node.outputs[0]
            for axis, size in zip(spec.axes, spec.shape, strict=True):
                if axis in AXES and (size not in [s for _, s in found] or axis == "token"):
                    found[(AXES[axis], size)] = None
    for node in graph.nodes.values():
        if node.op.fed:
            for size in node.outputs[0].shape[-2:]:
                if size not in [s for _, s in found]:
                    found[("size", size)] = None
    return [(name, size) for name, size in found if size > 1]


def _heads(intended: Intended, node: Node) -> tuple[int, int] | None:
    """(features of a head, heads) where a step cuts the features of a token into heads: parts that all go to
    the same steps and are not cut further, or an axis in the place of one."""
    ref = node.operands[0] if node.operands else None
    if ref is None or not node.op.moves or node.outputs[0].rank < 2 or node.outputs[0].kind != "float":
        return None
    if intended.is_inside(node) or intended.is_known(node.name):  # pairs of features that turn
        return None
    whole, part, parts = intended.spec(ref).shape, node.outputs[0].shape, len(node.ports)
    if parts == 1:
        cut = len(whole) > 1 and len(part) == len(whole) + 1 and part[:-2] == whole[:-1]
        return (part[-1], part[-2]) if cut and min(part[-2:]) > 1 else None
    if any(spec.shape != part for spec in node.outputs) or part[:-1] != whole[:-1] or part[-1] < 2:
        return None
    readers = [intended.users.get(Ref(node.name, port), []) for port in range(parts)]
    nodes = intended.nodes
    steps = [[(nodes[name].op.name, slot) for name, slot in own] for own in readers]
    if any(own != steps[0] for own in steps):  # a gate and what it gates
        return None
    if any(_heads(intended, nodes[name]) is not None for name, _ in readers[0]):  # queries, keys and values
        return None
    return part[-1], parts


def _widths(graph: Graph) -> set[int]:
    """How many features a token has: of what comes in, of what is looked up, of sums along the stream."""
    widths: set[int] = set()
    for node in graph.nodes.values():
        refs: list[Ref] = [ref for ref in node.operands if ref is not None]
        kinds = {graph.spec(ref).kind for ref in refs}
        looked_up = node.op.moves and "int" in kinds and "float" in kinds
        summed = node.op.family == "add" and len(refs) > 1
        if (node.op.fed and node.op.drawn != "inside") or looked_up or summed:
            spec = node.outputs[0]
            if spec.kind == "float" and spec.rank > 1:
                widths.add(spec.shape[-1])
    return widths
