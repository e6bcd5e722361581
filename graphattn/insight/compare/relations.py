"""What two tensors of different numbers have to do with each other.

    relations(mine, theirs, context) -> [Relation, …], the simplest first

Each relation is claimed only where it holds within the tolerance and where chance does not explain it:
of N cells that a relation with p free numbers predicts, N − p are checks; a check passes by chance with a
probability of at most 6 τ, τ the tolerance as a part of the largest cell (more where the cells are crowded),
and cells near 0 check nothing. A relation among H others of its kind (permutations, places, known constants) is
claimed where

    (6 τ)^(N − p) · H  <  10⁻⁷.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...core.rounded import Format
from .cell_classes import is_masked
from .constants import Dimensions, meanings
from .precision import FLOAT64, ORDER, PRECISIONS, decimals, holds
from .recording import Recorded

CLAIM = 7.0
"""Claimed where the odds of chance are below 10^−this."""
ROW_LIMIT = 4096
RELATED = 2e-5
"""The tolerance where tensors are matched by their relation."""


@dataclass(frozen=True)
class Relation:
    """How theirs follows from mine. `text` reads on from "theirs is"; `kind` is a word for programs, and
    `detail` what it found (a factor, an order, …). `factor` is there to be named."""

    kind: str
    text: str
    detail: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Context:
    """What is known beside the two tensors: sizes with names, how far rounding goes (as a part of the
    largest cell), which other tensors of mine might be the same, and which axis is cut into heads."""

    dimensions: Dimensions = field(default_factory=Dimensions)
    tau: float = 1e-9
    others: Sequence[Recorded] = ()
    operands: Sequence[Recorded] = ()
    masked_below: float | None = None
    precision: Format = FLOAT64
    bound: float = 64.0


class _Sides:
    """The two tensors, cell by cell; `a` and `b` hold the cells that are visible on both sides."""

    def __init__(self, mine: Recorded, theirs: Recorded, context: Context) -> None:
        self.mine, self.theirs, self.context = mine, theirs, context
        self.width = mine.width
        below = context.masked_below
        self.bools = _visibility(mine) and _visibility(theirs)
        if self.bools:  # masks themselves: False hides
            self.hidden_mine = [not x for x in mine.flat]
            self.hidden_theirs = [not y for y in theirs.flat]
        else:
            self.hidden_mine = [is_masked(x, below) for x in mine.flat]
            self.hidden_theirs = [is_masked(y, below) for y in theirs.flat]
        self.same_shape = mine.shape == theirs.shape
        self.nan = any(y != y for y in theirs.flat) or any(x != x for x in mine.flat)
        self.tau = context.tau
        self.chance = context.tau * _crowding([y for y in theirs.flat if _finite(y) and not is_masked(y)])
        """The tolerance as a part of how far the cells are spread, which says how easily one is met."""

    def cells(self) -> list[tuple[int, int, float, float]]:
        """(row, column, a, b) of the cells that are finite on both sides."""
        width = self.width
        return [
            (k // width, k % width, float(x), float(y))
            for k, (x, y) in enumerate(zip(self.mine.flat, self.theirs.flat))
            if not self.hidden_mine[k] and not self.hidden_theirs[k] and _finite(x) and _finite(y)
        ]


def _finite(x: float) -> bool:
    return x - x == 0


def _visibility(tensor: Recorded) -> bool:
    """Whether it holds what may be seen: True and False."""
    return all(isinstance(x, bool) for x in tensor.flat)


def relations(mine: Recorded, theirs: Recorded, context: Context | None = None) -> list[Relation]:
    """What theirs has to do with mine (see the module's docstring); [] where nothing is found."""
    context = context or Context()
    if not mine.size or not theirs.size or (mine.shape == theirs.shape and mine.rows == theirs.rows):
        return []
    sides = _Sides(mine, theirs, context)
    found: list[Relation] = []
    if sides.bools and sides.same_shape:
        return list(_masks(sides))
    finders = SAME_SHAPE if sides.same_shape else OTHER_SHAPE
    for finder in finders:
        told = list(finder(sides))
        found += told
        if told and finder is not _masks:
            if finder is _factor:  # which may be a step that was left out
                found += _others(sides)
            break
    if not found and not sides.same_shape:
        shape = " × ".join(map(str, theirs.shape)) or "a scalar"
        found.append(Relation("shape", f"of another shape, {shape}", {"shape": list(theirs.shape)}))
    return found


def simple_relation(mine: Recorded, theirs: Recorded) -> Relation | None:
    """A factor, an offset or a turn, for tensors that have no name in common."""
    sides = _Sides(mine, theirs, Context(tau=RELATED))
    if sides.same_shape and sides.hidden_mine == sides.hidden_theirs:
        cells = sides.cells()
        for finder in (_sign, _factor, _offset):
            for relation in finder(sides, cells):
                return relation
        for relation in _permutation(sides):
            return relation
    for relation in _transpose(sides):
        return relation
    return None


# ---------------------------------------------------------------- chance


def _crowding(cells: Sequence[float]) -> float:
    """How close together the cells are: 1 where they are spread as a normal distribution around 0 is."""
    if len(cells) < 2:
        return 1.0
    mean = math.fsum(cells) / len(cells)
    spread = math.sqrt(math.fsum((y - mean) ** 2 for y in cells) / len(cells))
    size = _size(cells)
    return max(1.0, size / (2.5 * spread)) if spread > 1e-9 * size else 1.0


def _size(values: Sequence[float]) -> float:
    return max(map(abs, values), default=0.0)


def _claimed(checks: int, tau: float, choices: float = 0.0) -> bool:
    """Whether so many checks leave no room for chance; `choices` is log10 of how many were tried."""
    return checks > 0 and checks * -math.log10(min(6.0 * tau, 0.9)) - choices >= CLAIM


def _near(pairs: Sequence[tuple[float, float]], tau: float) -> tuple[bool, int]:
    """Whether all pairs agree within τ of the largest, and how many of them are far from 0."""
    size = max(_size([x for x, _ in pairs]), _size([y for _, y in pairs]))
    limit = tau * size
    if size == 0.0 or any(abs(x - y) > limit for x, y in pairs):
        return False, 0
    return True, sum(abs(x) > 50 * limit for x, _ in pairs)


Cells = list[tuple[int, int, float, float]]


# ---------------------------------------------------------------- one number for all cells


def _sign(sides: _Sides, cells: Cells | None = None) -> Iterator[Relation]:
    cells = sides.cells() if cells is None else cells
    close, checks = _near([(-x, y) for _, _, x, y in cells], sides.tau)
    if close and _claimed(checks, sides.chance):
        yield Relation("sign", "mine with the sign turned (−1 ×)", {"factor": -1.0})


def _ratio(cells: Cells) -> float:
    """The factor that fits best (least squares; the exact one where there is one)."""
    top = max(cells, key=lambda cell: abs(cell[2]), default=None)
    if top is None or top[2] == 0.0:
        return math.nan
    square = math.fsum(x * x for _, _, x, _ in cells)
    return math.fsum(x * y for _, _, x, y in cells) / square if square else math.nan


def _factor(sides: _Sides, cells: Cells | None = None) -> Iterator[Relation]:
    cells = sides.cells() if cells is None else cells
    c = _ratio(cells)
    if not _finite(c) or c == 0.0 or abs(c - 1.0) <= 4 * sides.tau:
        return
    close, checks = _near([(c * x, y) for _, _, x, y in cells], sides.tau)
    if not close:
        return
    known = meanings(c, sides.context.dimensions, max(4 * sides.tau, 1e-12))
    free = _claimed(checks - 1, sides.chance)
    if abs(c + 1.0) <= 4 * sides.tau or not (free or (known and _claimed(checks, sides.chance, 2.0))):
        return
    text = f"mine × {_number(c)}"
    if known:
        text += f", which is {' or '.join(known[:3])}"
    yield Relation("factor", text, {"factor": c, "meanings": known})


def _offset(sides: _Sides, cells: Cells | None = None) -> Iterator[Relation]:
    cells = sides.cells() if cells is None else cells
    if not cells:
        return
    gaps = [y - x for _, _, x, y in cells]
    size = max(_size([x for _, _, x, _ in cells]), _size([y for _, _, _, y in cells]))
    c = math.fsum(gaps) / len(gaps)
    if abs(c) <= 50 * sides.tau * size or any(abs(gap - c) > sides.tau * size for gap in gaps):
        return
    if _claimed(len(gaps) - 1, sides.chance) and len({x for _, _, x, _ in cells}) > 1:
        yield Relation("offset", f"mine {_signed(c)}", {"offset": c})


def _affine(sides: _Sides) -> Iterator[Relation]:
    cells = sides.cells()
    low = min(cells, key=lambda cell: cell[2], default=None)
    high = max(cells, key=lambda cell: cell[2], default=None)
    if low is None or high is None or high[2] == low[2]:
        return
    c = (high[3] - low[3]) / (high[2] - low[2])
    o = low[3] - c * low[2]
    size = max(_size([x for _, _, x, _ in cells]), _size([y for _, _, _, y in cells]))
    tau = sides.tau
    if not _finite(c) or abs(c) * size <= 50 * tau * size or abs(c - 1.0) <= 1e3 * tau:
        return
    if any(abs(c * x + o - y) > 4 * tau * size for _, _, x, y in cells) or abs(o) <= 50 * tau * size:
        return
    if _claimed(len(cells) - 2, tau):
        yield Relation("affine", f"mine × {_number(c)} {_signed(o)}", {"factor": c, "offset": o})


def _temperature(sides: _Sides) -> Iterator[Relation]:
    """Rows that sum to 1 on both sides, and log b = c · log a + a number a row: the scores were scaled."""
    a, b = sides.mine, sides.theirs
    if not (_sums(a.rows, sides.tau) and _sums(b.rows, sides.tau)):
        return
    tau = 4 * sides.tau
    pairs: list[tuple[float, float, float]] = []
    lines = 0
    for row in _lines(sides.cells(), 0).values():
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
    if abs(c - 1.0) > 1e3 * tau and c > 0 and _claimed(len(pairs) - 1, max(tau, 1e-9), 1.0):
        known = meanings(c, sides.context.dimensions, max(4 * tau, 1e-9))
        text = f"what a softmax gives of mine's scores × {_number(c)}"
        if known:
            text += f", which is {' or '.join(known[:3])}"
        yield Relation("temperature", text, {"factor": c, "meanings": known})


def _sums(rows: Sequence[Sequence[float]], tau: float) -> bool:
    """Whether each row is of shares that sum to 1, and there are rows enough for that to be no chance."""
    limit = min(max(4 * tau, 1e-12), 0.02)
    if not rows or len(rows[0]) < 2 or len(rows) * -math.log10(2 * limit) < 4:
        return False
    return all(min(row) >= -limit and abs(math.fsum(row) - 1.0) <= limit for row in rows)


def _not_shares(sides: _Sides) -> Iterator[Relation]:
    """Mine's rows sum to 1 and theirs's do not."""
    a, b = sides.mine, sides.theirs
    if sides.nan or not all(map(_finite, b.flat)) or not _sums(a.rows, sides.tau) or _sums(b.rows, sides.tau):
        return
    columns = list(map(list, zip(*b.rows)))
    if len(b.squeezed) == 2 and _sums(columns, sides.tau):
        yield Relation(
            "sums", "unlike mine: its columns sum to 1, where mine's rows do (another axis)", {"axis": 0}
        )
    else:
        sums = [math.fsum(row) for row in b.rows]
        yield Relation(
            "sums", f"unlike mine: its rows sum to {_span(sums)}, where mine's sum to 1", {"sums": sums[:64]}
        )


# ---------------------------------------------------------------- one number for each row, or column


def _lines(cells: Cells, axis: int) -> dict[int, Cells]:
    lines: dict[int, Cells] = {}
    for cell in cells:
        lines.setdefault(int(cell[axis]), []).append(cell)
    return lines


def _line_factors(sides: _Sides) -> Iterator[Relation]:
    cells = sides.cells()
    size = max(_size([x for _, _, x, _ in cells]), _size([y for _, _, _, y in cells]))
    for axis, what in ((0, "row"), (1, "column")):
        factors: dict[int, float] = {}
        checks = 0
        for line, own in _lines(cells, axis).items():
            c = _ratio(own)
            biggest = max(_size([x for _, _, x, _ in own]), _size([y for _, _, _, y in own]))
            if not _finite(c):
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
            if len(factors) > 1 and _claimed(checks, sides.chance, 1.0) and not _all_close(factors.values()):
                yield Relation(
                    f"{what} factor",
                    f"mine with a factor of its own for each {what} ({_span(factors.values())})",
                    {"factors": [factors.get(i) for i in range(max(factors) + 1)]},
                )
                return


def _line_offsets(sides: _Sides) -> Iterator[Relation]:
    cells = sides.cells()
    size = max(_size([x for _, _, x, _ in cells]), _size([y for _, _, _, y in cells]))
    limit = 2 * sides.tau * size
    for axis, what in ((0, "row"), (1, "column")):
        offsets: dict[int, float] = {}
        checks = 0
        for line, own in _lines(cells, axis).items():
            gaps = [y - x for _, _, x, y in own]
            if max(gaps) - min(gaps) > limit:
                break
            offsets[line] = math.fsum(gaps) / len(gaps)
            checks += len(gaps) - 1
        else:
            most = _size(list(offsets.values()))
            if (
                len(offsets) > 1
                and most > 50 * limit
                and _claimed(checks, sides.chance, 1.0)
                and max(offsets.values()) - min(offsets.values()) > limit
            ):
                yield Relation(
                    f"{what} offset",
                    f"mine with an offset of its own for each {what} ({_span(offsets.values())})",
                    {"offsets": [offsets.get(i) for i in range(max(offsets) + 1)]},
                )
                return


def _all_close(values: Any) -> bool:
    values = list(values)
    return max(values) - min(values) <= 1e-9 * _size(values)


def _span(values: Any) -> str:
    values = list(values)
    return f"{_number(min(values))} to {_number(max(values))}"


# ---------------------------------------------------------------- the same numbers elsewhere


def _matrix(tensor: Recorded) -> list[list[float]]:
    return tensor.rows


def _row_near(p: Sequence[float], q: Sequence[float], limit: float) -> bool:
    return len(p) == len(q) and all(
        abs(x - y) <= limit or (is_masked(x) and is_masked(y)) for x, y in zip(p, q)
    )


def _informative(rows: Sequence[Sequence[float]], limit: float) -> int:
    return sum(abs(x) > 50 * limit and not is_masked(x) for row in rows for x in row)


def _limit(sides: _Sides) -> float:
    return sides.tau * _size([x for x in sides.mine.flat if _finite(x) and not is_masked(x)])


def _transpose(sides: _Sides) -> Iterator[Relation]:
    a, b = sides.mine, sides.theirs
    if len(a.squeezed) != 2 or b.squeezed != a.squeezed[::-1] or min(a.squeezed) < 2:
        return
    turned = a.transposed()
    limit = _limit(sides)
    if all(_row_near(p, q, limit) for p, q in zip(turned.rows, b.rows)):
        checks = _informative(a.rows, limit)
        if a.shape == b.shape:
            checks -= sum(abs(row[i]) > 50 * limit for i, row in enumerate(a.rows) if not is_masked(row[i]))
        if _claimed(checks, sides.chance):
            yield Relation("transpose", "mine transposed", {})


def _order(mine: list[list[float]], theirs: list[list[float]], limit: float) -> list[int] | None:
    """For each row of theirs the row of mine that it is, each used once; None where there is no such order."""
    if len(mine) != len(theirs) or not 1 < len(mine) <= ROW_LIMIT:
        return None
    left = list(range(len(mine)))
    order: list[int] = []
    for i, row in enumerate(theirs):
        found = i if i in left and _row_near(mine[i], row, limit) else None
        if found is None:
            found = next((k for k in left if _row_near(mine[k], row, limit)), None)
        if found is None:
            return None
        left.remove(found)
        order.append(found)
    return order


def _permutation(sides: _Sides) -> Iterator[Relation]:
    a, b = sides.mine, sides.theirs
    limit = _limit(sides)
    for what, mine, theirs in (
        ("row", a.rows, b.rows),
        ("column", list(map(list, zip(*a.rows))), list(map(list, zip(*b.rows)))),
    ):
        order = _order(mine, theirs, limit)
        if order is None or order == sorted(order):
            continue
        moved = [i for i, k in enumerate(order) if i != k]
        if not _claimed(
            _informative([theirs[i] for i in moved], limit), sides.chance, _log_factorial(len(order))
        ):
            continue
        block = _block_order(order, sides.context.dimensions) if what == "column" else None
        if block is not None:
            yield Relation("heads permuted", f"mine with its heads in the order {block}", {"order": block})
        else:
            yield Relation(f"{what}s permuted", _order_text(order, what), {"order": order})
        return


def _log_factorial(n: int) -> float:
    return math.lgamma(n + 1) / math.log(10)


def _order_text(order: list[int], what: str) -> str:
    n = len(order)
    if order == list(reversed(range(n))):
        return f"mine with its {what}s reversed"
    shift = order[0]
    if order == [(i + shift) % n for i in range(n)]:
        by = shift if shift <= n // 2 else shift - n
        return f"mine with its {what}s rotated by {by:+d}"
    if n % 2 == 0 and order == [*range(0, n, 2), *range(1, n, 2)]:
        return f"mine with its even {what}s first, then its odd ones"
    if n % 2 == 0 and order == [i // 2 + (i % 2) * (n // 2) for i in range(n)]:
        return f"mine with the {what}s of its halves interleaved"
    moved = [i for i, k in enumerate(order) if i != k]
    if len(moved) == 2:
        return f"mine with {what}s {moved[0]} and {moved[1]} swapped"
    shown = ", ".join(map(str, order[:12])) + (", …" if n > 12 else "")
    return f"mine with its {what}s in the order {shown}"


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


def _shift(sides: _Sides) -> Iterator[Relation]:
    a, b = sides.mine, sides.theirs
    limit = _limit(sides)
    for what, mine, theirs in (
        ("row", a.rows, b.rows),
        ("column", list(map(list, zip(*a.rows))), list(map(list, zip(*b.rows)))),
    ):
        n = len(mine)
        if n < 2 or len(theirs) != n:
            continue
        for by in (1, -1):
            kept = range(n - 1) if by == 1 else range(1, n)
            if all(_row_near(mine[i + by], theirs[i], limit) for i in kept):
                own = [theirs[i] for i in kept if not _row_near(mine[i], theirs[i], limit)]
                if _claimed(_informative(own, limit), sides.chance, 1.0):
                    yield Relation(
                        f"{what}s shifted",
                        f"mine shifted by one {what} (theirs at i is mine at i {'+' if by > 0 else '−'} 1)",
                        {"shift": by},
                    )
                    return


def _reshape(sides: _Sides) -> Iterator[Relation]:
    """The same cells in the same order in another shape; and heads cut without the transposition."""
    a, b = sides.mine, sides.theirs
    limit = _limit(sides)
    if a.size == b.size and a.shape != b.shape and _row_near(a.flat, b.flat, limit):
        if _claimed(_informative([a.flat], limit), sides.chance):
            yield Relation("reshape", "the same numbers in another shape", {})
        return
    for other in sides.context.operands:
        if other.size <= b.size or other.size % b.size:
            continue
        for start in range(0, other.size, b.size):
            piece = other.flat[start : start + b.size]
            if _row_near(piece, b.flat, limit) and _claimed(_informative([piece], limit), sides.chance, 1.0):
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
            same = turned != a.flat and _row_near(turned, b.flat, limit)
            if same and _claimed(_informative([turned], limit), sides.chance, 2.0):
                yield Relation(
                    "reshape",
                    f"mine cut into {count} heads that are then read in row-major order"
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


def _same_numbers(sides: _Sides) -> Iterator[Relation]:
    a, b = sides.mine, sides.theirs
    if a.size != b.size or sides.nan:
        return
    limit = _limit(sides)
    mine, theirs = sorted(a.flat), sorted(b.flat)
    if _row_near(mine, theirs, limit) and not _row_near(a.flat, b.flat, limit):
        checks = _informative([mine], limit)  # among N sorted numbers, one is N times as likely to be near
        if _claimed(checks, sides.chance * a.size):
            yield Relation("same numbers", "the same numbers in another order", {})


def _others(sides: _Sides) -> Iterator[Relation]:
    """Another tensor of mine, or its transpose: a step that was left out, or operands swapped."""
    b = sides.theirs
    for turn in (False, True):
        for other in sides.context.others:
            if other.size != b.size or other is sides.mine:
                continue
            if turn:
                if len(other.squeezed) != 2 or min(other.squeezed) < 2:
                    continue
                other = other.transposed()
            if other.squeezed != b.squeezed:
                continue
            limit = sides.tau * _size([x for x in other.flat if _finite(x) and not is_masked(x)])
            if not _row_near(other.flat, b.flat, limit) or _row_near(other.flat, sides.mine.flat, limit):
                continue
            if _claimed(_informative([other.flat], limit), sides.chance, 3.0):
                name = other.name.removesuffix("ᵀ") if turn else other.name
                text = f"mine's {name}" + (" transposed" if turn else "")
                if not turn and any(other is operand for operand in sides.context.operands):
                    text += ", which goes into it: as if a step were left out"
                yield Relation("other tensor", text, {"of": name, "transposed": turn})
                return


# ---------------------------------------------------------------- only some cells


def _masks(sides: _Sides) -> Iterator[Relation]:
    """Only the positions of masked cells differ."""
    if sides.hidden_mine == sides.hidden_theirs:
        return
    cells = sides.cells()
    close, checks = _near([(x, y) for _, _, x, y in cells], sides.tau)
    agree = (close and _claimed(checks, sides.chance)) or not cells
    only_mine = sum(x and not y for x, y in zip(sides.hidden_mine, sides.hidden_theirs))
    only_theirs = sum(y and not x for x, y in zip(sides.hidden_mine, sides.hidden_theirs))
    told = []
    if only_mine:
        told.append(f"{only_mine} cells that are masked in mine are visible in theirs")
    if only_theirs:
        told.append(f"{only_theirs} cells that are visible in mine are masked in theirs")
    pattern = _mask_pattern(sides)
    detail = {"masked in mine only": only_mine, "masked in theirs only": only_theirs, "pattern": pattern}
    text = (
        f"mine but for its mask: {' and '.join(told)}" if agree else f"masked elsewhere: {' and '.join(told)}"
    )
    yield Relation("masked cells", text + (f" ({pattern})" if pattern else ""), detail)


def _mask_pattern(sides: _Sides) -> str:
    width = sides.width
    a = [sides.hidden_mine[i : i + width] for i in range(0, len(sides.hidden_mine), width)]
    b = [sides.hidden_theirs[i : i + width] for i in range(0, len(sides.hidden_theirs), width)]
    flat_b = sides.hidden_theirs
    if not any(flat_b):
        filled = {y for hidden, y in zip(sides.hidden_mine, sides.theirs.flat) if hidden}
        if filled == {math.inf}:
            return "theirs has +∞ there: the sign of infinity is wrong"
        if len(filled) == 1 and sum(sides.hidden_mine) > 1:
            return f"theirs has {_number(filled.pop())} there"
        return "theirs masks nothing"
    if flat_b == [not x for x in sides.hidden_mine]:
        return "the mask is inverted"
    if len(a) == width and b == [list(column) for column in zip(*a)]:
        return "the mask is transposed"
    differing = [(i, j) for i, row in enumerate(a) for j, x in enumerate(row) if x != b[i][j]]
    if all(i == j for i, j in differing):
        return "only the diagonal"
    for by, words in ((1, "one later"), (-1, "one earlier")):
        moved = all(b[i][j] == a[i][j - by] for i in range(len(a)) for j in range(width) if 0 <= j - by < width)
        if moved:
            return f"each row's mask begins {words}"
    gaps = {i - j for i, j in differing}
    if len(gaps) == 1:
        return f"only where the query is {gaps.pop()} after the key: a window of another width"
    return ""


def _localized(sides: _Sides) -> Iterator[Relation]:
    """All agree but one row, one column, or cells of one kind."""
    a, b = sides.mine, sides.theirs
    limit = _limit(sides)
    width = sides.width
    wrong = [
        k
        for k, (x, y) in enumerate(zip(a.flat, b.flat))
        if not (abs(x - y) <= limit or (sides.hidden_mine[k] and sides.hidden_theirs[k]))
    ]
    if not wrong or len(wrong) == a.size:
        return
    bad = set(wrong)
    agreeing = sum(abs(x) > 50 * limit for k, x in enumerate(a.flat) if k not in bad and _finite(x))
    if not _claimed(agreeing, sides.chance, 2.0):
        return
    rows = sorted({k // width for k in wrong})
    columns = sorted({k % width for k in wrong})
    detail = {"cells": len(wrong)}
    if all(b.flat[k] != b.flat[k] for k in wrong):
        where = f"row {rows[0]}" if len(rows) == 1 else f"rows {_runs(rows)}"
        kind = "NaN in whole rows" if len(wrong) == len(rows) * width else "NaN"
        yield Relation("NaN", f"mine but for {len(wrong)} cells that are NaN in theirs ({where})",
                       {**detail, "rows": rows, "what": kind})  # fmt: skip
        return
    n = len(a.rows)
    if len(rows) == 1 and n > 1:
        yield Relation(
            "one row", f"mine but for row {rows[0]}" + _inside(sides, bad), {**detail, "row": rows[0]}
        )
    elif len(columns) == 1 and width > 1:
        yield Relation(
            "one column",
            f"mine but for column {columns[0]}" + _inside(sides, bad),
            {**detail, "column": columns[0]},
        )
    elif all(a.flat[k] < 0 for k in wrong) and all(k in bad for k, x in enumerate(a.flat) if x < -limit):
        zero = " (theirs is 0 there)" if all(b.flat[k] == 0 for k in wrong) else ""
        yield Relation("negative cells", f"mine but for its {len(wrong)} negative cells{zero}", detail)
    elif len(rows) <= n // 2:
        yield Relation(
            "some rows", f"mine but for rows {_runs(rows)}" + _inside(sides, bad), {**detail, "rows": rows}
        )
    elif len(columns) <= width // 2:
        yield Relation(
            "some columns",
            f"mine but for columns {_runs(columns)}" + _inside(sides, bad),
            {**detail, "columns": columns},
        )
    elif n == width and all(k // width == k % width for k in wrong):
        yield Relation("diagonal", "mine but for the diagonal", detail)
    elif len(wrong) <= 3:
        places = ", ".join(str(list(a.index(*divmod(k, width)))) for k in wrong)
        yield Relation("some cells", f"mine but for {places}", detail)
    elif n == width and all(k % width > k // width for k in wrong):
        yield Relation("upper triangle", "mine but for the cells above the diagonal", detail)
    elif n == width and all(k % width < k // width for k in wrong):
        yield Relation("lower triangle", "mine but for the cells below the diagonal", detail)


def _inside(sides: _Sides, wrong: set[int]) -> str:
    """What the cells that differ are, where they follow a rule of their own."""
    width = sides.width
    cells = [cell for cell in sides.cells() if cell[0] * width + cell[1] in wrong]
    if len(cells) != len(wrong):
        return ""
    for finder in (_sign, _factor, _offset):
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


# ---------------------------------------------------------------- rounding


def _rounding(sides: _Sides) -> Iterator[Relation]:
    """Theirs holds numbers of a short format, and is no farther from mine than its rounding goes."""
    a, b = sides.mine, sides.theirs
    if sides.hidden_mine != sides.hidden_theirs or sides.nan:
        return
    cells = sides.cells()
    if not cells:
        return
    for direction, short, long in (("theirs", b, a), ("mine", a, b)):
        for name in ORDER[:-1]:
            fmt = PRECISIONS[name]
            if not holds(fmt, short.rows) or holds(fmt, long.rows):
                continue
            unit = 2.0**-fmt.bits
            exact = all(
                fmt.round(float(x)) == y or (is_masked(x) and is_masked(y))
                for x, y in zip(long.flat, short.flat)
            )
            limit = sides.context.bound * unit
            rows = _lines(cells, 0).values()
            close = exact or all(
                all(abs(x - y) <= limit * max(_size([c[2] for c in row]), a.spread) for _, _, x, y in row)
                for row in rows
            )
            if close and _claimed(len(cells), unit / 8 if exact else min(limit, 0.04)):
                how = "exactly" if exact else "within the rounding of the steps before it"
                other = "mine" if direction == "theirs" else "theirs"
                text = (
                    f"{other} rounded to {name}, {how}"
                    if direction == "theirs"
                    else f"what mine is the {name} of, {how}"
                )
                yield Relation("rounding", text, {"precision": name, "exact": exact, "side": direction})
                return
    digits = decimals([b])
    unit = 0.500001 * 10.0 ** -(digits or 0)
    if digits and decimals([a]) is None and all(abs(x - y) <= unit + 1e-6 * abs(x) for _, _, x, y in cells):
        detail = {"decimals": digits, "side": "theirs"}
        yield Relation("rounding", f"mine rounded to {digits} decimals", detail)
        return
    size = _size([x for _, _, x, _ in cells])
    for name in ("float64", "float32"):
        fmt = PRECISIONS[name]
        limit = sides.context.bound * 2.0**-fmt.bits * size
        both = name == "float64" or (holds(fmt, a.rows) and holds(fmt, b.rows))
        if both and all(abs(x - y) <= limit for _, _, x, y in cells):
            yield Relation(
                "rounding", f"mine but for the rounding of {name}", {"precision": name, "side": "both"}
            )
            return


# ---------------------------------------------------------------- words


def _number(x: float) -> str:
    return f"{x:.7g}" if _finite(x) else {math.inf: "+∞", -math.inf: "−∞"}.get(x, "NaN")


def _signed(x: float) -> str:
    return f"{'+' if x > 0 else '−'} {_number(abs(x))}"


Finder = Callable[[_Sides], Iterator[Relation]]
SAME_SHAPE: tuple[Finder, ...] = (
    _rounding, _masks, _sign, _factor, _offset, _others, _temperature, _transpose, _permutation, _shift,
    _reshape, _localized, _line_factors, _line_offsets, _affine, _same_numbers, _not_shares,
)  # fmt: skip
OTHER_SHAPE: tuple[Finder, ...] = (_others, _transpose, _reshape, _same_numbers)
