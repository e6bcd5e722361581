"""A graph's structure as DOT, the language of Graphviz.

`dot(graph)` is the text; `drawing(picture)` also knows which text each node must show, so that a
rendered picture can be checked. Nodes have safe ids (n0, n1, …), since a name with `:` would be
taken for a port; labels are HTML-like tables with every text escaped, since a stray `&` or an
empty `<B></B>` makes a node come out blank without an error.
"""

from __future__ import annotations

import html
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import graphviz

from graphattn.core.graph import Graph
from graphattn.core.trace import Trace
from graphattn.dumps import wording
from graphattn.dumps.alike import alike
from graphattn.dumps.diagram import GAP, Arrow, Box, Diagram, Frame, diagram
from graphattn.dumps.frame_labels import BARE, MIDDLE
from graphattn.dumps.grids import grid_legend, grid_rows
from graphattn.dumps.markup import escaped, styled, styled_lines
from graphattn.dumps.theme import ENTRIES, FONT, Theme, theme

SIBLINGS = 4
"""Of more alike siblings than these, one is drawn in full and one box stands for the others."""

LEGEND_PER_LINE = 8


@dataclass(frozen=True)
class Drawing:
    """DOT text, and what each of its nodes is."""

    source: str
    names: Mapping[str, str]
    """From the ids in the DOT text to the names in the graph."""
    texts: Mapping[str, list[str]]
    """From ids to the texts that the node shows."""
    tooltips: Mapping[str, str]


def dot(
    graph: Graph,
    theme: str = "light",
    legend: bool = True,
    siblings: int | None = SIBLINGS,
    trace: Trace | None = None,
) -> str:
    """The DOT text of a graph as it is (`graph.at(level)` is the graph at a level); with a run of it, its
    numbers are in the boxes.

    theme: light or dark. Of more than `siblings` alike scopes the first is drawn in full and one
    node stands for the others (None: all are drawn).
    """
    folds = [] if siblings is None else alike(graph, siblings)
    return drawing(diagram(graph, folds, trace), theme, legend).source


def drawing(
    picture: Diagram,
    theme_name: str = "light",
    legend: bool = True,
    sides: Mapping[str, str] | None = None,
) -> Drawing:
    """The DOT text of a picture, in a theme.

    sides: where the labels of frames (by id) stand that are not at the left: r, c, and behind it `BARE`, and
    by how much the frame is wider at each side for a label of one word a line; `MIDDLE` for arrows (e7).
    """
    colours = theme(theme_name)
    mark = zlib.crc32("\n".join([theme_name, *(box.tooltip for box in picture.boxes.values())]).encode())
    writer = _Writer(picture, colours, f"g{mark:08x}", sides or {})
    source = writer.write(legend)
    return Drawing(
        source,
        {box.id: box.name for box in picture.boxes.values()},
        {box.id: box.texts for box in picture.boxes.values()},
        {box.id: box.tooltip for box in picture.boxes.values()},
    )


