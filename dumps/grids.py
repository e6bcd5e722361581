"""Heat maps in the HTML-like labels of Graphviz, and the legend that explains their colours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from graphattn.dumps.colour import ink_on
from graphattn.dumps.diagram.values import HATCHED, Grid
from graphattn.dumps.heat import Cell
from graphattn.dumps.markup import styled
from graphattn.dumps.theme import MONO, Theme

A_ROW = 4
"""How many thumbnails stand side by side."""

SIZES = {"numbers": (32, 15), "swatches": (11, 11), "thumbnail": (7, 7)}
"""Width and height of a cell."""

STEPS = 10
"""The colours of a scale in the legend."""


def grid_rows(grids: Sequence[Grid], theme: Theme) -> list[str]:
    """The rows of a box's table that hold its heat maps."""
    if any(grid.kind == "thumbnail" for grid in grids):
        lines = [grids[at : at + A_ROW] for at in range(0, len(grids), A_ROW)]
    else:
        lines = [[grid] for grid in grids]
    return [_side_by_side([_captioned(grid, theme) for grid in line]) for line in lines]


def _side_by_side(tables: Sequence[str]) -> str:
    if len(tables) == 1:
        return tables[0]
    cells = "".join(f"<TD>{table}</TD>" for table in tables)
    return f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="3"><TR>{cells}</TR></TABLE>'


def _captioned(grid: Grid, theme: Theme) -> str:
    if not grid.caption:
        return _table(grid, theme)
    return (
        '<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0">'
        f"<TR><TD>{styled(grid.caption, 8, theme.muted)}</TD></TR>"
        f"<TR><TD>{_table(grid, theme)}</TD></TR></TABLE>"
    )


def _table(grid: Grid, theme: Theme) -> str:
    heat, (width, height) = theme.heat, SIZES[grid.kind]
    named = any(label for label, _ in grid.rows)
    lines = []
    if grid.heads:
        cells = [_label(head, theme) for head in grid.heads]
        lines.append((["<TD></TD>"] if named else []) + _with_gaps(cells, grid))
    for label, row in grid.rows:
        cells = [_cell(cell, grid, theme, width, height) for cell in row]
        name = [_label(label, theme)] if named else []
        lines.append(name + _with_gaps(cells, grid))
    body = "".join(f"<TR>{''.join(line)}</TR>" for line in lines)
    surface = heat.masked.fill if grid.heads or named else heat.grid
    return (
        f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="1" CELLPADDING="0" BGCOLOR="{surface}">{body}</TABLE>'
    )


def _label(text: str, theme: Theme) -> str:
    fill = theme.heat.masked.fill
    return f'<TD BGCOLOR="{fill}" CELLPADDING="2">{styled(text, 7, ink_on(fill))}</TD>'


def _with_gaps(cells: list[str], grid: Grid) -> list[str]:
    found = []
    for j, cell in enumerate(cells):
        if j in grid.gaps:
            found.append('<TD WIDTH="4"></TD>')
        found.append(cell)
    return found


def _cell(cell: Cell, grid: Grid, theme: Theme, width: int, height: int) -> str:
    heat = theme.heat
    plain = {"masked": heat.masked.fill, "broken": heat.broken, "left out": heat.grid}
    fill = plain.get(cell.state) or heat.fill(grid.scale, cell.level)
    size = 8 if grid.kind == "numbers" else 7 if grid.kind == "swatches" else 5
    shown = styled(cell.text, size, ink_on(fill)).replace("<FONT ", f'<FONT FACE="{MONO}" ')
    return f'<TD WIDTH="{width}" HEIGHT="{height}" BGCOLOR="{fill}">{shown}</TD>'


# ---------------------------------------------------------------- the legend


def grid_legend(grids: Iterable[Grid], theme: Theme) -> list[str]:
    """A row that says what the colours of cells stand for; nothing where there are none."""
    grids = list(grids)
    if not grids:
        return []
    heat = theme.heat
    parts = []
    if any(grid.scale == "signed" for grid in grids):
        colours = [heat.fill("signed", 2 * step / STEPS - 1) for step in range(STEPS + 1)]
        parts.append(_scale("each tensor  −max", colours, "+max", theme))
    if any(grid.scale == "share" for grid in grids):
        colours = [heat.fill("share", step / STEPS) for step in range(STEPS + 1)]
        parts.append(_scale("weights  0", colours, "1", theme))
    if any(cell.state == "masked" for g in grids for _, row in g.rows for cell in row):
        parts.append(_scale("masked", [heat.masked.fill], "", theme, HATCHED))
    cells = "".join(f"<TD>{part}</TD>" for part in parts)
    return [
        '<TR><TD><TABLE BORDER="0" CELLBORDER="0" CELLSPACING="6" CELLPADDING="0">'
        f"<TR>{cells}</TR></TABLE></TD></TR>"
    ]


def _scale(start: str, colours: Sequence[str], end: str, theme: Theme, text: str = "") -> str:
    cells = [
        f'<TD WIDTH="8" HEIGHT="9" BGCOLOR="{colour}">{styled(text, 7, ink_on(colour))}</TD>'
        for colour in colours
    ]
    before = f"<TD>{styled(f'{start} ', 8, theme.muted)}</TD>"
    behind = f"<TD>{styled(f' {end}', 8, theme.muted)}</TD>" if end else ""
    return (
        '<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0">'
        f"<TR>{before}{''.join(cells)}{behind}</TR></TABLE>"
    )
