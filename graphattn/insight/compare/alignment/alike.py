"""Whether two tensors hold the same numbers, roughly: within what rounding explains many times over."""

from __future__ import annotations

import math
from itertools import chain
from operator import sub

from ..masked_cells import FILL, hidden_cells, without_infinite
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
    if not a.size:
        return False
    if a.rows == b.rows or (a.shape != b.shape and a.flat == b.flat):
        return 0.0 < a.largest < math.inf and b.largest == a.largest
    rows, others, cells = a.rows, b.rows, chain.from_iterable
    norm = math.hypot(*cells(rows))
    if norm == math.inf and a.shape == b.shape:
        rows, others = without_infinite(rows, others) or (rows, others)
        norm = math.hypot(*cells(rows))
    least = near * norm / math.sqrt(a.size)  # the largest is no less than the root of the mean square
    if norm < -FILL and math.dist(cells(rows), cells(others)) <= least:  # nothing else is masked
        return norm > 0.0
    limit, some = near * a.largest, False
    for p, q in zip(a.rows, b.rows) if a.shape == b.shape else ((a.flat, b.flat),):
        far = list(map(sub, p, q))
        if max(far) <= limit and -min(far) <= limit and (total := sum(far)) == total:
            some = some or any(p)
            continue
        hidden = None
        for j, (x, y) in enumerate(zip(p, q)):
            if abs(x - y) <= limit:
                some = some or x != 0.0
                continue
            if abs(x - y) <= near * abs(x):
                continue
            if x > FILL and y > FILL:  # neither is masked
                return False
            hidden = hidden or hidden_cells(p, q)
            if not (hidden[0][j] and hidden[1][j]):
                return False
    return some
