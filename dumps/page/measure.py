"""How large a box of the page's diagram is, so that it has its size before a browser sees it."""

from __future__ import annotations

from graphattn.dumps.diagram import Box
from graphattn.dumps.letters import text_width

TITLE, SMALL = 12.5, 10.0
"""Sizes of the bold and of the muted lines, in pixels."""
LINE, SMALL_LINE = 16, 13
"""How far the lines are apart."""
PADDING = 10
TOGGLE = 20
"""What the button takes that opens a box, at its upper right, or closes it, at its left."""


def box_size(box: Box, opens: bool = False) -> tuple[int, int]:
    """Width and height of a box, in whole pixels, the width an even number: centres are whole, too."""
    if box.kind == "bar":
        line = f"{box.glyph} {' '.join(box.title)} · {' '.join(cell.label for cell in box.cells)}"
        return 2 * round(text_width(line, SMALL) / 2) + 2 * PADDING, 22
    title = [f"{box.glyph} {box.title[0]}".strip(), *box.title[1:]] if box.title else [box.glyph]
    small = [*box.inside, *box.note]
    widths = [text_width(t, TITLE, bold=True) + 2 * TOGGLE * opens * (i == 0) for i, t in enumerate(title)]
    widths += [text_width(t, SMALL) for t in small]
    width = max(widths, default=0) + 2 * PADDING
    return max(44, 2 * round(width / 2)), 10 + LINE * len(title) + SMALL_LINE * len(small)


def head_width(box: Box) -> int:
    """Of an open box, how wide its title is, with the note behind it."""
    words = text_width(" ".join(box.title), TITLE, bold=True)
    return round(words + text_width(" " + " ".join(box.note), SMALL)) + TOGGLE + 2 * PADDING
