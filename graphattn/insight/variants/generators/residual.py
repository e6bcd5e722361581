"""A residual too many: a tensor that a step is made of is added to what it gives."""

from __future__ import annotations

from collections.abc import Iterator

from ....core.graph import Node, Ref
from ..draft import Draft
from ..intended import Intended
from ..structure.groups import Group
from ..variant import Option, Variant, each, through
from .operands import relation

MOST = 4
"""The most tensors that are added, the nearest first, besides those that residuals add."""


def residual(intended: Intended, group: Group) -> Iterator[Variant]:
    yield from each("residual", _options, intended, group)


def _options(intended: Intended, node: Node) -> Iterator[Option]:
    made = node.outputs[0]
    if len(node.ports) > 1 or made.kind != "float" or made.rank < 2 or node.op.family in ("add", "mask"):
        return
    if node.op.moves or not node.operands or intended.is_inside(node):
        return
    own, taken = intended.siblings[node.name], through(intended, node)
    found, stream = 0, _stream(intended)
    for other in reversed(intended.alike[intended.shape(Ref(node.name))]):
        before = intended.depends(node.name, on=other.node) and other.node != node.name
        inside = intended.nodes[other.node].op.drawn == "inside"
        if not before or inside or (node.op.family == "norm" and taken):
            continue
        found += 1
        if found > MOST and other not in stream:
            continue
        key = relation(intended, other, len(own), own.index(node.name)) or (other,)
        yield Option(key, "with {new} added to {the} too", 1.7, lambda d, n, r=other: _added(d, n, r), other)


def _stream(intended: Intended) -> set[Ref]:
    """What residuals add: one term of a sum, that is read by others too."""
    sums = [node for node in intended.nodes.values() if node.op.family == "add"]
    terms = {node.operands[slot] for node in sums for slot in through(intended, node)}
    return {ref for ref in terms if ref is not None and len(intended.users[ref]) > 1}


def _added(draft: Draft, node: Node, other: Ref) -> None:
    ref = Ref(node.name)
    made = draft.add("add", [ref, other], near=node, name="sum")
    draft.redirect(ref, made, apart_from=(made.node,))
