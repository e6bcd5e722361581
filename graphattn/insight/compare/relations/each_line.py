"""One number for each row, or for each column."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ....core.moments import mean
from ..constants import meanings
from .chance import claimed, finite, size_of
from .one_number import ratio
from .sides import Cells, Relation, Sides
from .words import span

NEARLY = 1e-3
"""How near factors must be to each other, and to a constant, to be called near it."""


def lines_of(cells: Cells, axis: int) -> dict[int, Cells]:
    lines: dict[int, Cells] = {}
    for cell in cells:
        lines.setdefault(int(cell[axis]), []).append(cell)
    return lines


def line_factors(sides: Sides) -> Iterator[Relation]:
    cells = sides.cells()
    size = max(size_of([x for _, _, x, _ in cells]), size_of([y for _, _, _, y in cells]))
    for axis, what in ((0, "row"), (1, "column")):
        factors: dict[int, float] = {}
        checks = 0
        for line, own in lines_of(cells, axis).items():
            c = ratio(own)
            biggest = max(size_of([x for _, _, x, _ in own]), size_of([y for _, _, _, y in own]))
            if not finite(c):
                if biggest > sides.tau * size:
                    break
                continue
            limit = sides.tau * max(biggest, abs(c) * biggest)
            if any(abs(c * x - y) > limit for _, _, x, y in own):
                break
            factors[line] = c
            floor = 50 * max(limit, 0.0 if axis == 0 else sides.tau * size)
            checks += max(0, sum(abs(y) > floor for _, _, _, y in own) - 1)
        else:
            if len(factors) > 1 and claimed(checks, sides.chance, 1.0) and not _all_close(factors.values()):
                yield Relation(
                    f"{what} factor",
                    f"the reference with a factor of its own for each {what} ({span(factors.values())})"
                    + _all_near(list(factors.values()), sides),
                    {"factors": [factors.get(i) for i in range(max(factors) + 1)]},
                )
                return


def _all_near(factors: list[float], sides: Sides) -> str:
    """What factors that are nearly one may mean: a variance that was divided by d − 1, beside an eps."""
    middle = mean(factors)
    if max(factors) - min(factors) > NEARLY * abs(middle):
        return ""
    known = meanings(middle, sides.context.dimensions, NEARLY)
    return f", all near {known[0]}" if known else ""


def line_offsets(sides: Sides) -> Iterator[Relation]:
    cells = sides.cells()
    size = max(size_of([x for _, _, x, _ in cells]), size_of([y for _, _, _, y in cells]))
    limit = 2 * sides.tau * size
    for axis, what in ((0, "row"), (1, "column")):
        offsets: dict[int, float] = {}
        checks = 0
        for line, own in lines_of(cells, axis).items():
            gaps = [y - x for _, _, x, y in own]
            if not max(gaps) - min(gaps) <= limit:
                break
            offsets[line] = mean(gaps)
            checks += len(gaps) - 1
        else:
            most = size_of(list(offsets.values()))
            if (
                len(offsets) > 1
                and most > 50 * limit
                and claimed(checks, sides.chance, 1.0)
                and max(offsets.values()) - min(offsets.values()) > limit
            ):
                yield Relation(
                    f"{what} offset",
                    f"the reference with an offset of its own for each {what} ({span(offsets.values())})",
                    {"offsets": [offsets.get(i) for i in range(max(offsets) + 1)]},
                )
                return


def _all_close(values: Any) -> bool:
    values = list(values)
    return max(values) - min(values) <= 1e-9 * size_of(values)
