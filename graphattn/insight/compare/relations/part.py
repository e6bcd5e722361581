"""A part of the numbers alone: some of the rows or columns, or what all rows are together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ....core.numbers import total
from .chance import claimed, informative, row_near
from .sides import Relation, Sides

Rows = Sequence[Sequence[float]]


def part(sides: Sides) -> Iterator[Relation]:
    """Rows or columns of the reference that lie side by side, or the mean or sum of its rows."""
    a, b = sides.reference, sides.yours
    if sides.nan or len(a.squeezed) != 2:
        return
    for what, reference, yours in (
        ("row", a.rows, b.rows),
        ("column", list(zip(*a.rows)), list(zip(*b.rows))),
    ):
        found = _place(reference, yours, sides.limit)
        if found is not None and claimed(informative(yours, sides.limit), sides.chance, 1.0):
            last = found + len(yours) - 1
            text = f"{what} {found}" if len(yours) == 1 else f"{what}s {found} to {last}"
            yield Relation("part", f"{text} of the reference alone", {what: [found, last]})
            return
    sums = [total(column) for column in zip(*a.rows)]
    for told, together in (("mean", [x / len(a.rows) for x in sums]), ("sum", sums)):
        if row_near(together, b.flat, sides.limit) and claimed(informative([sums], sides.limit), sides.chance):
            yield Relation("part", f"the {told} of the rows of the reference", {"rows": told})
            return


def _place(reference: Rows, yours: Rows, limit: float) -> int | None:
    """From which row on the rows of the reference are yours, which are fewer."""
    count = len(yours)
    for start in range(len(reference) - count + 1 if 0 < count < len(reference) else 0):
        if all(row_near(p, q, limit) for p, q in zip(reference[start : start + count], yours)):
            return start
    return None
