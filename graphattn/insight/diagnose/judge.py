"""Whether the values of a graph are those that were observed, as exactly as these were observed.

A cell may be off by half a printed unit, by the rounding of its own format, and by L times what rounding can
do to it on the way, which is measured: the graph is evaluated K times with every result moved by a rounding
error, and every tensor that was observed and is computed from by half a printed unit, as in compare (`replay`,
`moved_cells`).

What hides cells is one class as in compare, whatever it is: −∞, −1e9, a score and −1e9.

`roughly` is a quick look at one row, with room to spare; `closely` measures the variant itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from typing import Any

from ...core.graph import Node
from ..compare.masked_cells import floor_of, is_masked, without_hidden
from ..compare.moved_cells import MovedCells
from ..compare.recording import rows_of
from ..variants import Intended, Rewrite, evaluate
from ..variants.evaluation import reaches, sifted
from ..variants.evaluation.sieve import Sieve
from .accuracy import Accuracy
from .observed import Observed

RUNS = 8
TIMES = 8.0
"""K and L of the rule."""
FEW, NEARLY = 2, 100.0
"""Runs enough to see that something is far off, and how many times what is allowed is not far."""
FAR = 10.0
"""How many times what few runs allow no more runs will."""
FLOOR = 16.0
"""How many rounding units of a row's largest cell any cell of it may be off: sums that cancel."""
PRINTED = 4.0
"""How many times what rounding can do is near, where what is computed from was printed."""
NOTHING = Rewrite({}, {})


def allowed_rows(
    intended: Intended, rewrite: Rewrite, observed: Sequence[Observed], values: Sequence[Any],
    accuracy: Accuracy, seen: Collection[str] = (), runs: int = RUNS,
) -> list[list[list[float]]]:  # fmt: skip
    """For each observed tensor, how far each cell may be off. `seen` names the inputs that were observed."""
    refs = [intended.graph.resolve(o.name) for o in observed]
    ranks = [intended.graph.spec(ref).rank for ref in refs]
    cells = [MovedCells(rows_of(value, rank)) for value, rank in zip(values, ranks, strict=True)]
    for seed in range(runs):
        moved = evaluate(intended, rewrite, refs, disturb=moving(Random(seed), accuracy, intended, seen))
        for own, value, rank in zip(cells, moved, ranks, strict=True):
            own.add(rows_of(value, rank))
    return [
        [_allowed(row, reach, accuracy) for row, reach in zip(own.rows, own.reach(), strict=True)]
        for own in cells
    ]


def _allowed(row: Sequence[float], reach: Sequence[float], accuracy: Accuracy) -> list[float]:
    largest = max((abs(x) for x in row if math.isfinite(x) and not is_masked(x)), default=0.0)
    floor = accuracy.half + FLOOR * accuracy.computed * largest
    return [
        floor + TIMES * s + 4 * accuracy.relative * (abs(x) if abs(x) < 1e300 else 0)
        for x, s in zip(row, reach, strict=True)
    ]


def moving(
    random: Random, accuracy: Accuracy, intended: Intended, seen: Collection[str]
) -> Callable[[Node, Any], Any]:
    """Results of steps, each cell moved by a rounding error; inputs that were observed, by that of what was
    observed."""

    def move(node: Node, value: Any) -> Any:
        if node.op.fed:
            return _moved(value, random, accuracy.relative, accuracy.half) if node.name in seen else value
        if node.op.moves or not node.operands:
            return value
        ref = node.operands[0]
        longest = 1 if ref is None or ref.node not in intended.nodes else _longest(intended, ref)
        return _moved(value, random, accuracy.computed * (1.0 + math.sqrt(longest) / 4), 0.0)

    return move


def _longest(intended: Intended, ref: Any) -> int:
    outputs = intended.nodes[ref.node].outputs
    return max(1, outputs[min(ref.port, len(outputs) - 1)].shape[-1:][0] if outputs[0].rank else 1)


def _moved(value: Any, random: Random, relative: float, absolute: float) -> Any:
    if isinstance(value, list):
        if value and isinstance(value[0], list):
            return [_moved(item, random, relative, absolute) for item in value]
        if value and isinstance(value[0], float):
            uniform = random.uniform
            return [v + (relative * abs(v) + absolute) * uniform(-1, 1) if abs(v) < 1e300 else v for v in value]
        return value
    return (
        value + (relative * abs(value) + absolute) * random.uniform(-1, 1)
        if isinstance(value, float)
        else value
    )


