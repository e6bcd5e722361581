"""Whether a difference is no more than what rounding can do, from K moved passes (`replay`), in which a cell
moves by s (`moved_cells`).

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
from .cell_classes import Classes, Rules, visible
from .masked_cells import is_masked
from .moved_cells import MovedCells
from .precision import ACCUMULATOR_BITS
from .printed import Print
from .recording import Recorded, rows_of
from .replay import Replay

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
                judged.moved.add(rows_of(self.replay.value(key, mover), len(yours.shape)))
            reach = judged.reach()
            if reach.worst > FAR * (3 if judged.moved.passes == FIRST else 0.5) or (
                judged.moved.passes >= PASSES and reach.worst < 0.5
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
        self.moved = MovedCells(expected)
        self.other_class = sum(len(_other_class(a, b)) for a, b in zip(expected, yours, strict=True))

    def reach(self) -> Reach:
        limit, spread = LIMITS.get(self.moved.passes, 8.0), self.moved.spread
        room, worst, over = [], 0.0, 0
        farther: list[float] = []  # what is allowed to the cells that are farther off than they mostly move
        for reach, a, b in zip(self.moved.reach(), self.expected, self.yours):
            for s, x, y in zip(reach, a, b):
                if not math.isfinite(x) or is_masked(x):
                    continue
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
