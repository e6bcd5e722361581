"""The boxes of a picture and the frames around them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from graphattn.core.axes import describe
from graphattn.core.graph import Graph, Node, Ref, Scope
from graphattn.core.names import automatic
from graphattn.dumps import wording
from graphattn.dumps.alike import Fold, ancestors, title_of
from graphattn.dumps.diagram.parts import Box, Cell, Diagram, Frame
from graphattn.dumps.diagram.roles import Roles
from graphattn.dumps.diagram.symbols import GAP, Symbols, joined, muted, note_of, pieces_of
from graphattn.dumps.diagram.uses import Uses
from graphattn.dumps.diagram.values import Grid, Values
from graphattn.dumps.rows import NodeRow


class Boxes:
    """Puts boxes into a picture, and knows in which box a node is."""

    def __init__(
        self,
        graph: Graph,
        picture: Diagram,
        uses: Uses,
        symbols: Symbols,
        roles: Roles,
        values: Values | None = None,
    ) -> None:
        self.graph = graph
        self.picture = picture
        self.uses = uses
        self.symbols = symbols
        self.roles = roles
        self.values = values
        self.pieces = pieces_of(graph)
        self.ids: dict[str, str] = {}
        """The box of each node that has one of its own."""
        self.order = {name: place for place, name in enumerate(graph.nodes)}
        self.unnamed: dict[tuple[str | None, str], list[str]] = {}
        """The nodes without names of their own that are made of smaller ops, by scope and op."""
        for node in graph.nodes.values():
            if node.op.family == "composite" and automatic(node.name.rpartition(".")[2], node.op):
                self.unnamed.setdefault((node.scope, node.op.name), []).append(node.name)
        self._fold_ids: dict[int, str] = {}

    def add(self, box: Box) -> str:
        """Put a box into the picture; its id."""
        self.picture.boxes[box.id] = box
        return box.id

    def new_id(self) -> str:
        """The id of the box that comes next."""
        return f"n{len(self.picture.boxes)}"

    def all(self) -> None:
        """A box for each node that is drawn by itself, and for each fold, in the order of the graph."""
        for node in self.graph.nodes.values():
            if node.name in self.uses.fold:
                self.fold_box(self.uses.fold[node.name])
            elif not self.uses.absorbed(node) and not self.uses.copied(node):
                self._box(node)

    def results(self) -> Iterator[tuple[str, Ref, str]]:
        """A dark box for each output of the graph: its name, what it is, and the box."""
        for name, tensor in list(self.graph.outputs.items()):
            grids = self.values.of_result(tensor.ref) if self.values else ()
            shape = wording.axes_text(tensor.spec, self.pieces)
            box = Box(
                id=self.new_id(),
                name=name,
                kind="end",
                family="output",
                glyph="",
                title=tuple(wording.wrap(name)),
                note=(_ranged(shape, grids),),
                tooltip=joined(name, "output", tensor.name, describe(tensor.spec)),
                grids=grids,
            )
            yield name, tensor.ref, self.add(box)

    # ------------------------------------------------------------ one box

    def _box(self, node: Node) -> None:
        kind = "end" if node.op.fed and node.op.drawn is None else "op"
        if kind == "op" and node.op.moves and len(node.ports) > 1:
            kind = "bar"
        elif kind == "op" and node.op.fed:
            kind = "source"
        elif node.op.drawn == "beside":
            kind = "constant"
        self.ids[node.name] = self.add(self.described(node, kind, self.new_id(), node.scope))

    def described(self, node: Node, kind: str, ident: str, frame: str | None) -> Box:
        """The box of a node, with all that it says."""
        title = self._title(node)
        shape = wording.axes_text(node.outputs[0], self.pieces) if node.outputs else ""
        told = note_of(node.op, self.graph, node.operands, node.attributes)
        told = "" if told == title else told
        grids = self.values.of_node(node) if self.values and kind not in ("bar", "constant") else ()
        return Box(
            id=ident,
            name=node.name,
            kind=kind,
            family=self._family(node),
            glyph="" if kind in ("end", "constant") else node.op.glyph,
            title=tuple(wording.wrap(node.op.title if kind == "bar" else title)),
            inside=() if kind == "bar" else tuple(self._inside(node, title)),
            note=() if kind == "bar" else tuple(muted(_ranged(shape, grids), told)),
            tooltip=joined(
                node.name, node.op.name, ", ".join(map(describe, node.outputs)),
                NodeRow(self.graph, node).formula, wording.clean(node.title or ""),
            ),
            frame=frame,
            role=None if kind == "end" else self.roles.nodes.get(node.name),
            cells=tuple(self._cells(node)) if kind == "bar" else (),
            grids=grids,
        )  # fmt: skip

    def _family(self, node: Node) -> str:
        """That of its op; a sum of one tensor and constants (a variance and eps) joins no streams."""
        streams = [r for r in node.operands if r and not self.uses.copied(self.graph.nodes[r.node])]
        lone = node.op.family == "add" and len(streams) == 1 and len(node.operands) > 1
        return "function" if lone else node.op.family

    def _title(self, node: Node) -> str:
        own = node.name if node.scope is None else node.name.rpartition(".")[2]
        title = wording.clean(node.title or "") or self._of_scope(node)
        return title or (self._numbered(node) if automatic(own, node.op) else own)

    def _of_scope(self, node: Node) -> str:
        """What the scope of a step is called, where the step gives its one result: mean, not quotient."""
        scope = self.graph.scopes.get(node.scope or "")
        if scope is None or scope.op is None or scope.outputs != (Ref(node.name),):
            return ""
        own = scope.name.rpartition(".")[2]
        return "" if automatic(own, scope.op) else own

    def _numbered(self, node: Node) -> str:
        """The title of the op; with a number where several without names of their own are in a scope and
        each stands for more than an op."""
        unnamed = self.unnamed.get((node.scope, node.op.name), [])
        return f"{node.op.title} {unnamed.index(node.name) + 1}" if len(unnamed) > 1 else node.op.title

    def _inside(self, node: Node, title: str) -> list[str]:
        """`w_q 8×8` for each operand that is drawn in the box; those of one shape share it."""
        by_shape: dict[str, list[str]] = {}
        for ref in node.operands:
            if ref is not None and self.uses.absorbed(self.graph.nodes[ref.node]):
                symbol = self.symbols.of(ref, node)
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
            users = [use for use in self.uses.of[node.name] if use.port == port]
            fold = id(self.uses.fold[users[0].by]) if users and self.uses.one_fold(users) else None
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
        told = [self.symbols.of(Ref(node.name, i)) or node.ports[i] for i in dict.fromkeys((first, last))]
        return Cell(f"p{first}", "…".join(wording.elide(text, 16) for text in told))

    def fold_box(self, fold: Fold) -> str:
        """The box of a fold, which is made when it is first asked for."""
        if id(fold) not in self._fold_ids:
            self._fold_ids[id(fold)] = self.add(
                Box(
                    id=self.new_id(),
                    name=", ".join(sorted(fold.members, key=self.order.__getitem__)[:1]),
                    kind="fold",
                    family="composite",
                    glyph=fold.glyph,
                    title=tuple(wording.wrap(wording.clean(fold.title), 40)),
                    note=tuple(wording.wrap(fold.note, 40)),
                    tooltip=joined(wording.clean(fold.title), fold.note, f"{len(fold.members):,} nodes"),
                    frame=fold.parent,
                    grids=self._thumbnails(fold),
                )
            )
        return self._fold_ids[id(fold)]

    def _thumbnails(self, fold: Fold) -> tuple[Grid, ...]:
        """The attention weights inside a fold: what has that role."""
        if self.values is None:
            return ()
        inside = (node for node in self.graph.nodes.values() if node.name in fold.members)
        refs = (Ref(node.name, port) for node in inside for port in range(len(node.ports)))
        return self.values.of_fold(fold, (ref for ref in refs if self._role(ref) == "weights"))

    def _role(self, ref: Ref) -> str | None:
        return self.roles.outputs.get(ref) or self.roles.nodes.get(ref.node)


def _ranged(shape: str, grids: tuple[Grid, ...]) -> str:
    """`n×n = 4×4   ±1.72`."""
    return GAP.join(part for part in (shape, *dict.fromkeys(grid.range for grid in grids)) if part)


# ---------------------------------------------------------------- frames


def frames(graph: Graph, roles: Roles) -> dict[str, Frame]:
    """A frame for each scope, outer ones first."""
    found: dict[str, Frame] = {}
    alike = Counter((scope.parent, title_of(scope)) for scope in graph.scopes.values())
    met: Counter[tuple[str | None, str]] = Counter()
    for scope in graph.scopes.values():
        title = title_of(scope)
        met[scope.parent, title] += 1
        if alike[scope.parent, title] > 1 and not scope.title:  # without names of their own
            title = f"{title} {met[scope.parent, title]}"
        note = _frame_note(graph, scope, title, found)
        found[scope.name] = Frame(
            id=f"cluster{len(found)}",
            name=scope.name,
            title=tuple(wording.wrap(title, 60, 1)),
            note=note,
            tooltip=joined(scope.name, scope.op.name if scope.op else "scope", title, note),
            parent=scope.parent if scope.parent in graph.scopes else None,
            depth=sum(1 for _ in ancestors(graph, scope.name)) - 1,
            role=roles.nodes.get(scope.outputs[0].node) if len(scope.outputs) == 1 else None,
        )
    return found


def _frame_note(graph: Graph, scope: Scope, title: str, found: dict[str, Frame]) -> str:
    """What a scope's op says of it, as far as the frames around it have not said so."""
    if scope.op is None:
        return ""
    kind = "" if scope.op.title in title or scope.title else scope.op.title
    told = note_of(scope.op, graph, scope.operands, scope.attributes)
    said = {part for name in ancestors(graph, scope.parent) for part in found[name].note.split(GAP)}
    parts = [part for part in (kind, *told.split(GAP)) if part not in said]
    return wording.elide(GAP.join(part for part in parts if part), 60)


def drop_empty_frames(graph: Graph, picture: Diagram) -> None:
    """Leave out the frames that no box is in."""
    kept: set[str] = set()
    for box in picture.boxes.values():
        kept.update(ancestors(graph, box.frame))
    picture.frames = {name: frame for name, frame in picture.frames.items() if name in kept}
