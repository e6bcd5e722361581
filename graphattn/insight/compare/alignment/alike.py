"""Whether two tensors hold the same numbers, roughly: within what rounding explains many times over."""

from __future__ import annotations

import math
from itertools import chain
from operator import sub

from ..cell_classes import TINY, Classes, Rules, visible
from ..masked_cells import FILL, hidden_cells, without_infinite
from ..recording import Recorded, Recording

NEAR = 2e-3
TIGHT = 2e-6
"""What cells may differ by, of the largest, where tensors are matched by value: at most (for short formats,
8 of their units), and what is enough to prefer one tensor to others."""
RELATED = 0.25
"""Two tensors that are no further `apart` hold what is meant to be the same, wrong in places or printed with
few digits."""


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


def apart(a: Recorded, b: Recorded) -> float:
    """The root of the mean square by which two tensors of one shape differ, as a part of the deviation of a;
    masked cells aside. Infinite where a cell is of another class, or none is seen."""
    classes, far, count = Classes(), [], 0
    for row, other in zip(a.rows, b.rows):
        p, q, _, _ = visible(row, other, Rules(), classes)
        far.append(math.dist(p, q))
        count += len(p)
    if classes.wrong or not count:
        return math.inf
    away = math.hypot(*far)
    return away / math.sqrt(count) / (a.deviation or TINY) if away else 0.0
