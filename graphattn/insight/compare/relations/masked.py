"""Other cells are masked."""

from __future__ import annotations

import math
from collections.abc import Iterator

from .chance import claimed, near
from .sides import Relation, Sides
from .words import number


def masks(sides: Sides) -> Iterator[Relation]:
    """Only the positions of masked cells differ."""
    if sides.hidden_reference == sides.hidden_yours:
        return
    cells = sides.cells()
    close, checks = near([(x, y) for _, _, x, y in cells], sides.tau)
    agree = (close and claimed(checks, sides.chance)) or not cells
    only_reference = sum(x and not y for x, y in zip(sides.hidden_reference, sides.hidden_yours))
    only_yours = sum(y and not x for x, y in zip(sides.hidden_reference, sides.hidden_yours))
    changes = []
    if only_reference:
        changes.append(_cells(only_reference, "masked in the reference", "visible in yours"))
    if only_yours:
        changes.append(_cells(only_yours, "visible in the reference", "masked in yours"))
    pattern = _mask_pattern(sides)
    detail = {
        "masked in the reference only": only_reference,
        "masked in yours only": only_yours,
        "pattern": pattern,
    }
    text = (
        f"the reference but for its mask: {' and '.join(changes)}"
        if agree
        else f"masked elsewhere: {' and '.join(changes)}"
    )
    yield Relation("masked cells", text + (f" ({pattern})" if pattern else ""), detail)


def _cells(count: int, what: str, become: str) -> str:
    cell, are = ("cell", "is") if count == 1 else ("cells", "are")
    return f"{count} {cell} that {are} {what} {are} {become}"


def _mask_pattern(sides: Sides) -> str:
    width = sides.width
    a = [sides.hidden_reference[i : i + width] for i in range(0, len(sides.hidden_reference), width)]
    b = [sides.hidden_yours[i : i + width] for i in range(0, len(sides.hidden_yours), width)]
    flat_b = sides.hidden_yours
    if not any(flat_b):
        filled = {y for hidden, y in zip(sides.hidden_reference, sides.yours.flat) if hidden}
        if filled == {math.inf}:
            return "yours has +∞ there: the sign of infinity is wrong"
        if len(filled) == 1 and sum(sides.hidden_reference) > 1:
            return f"yours has {number(filled.pop())} there"
        return "yours masks nothing"
    if flat_b == [not x for x in sides.hidden_reference]:
        return "the mask is inverted"
    if len(a) == width and b == [list(column) for column in zip(*a)]:
        return "the mask is transposed"
    differing = [(i, j) for i, row in enumerate(a) for j, x in enumerate(row) if x != b[i][j]]
    if all(i == j for i, j in differing):
        return "only the diagonal"
    for by, words in ((1, "one later"), (-1, "one earlier")):
        moved = all(b[i][j] == a[i][j - by] for i in range(len(a)) for j in range(width) if 0 <= j - by < width)
        if moved:
            return f"each row's mask begins {words}"
    gaps = {i - j for i, j in differing}
    if len(gaps) == 1:
        return f"only where the query is {gaps.pop()} after the key: a window of another width"
    return ""
