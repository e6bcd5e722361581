"""One heat map on a page: title, labels, cells, and what the numbers range over.

How it is drawn depends on its size: up to 14 rows and columns the cells hold numbers; up to 40 they are
coloured cells, negative ones with a minus; beyond, the map is one image with ticks, in which one spot
stands for several cells where there are more than can be seen. A thumbnail is small and without labels.
What is hidden is hatched in each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from graphattn.core.errors import GraphError
from graphattn.dumps import wording
from graphattn.dumps.colour import ink_on
from graphattn.dumps.figure.canvas import Canvas, Hatch, Image, Line, Rect, Text
from graphattn.dumps.heat import MINUS, Cell, HeatMap
from graphattn.dumps.letters import fitted, text_width
from graphattn.dumps.table import index_text
from graphattn.dumps.theme import Theme

NUMBERS = 14
"""Up to so many rows and columns a cell holds its number."""

SWATCHES = 40
"""Up to so many it is a coloured cell."""

MOST = 4096
"""Up to so many rows or columns a tensor is drawn at all."""

LABEL = 84.0
"""The most room for a row's label."""

SPOTS = (160, 84)
"""So many rows or columns of spots an image has at most, and one in a thumbnail."""

STRIPE = 6
"""Pixels from one line of a hatching to the next, in an image."""


