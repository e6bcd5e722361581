"""No more than rounding: one side holds numbers of a short format, or few decimals."""

from __future__ import annotations

from collections.abc import Iterator

from ..masked_cells import is_masked
from ..precision import ORDER, PRECISIONS, holds
from ..printed import print_of_numbers
from .chance import claimed, size_of
from .each_line import lines_of
from .sides import Relation, Sides


def rounding(sides: Sides) -> Iterator[Relation]:
    """Yours holds numbers of a short format, and is no farther from the reference than its rounding goes."""
    a, b = sides.reference, sides.yours
    if sides.hidden_reference != sides.hidden_yours or sides.nan:
        return
    cells = sides.cells()
    if not cells:
        return
    for direction, short, long in (("yours", b, a), ("the reference", a, b)):
        for name in ORDER[:-1]:
            fmt = PRECISIONS[name]
            if not any(short.flat) or not holds(fmt, short.rows) or holds(fmt, long.rows):
                continue  # zeros are in every format, and what is near them is not known by its rounding
            unit = 2.0**-fmt.bits
            exact = all(
                fmt.round(float(x)) == y or (is_masked(x) and is_masked(y))
                for x, y in zip(long.flat, short.flat)
            )
            limit = sides.context.bound * unit
            rows = lines_of(cells, 0).values()
            close = exact or all(
                all(abs(x - y) <= limit * max(size_of([c[2] for c in row]), a.spread) for _, _, x, y in row)
                for row in rows
            )
            if close and claimed(len(cells), unit / 8 if exact else min(limit, 0.04)):
                how = "exactly" if exact else "within the rounding of the steps before it"
                text = (
                    f"the reference rounded to {name}, {how}"
                    if direction == "yours"
                    else f"the reference before its rounding to {name}, {how}"
                )
                yield Relation("rounding", text, {"precision": name, "exact": exact, "side": direction})
                return
    shown = print_of_numbers(b.flat) if b.printed is None else b.printed
    if (
        shown is not None
        and not shown.exact
        and all(abs(x - y) <= shown.half(y) + 1e-6 * abs(x) for _, _, x, y in cells)
    ):
        detail = {"places": shown.places, "print": shown.kind, "side": "yours"}
        yield Relation("rounding", f"the reference rounded to {shown}", detail)
        return
    size = size_of([x for _, _, x, _ in cells])
    for name in ("float64", "float32"):
        fmt = PRECISIONS[name]
        limit = sides.context.bound * 2.0**-fmt.bits * size
        both = name == "float64" or (holds(fmt, a.rows) and holds(fmt, b.rows))
        if both and all(abs(x - y) <= limit for _, _, x, y in cells):
            yield Relation(
                "rounding", f"the reference but for the rounding of {name}", {"precision": name, "side": "both"}
            )
            return
