"""One number for all cells: a sign, a factor, an offset, or a factor and an offset."""

from __future__ import annotations

from collections.abc import Iterator

from ....core.moments import mean, slope
from ..constants import meanings
from .chance import claimed, finite, near, size_of
from .sides import Cells, Relation, Sides
from .words import number, signed


def sign(sides: Sides, cells: Cells | None = None) -> Iterator[Relation]:
    cells = sides.cells() if cells is None else cells
    close, checks = near([(-x, y) for _, _, x, y in cells], sides.tau)
    if close and claimed(checks, sides.chance):
        yield Relation("sign", "the reference with the sign turned (−1 ×)", {"factor": -1.0})


def ratio(cells: Cells) -> float:
    """The factor that fits best (least squares; the exact one where there is one)."""
    return slope([x for _, _, x, _ in cells], [y for _, _, _, y in cells])


def factor(sides: Sides, cells: Cells | None = None) -> Iterator[Relation]:
    cells = sides.cells() if cells is None else cells
    c = ratio(cells)
    if not finite(c) or c == 0.0 or abs(c - 1.0) <= 4 * sides.tau:
        return
    close, checks = near([(c * x, y) for _, _, x, y in cells], sides.tau)
    if not close:
        return
    known = meanings(c, sides.context.dimensions, max(4 * sides.tau, 1e-12))
    free = claimed(checks - 1, sides.chance)
    if abs(c + 1.0) <= 4 * sides.tau or not (free or (known and claimed(checks, sides.chance, 2.0))):
        return
    text = f"the reference × {number(c)}"
    if known:
        text += f", which is {' or '.join(known[:3])}"
    yield Relation("factor", text, {"factor": c, "meanings": known})


def offset(sides: Sides, cells: Cells | None = None) -> Iterator[Relation]:
    cells = sides.cells() if cells is None else cells
    gaps = [y - x for _, _, x, y in cells]
    if not gaps or not all(map(finite, gaps)):
        return
    size = max(size_of([x for _, _, x, _ in cells]), size_of([y for _, _, _, y in cells]))
    c = mean(gaps)
    if abs(c) <= 50 * sides.tau * size or any(abs(gap - c) > sides.tau * size for gap in gaps):
        return
    if claimed(len(gaps) - 1, sides.chance) and len({x for _, _, x, _ in cells}) > 1:
        yield Relation("offset", f"the reference {signed(c)}", {"offset": c})


def affine(sides: Sides) -> Iterator[Relation]:
    cells = sides.cells()
    low = min(cells, key=lambda cell: cell[2], default=None)
    high = max(cells, key=lambda cell: cell[2], default=None)
    if low is None or high is None or high[2] == low[2]:
        return
    c = (high[3] - low[3]) / (high[2] - low[2])
    o = low[3] - c * low[2]
    size = max(size_of([x for _, _, x, _ in cells]), size_of([y for _, _, _, y in cells]))
    tau = sides.tau
    if not finite(c) or abs(c) * size <= 50 * tau * size or abs(c - 1.0) <= 1e3 * tau:
        return
    if any(abs(c * x + o - y) > 4 * tau * size for _, _, x, y in cells) or abs(o) <= 50 * tau * size:
        return
    if claimed(len(cells) - 2, tau):
        yield Relation("affine", f"the reference × {number(c)} {signed(o)}", {"factor": c, "offset": o})
