"""When a relation is claimed: it holds within the tolerance, and chance does not explain it.

Of N cells that a relation with p free numbers predicts, N − p are checks. A check passes by chance with a
probability of at most 6 τ, τ the tolerance as a part of the largest cell (more where they are crowded), and
cells near 0 check nothing. A relation among H others of its kind (permutations, places, known constants) is
claimed where

    (6 τ)^(N − p) · H  <  10⁻⁷.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ....core.moments import deviation
from ..masked_cells import is_masked

CLAIM = 7.0
"""Claimed where the odds of chance are below 10^−this."""


def finite(x: float) -> bool:
    return x - x == 0


def crowding(cells: Sequence[float]) -> float:
    """How close together the cells are: 1 where they are spread as a normal distribution around 0 is."""
    if len(cells) < 2:
        return 1.0
    spread, size = deviation(cells), size_of(cells)
    return max(1.0, size / (2.5 * spread)) if spread > 1e-9 * size else 1.0


def size_of(values: Sequence[float]) -> float:
    return max(map(abs, values), default=0.0)


def claimed(checks: int, tau: float, choices: float = 0.0) -> bool:
    """Whether so many checks leave no room for chance; `choices` is log10 of how many were tried."""
    return checks > 0 and checks * -math.log10(min(6.0 * tau, 0.9)) - choices >= CLAIM


def near(pairs: Sequence[tuple[float, float]], tau: float) -> tuple[bool, int]:
    """Whether all pairs agree within τ of the largest, and how many of them are far from 0."""
    size = max(size_of([x for x, _ in pairs]), size_of([y for _, y in pairs]))
    limit = tau * size
    if size == 0.0 or any(abs(x - y) > limit for x, y in pairs):
        return False, 0
    return True, sum(abs(x) > 50 * limit for x, _ in pairs)


def row_near(p: Sequence[float], q: Sequence[float], limit: float) -> bool:
    return len(p) == len(q) and all(
        abs(x - y) <= limit or (is_masked(x) and is_masked(y)) for x, y in zip(p, q)
    )


def informative(rows: Sequence[Sequence[float]], limit: float) -> int:
    return sum(abs(x) > 50 * limit and not is_masked(x) for row in rows for x in row)
