"""The numbers of a run inside the boxes of a picture: small heat maps, as records.

Cells hold numbers where both axes are at most 8, are plain where they are at most 32, and beyond
that the first and last 8 are shown. What is hidden says so in its cell: `−∞` in scores, `///` in weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate

from graphattn.core.errors import GraphError
from graphattn.core.graph import Graph, Node, Ref
from graphattn.core.trace import Trace
from graphattn.core.words import typed
from graphattn.dumps import wording
from graphattn.dumps.alike import Fold, title_of
from graphattn.dumps.heat import Cell, HeatMap, heat_maps
from graphattn.dumps.rows import TensorRow, labels_of, shares

NUMBERS = 8
"""Up to so many rows and columns a cell holds its number."""

PLAIN = 32
"""Up to so many all cells are shown; beyond, the first and the last `NUMBERS`."""

CELLS = 10_000
"""The most cells of a picture."""

THUMBNAILS = 8
"""The most slices or heads that a box shows as thumbnails."""

HATCHED = "///"


@dataclass(frozen=True)
class Grid:
    """A heat map in a box: its rows, each with a label and its cells."""

    caption: str
    range: str
    scale: str
    """share or signed."""
    kind: str
    """numbers, swatches or thumbnail."""
    heads: tuple[str, ...]
    """The labels of the columns, or nothing."""
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    gaps: frozenset[int] = frozenset()
    """The columns in front of which there is a gap: where one head ends and the next begins."""

    @property
    def size(self) -> int:
        """How many cells it has."""
        return sum(len(cells) for _, cells in self.rows)

    @property
    def texts(self) -> Iterator[str]:
        """Every text in it."""
        yield self.caption
        yield from self.heads
        for label, cells in self.rows:
            yield label
            yield from (cell.text for cell in cells)


class Values:
    """The heat maps of what a run recorded."""

    def __init__(self, graph: Graph, trace: Trace, most: int = PLAIN, budget: int = CELLS) -> None:
        _check(graph, trace)
        self.graph = graph
        self.trace = trace
        self.most = most
        self.left = budget
        self.dropped = 0
        """How many boxes go without their numbers, for want of room."""
        self.patched = set(trace.patched)

    def of_node(self, node: Node) -> tuple[Grid, ...]:
        """The outputs of a node, as far as they were recorded."""
        grids: list[Grid] = []
        several = len(node.ports) > 1
        for port, name in enumerate(node.ports):
            grids += self.of_tensor(Ref(node.name, port), name if several else "")
        return self._within(grids)

    def of_result(self, ref: Ref) -> tuple[Grid, ...]:
        """The tensor behind an output of the graph."""
        return self._within(self.of_tensor(ref, ""))

    def of_fold(self, fold: Fold, refs: Iterable[Ref]) -> tuple[Grid, ...]:
        """Thumbnails of tensors inside a fold, each below the name of the scope that it is in."""
        grids: list[Grid] = []
        for ref in list(refs)[:THUMBNAILS]:
            scope = self.graph.nodes[ref.node].scope
            caption = title_of(self.graph.scopes[scope]) if scope else self.graph.tensor_name(ref)
            for shown in self._maps(ref)[:1]:
                grids.append(self._grid(shown, wording.elide(wording.clean(caption), 14), thumbnail=True))
        return self._within(grids)

    def of_tensor(self, ref: Ref, caption: str) -> list[Grid]:
        """The map of a tensor, or a thumbnail for each slice."""
        maps = self._maps(ref)
        if len(maps) <= 1:
            return [self._grid(shown, caption, gaps=self._gaps(ref)) for shown in maps]
        return [
            self._grid(shown, f"{caption}[{', '.join(map(str, shown.index))}]", thumbnail=True)
            for shown in maps[:THUMBNAILS]
        ]

    def _within(self, grids: list[Grid]) -> tuple[Grid, ...]:
        """The grids, if there is room for them."""
        size = sum(grid.size for grid in grids)
        if size > self.left:
            self.dropped += 1
            return ()
        self.left -= size
        return tuple(grids)

    def _maps(self, ref: Ref) -> list[HeatMap]:
        name = self.graph.tensor_name(ref)
        if name not in self.trace:
            return []
        spec, traced = self.trace.spec(name), self.trace.graph
        at = traced.resolve(name)
        labels = labels_of(self.trace.labels, spec)
        row = TensorRow(
            name, spec, self.trace[name], self.trace.masked(name), labels, name in self.patched,
            shares(traced, traced.nodes[at.node], at.port),
        )  # fmt: skip
        return heat_maps(row, self.trace.numbers)

    def _gaps(self, ref: Ref) -> frozenset[int]:
        """Where pieces meet in the columns: those that were put together here, or will be cut apart."""
        node, columns = self.graph.nodes[ref.node], self.graph.spec(ref).shape[-1:]
        pieces = [self.graph.spec(operand).shape[-1:] for operand in node.operands if operand is not None]
        joined = pieces if node.op.moves and len(pieces) > 1 else []
        cut = next((_cut(user) for user in self.graph.nodes.values() if _cuts(user, ref)), [])
        for sizes in (joined, cut):
            if all(sizes) and (sum(size[0] for size in sizes),) == columns:
                return frozenset(list(accumulate(size[0] for size in sizes))[:-1])
        return frozenset()

    def _grid(
        self, shown: HeatMap, caption: str, thumbnail: bool = False, gaps: frozenset[int] = frozenset()
    ) -> Grid:
        rows, columns = shown.shape
        most = min(self.most, 2 * NUMBERS) if thumbnail else self.most
        down, across = _shown(rows, most), _shown(columns, most)
        kind = "thumbnail" if thumbnail else "numbers" if max(rows, columns) <= NUMBERS else "swatches"
        heads = shown.column_labels if kind == "numbers" else None
        names = shown.row_labels if kind == "numbers" else None

        def row(i: int | None) -> tuple[Cell, ...]:
            if i is None:
                return tuple(Cell("left out", 0.0, "⋱" if j is None else "⋮") for j in across)
            return tuple(Cell("left out", 0.0, "⋯") if j is None else _cell(shown, i, j, kind) for j in across)

        return Grid(
            caption,
            shown.scale.text,
            shown.scale.kind,
            kind,
            tuple(map(_label, heads)) if heads else (),
            tuple((_label(names[i]) if names and i is not None else "", row(i)) for i in down),
            frozenset(across.index(j) for j in gaps if j in across),
        )


def _check(graph: Graph, trace: Trace) -> None:
    """Raise unless the trace is a run of the graph, at whatever level."""
    if not isinstance(trace, Trace):
        raise GraphError(f"trace is {typed(trace)}; expected a run of graph {graph.name!r}")
    for name in graph.fed:
        if name not in trace.graph or trace.spec(name) != graph.spec(graph.resolve(name)):
            raise GraphError(
                f"the trace is a run of graph {trace.graph.name!r}, which has no input {name!r} of this shape;"
                f" expected a run of graph {graph.name!r}"
            )


def _cuts(user: Node, ref: Ref) -> bool:
    return user.op.moves and len(user.ports) > 1 and user.operands[:1] == (ref,)


def _cut(user: Node) -> list[tuple[int, ...]]:
    return [spec.shape[-1:] for spec in user.outputs]


def _shown(count: int, most: int) -> list[int | None]:
    """Which of `count` rows are shown; None stands for those left out."""
    if count <= most:
        return list(range(count))
    ends = min(NUMBERS, max(1, most // 2))
    return [*range(ends), None, *range(count - ends, count)]


def _cell(shown: HeatMap, i: int, j: int, kind: str) -> Cell:
    cell = shown.cell(i, j)
    if cell.state == "masked":
        return cell._replace(text=(cell.text or HATCHED) if kind == "numbers" else "/")
    if kind == "numbers":
        return cell
    mark = "!" if cell.state == "broken" else cell.text[:1] if cell.level < 0 and kind != "thumbnail" else ""
    return cell._replace(text=mark)


def _label(text: str) -> str:
    return wording.elide(wording.clean(text), 8)
