"""Which numbers stand for a masked cell: −∞, the least finite number of each format, −1e9 and its like."""

from __future__ import annotations

import math
from typing import Any

FLOOR = -65504.0
"""The most negative float16: nothing above it is masked unless the user says so."""
ASTRONOMIC = -1e30
POWERS = -9.9e8


def is_masked(x: Any, below: float | None = None) -> bool:
    """Whether a cell is of the class "masked"; with `below`, whether it is that small or smaller."""
    if below is not None and x <= below:
        return True
    if x > FLOOR:
        return False
    if x == FLOOR or x <= ASTRONOMIC:
        return True
    return x <= POWERS and abs(-x / 10.0 ** round(math.log10(-x)) - 1.0) <= 0.01
