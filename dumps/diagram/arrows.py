"""The arrows of a picture: one per use of a tensor, or one for all between a fold and a box."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from graphattn.core.axes import describe
from graphattn.core.graph import Graph, Node, Ref, Scope
from graphattn.core.op import LEVELS
from graphattn.dumps import wording
from graphattn.dumps.alike import ancestors
from graphattn.dumps.diagram.boxes import Boxes
from graphattn.dumps.diagram.parts import Arrow
from graphattn.dumps.diagram.symbols import joined, spaced

SEARCH = 4000
"""How many nodes the search for a residual looks at, so that long chains stay linear."""


class Arrows:
    """Puts arrows between boxes that are there."""

    def __init__(self, boxes: Boxes) -> None:
        self.boxes = boxes
        self.graph: Graph = boxes.graph
        self.picture = boxes.picture
        self.uses = boxes.uses
        self.symbols = boxes.symbols
        self.roles = boxes.roles
        self.leaving: dict[Ref, list[int]] = {}
        """The places of the arrows that leave each output."""

    def between_nodes(self) -> None:
        """The arrows that follow operands; many into or out of a fold become one."""
        bundles: dict[tuple[str, str, str], list[tuple[Ref, str | None]]] = {}
        for node in self.graph.nodes.values():
            fold = self.uses.fold.get(node.name)
            if fold is None and node.name not in self.boxes.ids:
                continue
            head = self.boxes.ids[node.name] if fold is None else self.boxes.fold_box(fold)
            for ref, use in self.uses.reached(node):
                source = self.graph.nodes[ref.node]
                if self.uses.copied(source):
                    if fold is None:
                        self._beside(source, head, node.scope)
                elif fold is None and ref.node not in self.uses.fold:
                    self._arrow(ref, node, use)
                elif fold is None or self.uses.fold.get(ref.node) is not fold:
                    role = self.roles.outputs.get(ref) or self.roles.uses.get(use)
                    bundles.setdefault((*self._tail(ref), head), []).append((ref, role))
        for (tail, port, head), refs in bundles.items():
            self._bundle(tail, port, head, list(dict.fromkeys(ref for ref, _ in refs)), refs[0][1])

    def to_results(self) -> None:
        """An arrow to each output of the graph, whose boxes are made here."""
        for name, ref, ident in self.boxes.results():
            source = self.graph.nodes[ref.node]
            if self.uses.copied(source):
                self._beside(source, ident, None)
                continue
            spec = self.graph.spec(ref)
            tail, port = self._tail(ref)
            symbol = self.symbols.of(ref, None, outside=True)
            label = spaced("" if symbol == name else symbol, self._shape(spec.shape))
            role = self.roles.outputs.get(ref)
            self.leaving.setdefault(ref, []).append(len(self.picture.arrows))
            tooltip = joined(f"{self.graph.tensor_name(ref)} → {name}", describe(spec))
            self.picture.arrows.append(Arrow(tail, ident, port, label, tooltip, role=role, refs=(ref,)))

    def label_once(self) -> None:
        """Of more than two arrows from one output, let one in the middle keep its label."""
        for places in self.leaving.values():
            arrows = [self.picture.arrows[place] for place in places]
            near = [a for a in arrows if self._frame_of(a.head) == self._frame_of(arrows[0].head)]
            if len(arrows) > 2:
                kept = near[(len(near) - 1) // 2]
                for place, arrow in zip(places, arrows, strict=True):
                    if arrow is not kept and arrow.kind == "plain":
                        self.picture.arrows[place] = replace(arrow, label="")

    def label_bars(self) -> None:
        """Where more than two arrows leave the cells of a bar, they cross: their names stand in the cells and
        their shape in the bar, once for all. Far arrows have their labels at their heads."""
        shapes: dict[str, set[str]] = {}
        for place, arrow in enumerate(self.picture.arrows):
            bar = self.picture.boxes[arrow.tail]
            if len(bar.cells) > 2 and arrow.kind == "plain":
                shapes.setdefault(bar.id, set()).update(
                    self._shape(self.graph.spec(r).shape) for r in arrow.refs
                )
                if not arrow.far:
                    self.picture.arrows[place] = replace(arrow, label="")
        for ident, told in shapes.items():
            bar = self.picture.boxes[ident]
            if len(told) == 1 and any(told):
                self.picture.boxes[ident] = replace(bar, title=(*bar.title, *told))

    def settle(self) -> None:
        """Point those arrows down again that lead into a block which is below their tail anyway."""
        onward: dict[str, list[str]] = {}
        for arrow in self.picture.arrows:
            if not arrow.upward:
                onward.setdefault(arrow.tail, []).append(arrow.head)
        below: dict[str, set[str]] = {}
        for place, arrow in enumerate(self.picture.arrows):
            if arrow.upward:
                if arrow.tail not in below:
                    reached = _reachable(arrow.tail, onward) - {arrow.tail}
                    below[arrow.tail] = {self._block(ident) for ident in reached}
                if self._block(arrow.head) in below[arrow.tail]:
                    self.picture.arrows[place] = replace(arrow, upward=False)

    # ------------------------------------------------------------ one arrow

    def _shape(self, shape: tuple[int, ...]) -> str:
        """4×8; nothing where the boxes show values."""
        return "" if self.boxes.values else wording.shape_text(shape)

    def _tail(self, ref: Ref) -> tuple[str, str]:
        """The box, and the cell of a bar, that an output leaves from."""
        if ref.node in self.uses.fold:
            return self.boxes.fold_box(self.uses.fold[ref.node]), ""
        box = self.picture.boxes[self.boxes.ids[ref.node]]
        before = [cell.port for cell in box.cells if int(cell.port[1:]) <= ref.port]
        return box.id, before[-1] if before else ""

    def _arrow(self, ref: Ref, node: Node, use: tuple[str, int]) -> None:
        tail, port = self._tail(ref)
        symbol, spec = self.symbols.of(ref, node), self.graph.spec(ref)
        residual = self._is_residual(ref, node)
        label = spaced(self._told_role(ref, use, symbol), symbol, self._shape(spec.shape))
        role = self.roles.outputs.get(ref) or self.roles.uses.get(use)
        tooltip = joined(f"{self.graph.tensor_name(ref)} → {node.name}", spaced(symbol, describe(spec)))
        kind = "residual" if residual else "plain"
        if not residual:
            self.leaving.setdefault(ref, []).append(len(self.picture.arrows))
        head, upward = self.boxes.ids[node.name], self._is_aside(ref, node)
        self.picture.arrows.append(Arrow(tail, head, port, label, tooltip, kind, role, (ref,), upward))

    def _bundle(self, tail: str, port: str, head: str, refs: list[Ref], role: str | None) -> None:
        told = [self.symbols.of(ref, outside=True) for ref in dict.fromkeys((refs[0], refs[-1]))]
        specs = {self.graph.spec(ref) for ref in refs}
        shape = self._shape(specs.pop().shape) if len(specs) == 1 else ""
        each = " each" if len(refs) > 1 else ""
        symbol = "…".join(told) if all(told) and len(refs) <= 64 else ""
        counted = f"{shape}{each}" if shape else f"{len(refs):,} tensors"
        label = symbol if symbol and self.boxes.values else spaced(symbol, counted)
        names = [self.graph.tensor_name(ref) for ref in refs[:4]] + (["…"] if len(refs) > 4 else [])
        kind = "bundle" if len(refs) > 1 else "plain"
        tooltip = joined(", ".join(names), label)
        self.picture.arrows.append(Arrow(tail, head, port, label, tooltip, kind, role, tuple(refs)))

    def _beside(self, source: Node, head: str, frame: str | None) -> None:
        box = self.boxes.described(source, "constant", self.boxes.new_id(), frame)
        self.boxes.add(box)
        tooltip = f"{source.name} → {self.picture.boxes[head].name}"
        ref = Ref(source.name)
        self.picture.arrows.append(Arrow(box.id, head, "", "", tooltip, "beside", refs=(ref,)))

    def _frame_of(self, ident: str) -> str | None:
        return self.picture.boxes[ident].frame

    def _told_role(self, ref: Ref, use: tuple[str, int], symbol: str) -> str:
        """`K:` for an operand whose own name does not say its part, as the memory that a decoder reads."""
        role = self.roles.uses.get(use)
        named = role is None or ref in self.roles.outputs or symbol.startswith(role)
        return "" if named or not symbol else f"{role}:"

    def _is_aside(self, ref: Ref, node: Node) -> bool:
        """Whether a block reads, besides what it goes on from, the result of another block."""
        head, tail = self._outermost(node), self._outermost(self.graph.nodes[ref.node])
        if head is tail or ref not in head.operands[1:]:
            return False
        blocks = all(block.op is not None and block.op.level == LEVELS[0] for block in (head, tail))
        return blocks and head.operands[0] != ref

    def _block(self, ident: str) -> str:
        return [ident, *ancestors(self.graph, self._frame_of(ident))][-1]

    def _outermost(self, node: Node) -> Node | Scope:
        """The block that a node is in, open or closed."""
        found: Node | Scope = node
        for name in ancestors(self.graph, node.scope):
            found = self.graph.scopes[name]
        return found

    def _is_residual(self, ref: Ref, node: Node) -> bool:
        """Whether a sum adds a tensor to something that was computed from it."""
        if node.op.family != "add" or len(node.operands) < 2:
            return False
        order = self.boxes.order
        first = order[ref.node]
        stack = [other.node for other in node.operands if other is not None and other.node != ref.node]
        seen = set(stack)
        while stack and len(seen) < SEARCH:
            for other in self.graph.nodes[stack.pop()].operands:
                if other is None or other.node in seen or order[other.node] < first:
                    continue
                if other.node == ref.node:
                    return True
                seen.add(other.node)
                stack.append(other.node)
        return False


def _reachable(start: str, onward: Mapping[str, list[str]]) -> set[str]:
    """All that arrows lead to."""
    seen = {start}
    stack = [start]
    while stack:
        for head in onward.get(stack.pop(), ()):
            if head not in seen:
                seen.add(head)
                stack.append(head)
    return seen