def differing(a: Sequence[float], b: Sequence[float]) -> Iterator[tuple[int, float, float]]:
    """(place, x, y) of the cells of two rows that are neither equal nor of one class: both NaN, or both masked.
    b is a row of what was observed, whose masked cells are −∞."""
    if a == b:
        return
    floor = math.nan  # of b; found where it is needed, once
    for place, (x, y) in enumerate(zip(a, b, strict=True)):
        if x == y or (x != x and y != y):
            continue
        if y == -math.inf:
            floor = floor_of(b) if floor != floor else floor
            if x < floor or is_masked(x):
                continue
        yield place, x, y


def apart(rows: Sequence[Sequence[float]], theirs: Sequence[Sequence[float]]) -> float:
    """The largest difference; infinite where one is NaN or infinite and the other is not."""
    largest = 0.0
    for a, b in zip(rows, theirs, strict=True):
        for _, x, y in differing(a, b):
            d = abs(x - y)
            if d != d:
                return math.inf
            largest = max(largest, d)
    return largest


def within(
    rows: Sequence[Sequence[float]], theirs: Sequence[Sequence[float]], allowed: Sequence[Sequence[float]]
) -> bool:
    """Whether the rows are alike, and every cell is as near as it may be; NaN agrees with NaN alone, infinities
    with themselves, and masked cells with masked cells."""
    return alike(rows, theirs) and not any(
        _beyond(a, b, room) for a, b, room in zip(rows, theirs, allowed, strict=True)
    )


def _beyond(a: Sequence[float], b: Sequence[float], room: Sequence[float]) -> int:
    """How many cells of a row are not as near as they may be."""
    return sum(not abs(x - y) <= room[place] for place, x, y in differing(a, b))


