"""How things are put into words, the same everywhere: lists, counts, shapes, subscripts, numbers, lines.

>>> listed(["q", "k", "v"]), listed("abcdefghij", limit=3), listed([])
('q, k, v', 'a, b, c and 7 more', 'none')
>>> joined(["q", "k", "v"]), joined(["rows", "columns"], "or")
('q, k and v', 'rows or columns')
>>> counted(1, "step"), counted(1200, "step"), counted(2, "query", "queries")
('1 step', '1,200 steps', '2 queries')
>>> sizes((3, 4)), sizes(()), sizes((3, None))
('3 × 4', 'scalar', '3 × any')
>>> "Q" + subscript(12), split_subscript("Q₁₂")
('Q₁₂', ('Q', 12))
>>> number(0.1 + 0.2), number(-0.0), number(float("-inf")), number(1e300)
('0.3', '0', '−∞', '1e+300')
>>> wrapped("a sentence of quite a few words", 16, "  ")
['a sentence of', '  quite a few', '  words']
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import accumulate, zip_longest
from typing import Any

SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉"
_SUBSCRIPTS = str.maketrans("0123456789", SUBSCRIPTS)
_DIGITS = str.maketrans(SUBSCRIPTS, "0123456789")


# ---------------------------------------------------------------- several things


def listed(items: Iterable[object], limit: int = 8, separator: str = ", ", none: str = "none") -> str:
    """`a, b, c and 5 more`: the first `limit` items; `none` where there is none."""
    items = list(items)
    shown = separator.join(map(str, items[:limit]))
    return f"{shown} and {len(items) - limit:,} more" if len(items) > limit else shown or none


def joined(items: Iterable[object], last: str = "and") -> str:
    """`a, b and c`."""
    *before, end = map(str, items)
    return f"{', '.join(before)} {last} {end}" if before else end


def counted(count: int, what: str, several: str | None = None) -> str:
    """`1 step`, `1,200 steps`; `several` is the plural where it is not made with an s."""
    return f"{count:,} {what if count == 1 else several or f'{what}s'}"


def sizes(shape: Iterable[int | None], times: str = " × ", scalar: str = "scalar") -> str:
    """`3 × 4`; None stands for any size."""
    return times.join("any" if size is None else str(size) for size in shape) or scalar


# ---------------------------------------------------------------- numbers


def subscript(index: int) -> str:
    """`₁₂`."""
    return str(index).translate(_SUBSCRIPTS)


def split_subscript(text: str) -> tuple[str, int | None]:
    """A name and the subscript at its end, or None where it has none that is shorter than 12 digits."""
    stem = text.rstrip(SUBSCRIPTS)
    digits = text[len(stem) :]
    return (stem, int(digits.translate(_DIGITS))) if 0 < len(digits) < 12 else (text, None)


def number(x: float, digits: int = 6) -> str:
    """A number for reading, in at most `digits` significant digits; a zero has no sign."""
    if math.isfinite(x):
        return f"{x + 0.0:.{digits}g}"
    return "NaN" if x != x else "∞" if x > 0 else "−∞"


def shown(value: Any) -> str:
    """A value in an error message, cut where it is long."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # nested too deep, or an int of thousands of digits
        return f"a {type(value).__name__}"
    return text if len(text) <= 40 else f"{text[:37]}..."


def typed(value: Any) -> str:
    """What kind of thing a value is: `an int`, `a list`, `None`."""
    kind = type(value).__name__
    return (
        "None"
        if value is None
        else f"{'an' if kind[:1].lower() in 'aeiou' or kind == 'ndarray' else 'a'} {kind}"
    )


PRINTED = 10**4000
"""Python itself prints and reads smaller integers in decimal; for larger ones it has a limit."""
DECIMAL_LIMIT = 100_000
"""Integers of more digits are written in hexadecimal, which takes no time that grows as their square."""


def integer(x: int) -> str:
    """An int of any length as text that `read_integer` reads back; Python's own stops at 4300 digits."""
    if type(x) is bool or -PRINTED < x < PRINTED:
        return str(x)
    return hex(x) if x.bit_length() > 3.32 * DECIMAL_LIMIT else format(Decimal(x), "f")


def spelled(value: Any) -> str:
    """`repr` of a value, with integers in it that Python does not print in hexadecimal, as its source may
    hold them."""
    try:
        return repr(value)
    except ValueError:
        if isinstance(value, int):
            return hex(value)
        if not isinstance(value, (list, tuple)):
            raise
    inside = ", ".join(map(spelled, value))
    return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' * (len(value) == 1)})"


def read_integer(text: str) -> int:
    """What `integer` wrote. Raises a `ValueError` where the text is no integer, or has too many digits."""
    sign, _, digits = text.strip().rpartition("-")
    if digits[:2] in ("0x", "0X") and not sign:
        return int(text, 16)
    if len(digits) <= 4000 or not digits.isdecimal() or len(digits) > DECIMAL_LIMIT:
        return int(text)
    return int(Decimal(text))


