"""Rows that sum to 1, as a softmax gives them: of other scores, or over another axis."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ....core.numbers import total
from ....core.words import counted
from ..constants import meanings
from .chance import claimed, finite
from .each_line import lines_of
from .sides import Relation, Sides
from .words import number, span


def temperature(sides: Sides) -> Iterator[Relation]:
    """Rows that sum to 1 on both sides, and log b = c · log a + a number a row: the scores were scaled. Where a
    cell is hidden on one side alone, that is said: the masks differ too."""
    a, b = sides.reference, sides.yours
    if not (_sums(a.rows, sides.tau) and _sums(b.rows, sides.tau)):
        return
    tau = 4 * sides.tau
    pairs: list[tuple[float, float, float]] = []
    lines = hidden = 0
    for row in lines_of(sides.cells(), 0).values():
        hidden += sum(min(x, y) == 0.0 and max(x, y) > 100 * tau for _, _, x, y in row)
        own = [(math.log(x), math.log(y), tau / min(x, y)) for _, _, x, y in row if min(x, y) > 100 * tau]
        if len(own) > 1:
            p = max(own, key=lambda cell: cell[0])
            pairs += [(u - p[0], w - p[1], room + p[2]) for u, w, room in own if u != p[0]]
            lines += 1
    square = math.fsum(u * u for u, _, _ in pairs)
    if not square:
        return
    c = math.fsum(u * w for u, w, _ in pairs) / square
    if any(abs(w - c * u) > room * (1 + abs(c)) + 1e-12 for u, w, room in pairs):
        return
    if abs(c - 1.0) > 1e3 * tau and c > 0 and claimed(len(pairs) - 1, max(tau, 1e-9), 1.0):
        named = meanings(c, sides.context.dimensions, max(4 * tau, 1e-9))
        known = [meaning for meaning in named if meaning != number(c)]
        text = f"what a softmax gives of the reference's scores × {number(c)}"
        if known:
            text += f", which is {' or '.join(known[:3])}"
        if hidden:
            text += f"; the masks differ too, in {counted(hidden, 'cell')}"
        yield Relation("temperature", text, {"factor": c, "meanings": known, "hidden": hidden})


def _sums(rows: Sequence[Sequence[float]], tau: float) -> bool:
    """Whether each row is of shares that sum to 1, and there are rows enough for that to be no chance."""
    limit = min(max(4 * tau, 1e-12), 0.02)
    if not rows or len(rows[0]) < 2 or len(rows) * -math.log10(2 * limit) < 4:
        return False
    return all(min(row) >= -limit and abs(total(row) - 1.0) <= limit for row in rows)


def not_shares(sides: Sides) -> Iterator[Relation]:
    """The reference's rows sum to 1 and yours' do not."""
    a, b = sides.reference, sides.yours
    if sides.nan or not all(map(finite, b.flat)) or not _sums(a.rows, sides.tau) or _sums(b.rows, sides.tau):
        return
    columns = list(map(list, zip(*b.rows)))
    if len(b.squeezed) == 2 and _sums(columns, sides.tau):
        yield Relation(
            "sums",
            "unlike the reference: its columns sum to 1, where the reference's rows do (another axis)",
            {"axis": 0},
        )
    else:
        sums = [total(row) for row in b.rows]
        yield Relation(
            "sums",
            f"unlike the reference: its rows sum to {span(sums)}, where the reference's sum to 1",
            {"sums": sums[:64]},
        )