class _Writer:
    """Writes one picture. One class, because every part of it (nodes, clusters, arrows, legend) needs the same
    colours and sides, and the safe ids that all the others gave."""

    def __init__(self, picture: Diagram, colours: Theme, mark: str, sides: Mapping[str, str]) -> None:
        self.sides = sides
        self.picture = picture
        self.colours = colours
        self.mark = mark
        drawn = [arrow for arrow in picture.arrows if arrow.kind != "beside"]
        frames = {box.id: box.frame for box in picture.boxes.values()}
        self.leaving = Counter(arrow.tail for arrow in drawn)
        self.widths: Counter[str | None] = Counter()
        """About how many characters wide the widest box of each frame is."""
        for box in picture.boxes.values():
            self.widths[box.frame] = max(self.widths[box.frame], *map(len, box.note), *map(len, box.title), 0)
        self.near = Counter(arrow.head for arrow in drawn if frames[arrow.tail] == frames[arrow.head])

    def write(self, legend: bool) -> str:
        colours, picture = self.colours, self.picture
        digraph = graphviz.Digraph(picture.name, encoding="utf-8")
        digraph.attr(
            "graph", rankdir="TB", bgcolor=colours.page, fontname=FONT, fontcolor=colours.ink, fontsize="12",
            pad="0.2", nodesep="0.2", ranksep="0.38", splines="spline", newrank="true", remincross="false",
            tooltip=_plain(picture.title or picture.name), id=self.mark,
        )  # fmt: skip
        caption = self._caption(legend)
        if caption:
            digraph.attr("graph", label=caption, labelloc="b", labeljust="c")
        digraph.attr("node", fontname=FONT, fontsize="11", fontcolor=colours.ink)
        digraph.attr(
            "edge", fontname=FONT, fontsize="9", fontcolor=colours.muted, color=colours.edge,
            arrowsize="0.6", penwidth="1.1",
        )  # fmt: skip
        self._fill(digraph)
        for number, arrow in enumerate(picture.arrows):
            if arrow.kind != "beside":
                self._arrow(digraph, number, arrow)
        return digraph.source.replace("\r\n", "\n")

    # ------------------------------------------------------------ frames and boxes

    def _fill(self, outer: graphviz.Digraph) -> None:
        """The boxes of each scope, the rows of boxes, and the scopes inside it."""
        picture = self.picture
        inner: dict[str | None, list[Frame]] = {}
        for frame in picture.frames.values():
            inner.setdefault(frame.parent, []).append(frame)
        boxes: dict[str | None, list[Box]] = {}
        for box in picture.boxes.values():
            boxes.setdefault(box.frame if box.frame in picture.frames else None, []).append(box)
        beside: dict[str, list[tuple[int, Arrow]]] = {}
        for place, arrow in enumerate(picture.arrows):
            if arrow.kind == "beside":
                beside.setdefault(arrow.head, []).append((place, arrow))
        rows: dict[str | None, list[tuple[str, ...]]] = {}
        for row in picture.rows:  # order is kept only where the row stands in the frame around it
            rows.setdefault(self._common_frame(row), []).append(row)

        def fill(digraph: graphviz.Digraph, scope: str | None) -> None:
            for box in boxes.get(scope, ()):
                self._box(digraph, box)
            for box in boxes.get(scope, ()):
                if box.id in beside:
                    self._beside(digraph, beside[box.id])
            for frame in inner.get(scope, ()):
                with digraph.subgraph(name=frame.id) as cluster:  # type: ignore[union-attr]
                    self._frame(cluster, frame)
                    fill(cluster, frame.name)
            for row in rows.get(scope, ()):
                self._row(digraph, row)

        fill(outer, None)

    def _common_frame(self, row: Iterable[str]) -> str | None:
        """The innermost frame around all boxes of a row."""
        common: list[str] | None = None
        for ident in row:
            around = []
            scope = self.picture.boxes[ident].frame
            while scope in self.picture.frames:
                around.append(scope)
                scope = self.picture.frames[scope].parent
            common = around if common is None else [name for name in common if name in around]
        return common[0] if common else None

    def _frame(self, cluster: graphviz.Digraph, frame: Frame) -> None:
        paint = self.colours.frames[frame.depth % 2]
        colour = self.colours.role(frame.role, self.colours.ink)
        side, bare, wider, *_ = [*self.sides.get(frame.id, "l").split(), "", ""]
        title = " ".join(frame.title).split() if wider else frame.title
        label = styled_lines(title, 12, colour, bold=True)
        if frame.note and bare != BARE:
            label += self._muted(f"{GAP}{frame.note}", 9)
        cluster.attr(
            "graph", id=f"{self.mark}-{frame.id}", label=f"<{label}>", labelloc="b",
            labeljust=side, style="rounded,filled", margin=str(10 + int(wider or 0)),
            color=paint.line, fillcolor=paint.fill, penwidth="1.1", tooltip=_plain(frame.tooltip),
        )  # fmt: skip

    def _box(self, digraph: graphviz.Digraph, box: Box) -> None:
        more = {"id": f"{self.mark}-{box.id}", "class": f"op-{box.family}", "tooltip": _plain(box.tooltip)}
        if box.kind == "bar":
            digraph.node(box.id, label=f"<{self._bar(box)}>", shape="plain", **more)
            return
        paint = self.colours.end if box.kind == "end" else self.colours.family(box.family)
        style = "rounded,filled,dashed" if box.family in ("move", "constant") else "rounded,filled"
        digraph.node(
            box.id,
            label=f"<{self._table(box, paint.fill)}>",
            shape="box",
            style=style,
            fillcolor=paint.fill,
            color=self.colours.role(box.role, paint.line),
            penwidth="1.8" if box.role else "1.1",
            margin="0.07,0.03",
            **({"peripheries": "2"} if box.kind == "fold" else {}),
            **({"group": box.frame or "page"} if box.kind in ("op", "fold") else {}),
            **more,
        )

    def _table(self, box: Box, surface: str) -> str:
        colours = self.colours
        ends = box.kind == "end"
        ink = colours.end_ink if ends else colours.title(box.role, surface)
        muted = colours.end_muted if ends else colours.muted
        first = styled(f"{box.glyph} ", 12, ink) if box.glyph else ""
        first += styled_lines(box.title, 12, ink, bold=True)
        rows = [first]
        if len(box.inside) == 1 and len(box.title) == 1 and len(box.title[0]) + len(box.inside[0]) <= 36:
            rows[0] += styled(f"  {box.inside[0]}", 9, muted)
        elif box.inside:
            rows += [styled(line, 9, muted) for line in box.inside]
        rows += grid_rows(box.grids, colours)
        rows += [styled(line, 9, muted) for line in box.note]
        body = "".join(f"<TR><TD>{row}</TD></TR>" for row in rows if row)
        return f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="1">{body}</TABLE>'

    def _bar(self, box: Box) -> str:
        paint = self.colours.family(box.family)
        line = self.colours.role(box.role, paint.line)
        words = styled(" ".join(text for text in (box.glyph, *box.title) if text), 9, self.colours.muted)
        cells = "".join(
            f'<TD PORT="{cell.port}" WIDTH="26" BGCOLOR="{paint.fill}">'
            f"{styled(cell.label, 9, self.colours.title(box.role, paint.fill))}</TD>"
            for cell in box.cells
        )
        return (
            f'<TABLE BORDER="0" CELLBORDER="1" CELLSPACING="0" CELLPADDING="2" COLOR="{line}">'
            f'<TR><TD BGCOLOR="{paint.fill}">{words}</TD>{cells}</TR></TABLE>'
        )

    def _muted(self, text: str, size: int) -> str:
        return styled(text, size, self.colours.muted)

    # ------------------------------------------------------------ arrows and rows

    def _beside(self, digraph: graphviz.Digraph, arrows: Iterable[tuple[int, Arrow]]) -> None:
        with digraph.subgraph() as row:  # type: ignore[union-attr]
            row.attr(rank="same")
            for count, (place, arrow) in enumerate(arrows):
                more = {"style": "dashed", **self._common(place, arrow)}
                if count == 0:
                    row.edge(arrow.tail, arrow.head, **more)
                elif count == 1:  # to the right of its consumer
                    row.edge(arrow.head, arrow.tail, dir="back", **more)
                else:
                    digraph.edge(arrow.tail, arrow.head, **more)

    def _row(self, digraph: graphviz.Digraph, ids: tuple[str, ...]) -> None:
        with digraph.subgraph() as row:  # type: ignore[union-attr]
            row.attr(rank="same")
            for left, right in pairwise(ids):
                row.edge(left, right, style="invis", weight="50")

    def _arrow(self, digraph: graphviz.Digraph, number: int, arrow: Arrow) -> None:
        colours = self.colours
        more = self._common(number, arrow)
        if arrow.kind == "residual":
            more |= {"color": colours.residual, "fontcolor": colours.residual, "penwidth": "2", "weight": "0"}
        else:
            if arrow.role:
                more["color"] = more["fontcolor"] = colours.role(arrow.role, colours.edge)
            if arrow.kind == "bundle":
                more["penwidth"] = "2.2"
            more["weight"] = "2" if arrow.upward else str(self._weight(arrow))
        if arrow.label:
            # a label takes up room in the layout, which bends the arrow; an xlabel is added afterwards
            place = "xlabel" if arrow.upward or self._straight(arrow) else "label"
            far = arrow.far and not arrow.upward and self.sides.get(f"e{number}") != MIDDLE
            if far:  # in the middle it would stand on what the arrow runs past
                place = "headlabel"
                more |= {"labelangle": "60", "labeldistance": "2.5" if len(arrow.label) > 4 else "2.2"}
            more[place] = f"<{escaped(f' {arrow.label} ')}>"
        tail = f"{arrow.tail}:{arrow.port}:s" if arrow.port else arrow.tail
        if arrow.upward:  # as an arrow down that points back
            digraph.edge(arrow.head, tail, dir="back", **more)
        else:
            digraph.edge(tail, arrow.head, **more)

    def _common(self, place: int, arrow: Arrow) -> dict[str, str]:
        return {
            "id": f"{self.mark}-e{place}",
            "edgetooltip": _plain(arrow.tooltip),
            "labeltooltip": _plain(arrow.tooltip),
        }

    def _straight(self, arrow: Arrow) -> bool:
        """Whether an arrow is a link of a chain inside a frame, which the layout draws straight,
        and its label fits between the arrow and the side of the frame."""
        tail, head = self.picture.boxes[arrow.tail], self.picture.boxes[arrow.head]
        chain = (
            tail.frame == head.frame
            and "end" not in (tail.kind, head.kind)
            and self.leaving[arrow.tail] == 1 == self.near[arrow.head]
        )
        return chain and 2 * len(arrow.label) <= self.widths[tail.frame]

    def _weight(self, arrow: Arrow) -> int:
        """Arrows inside a frame are kept short and straight; those into one so short that no V is pulled down
        to the heads that use it."""
        tail, head = self.picture.boxes[arrow.tail], self.picture.boxes[arrow.head]
        if arrow.port or tail.kind == "source":
            return 1
        return 20 if tail.frame == head.frame is not None else 4 if tail.frame == head.frame else 6

    # ------------------------------------------------------------ caption and legend

    def _caption(self, legend: bool) -> str:
        rows = []
        if self.picture.title:
            title = styled(wording.elide(self.picture.title, 100), 12, self.colours.ink, bold=True)
            rows.append(f'<TR><TD HEIGHT="30" VALIGN="BOTTOM">{title}</TD></TR>')
        entries = self._entries() if legend else []
        lines = -(-len(entries) // LEGEND_PER_LINE)
        per_line = -(-len(entries) // max(lines, 1))
        for start in range(0, len(entries), max(per_line, 1)):
            cells = "".join(f"<TD>{entry}</TD>" for entry in entries[start : start + per_line])
            rows.append(
                '<TR><TD><TABLE BORDER="0" CELLBORDER="0" CELLSPACING="3" CELLPADDING="0">'
                f"<TR>{cells}</TR></TABLE></TD></TR>"
            )
        if legend:
            rows += grid_legend(
                [grid for box in self.picture.boxes.values() for grid in box.grids], self.colours
            )
        if not rows:
            return ""
        return f'<<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="2" CELLPADDING="0">{"".join(rows)}</TABLE>>'

    def _entries(self) -> list[str]:
        """One small box for each family in the picture."""
        shown = {box.family for box in self.picture.boxes.values() if box.kind not in ("end", "source")}
        known = [family for family in ENTRIES if family in shown]
        unknown = sorted(shown - set(ENTRIES))
        found = []
        for family in (*known, *unknown):
            paint = self.colours.family(family)
            words = " ".join(text for text in ENTRIES.get(family, ("", wording.clean(family))) if text)
            style = "DASHED" if family in ("move", "constant") else "ROUNDED"
            found.append(
                '<TABLE BORDER="1" CELLBORDER="0" CELLSPACING="0" CELLPADDING="2"'
                f' COLOR="{paint.line}" BGCOLOR="{paint.fill}" STYLE="{style}">'
                f"<TR><TD>{styled(words, 8, self.colours.ink)}</TD></TR></TABLE>"
            )
        return found


def _plain(text: str) -> str:
    """Text for a tooltip, whose backslashes Graphviz reads twice."""
    return html.escape(wording.elide(text, 400), quote=True).replace("\\", "\\" * 4)
