"""Whether two tensors hold the same numbers, roughly: within what rounding explains many times over."""

from __future__ import annotations

import math

from ..masked_cells import is_masked
from ..recording import Recorded, Recording

NEAR = 2e-3
TIGHT = 2e-6
"""What cells may differ by, of the largest, where tensors are matched by value: at most (for short formats,
8 of their units), and what is enough to prefer one tensor to others."""


def near_by_value(reference: Recording, yours: Recording) -> float:
    """How near is near enough, for the precision of the two."""
    bits = min(reference.precision.bits, yours.precision.bits)
    return max(NEAR, 8 * 2.0**-bits)


def alike(a: Recorded, b: Recorded, near: float = NEAR) -> bool:
    """Whether two tensors of as many cells hold the same numbers in the same order, roughly; masked cells match
    masked cells, and at least one cell must be a number other than 0."""
    if a.rows == b.rows or a.flat == b.flat:
        return 0.0 < a.largest < math.inf and b.largest == a.largest
    limit = near * a.largest
    some = False
    for x, y in zip(a.flat, b.flat):
        if abs(x - y) <= limit:
            some = some or x != 0.0
        elif not (is_masked(x) and is_masked(y)):
            return False
    return some