@dataclass
class Judge:
    """Holds variants of one intended graph to what was observed."""

    intended: Intended
    observed: Sequence[Observed]
    accuracy: Accuracy
    seen: Collection[str] = ()
    """The inputs that were observed, and are as exact as that."""

    def __post_init__(self) -> None:
        graph = self.intended.graph
        self.refs = [graph.resolve(o.name) for o in self.observed]
        self.ranks = [graph.spec(ref).rank for ref in self.refs]
        self.values = [self.intended.values[ref] for ref in self.refs]
        self.rows = [rows_of(v, r) for v, r in zip(self.values, self.ranks, strict=True)]
        self.observed = [
            _hidden(o) if any(is_masked(x) for rows in (own, o.rows) for row in rows for x in row) else o
            for own, o in zip(self.rows, self.observed, strict=True)
        ]
        self.strict = self._room(FEW)
        if all(
            alike(r, o.rows) and _apart_by(r, o.rows, s) < NEARLY
            for r, o, s in zip(self.rows, self.observed, self.strict, strict=True)
        ):
            self.strict = self._room(RUNS)
        times = PRINTED if self.seen and self.accuracy.coarse else self.accuracy.loose
        self.loose = [
            [max(_wide(room, self.accuracy.half, times), self._floor(row)) for room, row in zip(rooms, o.rows)]
            for rooms, o in zip(self.strict, self.observed, strict=True)
        ]
        self.agree = [
            within(r, o.rows, s) for r, o, s in zip(self.rows, self.observed, self.strict, strict=True)
        ]
        self.key, self.row = self._key()
        self.last: tuple[Rewrite | None, list[Any]] = None, []
        """The variant that was computed last, and what it gives."""

    def _floor(self, row: Sequence[float]) -> float:
        """What rounding can do to a row as it was observed: one that should be all 0 has no room of its own."""
        largest = max((abs(x) for x in row if math.isfinite(x) and not is_masked(x)), default=0.0)
        return self.accuracy.half + FLOOR * self.accuracy.computed * largest

    def _room(self, runs: int) -> list[list[list[float]]]:
        room = allowed_rows(self.intended, NOTHING, self.observed, self.values, self.accuracy, self.seen, runs)
        return [
            own if alike(own, o.rows) else widest(own, o.rows)
            for own, o in zip(room, self.observed, strict=True)
        ]

    @property
    def right(self) -> bool:
        """Whether the intended graph itself gives what was observed."""
        return all(self.agree)

    @property
    def off(self) -> float:
        """How many times what is allowed the intended graph is off, at most."""
        tensors = zip(self.rows, self.observed, self.strict, strict=True)
        return max(
            (_apart_by(r, o.rows, s) if alike(r, o.rows) else math.inf for r, o, s in tensors), default=0.0
        )

    def told_apart(self) -> tuple[list[Observed], list[Observed]]:
        """The observed tensors that the intended graph gives, and those that it does not."""
        sorts: tuple[list[Observed], list[Observed]] = [], []
        for tensor, fine in zip(self.observed, self.agree, strict=True):
            sorts[not fine].append(tensor)
        return sorts

    def _key(self) -> tuple[int, int | None]:
        """The tensor and its row at which variants are looked at first: where the difference is largest."""
        wrong = [i for i, fine in enumerate(self.agree) if not fine]
        if not wrong:
            return 0, None
        key = wrong[0]
        if not alike(self.rows[key], self.observed[key].rows):
            return key, None
        ratios = [
            _ratio(*row) for row in zip(self.rows[key], self.observed[key].rows, self.strict[key], strict=True)
        ]
        row = max(range(len(ratios)), key=ratios.__getitem__) if ratios else 0
        return key, row if self.ranks[key] == 2 else None

    def roughly(self, rewrite: Rewrite) -> bool:
        """Whether a variant may be it: one tensor, or one row of it, first, then all. Raises a `GraphError` for
        no graph."""
        key, row = self.key, self.row
        value = sifted(self.intended, rewrite, self.refs[key], row, self.sieve)
        if value is None:
            return False
        if not self._is_near(key, value, row):
            self.sieve.refuse()
            return False
        if row is None and len(self.refs) == 1:
            return True
        return all(self._is_near(place, value) for place, value in enumerate(self._values(rewrite)))

    def _values(self, rewrite: Rewrite) -> list[Any]:
        """What a variant gives for all that was observed; of one that is near it is asked several times."""
        if self.last[0] is not rewrite:
            self.last = rewrite, evaluate(self.intended, rewrite, self.refs)
        return self.last[1]

    def _value(self, rewrite: Rewrite) -> Any:
        """The same for the tensor that is looked at first."""
        if self.last[0] is rewrite:
            return self.last[1][self.key]
        return evaluate(self.intended, rewrite, [self.refs[self.key]])[0]

    def _first(self, rewrite: Rewrite) -> Any:
        """What is looked at first, the tensor or its row, as a variant gives it."""
        return evaluate(self.intended, rewrite, [self.refs[self.key]], self.row)[0]

    def may_be(self, value: Any) -> bool:
        """Whether what is looked at first, the tensor or its row, is about what was observed."""
        return self._is_near(self.key, value, self.row)

    def reaches(self, rewrite: Rewrite) -> bool:
        """Whether a variant may be it with some number in the place of one that is open."""
        return reaches(self.intended, rewrite, self.refs[self.key], self.row, self.sieve)

    def _is_near(self, place: int, value: Any, row: int | None = None) -> bool:
        """Whether a tensor, or one row of it, is about what was observed."""
        theirs, loose = self.observed[place].rows, self.loose[place]
        if row is not None:
            return isinstance(value, list) and near(value[0], theirs[row], loose[row])
        rows = rows_of(value, self.ranks[place])
        return len(rows) == len(theirs) and all(map(near, rows, theirs, loose))

    @cached_property
    def sieve(self) -> Sieve:
        """What is refused before it is computed to the end, since the intended graph is not it."""
        key, row, difference = self.key, self.row, None
        fits = self._is_near(key, self.values[key])
        if row is not None and not fits:
            own, theirs = self.rows[key][row], self.observed[key].rows[row]
            if all(map(math.isfinite, (*own, *theirs))):
                difference = [y - x for x, y in zip(own, theirs, strict=True)]
        return Sieve(self.intended, row, fits, difference, 0.0 if row is None else self.loose[key][row])

    def cells(self, rewrite: Rewrite) -> list[float]:
        """The cells that are looked at first, as a variant gives them."""
        value = self._first(rewrite)
        if self.row is not None:
            return value[0]
        return [cell for row in rows_of(value, self.ranks[self.key]) for cell in row]

    def fitting(self, rewrite: Rewrite) -> list[bool]:
        """Which rows of the tensor that is looked at first a variant gives, about: none of one that has another
        shape."""
        key = self.key
        rows, theirs = rows_of(self._value(rewrite), self.ranks[key]), self.observed[key].rows
        return list(map(near, rows, theirs, self.loose[key])) if len(rows) == len(theirs) else []

    def fits_first(self, rewrite: Rewrite) -> bool:
        """The same of the row that is looked at first, or of any where all are."""
        if self.row is None:
            return any(self.fitting(rewrite))
        return self.may_be(self._first(rewrite))

    @property
    def theirs(self) -> list[float]:
        """The same as they were observed."""
        rows = self.observed[self.key].rows
        return rows[self.row] if self.row is not None else [cell for row in rows for cell in row]

    def nearly(self, rewrite: Rewrite) -> bool:
        """Whether a variant gives every cell as exactly as the intended graph would have to: one row first."""
        if self.row is not None and not self.may_be(self._first(rewrite)):
            return False
        rows = [rows_of(v, r) for v, r in zip(self._values(rewrite), self.ranks, strict=True)]
        return all(within(r, o.rows, s) for r, o, s in zip(rows, self.observed, self.strict, strict=True))

    def closely(self, rewrite: Rewrite) -> float | None:
        """The largest difference left where a variant is it, None where it is not."""
        missed, error = self.misses(rewrite)
        return None if missed else error

    def misses(self, rewrite: Rewrite) -> tuple[list[str], float]:
        """The observed tensors that a variant does not give, and the largest difference left in all others."""
        values = self._values(rewrite)
        rows = [rows_of(v, r) for v, r in zip(values, self.ranks, strict=True)]
        missed: list[int] = []
        for runs in (0, FEW, RUNS):  # mostly the same number, and nothing need be measured
            room = allowed_rows(self.intended, rewrite, self.observed, values, self.accuracy, self.seen, runs)
            missed = [
                place for place, (r, o, s) in enumerate(zip(rows, self.observed, room, strict=True))
                if not within(r, o.rows, s)
            ]  # fmt: skip
            far = runs and any(_is_far(rows[place], self.observed[place].rows, room[place]) for place in missed)
            if far or not missed:
                break
        given = [place for place in range(len(rows)) if place not in missed]
        error = max((apart(rows[place], self.observed[place].rows) for place in given), default=0.0)
        return [self.observed[place].name for place in missed], error

    def residual(self, rewrite: Rewrite) -> float:
        """How large the rest of the difference is, over all cells of the first tensor that differs."""
        key = self.key
        rows, theirs = rows_of(self._value(rewrite), self.ranks[key]), self.observed[key].rows
        if not alike(rows, theirs):
            return math.inf
        pairs = zip(rows, theirs, strict=True)
        left = math.hypot(*(x - y for a, b in pairs for _, x, y in differing(a, b)))
        return left if left == left else math.inf


