"""What a picture of a graph shows, before anything is written in a language of pictures.

`diagram` turns a graph into `Box`es, `Arrow`s and `Frame`s (one per scope), and `rows` of boxes
that belong side by side. It asks the `Op` records and never names an op:

- `drawn == "inside"` (weights, transposes): part of the box that uses it, where just one does;
- `drawn == "beside"` (constants): a copy beside each box that uses it;
- several outputs that only move numbers: a bar with one cell per piece;
- `roles` of a composite (Q, K, V, weights): its operands and outputs are coloured, back through
  ops that only move numbers to the op that computes them;
- an addition of a tensor and of something computed from it: the residual arrow.

Texts are clean and short here (`wording.py`); `Box.texts` lists all that the box must show.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from graphattn.core.axes import Spec, describe
from graphattn.core.graph import SUBSCRIPTS, Graph, Node, Ref, Scope
from graphattn.core.interpreter import padded
from graphattn.core.op import Op
from graphattn.dumps import wording
from graphattn.dumps.alike import Fold, ancestors, automatic, fold_of, title_of

DIGITS = "₀₁₂₃₄₅₆₇₈₉"
GAP = "   "
"""Between the parts of a muted line."""

SEARCH = 4000
"""How many nodes the search for a residual looks at, so that long chains stay linear."""

INPUTS_IN_A_ROW = 8


class Cell(NamedTuple):
    """One piece in a bar: its port, and its label."""

    port: str
    label: str


@dataclass(frozen=True)
class Box:
    """A node of the picture."""

    id: str
    name: str
    kind: str
    """op, bar, end (an input or output), constant, source, fold."""
    family: str
    glyph: str
    title: tuple[str, ...]
    """The bold words, in lines."""
    inside: tuple[str, ...] = ()
    """What is drawn inside: weights and transposes, in lines."""
    note: tuple[str, ...] = ()
    """The muted last lines: axes, shape, a few words of the op."""
    tooltip: str = ""
    frame: str | None = None
    role: str | None = None
    cells: tuple[Cell, ...] = ()

    @property
    def texts(self) -> list[str]:
        """Every text that the picture of this box must hold."""
        found = [self.glyph, *self.title, *self.inside, *self.note, *(cell.label for cell in self.cells)]
        return [text for text in found if text.strip()]


@dataclass(frozen=True)
class Arrow:
    """An edge of the picture, from a box (or one cell of a bar) to a box."""

    tail: str
    head: str
    port: str = ""
    label: str = ""
    tooltip: str = ""
    kind: str = "plain"
    """plain, residual, beside (a constant), bundle (many in one)."""
    role: str | None = None


@dataclass(frozen=True)
class Frame:
    """A cluster: what a scope holds."""

    id: str
    name: str
    title: tuple[str, ...]
    note: str
    tooltip: str
    parent: str | None
    depth: int
    role: str | None = None


@dataclass
class Diagram:
    """A whole picture."""

    name: str
    title: str
    boxes: dict[str, Box] = field(default_factory=dict)
    arrows: list[Arrow] = field(default_factory=list)
    frames: dict[str, Frame] = field(default_factory=dict)
    """By the name of the scope, outer ones first."""
    rows: list[tuple[str, ...]] = field(default_factory=list)
    """Boxes of one rank, from left to right."""


def diagram(graph: Graph, folds: Iterable[Fold] = ()) -> Diagram:
    """The picture of a graph, in which each fold is one box."""
    return _Drawing(graph, list(folds)).draw()


class Use(NamedTuple):
    """A place where an output of a node is used: by a node, in a slot, or as a result (slot −1)."""

    port: int
    by: str
    slot: int


class _Drawing:
    """The making of a `Diagram`."""

    def __init__(self, graph: Graph, folds: list[Fold]) -> None:
        self.graph = graph
        self.folds = folds
        self.fold = fold_of(folds)
        self.uses = _uses(graph)
        self.pieces = _pieces(graph)
        self.order = {name: place for place, name in enumerate(graph.nodes)}
        self.results_of: dict[Ref, list[Scope]] = {}
        for scope in graph.scopes.values():
            for ref in dict.fromkeys(scope.outputs):
                self.results_of.setdefault(ref, []).append(scope)
        self.ids: dict[str, str] = {}
        self.fold_ids: dict[int, str] = {}
        self.leaving: dict[Ref, list[int]] = {}
        self.picture = Diagram(graph.name, wording.clean(graph.title))
        self.roles = _roles(graph, self.uses)

    # ------------------------------------------------------------ the whole

    def draw(self) -> Diagram:
        self._frames()
        for node in self.graph.nodes.values():
            if node.name in self.fold:
                self._fold_box(self.fold[node.name])
            elif not self._absorbed(node) and not self._copied(node):
                self._box(node)
        self._arrows()
        self._results()
        self._label_once()
        self._rows()
        self._drop_empty_frames()
        return self.picture

    def _new_id(self) -> str:
        return f"n{len(self.picture.boxes)}"

    def _add(self, box: Box) -> str:
        self.picture.boxes[box.id] = box
        return box.id

    def _absorbed(self, node: Node) -> bool:
        """Whether a node is drawn in the box of the one node that uses it."""
        if node.op.drawn != "inside":
            return False
        users = self.uses[node.name]
        if len(users) == 1:
            return users[0].slot >= 0
        return bool(users) and self._one_fold(users)

    def _copied(self, node: Node) -> bool:
        """Whether a node is drawn once beside each node that uses it."""
        return node.op.drawn == "beside" and bool(self.uses[node.name])

    def _one_fold(self, users: list[Use]) -> bool:
        folds = {id(self.fold[use.by]) if use.slot >= 0 and use.by in self.fold else None for use in users}
        return len(folds) == 1 and None not in folds

    # ------------------------------------------------------------ frames

    def _frames(self) -> None:
        for scope in self.graph.scopes.values():
            depth = sum(1 for _ in ancestors(self.graph, scope.name)) - 1
            title = title_of(scope)
            note = ""
            if scope.op is not None:
                kind = "" if scope.op.title in title or scope.title else scope.op.title
                told = _note(scope.op, self.graph, scope.operands, scope.attributes)
                said = {part for outer in self._outer(scope) for part in outer.note.split(GAP)}
                parts = [part for part in (kind, *told.split(GAP)) if part not in said]
                note = wording.elide(GAP.join(part for part in parts if part), 60)
            role = self.roles.nodes.get(scope.outputs[0].node) if len(scope.outputs) == 1 else None
            self.picture.frames[scope.name] = Frame(
                id=f"cluster{len(self.picture.frames)}",
                name=scope.name,
                title=tuple(wording.wrap(title, 60, 1)),
                note=note,
                tooltip=_joined(scope.name, scope.op.name if scope.op else "scope", title, note),
                parent=scope.parent if scope.parent in self.graph.scopes else None,
                depth=depth,
                role=role,
            )

    def _outer(self, scope: Scope) -> Iterator[Frame]:
        """The frames around a scope."""
        for name in ancestors(self.graph, scope.parent):
            yield self.picture.frames[name]

    def _drop_empty_frames(self) -> None:
        kept: set[str] = set()
        for box in self.picture.boxes.values():
            kept.update(ancestors(self.graph, box.frame))
        self.picture.frames = {name: f for name, f in self.picture.frames.items() if name in kept}

    # ------------------------------------------------------------ boxes

    def _box(self, node: Node) -> None:
        kind = "end" if node.op.fed and node.op.drawn is None else "op"
        if kind == "op" and node.op.moves and len(node.ports) > 1:
            kind = "bar"
        elif kind == "op" and node.op.fed:
            kind = "source"
        elif node.op.drawn == "beside":
            kind = "constant"
        self.ids[node.name] = self._add(self._described(node, kind, self._new_id(), node.scope))

    def _described(self, node: Node, kind: str, ident: str, frame: str | None) -> Box:
        title = self._title(node)
        shape = wording.axes_text(node.outputs[0], self.pieces) if node.outputs else ""
        told = _note(node.op, self.graph, node.operands, node.attributes)
        told = "" if told == title else told
        return Box(
            id=ident,
            name=node.name,
            kind=kind,
            family=node.op.family,
            glyph="" if kind in ("end", "constant") else node.op.glyph,
            title=tuple(wording.wrap(node.op.title if kind == "bar" else title)),
            inside=() if kind == "bar" else tuple(self._inside(node, title)),
            note=() if kind == "bar" else tuple(_muted(shape, told)),
            tooltip=_joined(
                node.name, node.op.name, ", ".join(map(describe, node.outputs)),
                node.op.formula, wording.clean(node.title or ""),
            ),
            frame=frame,
            role=None if kind == "end" else self.roles.nodes.get(node.name),
            cells=tuple(self._cells(node)) if kind == "bar" else (),
        )  # fmt: skip

    def _title(self, node: Node) -> str:
        own = node.name.rpartition(".")[2]
        title = wording.clean(node.title or "")
        return title or (node.op.title if automatic(own, node.op) else own)

    def _inside(self, node: Node, title: str) -> list[str]:
        """`w_q 8×8` for each operand that is drawn in the box; those of one shape share it."""
        by_shape: dict[str, list[str]] = {}
        for ref in node.operands:
            if ref is not None and self._absorbed(self.graph.nodes[ref.node]):
                symbol = self.symbol(ref, node)
                if symbol and symbol not in title:
                    shape = wording.shape_text(self.graph.spec(ref).shape)
                    by_shape.setdefault(shape, []).append(wording.elide(symbol, 24))
        parts = [f"{' '.join(names)} {shape}" for shape, names in by_shape.items()]
        line = GAP.join(parts)
        return [line] if 0 < len(line) <= 44 else [line for part in parts for line in wording.wrap(part, 44)]

    def _cells(self, node: Node) -> Iterator[Cell]:
        """One cell per piece; neighbours that all go into one fold share a cell."""
        before: tuple[int, int, int] | None = None  # the fold, its first and last piece here
        for port in range(len(node.ports)):
            users = [use for use in self.uses[node.name] if use.port == port]
            fold = id(self.fold[users[0].by]) if users and self._one_fold(users) else None
            if before and fold == before[0]:
                before = (before[0], before[1], port)
                continue
            if before:
                yield self._cell(node, *before[1:])
            before = (fold, port, port) if fold else None
            if not fold:
                yield self._cell(node, port, port)
        if before:
            yield self._cell(node, *before[1:])

    def _cell(self, node: Node, first: int, last: int) -> Cell:
        told = [self.symbol(Ref(node.name, port)) or node.ports[port] for port in dict.fromkeys((first, last))]
        return Cell(f"p{first}", "…".join(wording.elide(text, 16) for text in told))

    def _fold_box(self, fold: Fold) -> str:
        if id(fold) not in self.fold_ids:
            self.fold_ids[id(fold)] = self._add(
                Box(
                    id=self._new_id(),
                    name=", ".join(sorted(fold.members, key=self.order.__getitem__)[:1]),
                    kind="fold",
                    family="composite",
                    glyph=fold.glyph,
                    title=tuple(wording.wrap(wording.clean(fold.title), 40)),
                    note=tuple(wording.wrap(fold.note, 40)),
                    tooltip=_joined(wording.clean(fold.title), fold.note, f"{len(fold.members):,} nodes"),
                    frame=fold.parent,
                )
            )
        return self.fold_ids[id(fold)]

    # ------------------------------------------------------------ arrows

    def _arrows(self) -> None:
        bundles: dict[tuple[str, str, str], list[tuple[Ref, str | None]]] = {}
        for node in self.graph.nodes.values():
            fold = self.fold.get(node.name)
            if fold is None and node.name not in self.ids:
                continue
            head = self.ids[node.name] if fold is None else self.fold_ids[id(fold)]
            for ref, use in self._reached(node):
                source = self.graph.nodes[ref.node]
                if self._copied(source):
                    if fold is None:
                        self._beside(source, head, node.scope)
                elif fold is None and ref.node not in self.fold:
                    self._arrow(ref, node, use)
                elif fold is None or self.fold.get(ref.node) is not fold:
                    role = self.roles.outputs.get(ref) or self.roles.uses.get(use)
                    bundles.setdefault((*self._tail(ref), head), []).append((ref, role))
        for (tail, port, head), refs in bundles.items():
            self._bundle(tail, port, head, list(dict.fromkeys(ref for ref, _ in refs)), refs[0][1])

    def _reached(self, node: Node) -> Iterator[tuple[Ref, tuple[str, int]]]:
        """The outputs that arrows into a node come from, through what is drawn inside it, each with
        the use (node and slot) that it goes to."""
        stack = [(ref, (node.name, slot)) for slot, ref in enumerate(node.operands) if ref is not None][::-1]
        while stack:
            ref, use = stack.pop()
            source = self.graph.nodes[ref.node]
            if self._absorbed(source):
                inner = [(r, (source.name, slot)) for slot, r in enumerate(source.operands) if r is not None]
                stack += reversed(inner)
            else:
                yield ref, use

    def _tail(self, ref: Ref) -> tuple[str, str]:
        """The box, and the cell of a bar, that an output leaves from."""
        if ref.node in self.fold:
            return self._fold_box(self.fold[ref.node]), ""
        box = self.picture.boxes[self.ids[ref.node]]
        before = [cell.port for cell in box.cells if int(cell.port[1:]) <= ref.port]
        return box.id, before[-1] if before else ""

    def _arrow(self, ref: Ref, node: Node, use: tuple[str, int]) -> None:
        tail, port = self._tail(ref)
        symbol, spec = self.symbol(ref, node), self.graph.spec(ref)
        residual = self._is_residual(ref, node)
        if residual:
            label = f"residual {wording.shape_text(spec.shape)}"
        else:
            label = _spaced(symbol, wording.shape_text(spec.shape))
        role = self.roles.outputs.get(ref) or self.roles.uses.get(use)
        told = f"{self.graph.tensor_name(ref)} → {node.name}", _spaced(symbol, describe(spec))
        kind = "residual" if residual else "plain"
        if not residual:
            self.leaving.setdefault(ref, []).append(len(self.picture.arrows))
        self.picture.arrows.append(Arrow(tail, self.ids[node.name], port, label, _joined(*told), kind, role))

    def _label_once(self) -> None:
        """Of more than two arrows from one output, let one in the middle keep its label."""
        for places in self.leaving.values():
            arrows = [self.picture.arrows[place] for place in places]
            near = [a for a in arrows if self._frame_of(a.head) == self._frame_of(arrows[0].head)]
            if len(arrows) > 2:
                kept = near[(len(near) - 1) // 2]
                for place, arrow in zip(places, arrows, strict=True):
                    if arrow is not kept and arrow.kind == "plain":
                        self.picture.arrows[place] = replace(arrow, label="")

    def _frame_of(self, ident: str) -> str | None:
        return self.picture.boxes[ident].frame

    def _bundle(self, tail: str, port: str, head: str, refs: list[Ref], role: str | None) -> None:
        told = [self.symbol(ref, outside=True) for ref in dict.fromkeys((refs[0], refs[-1]))]
        specs = {self.graph.spec(ref) for ref in refs}
        shape = wording.shape_text(specs.pop().shape) if len(specs) == 1 else ""
        each = " each" if len(refs) > 1 else ""
        symbol = "…".join(told) if all(told) and len(refs) <= 64 else ""
        label = _spaced(symbol, f"{shape}{each}" if shape else f"{len(refs):,} tensors")
        names = [self.graph.tensor_name(ref) for ref in refs[:4]] + (["…"] if len(refs) > 4 else [])
        kind = "bundle" if len(refs) > 1 else "plain"
        self.picture.arrows.append(Arrow(tail, head, port, label, _joined(", ".join(names), label), kind, role))

    def _beside(self, source: Node, head: str, frame: str | None) -> None:
        box = self._described(source, "constant", self._new_id(), frame)
        self._add(box)
        tooltip = f"{source.name} → {self.picture.boxes[head].name}"
        self.picture.arrows.append(Arrow(box.id, head, "", "", tooltip, "beside"))

    def _results(self) -> None:
        """A dark box for each output of the graph."""
        outputs = list(self.graph.outputs.items())
        for name, tensor in outputs:
            ref, spec = tensor.ref, tensor.spec
            ident = self._add(
                Box(
                    id=self._new_id(),
                    name=name,
                    kind="end",
                    family="output",
                    glyph="",
                    title=tuple(wording.wrap(name)),
                    note=(wording.axes_text(spec, self.pieces),),
                    tooltip=_joined(name, "output", tensor.name, describe(spec)),
                )
            )
            source = self.graph.nodes[ref.node]
            if self._copied(source):
                self._beside(source, ident, None)
                continue
            tail, port = self._tail(ref)
            symbol = self.symbol(ref, None, outside=True)
            label = _spaced("" if symbol == name else symbol, wording.shape_text(spec.shape))
            role = self.roles.outputs.get(ref)
            self.leaving.setdefault(ref, []).append(len(self.picture.arrows))
            self.picture.arrows.append(
                Arrow(tail, ident, port, label, _joined(f"{tensor.name} → {name}", describe(spec)), role=role)
            )

    def _is_residual(self, ref: Ref, node: Node) -> bool:
        """Whether a sum adds a tensor to something that was computed from it."""
        if node.op.family != "add" or len(node.operands) < 2:
            return False
        first = self.order[ref.node]
        stack = [other.node for other in node.operands if other is not None and other.node != ref.node]
        seen = set(stack)
        while stack and len(seen) < SEARCH:
            for other in self.graph.nodes[stack.pop()].operands:
                if other is None or other.node in seen or self.order[other.node] < first:
                    continue
                if other.node == ref.node:
                    return True
                seen.add(other.node)
                stack.append(other.node)
        return False

    # ------------------------------------------------------------ names of tensors

    def symbol(self, ref: Ref, reader: Node | None = None, outside: bool = False, depth: int = 0) -> str:
        """The short name of an output, as the node that reads it would call it.

        What leaves a scope is called what the scope is called (Q, where the last op inside is
        named `product`). Empty where there is only an automatic name.
        """
        node = self.graph.nodes[ref.node]
        around = set(ancestors(self.graph, reader.scope)) if reader is not None else set()
        results = [(s, s.op) for s in self.results_of.get(ref, ()) if s.op is not None]  # outer ones first
        for scope, op in results:
            port = scope.ports[scope.outputs.index(ref)]
            if port in op.symbols:
                return self._formatted(op.symbols[port], scope, None, depth)
        if reader is not None or outside:
            for scope, op in results:
                if scope.name not in around and len(scope.outputs) == 1:
                    return self._formatted(op.symbol, scope, None, depth)
        port = node.ports[ref.port]
        if port in node.op.symbols:
            return self._formatted(node.op.symbols[port], node, None, depth)
        if port and "{i}" not in node.op.symbol:
            return port
        return self._formatted(node.op.symbol, node, ref.port, depth)

    def _formatted(self, form: str, what: Node | Scope, port: int | None, depth: int) -> str:
        """A symbol of a node or a scope, filled in; without a port, {i} is that of its first operand."""
        own = what.name.rpartition(".")[2]
        title = wording.clean(what.title or "")
        unnamed = form == "{name}" or (form == "{title}" and not title)
        if unnamed and what.op is not None and automatic(own, what.op):
            return ""
        inner = ""
        if what.operands and what.operands[0] is not None and depth < 4 and "{name}" != form != "{title}":
            reader = what if isinstance(what, Node) else None
            inner = self.symbol(what.operands[0], reader, reader is None, depth + 1)
        index = inner[len(inner.rstrip(DIGITS)) :] if port is None else str(port).translate(SUBSCRIPTS)
        text = form.format(name=own, title=title or own, x=inner or "x", i=index)
        return wording.elide(wording.clean(text), 24)

    # ------------------------------------------------------------ rows

    def _rows(self) -> None:
        """Side by side, where none feeds another: inputs; the producers of a composite's
        operands with roles; the beginnings of siblings."""
        depth = self._depths()
        inputs = [b.id for b in self.picture.boxes.values() if b.kind == "end" and b.family != "output"]
        if len(inputs) <= INPUTS_IN_A_ROW:
            self._row(inputs, depth, may_differ=True)
        for level in self._operands_with_roles():
            while len(set(level)) > 1:
                self._row([self.ids[name] for name in level if name in self.ids], depth)
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

    def _depths(self) -> dict[str, int]:
        """For each box the length of the longest way to it."""
        into: dict[str, list[str]] = {}
        for arrow in self.picture.arrows:
            if arrow.kind != "beside":
                into.setdefault(arrow.head, []).append(arrow.tail)
        depth: dict[str, int] = {}
        for ident in self.picture.boxes:  # producers were boxed before consumers
            depth[ident] = max((depth.get(tail, 0) + 1 for tail in into.get(ident, ())), default=0)
        return depth

    def _row(self, ids: list[str], depth: Mapping[str, int], may_differ: bool = False) -> None:
        row = tuple(dict.fromkeys(ids))
        fits = may_differ or len({depth[ident] for ident in row}) == 1
        if len(row) > 1 and fits and row not in self.picture.rows:
            self.picture.rows.append(row)


def _uses(graph: Graph) -> dict[str, list[Use]]:
    uses: dict[str, list[Use]] = {name: [] for name in graph.nodes}
    for node in graph.nodes.values():
        for slot, ref in enumerate(node.operands):
            if ref is not None:
                uses[ref.node].append(Use(ref.port, node.name, slot))
    for name, tensor in graph.outputs.items():
        uses[tensor.ref.node].append(Use(tensor.ref.port, name, -1))
    return uses


def _pieces(graph: Graph) -> frozenset[tuple[str, int]]:
    """The axes that were cut into pieces, with the size of a piece."""
    found: set[tuple[str, int]] = set()
    whole: set[tuple[str, int]] = set()
    for node in graph.nodes.values():
        source = graph.spec(node.operands[0]) if node.operands and node.operands[0] else None
        if node.op.moves and len(node.ports) > 1 and source is not None:
            for spec in node.outputs:
                if spec.rank == source.rank:
                    found.update(_shorter(spec, source))
        if node.op.fed and node.op.drawn is None:
            whole.update((a, s) for a, s in zip(node.outputs[0].axes, node.outputs[0].shape) if a)
    return frozenset(found - whole)


def _shorter(piece: Spec, whole: Spec) -> Iterator[tuple[str, int]]:
    for axis, size, full in zip(piece.axes, piece.shape, whole.shape, strict=True):
        if axis and size != full:
            yield axis, size


class Roles(NamedTuple):
    """The parts that tensors play: by use (a node's slot), by output, and by node."""

    uses: Mapping[tuple[str, int], str]
    outputs: Mapping[Ref, str]
    nodes: Mapping[str, str]


def _roles(graph: Graph, uses: Mapping[str, list[Use]]) -> Roles:
    """A use has the role of the operand that it is; an output the role that its composite gives it.

    A node has the role that all its uses share; one that only moves numbers hands it back to what
    it moves. A tensor that is several operands at once (self-attention's input) has none.
    """
    of_use: dict[tuple[str, int], str] = {}
    of_output: dict[Ref, str] = {}
    of_node: dict[str, str] = {}
    parts: dict[str, dict[Ref, str]] = {}
    for scope in graph.scopes.values():
        if scope.op is not None and scope.op.roles:
            parts[scope.name] = _parts(scope.op, scope.operands)
            of_output |= _given(scope.op, zip(scope.ports, scope.outputs))
    for node in graph.nodes.values():
        of_output |= _given(node.op, ((port, Ref(node.name, i)) for i, port in enumerate(node.ports)))
        own = _parts(node.op, node.operands)
        around = [parts[scope] for scope in ancestors(graph, node.scope) if scope in parts]
        for slot, ref in enumerate(node.operands):
            role = next((table[ref] for table in (own, *around) if ref in table), None) if ref else None
            if role is not None:
                of_use[node.name, slot] = role
    for node in reversed(list(graph.nodes.values())):
        shared = {
            of_output.get(Ref(node.name, use.port)) or of_use.get((use.by, use.slot))
            for use in uses[node.name]
            if use.slot >= 0
        }
        role = shared.pop() if len(shared) == 1 else None
        if role is not None:
            of_node[node.name] = role
            if node.op.moves and len(node.operands) == 1:
                of_use.setdefault((node.name, 0), role)
    return Roles(of_use, of_output, of_node)


def _parts(op: Op, operands: tuple[Ref | None, ...]) -> dict[Ref, str]:
    """The role of each operand that is no other operand too."""
    if not op.roles:
        return {}
    known = [(ref, op.roles.get(op.operand_name(slot))) for slot, ref in enumerate(operands)]
    return {ref: role for ref, role in known if ref and role and [r for r, _ in known].count(ref) == 1}


def _given(op: Op, outputs: Iterable[tuple[str, Ref]]) -> dict[Ref, str]:
    return {ref: op.roles[port] for port, ref in outputs if port in op.roles}


def _note(op: Op, graph: Graph, operands: tuple[Ref | None, ...], attributes: Mapping) -> str:
    if op.note is None:
        return ""
    specs = graph.operand_specs(padded(op, operands))
    return GAP.join(wording.clean(part) for part in op.note(*specs, **attributes).split(GAP) if part.strip())


def _muted(shape: str, told: str) -> list[str]:
    """The last line of a box; two where it would be long."""
    line = GAP.join(text for text in (shape, told) if text)
    if len(line) <= 36:
        return [line] if line else []
    return [*([shape] if shape else []), *wording.wrap(told, 40)]


def _spaced(*texts: str) -> str:
    return " ".join(text for text in texts if text)


def _joined(*texts: str) -> str:
    return " · ".join(text for text in map(wording.clean, texts) if text)