# ---------------------------------------------------------------- lines


def tame(text: str) -> str:
    """Text of files, messages of code: without what a terminal would take for a command, or that turns the
    direction of writing. Line breaks stay.

    >>> tame("a\\x1b[31m\\n\\u202e")
    'a\\\\x1b[31m\\n\\\\u202e'
    """
    if text.isprintable():
        return text
    return "".join(c if c == "\n" or c.isprintable() else repr(c)[1:-1] for c in text)


_ODD = re.compile("[\xad\u0300-\U0010ffff]")
"""Letters that may take another number of places than one."""


def width(text: str) -> int:
    """How many places a text takes in a terminal: CJK takes two, a combining mark none."""
    if text.isascii():
        return len(text)
    return len(text) + sum(_places(letter) - 1 for letter in _ODD.findall(text))


@lru_cache(maxsize=1024)
def _places(letter: str) -> int:
    if unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def left(text: str, places: int) -> str:
    """The text, filled with spaces on the right."""
    return text + " " * (places - width(text))


def right(text: str, places: int) -> str:
    """The text, filled with spaces on the left."""
    return " " * (places - width(text)) + text


Fill = Callable[[str, int], str]


def measures(texts: Iterable[str]) -> tuple[Callable[[str], int], Fill, Fill]:
    """`width`, `left` and `right` for these texts: much quicker ones where each letter takes one place."""
    joined = "".join(texts)
    if joined.isascii() or _ODD.search(joined) is None:
        return len, str.ljust, str.rjust
    return width, left, right


_WORDS = re.compile(r" +|[^ ]+")


def wrapped(text: str, limit: int, hanging: str = "") -> list[str]:
    """The text on lines of at most `limit` places, broken at spaces; those after the first begin with
    `hanging`. Runs of spaces within a line, and those it begins with, are kept; a longer word stays whole."""
    return _on_lines(_WORDS.findall(text), limit, hanging)


def _on_lines(pieces: Iterable[str], limit: int, hanging: str) -> list[str]:
    """Pieces of a text, each of spaces or without any, as `wrapped` has them."""
    lines: list[str] = []
    line = gap = ""
    for piece in pieces:
        if piece.isspace():
            gap = piece
        else:
            if line and width(line) + len(gap) + width(piece) > limit:
                lines.append(line)
                line, gap = hanging, ""
            line += gap + piece
            gap = ""
    return [*lines, line] if line else []


NARROW = 16
"""No column of a table is made narrower than this."""
_PIECES = re.compile(r" +|[^ ]+?\.(?=[^\W\d])|[^ ]+")


def aligned(
    rows: Sequence[Sequence[str]], gap: str = "  ", limit: int | None = None, numbers: Collection[int] = ()
) -> list[str]:
    """Rows of texts as lines with their columns under each other; the columns `numbers` stand to the right.

    Where lines would be longer than `limit`, the widest columns fold: at spaces, long names behind their dots.
    Where that is not enough, tables of fewer columns stand below each other, each with the first one.

    >>> aligned([("op", "formula"), ("relu", "y = max(x, 0) of each cell")], limit=24)
    ['op    formula', 'relu  y = max(x, 0) of', '        each cell']
    """
    columns = list(zip(*rows, strict=True))
    places = [max(map(width, column)) for column in columns]
    if limit is not None:
        room = limit - len(gap) * (len(columns) - 1)
        least = [max(NARROW, 2 + _longest_piece(column)) for column in columns]
        while sum(places) > room and (wide := [i for i, p in enumerate(places) if p > least[i]]):
            places[max(wide, key=places.__getitem__)] -= 1
        if sum(places) > room and len(columns) > 2:
            ends = accumulate(place + len(gap) for place in places)
            fit = max(2, sum(end - len(gap) <= limit for end in ends))
            before = aligned([row[:fit] for row in rows], gap, limit, numbers)
            behind = {place - fit + 1 for place in numbers if place >= fit}
            return [*before, "", *aligned([(row[0], *row[fit:]) for row in rows], gap, limit, behind)]
    sides = [right if place in numbers else left for place in range(len(columns))]
    return [
        gap.join(side(cell, wide) for side, cell, wide in zip(sides, line, places)).rstrip()
        for row in rows
        for line in zip_longest(*map(_folded, row, places), fillvalue="")
    ]


def _longest_piece(cells: Iterable[str]) -> int:
    return max((width(piece) for cell in cells for piece in _PIECES.findall(cell)), default=0)


def _folded(cell: str, places: int) -> list[str]:
    """A cell of a table on lines of so many places."""
    if width(cell) <= places:
        return [cell]
    words = _WORDS.findall(cell)
    pieces = (p for word in words for p in (_PIECES.findall(word) if width(word) > places - 2 else [word]))
    return _on_lines(pieces, places, "  ")
