"""Which boxes of a picture stand side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from graphattn.dumps.alike import ancestors
from graphattn.dumps.diagram.boxes import Boxes

INPUTS_IN_A_ROW = 8

FAR = 3
"""An arrow over so many rows is a long one."""


class Rows:
    """Puts rows into a picture whose boxes and arrows are there."""

    def __init__(self, boxes: Boxes) -> None:
        self.boxes = boxes
        self.graph = boxes.graph
        self.picture = boxes.picture

    def all(self) -> None:
        """Side by side, where none feeds another: inputs; the producers of a composite's
        operands with roles; the beginnings of siblings."""
        depth = self._depths()
        self._far(depth)
        inputs = [b.id for b in self.picture.boxes.values() if b.kind == "end" and b.family != "output"]
        if len(inputs) <= INPUTS_IN_A_ROW:
            self._row(inputs, depth, may_differ=True)
        for level in self._operands_with_roles():
            while len(set(level)) > 1:
                self._row([self.boxes.ids[name] for name in level if name in self.boxes.ids], depth)
                nodes = [self.graph.nodes[name] for name in level]
                if not all(node.op.moves and node.operands for node in nodes):
                    break
                level = [ref.node for node in nodes for ref in node.operands[:1] if ref is not None]
        siblings: dict[tuple[str | None, str], list[str]] = {}
        first: dict[str, str] = {}
        for box in self.picture.boxes.values():
            if box.kind not in ("constant", "end"):
                for scope_name in ancestors(self.graph, box.frame):
                    first.setdefault(scope_name, box.id)
        for scope in self.graph.scopes.values():
            if scope.op is not None and scope.name in first:
                siblings.setdefault((scope.parent, scope.op.name), []).append(first[scope.name])
        for row in siblings.values():
            self._row(row, depth)

    def _operands_with_roles(self) -> Iterator[list[str]]:
        """For each composite, the nodes that compute its operands with roles, in their order."""
        for what in (*self.graph.scopes.values(), *self.graph.nodes.values()):
            if what.op is not None and what.op.roles:
                op = what.op
                yield [
                    ref.node
                    for slot, ref in enumerate(what.operands)
                    if ref is not None and op.operand_name(slot) in op.roles
                ]

    def _far(self, depth: Mapping[str, int]) -> None:
        """Mark the arrows that lead past boxes into a frame."""
        boxes = self.picture.boxes
        for place, arrow in enumerate(self.picture.arrows):
            into = boxes[arrow.tail].frame != boxes[arrow.head].frame is not None
            if arrow.kind == "plain" and into and depth[arrow.head] - depth[arrow.tail] >= FAR:
                self.picture.arrows[place] = replace(arrow, far=True)

    def _depths(self) -> dict[str, int]:
        """For each box the length of the longest way to it."""
        into: dict[str, list[str]] = {}
        for arrow in self.picture.arrows:
            if arrow.kind != "beside" and not arrow.upward:
                into.setdefault(arrow.head, []).append(arrow.tail)
        depth: dict[str, int] = {}
        for ident in self.picture.boxes:  # producers were boxed before consumers
            depth[ident] = max((depth.get(tail, 0) + 1 for tail in into.get(ident, ())), default=0)
        return depth

    def _row(self, ids: list[str], depth: Mapping[str, int], may_differ: bool = False) -> None:
        row = tuple(dict.fromkeys(ids))
        floating = {arrow.head for arrow in self.picture.arrows if arrow.upward}
        fits = may_differ or len({depth[ident] for ident in row if ident not in floating}) <= 1
        if len(row) > 1 and fits and row not in self.picture.rows:
            self.picture.rows.append(row)
