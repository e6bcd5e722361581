"""All cells agree but one row, one column, or cells of one kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .chance import claimed, finite
from .one_number import factor, offset, sign
from .sides import Relation, Sides

CELLS = 3
"""So many cells are told one by one."""


def localized(sides: Sides) -> Iterator[Relation]:
    """All agree but one row, one column, or cells of one kind."""
    a, b = sides.reference, sides.yours
    limit = sides.limit
    width = sides.width
    wrong = [
        k
        for k, (x, y) in enumerate(zip(a.flat, b.flat))
        if not (x == y or abs(x - y) <= limit or (sides.hidden_reference[k] and sides.hidden_yours[k]))
    ]
    if not wrong or len(wrong) == a.size:
        return
    if all(a.flat[k] != a.flat[k] and b.flat[k] != b.flat[k] for k in wrong):
        yield Relation(
            "NaN", "the reference, NaN in the same cells, which agrees with nothing unasked (nan_equal)", {}
        )
        return
    bad = set(wrong)
    agreeing = sum(abs(x) > 50 * limit for k, x in enumerate(a.flat) if k not in bad and finite(x))
    if not claimed(agreeing, sides.chance, 2.0):
        return
    rows = sorted({k // width for k in wrong})
    columns = sorted({k % width for k in wrong})
    detail = {"cells": len(wrong)}
    if all(b.flat[k] != b.flat[k] for k in wrong):
        where = f"row {rows[0]}" if len(rows) == 1 else f"rows {_runs(rows)}"
        kind = "NaN in whole rows" if len(wrong) == len(rows) * width else "NaN"
        yield Relation("NaN", f"the reference but for {len(wrong)} cells that are NaN in yours ({where})",
                       {**detail, "rows": rows, "what": kind})  # fmt: skip
        return
    n = len(a.rows)
    seen = [k for k, hidden in enumerate(sides.hidden_reference) if not (hidden and sides.hidden_yours[k])]
    beside = min(sum(k // width in rows for k in seen), sum(k % width in columns for k in seen))
    few = None
    if len(wrong) <= CELLS:
        places = ", ".join(str(list(a.index(*divmod(k, width)))) for k in wrong)
        few = Relation("some cells", f"the reference but for {places}", detail)
    if few is not None and 2 * len(wrong) < beside:
        yield few
    elif len(rows) == 1 and n > 1:
        yield Relation(
            "one row", f"the reference but for row {rows[0]}" + _inside(sides, bad), {**detail, "row": rows[0]}
        )
    elif len(columns) == 1 and width > 1:
        yield Relation(
            "one column",
            f"the reference but for column {columns[0]}" + _inside(sides, bad),
            {**detail, "column": columns[0]},
        )
    elif all(a.flat[k] < 0 for k in wrong) and all(k in bad for k, x in enumerate(a.flat) if x < -limit):
        zero = " (yours is 0 there)" if all(b.flat[k] == 0 for k in wrong) else ""
        yield Relation("negative cells", f"the reference but for its {len(wrong)} negative cells{zero}", detail)
    elif len(rows) <= n // 2:
        yield Relation(
            "some rows",
            f"the reference but for rows {_runs(rows)}" + _inside(sides, bad),
            {**detail, "rows": rows},
        )
    elif len(columns) <= width // 2:
        yield Relation(
            "some columns",
            f"the reference but for columns {_runs(columns)}" + _inside(sides, bad),
            {**detail, "columns": columns},
        )
    elif n == width and all(k // width == k % width for k in wrong):
        yield Relation("diagonal", "the reference but for the diagonal", detail)
    elif few is not None:
        yield few
    elif n == width and all(k % width > k // width for k in wrong):
        yield Relation("upper triangle", "the reference but for the cells above the diagonal", detail)
    elif n == width and all(k % width < k // width for k in wrong):
        yield Relation("lower triangle", "the reference but for the cells below the diagonal", detail)


def _inside(sides: Sides, wrong: set[int]) -> str:
    """What the cells that differ are, where they follow a rule of their own."""
    width = sides.width
    cells = [cell for cell in sides.cells() if cell[0] * width + cell[1] in wrong]
    if len(cells) != len(wrong):
        return ""
    for finder in (sign, factor, offset):
        for relation in finder(sides, cells):
            return f", which is {relation.text}"
    return ""


def _runs(numbers: Sequence[int]) -> str:
    """0–3, 5, 8 and 9"""
    spans: list[list[int]] = []
    for n in numbers:
        if spans and n == spans[-1][1] + 1:
            spans[-1][1] = n
        else:
            spans.append([n, n])
    texts = [str(p) if p == q else f"{p}–{q}" for p, q in spans]
    return ", ".join(texts[:6]) + (", …" if len(texts) > 6 else "")