@dataclass(frozen=True)
class Panel:
    """A heat map with its title, to be placed on a canvas."""

    map: HeatMap
    title: str
    note: str
    theme: Theme
    small: bool = False
    """Whether it is a thumbnail."""
    many: bool = False
    """Whether it is among so many cells that a large map becomes an image."""

    def __post_init__(self) -> None:
        rows, columns = self.map.shape
        if max(rows, columns) > MOST:
            raise GraphError(
                f"tensor {self.map.tensor.name!r} has {rows:,} × {columns:,} cells; a figure shows at most"
                f" {MOST:,} rows and columns"
            )

    # ------------------------------------------------------------ sizes

    @property
    def kind(self) -> str:
        """numbers, swatches or image."""
        largest = max(self.map.shape)
        if self.small:
            return "image" if self.many or largest > SWATCHES // 2 else "swatches"
        if largest <= NUMBERS:
            return "numbers"
        return "image" if self.many or largest > SWATCHES else "swatches"

    @property
    def pooled(self) -> tuple[int, int]:
        """How many rows and columns of cells one spot of an image stands for."""
        rows, columns = self.map.shape
        return -(-rows // SPOTS[self.small]), -(-columns // SPOTS[self.small])

    @property
    def caption(self) -> str:
        """The note, and what a spot stands for."""
        if self.kind != "image" or self.pooled == (1, 1):
            return self.note
        what = "largest" if self.map.scale.kind == "share" else "farthest from 0"
        return f"{self.note} · each spot is the {what} of {self.pooled[0]} × {self.pooled[1]} cells"

    @cached_property
    def cell_size(self) -> tuple[float, float]:
        """Width and height of a cell."""
        rows, columns = self.map.shape
        largest = max(rows, columns)
        if self.small:
            side = 84 / largest
            return side, side
        labels = self.map.column_labels
        wide = max((text_width(label, 8.5) + 6 for label in self._clean(labels)), default=0.0)
        if self.kind == "numbers":
            cells = (self.map.cell(i, j).text for i in range(rows) for j in range(columns))
            longest = max(text_width(text, 9, mono=True) for text in cells)
            return max(longest + 9, 30.0, min(wide, 60.0)), 20.0
        if self.kind == "swatches":
            return max(16.0, min(wide, 30.0)), 16.0
        side = min(14.0, 460 / largest)
        return max(side, min(14.0, 96 / columns)), max(side, min(16.0, 96 / rows))

    @cached_property
    def margin(self) -> float:
        """How wide the column of the rows' labels is."""
        if self.small:
            return 0.0
        labels = self._row_names()
        return min(LABEL, max((text_width(label, 8.5) for label in labels), default=0.0)) + (6 if labels else 0)

    @property
    def head(self) -> float:
        """How high the title and the labels of the columns are."""
        return (14 if self.title else 0) if self.small else 46

    @property
    def grid(self) -> tuple[float, float]:
        """Width and height of the cells."""
        (rows, columns), (wide, high) = self.map.shape, self.cell_size
        return columns * wide, rows * high

    @property
    def width(self) -> float:
        """How wide all of it is."""
        told = 0.0 if self.small else max(text_width(self.title, 11, bold=True), text_width(self.caption, 8.5))
        return max(self.margin + self.grid[0], min(told, 420.0))

    @property
    def height(self) -> float:
        """How high all of it is."""
        return self.head + self.grid[1]

    def _row_names(self) -> list[str]:
        rows, _ = self.map.shape
        if self.map.tensor.spec.rank < 2:
            return []
        if self._ticked(rows, self.cell_size[1]):
            return [self._name(self.map.row_labels, i) for i in ticks(rows)]
        return [self._name(self.map.row_labels, i) for i in range(rows)]

    @staticmethod
    def _clean(labels: Sequence[str] | None) -> list[str]:
        return [wording.clean(label) for label in labels or ()]

    @staticmethod
    def _name(labels: Sequence[str] | None, i: int) -> str:
        return wording.clean(labels[i]) if labels else str(i)

    # ------------------------------------------------------------ drawing

    def draw(self, canvas: Canvas, x: float, y: float) -> None:
        """Put it on a canvas, its upper left corner at a place."""
        theme = self.theme
        if self.small:
            if self.title:
                title = fitted(self.title, 8.5, self.grid[0] + 8)
                canvas.add(Text(x + self.grid[0] / 2, y + 6, title, 8.5, theme.muted, "middle"))
        else:
            canvas.add(
                Text(x, y + 7, fitted(self.title, 11, self.width + 6, bold=True), 11, theme.ink, bold=True)
            )
            canvas.add(Text(x, y + 21, fitted(self.caption, 8.5, self.width + 6), 8.5, theme.muted))
        left, top = x + self.margin, y + self.head
        if not self.small:
            self._label(canvas, left, top)
        if self.kind == "image":
            self._image(canvas, left, top)
        else:
            self._cells(canvas, left, top)

    def _label(self, canvas: Canvas, left: float, top: float) -> None:
        """Names of rows and columns, or ticks where they are too many."""
        (rows, columns), (wide, high) = self.map.shape, self.cell_size
        colour, tensor = self.theme.muted, self.map.tensor
        if tensor.spec.rank:
            few = self._ticked(columns, wide)
            for j in ticks(columns) if few else range(columns):
                room = (ticks(columns)[1] if few else 1) * wide - 2
                name = fitted(self._name(self.map.column_labels, j), 8.5, room)
                canvas.add(Text(left + (j + 0.5) * wide, top - 9, name, 8.5, colour, "middle"))
                if few:
                    canvas.add(Line(left + (j + 0.5) * wide, top - 3, left + (j + 0.5) * wide, top, colour))
        if tensor.spec.rank > 1:
            few = self._ticked(rows, high)
            for i in ticks(rows) if few else range(rows):
                name = fitted(self._name(self.map.row_labels, i), 8.5, LABEL)
                canvas.add(Text(left - 6, top + (i + 0.5) * high, name, 8.5, colour, "end"))
                if few:
                    canvas.add(Line(left - 4, top + (i + 0.5) * high, left, top + (i + 0.5) * high, colour))

    def _ticked(self, count: int, size: float) -> bool:
        """Whether not all rows (or columns) have names, but a few of them."""
        return self.kind == "image" and count > 1 and (count > 24 or size < 12)

    def _cells(self, canvas: Canvas, left: float, top: float) -> None:
        (rows, columns), (wide, high), heat = self.map.shape, self.cell_size, self.theme.heat
        line = heat.grid if min(wide, high) > 6 else ""
        for i in range(rows):
            for j in range(columns):
                cell = self.map.cell(i, j)
                place = (left + j * wide, top + i * high, wide, high)
                tooltip = "" if self.small else self._told(i, j)
                if cell.state == "masked":
                    fill = heat.masked.fill
                    canvas.add(Hatch(*place, fill, heat.masked.line, tooltip))
                else:
                    broken = cell.state == "broken"
                    fill = heat.broken if broken else heat.fill(self.map.scale.kind, cell.level)
                    canvas.add(Rect(*place, fill, line, tooltip))
                text = self._written(cell.text, cell.state, cell.level)
                if text:
                    middle = (left + (j + 0.5) * wide, top + (i + 0.5) * high)
                    if cell.state == "masked":  # no lines run through the text
                        canvas.add(Rect(middle[0] - 8, middle[1] - 6, 16, 12, fill))
                    size = 9 if self.kind == "numbers" else min(8.0, 0.8 * high)
                    canvas.add(Text(*middle, text, size, ink_on(fill), "middle", mono=True))
        canvas.add(*self._outline(left, top))

    def _written(self, text: str, state: str, level: float) -> str:
        if self.kind == "numbers":
            return text
        if state == "broken":
            return "!" if min(self.cell_size) > 6 else ""
        return MINUS if level < 0 and min(self.cell_size) > 6 else ""

    def _outline(self, left: float, top: float) -> list[Line]:
        wide, high = self.grid
        corners = [(left, top), (left + wide, top), (left + wide, top + high), (left, top + high), (left, top)]
        colour = self.theme.heat.grid
        return [Line(*a, *b, colour) for a, b in pairwise(corners)]

    def _told(self, i: int, j: int) -> str:
        """weights[sat, cat] = 0.0699778 (masked)."""
        at = self.map.at(i, j)
        place = index_text(self.map.tensor, at) if at else ""
        hidden = " (masked)" if self.map.is_hidden(i, j) else ""
        return wording.clean(f"{self.map.tensor.name}{place} = {self.map.digits(i, j)}{hidden}")

    def _image(self, canvas: Canvas, left: float, top: float) -> None:
        (rows, columns), (down, across), (wide, high) = self.map.shape, self.pooled, self.grid
        spots = [
            [
                self.map.strongest(range(i, min(i + down, rows)), range(j, min(j + across, columns)))
                for j in range(0, columns, across)
            ]
            for i in range(0, rows, down)
        ]
        zoom = max(1, (168 if self.small else 480) // max(len(spots), len(spots[0])))
        tall = max(1, round(zoom * (high / len(spots)) / (wide / len(spots[0]))))
        pixels = _pixels(spots, self.map.scale.kind, self.theme, zoom, tall)
        tooltip = f"{self.title}, {rows} × {columns}, {self.map.scale.text}"
        canvas.add(Image(left, top, wide, high, len(spots[0]) * zoom, len(spots) * tall, pixels, tooltip))
        canvas.add(*self._outline(left, top))


def ticks(count: int) -> list[int]:
    """Up to seven places from 0 on, in round steps."""
    step = next(s for p in range(10) for s in (10**p, 2 * 10**p, 5 * 10**p) if count / s <= 7)
    return list(range(0, count, step))


def _pixels(spots: Sequence[Sequence[Cell]], scale: str, theme: Theme, zoom: int, tall: int) -> bytes:
    """An image's pixels, `zoom` × `tall` for each spot; hatched where it is hidden."""
    heat = theme.heat
    colours: dict[str, bytes] = {}

    def rgb(colour: str) -> bytes:
        if colour not in colours:
            colours[colour] = bytes.fromhex(colour[1:])
        return colours[colour]

    surface, line = rgb(heat.masked.fill), rgb(heat.masked.line)
    found = bytearray()
    for i, cells in enumerate(spots):
        paints = [
            None
            if cell.state == "masked"
            else rgb(heat.broken if cell.state == "broken" else heat.fill(scale, cell.level))
            for cell in cells
        ]
        for down in range(i * tall, (i + 1) * tall):
            for j, paint in enumerate(paints):
                if paint is not None:
                    found += paint * zoom
                else:
                    for across in range(j * zoom, (j + 1) * zoom):
                        found += line if (across + down) % STRIPE < 2 else surface
    return bytes(found)
