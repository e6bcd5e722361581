"""Whether two tensors hold the same numbers, roughly: within what rounding explains many times over."""

from __future__ import annotations

from ..cell_classes import is_masked
from ..precision import recorded_precision
from ..recording import Recording

NEAR = 2e-3
TIGHT = 2e-6
"""What cells may differ by, of the largest, where tensors are matched by value: at most (for short formats,
8 of their units), and what is enough to prefer one tensor to others."""


def near_by_value(reference: Recording, yours: Recording) -> float:
    """How near is near enough, for the precision of the two."""
    bits = min(recorded_precision(reference).bits, recorded_precision(yours).bits)
    return max(NEAR, 8 * 2.0**-bits)


def alike(a: list[float], b: list[float], near: float = NEAR) -> bool:
    """Whether two flat tensors hold the same numbers, roughly; masked cells match masked cells, and at
    least one cell must be a number other than 0."""
    size = None
    some = False
    for x, y in zip(a, b):
        if x == y:
            some = some or (x != 0 and not is_masked(x))
            continue
        if is_masked(x) and is_masked(y):
            continue
        if x != x or y != y:
            return False
        if size is None:
            size = max((abs(v) for v in a if not is_masked(v) and v == v), default=0.0)
        if not abs(x - y) <= near * size:
            return False
        some = some or x != 0
    return some
