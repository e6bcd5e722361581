"""Other cells are masked."""

from __future__ import annotations

import math
from collections.abc import Iterator

from .chance import claimed, near
from .sides import Relation, Sides
from .words import number


def masks(sides: Sides) -> Iterator[Relation]:
    """Only the positions of masked cells differ."""
    if sides.hidden_mine == sides.hidden_theirs:
        return
    cells = sides.cells()
    close, checks = near([(x, y) for _, _, x, y in cells], sides.tau)
    agree = (close and claimed(checks, sides.chance)) or not cells
    only_mine = sum(x and not y for x, y in zip(sides.hidden_mine, sides.hidden_theirs))
    only_theirs = sum(y and not x for x, y in zip(sides.hidden_mine, sides.hidden_theirs))
    told = []
    if only_mine:
        told.append(f"{only_mine} cells that are masked in mine are visible in theirs")
    if only_theirs:
        told.append(f"{only_theirs} cells that are visible in mine are masked in theirs")
    pattern = _mask_pattern(sides)
    detail = {"masked in mine only": only_mine, "masked in theirs only": only_theirs, "pattern": pattern}
    text = (
        f"mine but for its mask: {' and '.join(told)}" if agree else f"masked elsewhere: {' and '.join(told)}"
    )
    yield Relation("masked cells", text + (f" ({pattern})" if pattern else ""), detail)


def _mask_pattern(sides: Sides) -> str:
    width = sides.width
    a = [sides.hidden_mine[i : i + width] for i in range(0, len(sides.hidden_mine), width)]
    b = [sides.hidden_theirs[i : i + width] for i in range(0, len(sides.hidden_theirs), width)]
    flat_b = sides.hidden_theirs
    if not any(flat_b):
        filled = {y for hidden, y in zip(sides.hidden_mine, sides.theirs.flat) if hidden}
        if filled == {math.inf}:
            return "theirs has +∞ there: the sign of infinity is wrong"
        if len(filled) == 1 and sum(sides.hidden_mine) > 1:
            return f"theirs has {number(filled.pop())} there"
        return "theirs masks nothing"
    if flat_b == [not x for x in sides.hidden_mine]:
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
