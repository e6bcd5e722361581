"""Free text made fit to be drawn: cleaned of what SVG cannot hold, wrapped, and cut to a bound.

>>> clean("a\\n b\\u2028c\\x00")
'a b c'
>>> wrap("a title of quite a few words", width=12)
['a title of', 'quite a few', 'words']
>>> elide("abcdefgh", 5)
'abcd…'
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from graphattn.core.axes import Spec
from graphattn.core.words import sizes

LETTERS = {"batch": "b", "head": "h", "heads": "h", "token": "n", "feature": "d"}
"""The letter that stands for an axis in a picture; others are written out."""

PIECE = "ₖ"

JOINER = "\u200d"
"""Joins emoji; the only invisible character that is kept."""


def clean(text: str) -> str:
    """The text without control, formatting and private characters; white space is one space."""
    kept = "".join(
        c if c == JOINER or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") else " "
        for c in text
    )
    return " ".join(kept.split()).strip(JOINER)


def elide(text: str, width: int) -> str:
    """The text, its end cut to `…` where it is longer than `width` characters."""
    return text if len(text) <= width else text[: width - 1].rstrip() + "…"


def wrap(text: str, width: int = 30, lines: int = 3) -> list[str]:
    """The text in at most `lines` lines of at most `width` characters; the last ends in `…`
    where text is left over."""
    found: list[str] = []
    line = ""
    for word in text.split():
        while word:
            if line and len(line) + 1 + len(word) <= width:
                line, word = f"{line} {word}", ""
            elif not line and len(word) <= width:
                line, word = word, ""
            elif line:
                found.append(line)
                line = ""
            else:
                found.append(word[:width])
                word = word[width:]
        if len(found) > lines:
            break
    if line:
        found.append(line)
    if len(found) > lines:
        found = [*found[: lines - 1], elide(" ".join(found[lines - 1 :]), width)]
    return found


def shape_text(shape: Iterable[int]) -> str:
    """`4×8`; a scalar has an empty text."""
    return sizes(shape, "×", "")


def axes_text(spec: Spec, pieces: frozenset[tuple[str, int]] = frozenset()) -> str:
    """`n×d = 4×8`, or `8×8` where an axis has no name.

    `pieces` are axes (name, size) that are a piece of a longer axis: `n×dₖ = 4×4`. Two axes of
    one name and different sizes are told apart: `n×n′ = 3×4`. An axis of size 1 is 1.
    """
    whole = sizes(spec.shape, "×")
    kind = "" if spec.kind == "float" else f" {spec.kind}"
    if not spec.shape or None in spec.axes:
        return whole + kind
    told: dict[str, int] = {}
    letters = []
    for axis, size in zip(spec.axes, spec.shape, strict=True):
        letter = LETTERS.get(axis or "") or elide(clean(axis or ""), 12)
        if size == 1:
            letters.append("1")
            continue
        if (axis, size) in pieces and len(letter) == 1:
            letter += PIECE
        while told.setdefault(letter, size) != size:
            letter += "′"
        letters.append(letter)
    return f"{'×'.join(letters)} = {whole}{kind}"
