"""Explanations as text of a given width, and as Markdown.

The heads stand in one column, indented by level, so that equals signs stand below each other; what
follows them is broken between equals signs first, then before a sign of a sum. Remarks stand below.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from graphattn.core.words import left, width, wrapped
from graphattn.insight.why.formula import BREAK, INNER, joined
from graphattn.insight.why.tree import Line

HEAD_LIMIT = 32
NOTE_GAP = 8
LEVEL_LIMIT = 12
"""Lines of deeper levels stand no further to the right."""


def laid_out(lines: Sequence[Line], limit: int) -> str:
    """The lines as text, each at most `limit` places wide where words allow it."""
    heads = [_indent(line) + width(line.head) for line in lines if line.segments]
    short = [places for places in heads if places <= min(HEAD_LIMIT, limit // 2 - 4)]
    column = max(short, default=min(max(heads, default=0), 8))
    return "\n".join(text.rstrip() for line in lines for text in _line(line, column, limit))


def _indent(line: Line) -> int:
    return 2 * min(line.level, LEVEL_LIMIT)


def _line(line: Line, column: int, limit: int) -> Iterator[str]:
    head = " " * _indent(line) + line.head
    if not line.segments:
        text = joined(f"{head}: {line.note}" if line.note else head)
        yield from wrapped(text, limit, " " * _indent(line) + "  ")
        return
    rows = _rows(line.segments, limit - column - 1)
    if max(map(width, rows)) > limit - column - 1:  # too long a name: it gets all the room that there is
        column = _indent(line) + 2
        rows = _rows(line.segments, limit - column - 1)
    if width(head) > column:
        yield from wrapped(joined(head), limit, " " * _indent(line) + "  ")
        head = ""
    note = line.note
    texts = [f"{left(head if not i else '', column)} {row}" for i, row in enumerate(rows)]
    if note:
        place = next((i for i in (0, len(texts) - 1) if width(texts[i]) + 3 + width(note) <= limit), None)
        if place is None:
            texts += wrapped(joined(" " * (column + 3) + note), limit, " " * (column + 3))
        else:
            room = limit - width(texts[place]) - width(note)
            texts[place] += " " * min(NOTE_GAP, room) + note
    yield from texts
    indent = " " * (_indent(line) + 2)
    for remark in line.remarks:
        yield from wrapped(joined(f"{indent}— {remark}"), limit, f"{indent}  ")


def _rows(segments: Sequence[str], room: int) -> list[str]:
    """The segments behind equals signs, on as few rows as is easily read."""
    whole = list(map(joined, segments))
    if width(" = ".join(whole)) + 2 <= room:
        return ["= " + " = ".join(whole)]
    tail: list[str] = []  # the result stands with as much of what leads to it as fits
    while len(whole) > 1 and width(" = ".join([whole[-1], *tail])) + 2 <= room:
        tail.insert(0, whole.pop())
    rows = [row for i in range(len(whole)) for row in _broken(segments[i], room)]
    if len(rows) > 1 and len(tail) == 1 and width(rows[-1]) + 3 + width(tail[0]) <= room:
        return [*rows[:-1], f"{rows[-1]} = {tail[0]}"]
    return [*rows, "= " + " = ".join(tail)] if tail else rows


def _broken(segment: str, room: int) -> list[str]:
    """A segment that is too long for one row, broken before a sign; inside parentheses only where a
    piece of it does not fit otherwise."""
    rows: list[str] = []
    row = "="
    for piece in _pieces(segment, room - 4):
        if row.strip() not in ("", "=") and width(row) + 1 + width(piece) > room:
            rows.append(row)
            row = "   " + piece
        else:
            row += f" {piece}"
    return [*rows, row]


def _pieces(segment: str, room: int) -> Iterator[str]:
    for piece in segment.split(BREAK):
        if width(piece) <= room:
            yield joined(piece)
        else:
            yield from piece.split(INNER)


# ---------------------------------------------------------------- Markdown


def markdown(lines: Sequence[Line]) -> str:
    """The lines as a nested list; what is computed is set as code."""
    rows: list[str] = []
    for line in lines:
        text = _code(line.head)
        for segment in line.segments[:-1]:
            text += f" = {_code(segment)}"
        for segment in line.segments[-1:]:
            text += f" = **{_code(segment)}**"
        if line.note:
            text += f" ({_words(line.note)})"
        rows.append(f"{'  ' * line.level}- {text}")
        rows += [f"{'  ' * (line.level + 1)}- *{_words(remark)}*" for remark in line.remarks]
    return "\n".join(rows) + "\n"


def _code(text: str) -> str:
    """Inline code, whatever backticks are in it."""
    text = joined(text)
    if "`" not in text:
        return f"`{text}`"
    longest = 0
    run = 0
    for a, _ in pairwise(text + " "):
        run = run + 1 if a == "`" else 0
        longest = max(longest, run)
    fence = "`" * (longest + 1)
    return f"{fence} {text} {fence}"


def _words(text: str) -> str:
    """Text in which no sign is taken for markup."""
    return "".join(f"\\{c}" if c in "\\`*_[]<>&|#" else c for c in joined(text))
