"""Which numbers stand for a masked cell.

By itself: −∞, the least finite number of each format, −1e9 and its like (−10ᵏ from k = 9), −1e30 to −1e39 and
what is near the least double, a score added or not. Not beside a number of its own size: in a row of ±1e160
nothing is masked.

Beside other cells of its row: a fill of −1e4 and below (−3e4, which float16 can hold), a score added or not.
It is masked where the other side is masked and a softmax makes it 0, and where the other side is such a fill
too: a number of two digits, but for the score that was added, 50 times as far from 0 as what is visible. What
is merely small beside a large number is not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

FLOOR = -65504.0
"""The most negative float16: nothing above it is masked by itself unless the user says so."""
ASTRONOMIC = (-1e39, -1e30)
"""Between these anything is masked: the least float32 and bfloat16, half of it, 0.7 of it, …"""
LEAST = -8e307
"""The same for double."""
POWERS = -9.9e8
APART = 100.0
"""A number that is masked by itself is at least so many times as far from 0 as what is visible beside it."""
FILL = -9e3
"""A fill of less is not told from a score."""
FAR = 50.0
"""The same as APART, for fills."""
SCORE = 1e-3
"""A score that was added to a fill is at most this part of it, or no larger than what is visible beside it."""
UNDERFLOW = 746.0
"""What is so far below another number that e to the difference is 0 in double."""


def is_masked(x: Any, below: float | None = None) -> bool:
    """Whether a cell is masked by itself; with `below`, whether it is that small or smaller."""
    if below is not None and x <= below:
        return True
    if x > FLOOR:
        return False
    if x == FLOOR or x <= LEAST or ASTRONOMIC[0] <= x <= ASTRONOMIC[1]:
        return True
    return x <= POWERS and abs(-x / 10.0 ** round(math.log10(-x)) - 1.0) <= 0.01


def masked_in(row: Sequence[Any], below: float | None = None) -> list[bool]:
    """Which cells of a row are masked by themselves, and not beside a number of their own size."""
    hidden = [is_masked(x, below) for x in row]
    if any(hidden):
        top = _top(row, hidden)
        if top > -FLOOR / APART:
            return [x and (y == -math.inf or top * _apart(y) <= -y or (below is not None and y <= below))
                    for x, y in zip(hidden, row)]  # fmt: skip
    return hidden


def _apart(x: float) -> float:
    return 2.0 if x == FLOOR else APART


def _top(row: Sequence[Any], hidden: Sequence[bool]) -> float:
    """The size of what is visible in a row; −1 where nothing is."""
    return max((abs(x) for x, masked in zip(row, hidden) if not masked and x - x == 0), default=-1.0)


def seen(row: Sequence[Any]) -> list[Any]:
    """The finite cells of a row that are neither masked nor a fill."""
    if {x for x in row if not x > FILL} <= {-math.inf}:
        return [x for x in row if FILL < x < math.inf]
    hidden = masked_in(row)
    fills = _fills(row, hidden)
    return [x for x, masked, fill in zip(row, hidden, fills) if not (masked or fill) and x - x == 0]


def _fills(row: Sequence[Any], hidden: Sequence[bool]) -> list[bool]:
    """Which visible cells of a row are fills."""
    low = [not masked and -math.inf < x <= FILL for x, masked in zip(row, hidden)]
    if not any(low):
        return low
    top = _top(row, [masked or x for masked, x in zip(hidden, low)])
    return [x and 0.0 <= top * FAR <= -y and _is_round(y, max(top, SCORE * -y)) for x, y in zip(low, row)]


def _is_round(x: float, room: float) -> bool:
    """Whether a number is one of two digits, or the least float16, but for so much."""
    return min(abs(x - float(f"{x:.1e}")), abs(x - FLOOR)) <= room


def without_infinite(
    a: Sequence[Sequence[Any]], b: Sequence[Sequence[Any]]
) -> tuple[list[list[Any]], list[list[Any]]] | None:
    """Two tensors by rows, without the cells that are −∞; None where these are not the same in both."""
    if [[x == -math.inf for x in row] for row in a] != [[x == -math.inf for x in row] for row in b]:
        return None
    p, q = ([[x for x in row if x != -math.inf] for row in rows] for rows in (a, b))
    return p, q


def hides_all(row: Sequence[Any]) -> bool:
    """Whether a row is one that sees nothing: masked, or filled with one number, scores added or not."""
    if all(map(is_masked, row)):
        return True
    low, high = min(row), max(row)
    return -math.inf < low and high <= FILL and high - low <= -low / FAR


def without_hidden(row: Sequence[float]) -> list[float]:
    """A row with −∞ in all masked cells, and in those that are as good as masked."""
    floor = floor_of(row)
    return [-math.inf if x < floor or is_masked(x) else x for x in row]


def floor_of(row: Sequence[float]) -> float:
    """What lies below it is so far below its row that a softmax makes it 0."""
    return max((x for x in row if math.isfinite(x) and not is_masked(x)), default=-math.inf) - UNDERFLOW


def hidden_cells(
    a: Sequence[Any], b: Sequence[Any], below: float | None = None
) -> tuple[list[bool], list[bool]]:
    """Which cells of two rows are masked (see the module's docstring)."""
    p, q = masked_in(a, below), masked_in(b, below)
    return _beside(a, b, p, q), _beside(b, a, q, p)


def _beside(a: Sequence[Any], b: Sequence[Any], p: list[bool], q: list[bool]) -> list[bool]:
    """Which cells of a are masked beside those of b; p and q are masked by themselves."""
    if all(q):
        return [True] * len(p) if not all(p) and hides_all(a) else p
    floor = max((x for x, masked in zip(a, p) if not masked and x - x == 0), default=-math.inf) - UNDERFLOW
    below = [masked or (other and x < floor) for x, masked, other in zip(a, p, q)]
    fills = _fills(a, p)
    if not any(fills):
        return below
    return [x or (fill and other) for x, fill, other in zip(below, fills, _fills(b, q))]
