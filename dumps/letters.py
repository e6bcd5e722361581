"""How much room a text takes, so that what stands beside it has its place before anybody draws it.

Widths are those of DejaVu Sans, the widest of the fonts that pictures and pages name (`theme.FONTS`): where
a reader has Helvetica or Arial, there is a little more room than it takes.

>>> round(text_width("softmax", 10), 1)
40.9
"""

from __future__ import annotations

import unicodedata
from functools import cache

WIDTHS = {
    0.28: "ijl'", 0.30: "IJ", 0.32: " ,.·", 0.34: "/:;\\|", 0.36: "f-", 0.39: "()[]t", 0.40: "!₀₁₂₃₄₅₆₇₈₉⁰¹²³ᵀ",
    0.42: "r", 0.46: "ₖ\"", 0.50: "*_`∥", 0.53: "sz?∂∫", 0.56: "cL", 0.59: "Fkvxyγ", 0.62: "PTYaeo", 0.64:
    "ESbdghnpquΣσβµ√$0123456789{}", 0.67: "KAV∇", 0.70: "BRXZC", 0.75: "HNU", 0.80: "DGOQ&", 0.82: "w",
    0.87: "M◎", 0.95: "%", 0.98: "m", 1.00: "W@…",
}  # fmt: skip
"""In parts of the font's size; any other letter takes 0.84, as + = × − → do."""
BOLD, MONO, WIDE, OTHER = 0.08, 0.602, 1.05, 0.84
"""What a bold letter takes more; each letter of the font for numbers; one of a wide script; any other."""


def text_width(text: str, size: float, bold: bool = False, mono: bool = False) -> float:
    """How wide a line of text is, in the unit of `size`."""
    return size * sum(_letter(letter, bold, mono) for letter in text)


def fitted(text: str, size: float, width: float, bold: bool = False) -> str:
    """The text, its end cut to `…` where it is wider than `width`."""
    if text_width(text, size, bold) <= width:
        return text
    kept = ""
    for letter in text:
        if text_width(f"{kept}{letter}…", size, bold) > width:
            break
        kept += letter
    return f"{kept.rstrip()}…" if kept else ""


@cache
def _letter(letter: str, bold: bool, mono: bool) -> float:
    if unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0.0
    if unicodedata.east_asian_width(letter) in "WF":
        return WIDE
    if mono:
        return MONO
    return _WIDTH.get(letter, OTHER) + BOLD * bold


_WIDTH = {letter: width for width, letters in WIDTHS.items() for letter in letters}
