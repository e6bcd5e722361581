"""The same numbers elsewhere: transposed, permuted, shifted, reshaped, in any order."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ..constants import Dimensions
from ..masked_cells import is_masked
from ..recording import Recorded
from .chance import claimed, informative, row_near
from .sides import Relation, Sides

ROW_LIMIT = 4096
"""The most rows whose order is looked for."""


def transpose(sides: Sides) -> Iterator[Relation]:
    a, b = sides.reference, sides.yours
    if len(a.squeezed) != 2 or b.squeezed != a.squeezed[::-1] or min(a.squeezed) < 2:
        return
    turned = a.transposed()
    limit = sides.limit
    if all(row_near(p, q, limit) for p, q in zip(turned.rows, b.rows)):
        checks = informative(a.rows, limit)
        if a.shape == b.shape:
            checks -= sum(abs(row[i]) > 50 * limit for i, row in enumerate(a.rows) if not is_masked(row[i]))
        if claimed(checks, sides.chance):
            yield Relation("transpose", "the reference transposed", {})


def _order(reference: list[list[float]], yours: list[list[float]], limit: float) -> list[int] | None:
    """For each of your rows the row of the reference that it is, each used once; None if there is no order."""
    if len(reference) != len(yours) or not 1 < len(reference) <= ROW_LIMIT:
        return None
    left = list(range(len(reference)))
    order: list[int] = []
    for i, row in enumerate(yours):
        row_of = i if i in left and row_near(reference[i], row, limit) else None
        if row_of is None:
            row_of = next((k for k in left if row_near(reference[k], row, limit)), None)
        if row_of is None:
            return None
        left.remove(row_of)
        order.append(row_of)
    return order


def permutation(sides: Sides) -> Iterator[Relation]:
    a, b = sides.reference, sides.yours
    limit = sides.limit
    for what, reference, yours in (
        ("row", a.rows, b.rows),
        ("column", list(map(list, zip(*a.rows))), list(map(list, zip(*b.rows)))),
    ):
        order = _order(reference, yours, limit)
        if order is None or order == sorted(order):
            continue
        moved = [i for i, k in enumerate(order) if i != k]
        if not claimed(informative([yours[i] for i in moved], limit), sides.chance, _log_factorial(len(order))):
            continue
        block = _block_order(order, sides.context.dimensions) if what == "column" else None
        if block is not None:
            yield Relation(
                "heads permuted", f"the reference with its heads in the order {block}", {"order": block}
            )
        else:
            yield Relation(f"{what}s permuted", _order_text(order, what), {"order": order})
        return


def _log_factorial(n: int) -> float:
    return math.lgamma(n + 1) / math.log(10)


def _order_text(order: list[int], what: str) -> str:
    n = len(order)
    if order == list(reversed(range(n))):
        return f"the reference with its {what}s reversed"
    shift = order[0]
    if order == [(i + shift) % n for i in range(n)]:
        by = shift if shift <= n // 2 else shift - n
        return f"the reference with its {what}s rotated by {by:+d}"
    if n % 2 == 0 and order == [*range(0, n, 2), *range(1, n, 2)]:
        return f"the reference with its even {what}s first, then its odd ones"
    if n % 2 == 0 and order == [i // 2 + (i % 2) * (n // 2) for i in range(n)]:
        return f"the reference with the {what}s of its halves interleaved"
    moved = [i for i, k in enumerate(order) if i != k]
    if len(moved) == 2:
        return f"the reference with {what}s {moved[0]} and {moved[1]} swapped"
    shown = ", ".join(map(str, order[:12])) + (", …" if n > 12 else "")
    return f"the reference with its {what}s in the order {shown}"


def _block_order(order: list[int], dimensions: Dimensions) -> list[int] | None:
    """The order of heads, where columns move in whole heads."""
    heads = dimensions.h
    if not heads or heads < 2 or len(order) % heads or len(order) == heads:
        return None
    width = len(order) // heads
    blocks = [order[i * width] // width for i in range(heads)]
    if order == [block * width + j for block in blocks for j in range(width)]:
        return blocks
    return None


def shift(sides: Sides) -> Iterator[Relation]:
    a, b = sides.reference, sides.yours
    limit = sides.limit
    for what, reference, yours in (
        ("row", a.rows, b.rows),
        ("column", list(map(list, zip(*a.rows))), list(map(list, zip(*b.rows)))),
    ):
        n = len(reference)
        if n < 2 or len(yours) != n:
            continue
        for by in (1, -1):
            kept = range(n - 1) if by == 1 else range(1, n)
            if all(row_near(reference[i + by], yours[i], limit) for i in kept):
                own = [yours[i] for i in kept if not row_near(reference[i], yours[i], limit)]
                if claimed(informative(own, limit), sides.chance, 1.0):
                    yield Relation(
                        f"{what}s shifted",
                        f"the reference shifted by one {what}"
                        f" (yours at i is the reference at i {'+' if by > 0 else '−'} 1)",
                        {"shift": by},
                    )
                    return


def reshape(sides: Sides) -> Iterator[Relation]:
    """The same cells in the same order in another shape; and heads cut without the transposition."""
    a, b = sides.reference, sides.yours
    limit = sides.limit
    if a.size == b.size and a.shape != b.shape and row_near(a.flat, b.flat, limit):
        if claimed(informative([a.flat], limit), sides.chance):
            yield Relation("reshape", "the same numbers in another shape", {})
        return
    for other in sides.context.operands:
        if other.size <= b.size or other.size % b.size:
            continue
        for start in range(0, other.size, b.size):
            piece = other.flat[start : start + b.size]
            if row_near(piece, b.flat, limit) and claimed(informative([piece], limit), sides.chance, 1.0):
                yield Relation(
                    "reshape",
                    f"cells {start} to {start + b.size - 1} of {other.name} in row-major order:"
                    " reshaped where it should be cut into columns (no transposition)",
                    {"of": other.name, "start": start},
                )
                return
    if a.size == b.size and a.shape == b.shape and len(a.rows) > 1:
        for count in _divisors(a.width):
            turned = _reread(a, count)
            same = turned != a.flat and row_near(turned, b.flat, limit)
            if same and claimed(informative([turned], limit), sides.chance, 2.0):
                yield Relation(
                    "reshape",
                    f"the reference cut into {count} heads that are then read in row-major order"
                    " (a reshape without its transposition)",
                    {"heads": count},
                )
                return


def _divisors(n: int) -> list[int]:
    return [k for k in range(2, min(n, 257) + 1) if n % k == 0]


def _reread(a: Recorded, count: int) -> list[float]:
    """(n, count · m) as (count, n, m), in row-major order."""
    width = a.width // count
    return [x for head in range(count) for row in a.rows for x in row[head * width : (head + 1) * width]]


def same_numbers(sides: Sides) -> Iterator[Relation]:
    a, b = sides.reference, sides.yours
    if a.size != b.size or sides.nan:
        return
    limit = sides.limit
    reference, yours = sorted(a.flat), sorted(b.flat)
    if row_near(reference, yours, limit) and not row_near(a.flat, b.flat, limit):
        checks = informative([reference], limit)  # among N sorted numbers, one is N times as likely to be near
        if claimed(checks, sides.chance * a.size):
            yield Relation("same numbers", "the same numbers in another order", {})
