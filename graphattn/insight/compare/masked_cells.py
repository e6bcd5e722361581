"""Which numbers stand for a masked cell: −∞, the least finite number of each format, −1e9 and its like."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

FLOOR = -65504.0
"""The most negative float16: nothing above it is masked unless the user says so."""
ASTRONOMIC = -1e30
POWERS = -9.9e8
UNDERFLOW = 746.0
"""What is so far below another number that e to the difference is 0 in double."""


def is_masked(x: Any, below: float | None = None) -> bool:
    """Whether a cell is of the class "masked"; with `below`, whether it is that small or smaller."""
    if below is not None and x <= below:
        return True
    if x > FLOOR:
        return False
    if x == FLOOR or x <= ASTRONOMIC:
        return True
    return x <= POWERS and abs(-x / 10.0 ** round(math.log10(-x)) - 1.0) <= 0.01


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
    """Which cells of two rows are masked. One of b that lies so far below its row that a softmax makes it 0 is
    as good as masked where that of a is masked."""
    hidden = [is_masked(x, below) for x in a]
    floor = max((y for x, y in zip(hidden, b) if not x and math.isfinite(y)), default=-math.inf) - UNDERFLOW
    return hidden, [is_masked(y, below) or (x and y < floor) for x, y in zip(hidden, b)]
