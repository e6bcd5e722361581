"""Dropout that was left on: some cells are 0, the others are larger by 1 / (1 − p)."""

from __future__ import annotations

from collections.abc import Iterator

from .chance import claimed, near
from .one_number import ratio
from .sides import Relation, Sides
from .words import number


def dropout(sides: Sides) -> Iterator[Relation]:
    cells = [cell for cell in sides.cells() if abs(cell[2]) > 50 * sides.limit]
    kept = [cell for cell in cells if cell[3] != 0.0]
    if not 0 < len(cells) - len(kept) < len(cells):
        return
    c = ratio(kept)
    close, checks = near([(c * x, y) for _, _, x, y in kept], sides.tau)
    if close and c > 1.0 + 1e-3 and claimed(checks - 1, sides.chance, 1.0):
        share = 1.0 - 1.0 / c
        yield Relation(
            "dropout",
            f"the reference with {len(cells) - len(kept)} of {len(cells)} cells 0 and the others × {number(c)},"
            f" as dropout with p = {share:.3g} does",
            {"p": share, "factor": c},
        )
