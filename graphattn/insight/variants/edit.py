"""What may be done to one node, made once, though the node is in several groups.

An `Edit` remembers what it asked of the draft. Edits of which none asks what another made are the same side by
side as one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from ...core.errors import GraphError
from ...core.graph import Node, Ref
from .draft import Draft, Rewrite
from .intended import Intended, alike, called

Apply = Callable[[Draft, Node], None]


class Edit:
    """`apply` done to a node of the intended graph."""

    def __init__(self, intended: Intended, node: Node, apply: Apply) -> None:
        self.intended, self.node, self.apply = intended, node, apply

    @cached_property
    def rewrite(self) -> Rewrite:
        draft = Draft(self.intended)
        self.apply(draft, self.node)
        return draft.done([self])

    @cached_property
    def keeps(self) -> bool:
        """Whether every record in the place of another has results of the same shapes: then it has them beside
        whatever other edits of which that is true. False too for what an op refuses."""
        specs, nodes = self.intended.specs, self.intended.nodes
        new = {}
        ordered = sorted(self.rewrite.nodes.values(), key=lambda record: record.name in nodes)  # new ones first
        try:
            for record in ordered:
                given = [
                    None if ref is None else new[ref] if ref in new else specs[ref] for ref in record.operands
                ]
                made = called(self.intended, record, given).outputs
                if record.name not in nodes:
                    new |= {Ref(record.name, port): spec for port, spec in enumerate(made)}
                elif made is not nodes[record.name].outputs and not alike(made, nodes[record.name].outputs):
                    return False
        except (GraphError, KeyError):
            return False
        return True


def made(edits: Sequence[Edit]) -> Rewrite:
    """The rewrite of several edits, one after the other."""
    found = edits[0].rewrite if len(edits) == 1 else side_by_side(edits)
    if found is not None:
        return found
    draft = Draft(edits[0].intended)
    for edit in edits:
        edit.apply(draft, edit.node)
    return draft.done()


def side_by_side(edits: Sequence[Edit]) -> Rewrite | None:
    """All edits in one rewrite; None where one may depend on what was done before it."""
    nodes, went, still_open = {}, {}, ()
    for change in [edit.rewrite for edit in edits]:
        if not (change.asked.isdisjoint(nodes) and change.asked.isdisjoint(went)):
            return None
        if change.went and not all(change.went.keys().isdisjoint(node.operands) for node in nodes.values()):
            return None
        if not (change.nodes.keys().isdisjoint(nodes) and change.went.keys().isdisjoint(went)):
            return None
        nodes.update(change.nodes)
        went.update(change.went)
        still_open += change.open
    return Rewrite(nodes, went, still_open, frozenset(), tuple(edits))
