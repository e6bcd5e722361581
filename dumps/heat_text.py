"""Heat maps in a terminal: lines of cells, each with a text and how it is shown.

    heat_lines(trace, ["*.weights"])          for each tensor a heading, the cells, the range

Up to 14 columns, where the line has places for them, a cell holds its number; beyond, two characters stand
for it. Without colours a shade stands before (or for) each number: ` ░▒▓█` from 0 to the largest, with a minus
below 0. What is hidden is `//`.

Nobody knows whether a terminal is dark or light. So small numbers have the terminal's own surface, larger ones
one of the same brightness, halfway between black and white, with more and more colour: the largest is what
stands out on either. What is hidden is dim.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from graphattn.core.errors import GraphError
from graphattn.core.trace import Trace
from graphattn.core.words import left, right, width, wrapped
from graphattn.dumps.colour import blend, ink_on
from graphattn.dumps.heat import MINUS, Cell, HeatMap, heat_maps
from graphattn.dumps.literals import plain
from graphattn.dumps.rows import as_read, step_rows
from graphattn.dumps.table import LEFT_OUT, Pretty, index_text

NUMBERS = 14
"""Up to so many columns a cell holds its number."""

SHADES = " ░▒▓█"
HATCHED = "//"


LEAST = 0.125
"""Below this part of the largest number a cell has the surface of the terminal."""
GREY, ABOVE, BELOW, BROKEN = "#707070", "#CC00B8", "#0A64F5", "#8A6A00"
"""The surfaces of small numbers, of the largest above and below 0, of NaN and infinity."""


class Piece(NamedTuple):
    """A run of text: its surface and its ink, empty for those of the terminal."""

    text: str
    fill: str = ""
    ink: str = ""
    dim: bool = False

    @property
    def style(self) -> str:
        """The same as rich calls it."""
        if self.fill:
            return f"{self.ink} on {self.fill}"
        return "dim" if self.dim else self.ink


def heat_lines(
    trace: Trace,
    only: Iterable[str] | None = None,
    limit: int = 32,
    colour: bool = True,
    room: int | None = None,
) -> Iterator[list[Piece]]:
    """The lines of all recorded tensors with cells, or of those that `only` selects; in `room` places, as far
    as fewer columns would do that."""
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 2:
        raise GraphError(f"limit is {limit!r}; expected an int of 2 or more")
    form = Pretty(limit=limit)
    for row in as_read(step_rows(trace, only)):
        for tensor in row.tensors:
            if tensor.value is None or not tensor.spec.size:
                continue
            maps = heat_maps(tensor, trace.numbers)
            title = f"{tensor.name} = {row.written.expression}   {row.written.axes}   {maps[0].scale.text}"
            for line in [title] if room is None else wrapped(title, room, "    "):
                yield [Piece(line)]
            shown = [None if i is None else maps[i] for i in form.shown(len(maps))]
            for found in shown:
                if found is None:
                    yield [Piece(f"    {LEFT_OUT}")]
                else:
                    yield from _map(found, form, colour, room)
            yield []


def _map(found: HeatMap, form: Pretty, colour: bool, room: int | None) -> Iterator[list[Piece]]:
    (rows, columns), tensor = found.shape, found.tensor
    down, across = form.shown(rows), form.shown(columns)
    numbers = len(across) <= NUMBERS
    names = [
        "" if i is None or (rows == 1 and tensor.spec.rank < 2) else _name(found.row_labels, i) for i in down
    ]
    where = index_text(tensor, found.index) if found.index else ""
    margin = max(map(width, [*names, where]))
    heads = [LEFT_OUT if j is None else _name(found.column_labels, j) for j in across]
    texts = _texts(found, down, across, numbers, colour)
    wide = _widest(texts)
    if numbers:
        wide = max(wide, *(min(width(head), 8) for head in heads)) + 1
    if room is not None and 5 + margin + wide * len(across) > room:
        numbers = False
        across = Pretty(limit=min(form.limit, max(2, (room - 5 - margin) // 2 - 1))).shown(columns)
        texts = _texts(found, down, across, numbers, colour)
        wide = _widest(texts)
    if numbers:
        yield [
            Piece("    " + left(where, margin) + "".join(right(_cut(head, wide - 1), wide) for head in heads))
        ]
    elif where:
        yield [Piece(f"    {where}")]
    for name, i, line in zip(names, down, texts, strict=True):
        pieces = [Piece(f"    {left(name, margin)} ")]
        for j, text in zip(across, line, strict=True):
            shown = right(text, wide)
            if i is None or j is None or not colour:
                pieces.append(Piece(shown))
            else:
                pieces.append(painted(shown, found.cell(i, j), numbers))
        yield pieces


def _texts(
    found: HeatMap, down: Sequence[int | None], across: Sequence[int | None], numbers: bool, colour: bool
) -> list[list[str]]:
    return [
        [LEFT_OUT if i is None or j is None else _text(found.cell(i, j), numbers, colour) for j in across]
        for i in down
    ]


def _widest(texts: list[list[str]]) -> int:
    return max(width(text) for line in texts for text in line)


def _text(cell: Cell, numbers: bool, colour: bool) -> str:
    """What stands in a cell."""
    if cell.state == "masked":
        return cell.text or HATCHED if numbers else HATCHED
    if cell.state == "broken":
        return cell.text if numbers else "!!"
    sign = MINUS if cell.level < 0 else " "
    shade = SHADES[min(len(SHADES) - 1, round(abs(cell.level) * (len(SHADES) - 1)))]
    if numbers:
        return cell.text if colour else f"{shade}{cell.text}"
    return f"{sign if sign == MINUS else shade if colour else sign}{shade}"


def painted(text: str, cell: Cell, numbers: bool) -> Piece:
    """A cell in its colours."""
    if cell.state == "masked":
        return Piece(text, dim=True)
    size = abs(cell.level)
    if cell.state != "broken" and size < LEAST:
        return Piece(text)
    colour = BROKEN if cell.state == "broken" else blend((GREY, BELOW if cell.level < 0 else ABOVE), size)
    return Piece(text, colour, ink_on(colour)) if numbers else Piece(text, ink=colour)


def _name(labels: tuple[str, ...] | None, i: int) -> str:
    return _cut(plain(labels[i]), 12) if labels else str(i)


def _cut(text: str, places: int) -> str:
    if width(text) <= places:
        return text
    kept = ""
    for letter in text:
        if width(kept + letter) >= places:
            break
        kept += letter
    return kept + LEFT_OUT


def plain_text(lines: Iterable[list[Piece]]) -> str:
    """The lines without colours."""
    return "".join("".join(piece.text for piece in line).rstrip() + "\n" for line in lines)
