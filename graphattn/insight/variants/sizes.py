"""The sizes of a graph that a number in it may be meant to be, by the names that the field has for them.

They are read off the graph: what the axes are called, and where a tensor is cut into equal parts (h heads of
d_k features of d_model).
"""

from __future__ import annotations

from ...core.graph import Graph

AXES = {"token": "n", "feature": "d", "head": "h"}


def sizes_of(graph: Graph) -> list[tuple[str, int]]:
    """(name, size), each pair once, the likeliest first; of one size there may be several names."""
    found: dict[tuple[str, int], None] = {}
    for node in graph.nodes.values():
        parts = len(node.ports)
        if parts < 2 or not node.operands or node.operands[0] is None:
            continue
        if len({spec.shape for spec in node.outputs}) == 1:
            whole, part = graph.spec(node.operands[0]), node.outputs[0]
            if part.rank == whole.rank and part.rank and part.shape[-1] * parts == whole.shape[-1]:
                found[("d_k", part.shape[-1])] = found[("d_model", whole.shape[-1])] = None
                found[("h", parts)] = None
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
