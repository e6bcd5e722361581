"""Batch and tokens are taken for each other: inputs come with their first two axes exchanged, results too."""

from __future__ import annotations

from collections.abc import Iterator

from ...core.graph import Ref
from .draft import Draft
from .groups import Group, spoken
from .intended import Intended
from .variant import Variant, one


def axes(intended: Intended, group: Group) -> Iterator[Variant]:
    nodes = [intended.graph.nodes[name] for name in group]
    if any(not node.op.fed or node.op.drawn == "inside" or node.outputs[0].rank != 3 for node in nodes):
        return
    (lead, *others) = {node.outputs[0].shape[:2] for node in nodes}
    if others or lead[0] < 2:
        return
    results = [t.ref for t in intended.graph.outputs.values() if t.spec.rank == 3 and t.shape[:2] == lead]
    words = f"with the first two axes of {spoken(group)} exchanged: batch for tokens"
    turn = {"perm": (1, 0, 2)}

    def act(draft: Draft) -> None:
        for node in nodes:
            turned = draft.add("transpose", [Ref(node.name)], turn, near=node, name="turned")
            draft.redirect(Ref(node.name), turned, apart_from=(turned.node,))
            del draft.went[Ref(node.name)]
        for ref in results:
            draft.went[ref] = draft.add(
                "transpose", [ref], turn, near=intended.graph.nodes[ref.node], name="back"
            )

    yield Variant("axes", words, 1.3, group, one(intended, act))