def _hidden(observed: Observed) -> Observed:
    """What was observed with −∞ in all masked cells."""
    tensor = observed.theirs
    rows = [without_hidden(row) for row in tensor.rows]
    return replace(observed, theirs=tensor.made(tensor.name, tensor.shape, rows))


def alike(a: Sequence[Sequence[float]], b: Sequence[Sequence[float]]) -> bool:
    """Whether two tensors have as many rows, as long."""
    return len(a) == len(b) and all(len(x) == len(y) for x, y in zip(a, b, strict=True))


def widest(room: Sequence[Sequence[float]], rows: Sequence[Sequence[float]]) -> list[list[float]]:
    """The largest room of a tensor, for one of another shape."""
    most = max((m for row in room for m in row), default=0.0)
    return [[most] * len(row) for row in rows]


def _ratio(a: Sequence[float], b: Sequence[float], room: Sequence[float]) -> float:
    """How many times what is allowed a cell of a row is off, at most."""
    ratios = ((abs(x - y), room[place] or 5e-324) for place, x, y in differing(a, b))
    return max((d / most if d == d else 1e300 for d, most in ratios), default=0.0)


def _apart_by(
    rows: Sequence[Sequence[float]], theirs: Sequence[Sequence[float]], room: Sequence[Sequence[float]]
) -> float:
    return max(map(_ratio, rows, theirs, room), default=0.0)


def _is_far(
    rows: Sequence[Sequence[float]], theirs: Sequence[Sequence[float]], room: Sequence[Sequence[float]]
) -> bool:
    return not alike(rows, theirs) or _apart_by(rows, theirs, room) > FAR


def _wide(room: Sequence[float], half: float, times: float) -> float:
    most = max((m for m in room if m == m), default=0.0)
    return half + times * (most - half)


def near(row: Sequence[float], theirs: Sequence[float], most: float) -> bool:
    """Whether a row is that near; a variant that has fewer axes has a cell there, one that has more, rows."""
    if not isinstance(row, list) or len(row) != len(theirs) or (row and isinstance(row[0], list)):
        return False
    return all(abs(x - y) <= most for _, x, y in differing(row, theirs))
