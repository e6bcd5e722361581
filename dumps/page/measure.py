"""How much room a text takes in the page's diagram, so that boxes have their size before a browser sees them.

Widths are those of Helvetica, in parts of the font's size, rounded up: a font that a reader has instead
may be wider.

>>> round(text_width("softmax", 10))
42
"""

from __future__ import annotations

import unicodedata

from graphattn.dumps.diagram import Box

TITLE, SMALL = 12.5, 10.0
"""Sizes of the bold and of the muted lines, in pixels."""
LINE, SMALL_LINE = 16, 13
"""How far the lines are apart."""
PADDING = 14
SLACK = 1.08
BOLD = 1.08

NARROW = frozenset("ijlftrI.,:;'|!()[]{} /\\-·₀₁₂₃₄₅₆₇₈₉ₖᵀ")
WIDE = frozenset("mwMW@%→…⊗⊕◎Σ√∥⋔")


def text_width(text: str, size: float, bold: bool = False) -> float:
    """Pixels that a line of text takes, at most."""
    return sum(map(_letter, text)) * size * SLACK * (BOLD if bold else 1)


def _letter(letter: str) -> float:
    if letter in NARROW:
        return 0.36
    if letter in WIDE:
        return 0.9
    if unicodedata.combining(letter):
        return 0.0
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.05
    return 0.7 if letter.isupper() or not letter.isascii() else 0.56


def box_size(box: Box) -> tuple[int, int]:
    """Width and height of a box, in whole pixels."""
    if box.kind == "bar":
        line = f"{box.glyph} {' '.join(box.title)} · {' '.join(cell.label for cell in box.cells)}"
        return round(text_width(line, SMALL)) + 2 * PADDING, 22
    title = [f"{box.glyph} {box.title[0]}".strip(), *box.title[1:]] if box.title else [box.glyph]
    small = [*box.inside, *box.note]
    widths = [text_width(t, TITLE, bold=True) for t in title] + [text_width(t, SMALL) for t in small]
    room = 20 if box.kind == "fold" or box.family == "composite" else 0
    width = max(widths, default=0) + 2 * PADDING + room
    return max(44, round(width)), 10 + LINE * len(title) + SMALL_LINE * len(small)
