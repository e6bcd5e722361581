"""Whether a difference is no more than what rounding can do, from many moved passes (`replay`).

    s² = (Σ d² + 4 · the row's mean of σ̂²) / (K + 4)          d: how far a cell moved; K passes; σ̂² = Σ d² / K

(the mean is of the cells that move by less than a quarter of the tensor's spread, if any do: a cell whose sign
flips says nothing of its neighbours).

A cell differs where |yours − expected| > ½ u + L · s + 4 · 2⁻ᵇ · |expected|. K = 8 and L = 8; where a cell lies
within 0.5 to 30 times of what is allowed, 24 passes more: K = 32 and L = 6.5. Of 1.5 million cells of right
runs the farthest lay at 6.4 s for K = 8.

Undecided is a cell where rounding reaches as far as the cells of the tensor are spread, and that lies farther
from what was expected than it mostly moves: a sign or an order that may flip, a number printed with few
digits. Undecided is a tensor with such cells, and one that agrees only if it was printed in a way that too few
cells show.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from statistics import median
from typing import Any

from ...core.errors import GraphError
from ...core.moments import power_of
from .cell_classes import Classes, Rules, visible
from .masked_cells import is_masked
from .precision import ACCUMULATOR_BITS
from .printed import Print
from .recording import Recorded, deviation
from .replay import Replay, rows_of

FIRST, MORE = 2, 24
PASSES = 8
"""After so many passes most is decided; FIRST tell what is far beyond."""
FAR = 60.0
"""So many times what is allowed after the first passes, and no more passes are made."""
LIMITS = {8: 8.0, 32: 6.5}
SEED = 0


@dataclass(frozen=True)
class Reach:
    """How far rounding reaches in a tensor. `over`: cells beyond; `worst`: the farthest, as a multiple of what
    is allowed; `share`: what is allowed to the middle cell, as a part of the tensor's spread; `open`: cells
    that cannot be told."""

    over: int
    worst: float
    share: float
    shown: Print
    open: int = 0
    bits: int = 53

    @property
    def blind(self) -> bool:
        """Whether rounding reaches as far as the cells are spread, so that nothing can be told. In full numbers
        of float32 and finer that is a zero, of which both sides have their own noise."""
        return self.share > 1.0 and not (self.shown.exact and self.bits >= ACCUMULATOR_BITS)

    @property
    def undecided(self) -> bool:
        """Whether not all that agrees is sure to."""
        return self.blind or self.open > 0 or not self.shown.sure

    @property
    def digits_wanted(self) -> int:
        """How many digits more would show a mistake of one part in a hundred."""
        return max(1, math.ceil(math.log10(max(self.share, 0.011) / 0.01)))


class Reaches:
    """What rounding can do to the tensors of a comparison."""

    def __init__(self, replay: Replay) -> None:
        self.replay = replay
        self.bits = replay.tolerances.precision.bits

    def of(self, key: str, yours: Recorded) -> Reach | None:
        """How far rounding reaches in a tensor; None where its segment cannot be evaluated."""
        shown = self.replay.tolerances.prints.of(self.replay.matched.by_key[key][0])
        try:
            expected = rows_of(self.replay.value(key), len(yours.shape))
        except GraphError:
            return None
        reach = self._judged(key, yours, expected, shown, fine=False)
        return self._judged(key, yours, expected, shown, fine=True) if reach.over else reach

    def _judged(
        self, key: str, yours: Recorded, expected: list[list[float]], shown: Print, fine: bool
    ) -> Reach:
        judged = _Judged(yours.rows, expected, shown, self.bits)
        if judged.other_class:
            return Reach(judged.other_class, math.inf, 0.0, shown)
        random = Random(SEED)
        for count in (FIRST, PASSES - FIRST, MORE):
            for _ in range(count):
                mover = self.replay.mover(random, fine)
                judged.add(rows_of(self.replay.value(key, mover), len(yours.shape)))
            reach = judged.reach()
            if reach.worst > FAR * (3 if judged.passes == FIRST else 0.5) or (
                judged.passes >= PASSES and reach.worst < 0.5
            ):
                break
        return reach


class _Judged:
    """The cells of yours, what was expected, and how far they moved so far."""

    def __init__(
        self, yours: Sequence[Sequence[Any]], expected: list[list[float]], shown: Print, bits: int
    ) -> None:
        self.yours, self.expected, self.shown = yours, expected, shown
        self.bits, self.unit = bits, 2.0**-bits
        self.spread = _spread(expected)
        power = max(-1000, min(power_of(self.spread), 1000))
        self.down, self.up = 2.0**-power, 2.0**power
        """What squares are scaled by, so that they stay in range; and back."""
        self.squares = [[0.0] * len(row) for row in expected]
        self.passes = 0
        self.other_class = sum(len(_other_class(a, b)) for a, b in zip(expected, yours, strict=True))

    def add(self, moved: list[list[float]]) -> None:
        """One more pass."""
        self.passes += 1
        for total, a, b in zip(self.squares, self.expected, moved):
            for j, (x, y) in enumerate(zip(a, b)):
                d = (y - x) * self.down
                if d - d == 0.0:
                    total[j] += d * d

    def reach(self) -> Reach:
        limit = LIMITS.get(self.passes, 8.0)
        room, worst, over = [], 0.0, 0
        farther: list[float] = []  # what is allowed to the cells that are farther off than they mostly move
        spread, near = self.spread, self.passes * (self.spread * self.down) ** 2 / 16
        for total, a, b in zip(self.squares, self.expected, self.yours):
            calm = [squares for squares in total if squares <= near] or total
            mean = sum(calm) / self.passes / len(calm)
            for squares, x, y in zip(total, a, b):
                if not math.isfinite(x) or is_masked(x):
                    continue
                s = math.sqrt((squares + 4 * mean) / (self.passes + 4)) * self.up
                allowed = self.shown.half(y) + limit * s + 4 * self.unit * abs(x)
                apart = abs(y - x)
                room.append(allowed)
                ratio = apart / allowed if allowed else math.inf if apart else 0.0
                worst = max(worst, ratio)
                over += ratio > 1.0
                if apart > self.shown.half(y) + s:
                    farther.append(allowed)
        share = median(room) / spread if spread else 0.0
        open_cells = sum(allowed > spread for allowed in farther) if share <= 1.0 else 0
        return Reach(over, worst, share, self.shown, open_cells, self.bits)


def _other_class(expected: Sequence[float], yours: Sequence[float]) -> list[int]:
    """The columns in which one side is masked, NaN or infinite and the other is not."""
    return visible(expected, yours, Rules(), Classes())[3]


def _spread(expected: list[list[float]]) -> float:
    """How far the cells are apart; the size of cells that are all the same."""
    cells = [x for row in expected for x in row if math.isfinite(x) and not is_masked(x)]
    return deviation(cells) or max(map(abs, cells), default=0.0)
