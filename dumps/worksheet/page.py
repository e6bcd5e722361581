"""A worksheet as HTML to print: one SVG for each side of A4, no scripts, nothing loaded from elsewhere."""

from __future__ import annotations

import html
from collections.abc import Iterator

from graphattn.dumps.letters import text_width
from graphattn.dumps.theme import FONT
from graphattn.dumps.worksheet.layout import (
    HEIGHT,
    MARGIN,
    WIDTH,
    Arrow,
    Frame,
    Grid,
    Item,
    Page,
    Words,
    pages,
)
from graphattn.dumps.worksheet.sheet import Sheet, Square

INK, MUTED, LABEL, LINE, ANSWER = "#1B1F24", "#4A535E", "#6B7480", "#7A828C", "#0B4F8A"
TINTS = ("#E4F0FB", "#FDEBDC", "#E6F4E4", "#F1E8F6", "#FBF5DC", "#E2F1F1")
EXAMPLE, HIDDEN = "#F0F1F3", "#E9EBEE"
ROLES = {
    "title": (INK, True), "name": (INK, True), "text": (INK, False), "muted": (MUTED, False),
    "label": (LABEL, False),
}  # fmt: skip
STYLE = """@page { size: A4; margin: 0 }
html, body { margin: 0; background: #fff }
svg { display: block; width: 210mm; height: 296mm; break-after: page; margin: 0 auto }
svg:last-of-type { break-after: auto }
"""


def page(sheet: Sheet, solution: bool = False) -> str:
    """The sheet as an HTML document; with `solution`, its squares are filled in."""
    title = f"{sheet.title}: solution" if solution else sheet.title
    sides = pages(sheet)
    drawn = "\n".join(_side(sheet, side, number, len(sides), solution) for number, side in enumerate(sides, 1))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{html.escape(title)}</title>\n"
        f"<style>\n{STYLE}</style>\n</head>\n<body>\n{drawn}\n</body>\n</html>\n"
    )


def picture(sheet: Sheet, solution: bool = False) -> str:
    """The first side of the sheet as an SVG file, cut off below what is on it."""
    side = pages(sheet)[0]
    low = max(item.y + item.height for item in side.items if isinstance(item, Grid | Frame)) + 44
    return _side(sheet, side, 1, 1, solution, min(HEIGHT, round(low))) + "\n"


def _side(sheet: Sheet, side: Page, number: int, count: int, solution: bool, height: int = HEIGHT) -> str:
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img"'
        f' font-family="{FONT}">',
        f'<rect width="{WIDTH}" height="{height}" fill="#FFFFFF"/>',
    ]
    title = f"{sheet.title}: solution" if solution else sheet.title
    size = min(22.0, 22 * (WIDTH - 2 * MARGIN) / text_width(title, 22, bold=True))
    parts.append(_text(Words(MARGIN, 58, title, size, "title")))
    parts.append(_text(Words(MARGIN, 82, sheet.subtitle, 13, "muted")))
    if not solution:
        parts.append(_text(Words(WIDTH - MARGIN - 168, 82, "Name", 13, "muted")))
        parts.append(f'<path d="M{WIDTH - MARGIN - 128} 84h128" stroke="{LINE}" fill="none"/>')
    foot = sheet.footer if count == 1 else f"{sheet.footer}   side {number} of {count}"
    parts.append(_text(Words(MARGIN, height - 16, foot, 10, "label")))
    for item in side.items:
        parts += _drawn(item, solution)
    return "\n".join([*parts, "</svg>"])


def _drawn(item: Item, solution: bool) -> Iterator[str]:
    if isinstance(item, Words):
        yield _text(item)
    elif isinstance(item, Grid):
        yield from _grid(item, solution)
    elif isinstance(item, Frame):
        yield (
            f'<rect x="{item.x:.1f}" y="{item.y:.1f}" width="{item.width:.1f}" height="{item.height:.1f}"'
            f' rx="4" fill="#FFFDF2" stroke="#D9D2B0"/>'
        )
    else:
        yield from _arrow(item)


def _text(words: Words) -> str:
    if words.role == "number":
        middle = words.x + 10
        return (
            f'<circle cx="{middle:.1f}" cy="{words.y:.1f}" r="10" fill="#2F3640"/>'
            f'<text x="{middle:.1f}" y="{words.y + 4.2:.1f}" font-size="12" font-weight="bold" fill="#FFFFFF"'
            f' text-anchor="middle">{html.escape(words.text)}</text>'
        )
    colour, bold = ROLES[words.role]
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{words.x:.1f}" y="{words.y:.1f}" font-size="{words.size:.1f}" fill="{colour}"{weight}'
        f' text-anchor="{words.anchor}">{html.escape(words.text)}</text>'
    )


def _grid(grid: Grid, solution: bool) -> Iterator[str]:
    for i, row in enumerate(grid.box.squares):
        for j, square in enumerate(row):
            yield from _square(grid, square, grid.x + j * grid.side, grid.y + i * grid.side, solution)


def _square(grid: Grid, square: Square, x: float, y: float, solution: bool) -> Iterator[str]:
    if square.kind == "hidden" and not square.text:
        return
    fill = {"hidden": HIDDEN, "done": EXAMPLE, "blank": "#FFFFFF", "given": _tint(grid.box.tint)}[square.kind]
    ask = square.kind in ("blank", "done")
    line = f'stroke="{INK if ask and not grid.copied else LINE}" stroke-width="{1.4 if ask else 0.9}"'
    line += ' stroke-dasharray="3 3"' if grid.copied else ""
    yield f'<rect x="{x:.1f}" y="{y:.1f}" width="{grid.side}" height="{grid.side}" fill="{fill}" {line}/>'
    if square.kind == "blank" and not solution:
        return
    if square.kind == "done" and grid.copied and not solution:
        return
    size = grid.digits
    colour = {"hidden": LABEL, "blank": ANSWER}.get(square.kind, INK)
    yield (
        f'<text x="{x + grid.side / 2:.1f}" y="{y + grid.side / 2 + size * 0.36:.1f}" font-size="{size:.1f}"'
        f' fill="{colour}" text-anchor="middle">{html.escape(square.text)}</text>'
    )


def _tint(number: int) -> str:
    return TINTS[(number - 1) % len(TINTS)] if number else "#F5F6F8"


def _arrow(arrow: Arrow) -> Iterator[str]:
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in arrow.points)
    yield f'<path d="{path}" fill="none" stroke="{LINE}" stroke-width="1.3" stroke-linejoin="round"/>'
    (x1, y1), (x, y) = arrow.points[-2:]
    if abs(x - x1) >= abs(y - y1):
        d = -1 if x > x1 else 1
        head = f"M{x:.1f} {y:.1f}l{8 * d} -4.5v9z"
    else:
        d = -1 if y > y1 else 1
        head = f"M{x:.1f} {y:.1f}l-4.5 {8 * d}h9z"
    yield f'<path d="{head}" fill="{LINE}"/>'
