"""One rule for all cells of a tensor, found by asking its op's `explain` at a few of them.

An expression (`graphattn.core.cells`) says of one cell which cells of the operands it was computed
from. Counted flat, in row-major order, their places nearly always move evenly as the result's index
moves: transposes, reshapes, broadcasts and splits too. A `Piece` is a box of the result in which
that holds: an expression whose places are a first one and a stride for each axis. Where it does not
(concat, pad, repeat) the box is cut.

    y = a @ b      y[i, j] = Σₖ a[0 + 3 i + 0 j + 1 k] · b[0 + 0 i + 2 j + 2 k]

A sum whose terms move evenly is one term and how often it runs. What a formula calls by a name (max,
mean) stands once, as a part. Nothing here knows an op.

As JSON, an expression is a list:

    ["c", slot, first, [stride by axis], [stride by running index, outer first]]       a cell
    ["v", slot, first, [...], [...], [[factor, size, cell], ...]]       its place chosen by other cells
    ["l", value, text]                    a number of the op's own ("inf", "nan" as text)
    ["i", first, [...], [...], text]      a whole number that moves; text is "=" where it is written so
    ["p", number]                         a named part
    ["f", function, name, expression, ...]               a function of expressions
    ["r", function, name, count, expression]             a function of that many terms
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from graphattn.core.axes import Spec
from graphattn.core.cells import Apply, Cell, Expression, Literal

BUDGET = 2000
"""How many cells of expressions are looked at to check one rule; all of a small tensor's, a sample
of a large one's."""

Index = tuple[int, ...]
Places = tuple[int, ...]
Probe = Callable[[Index], "Reading"]


@dataclass(frozen=True)
class Reading:
    """An expression at one index: its form, which is the same for all cells of a piece, and the
    places in it, which move."""

    form: Any
    places: Places
    size: int = 1
    """How much there is to read in the expression."""


@dataclass(frozen=True)
class Piece:
    """A box of the result (from `low` up to, not including, `high`) in which one form holds."""

    low: Index
    high: Index
    form: Any
    places: Places
    """At `low`."""
    strides: tuple[Places, ...]
    """For each axis, how far each place moves."""

    def at(self, index: Index) -> Places:
        """The places at an index."""
        steps = [i - low for i, low in zip(index, self.low, strict=True)]
        moved = [sum(n * s for n, s in zip(steps, column)) for column in zip(*self.strides)]
        return tuple(map(sum, zip(self.places, moved))) if moved else self.places


# ---------------------------------------------------------------- reading one expression


def read(tree: Expression, specs: Sequence[Spec | None]) -> Reading:
    """The form of an expression and the places in it."""
    reader = _Reader(specs)
    form, places = reader.read(tree, root=True)
    parts = tuple((name, part) for name, part, _ in reader.parts)
    moved = tuple(place for _, _, own in reader.parts for place in own)
    return Reading((parts, form), (*moved, *places), reader.size)


@dataclass
class _Reader:
    specs: Sequence[Spec | None]
    parts: list[tuple[str, Any, Places]] = field(default_factory=list)
    known: dict[int, int] = field(default_factory=dict)
    size: int = 0

    def read(self, tree: Expression, root: bool = False) -> tuple[Any, Places]:
        self.size += 1
        if isinstance(tree, Cell):
            return self._cell(tree)
        if isinstance(tree, Literal):
            return _literal(tree)
        if tree.name and not root:
            return ("p", self._part(tree)), ()
        return self._apply(tree)

    def _part(self, tree: Apply) -> int:
        if id(tree) not in self.known:
            form, places = self._apply(tree)
            found = (tree.name, form, places)
            if found not in self.parts:
                self.parts.append(found)
            self.known[id(tree)] = self.parts.index(found)
        return self.known[id(tree)]

    def _apply(self, tree: Apply) -> tuple[Any, Places]:
        read = [self.read(arg) for arg in tree.args]
        if tree.function in ("total", "maximum") and len(read) > 1:
            form, first = read[0]
            steps = tuple(b - a for a, b in zip(first, read[1][1]))
            if all(
                other == form and places == tuple(a + k * s for a, s in zip(first, steps))
                for k, (other, places) in enumerate(read)
            ):
                return ("r", tree.function, tree.name, len(read), form, steps), first
        forms = tuple(form for form, _ in read)
        return ("f", tree.function, tree.name, forms), tuple(p for _, places in read for p in places)

    def _cell(self, cell: Cell) -> tuple[Any, Places]:
        spec = self.specs[cell.slot]
        assert spec is not None
        place, factor = 0, 1
        choosers: list[tuple[int, int, Any]] = []
        chosen: Places = ()
        for i, size in zip(reversed(cell.index), reversed(spec.shape), strict=True):
            if isinstance(i, Cell):
                form, places = self._cell(i)
                choosers.append((factor, size, form))
                chosen += places
            else:
                place += factor * i
            factor *= size
        if choosers:
            return ("v", cell.slot, tuple(choosers)), (place, *chosen)
        return ("c", cell.slot), (place,)


def _literal(tree: Literal) -> tuple[Any, Places]:
    value = tree.value
    if type(value) is int:
        written = str(value)
        return ("i", "=" if tree.text == written else tree.text), (value,)
    if isinstance(value, str):
        return ("l", _plain(float(value)), tree.text or value), ()
    return ("l", _plain(value), tree.text), ()


def _plain(value: Any) -> Any:
    """A number that equals itself and that JSON can hold."""
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if value != value else "inf" if value > 0 else "-inf"
    return value if isinstance(value, (bool, int)) else float(value)


def read_text(text: str) -> Reading:
    """A text in which whole numbers move: `3 ≤ 1`."""
    words = re.split(r"(\d+)", text)
    return Reading(tuple(words[::2]), tuple(map(int, words[1::2])))


# ---------------------------------------------------------------- fitting


def fit(shape: Sequence[int], probe: Probe, budget: int = BUDGET) -> list[Piece]:
    """Pieces that hold all cells of a tensor, checked at every cell, or where that is more than
    `budget` to look at, at the corners, along the axes and at a sample."""
    if 0 in shape:
        return []
    seen: dict[Index, Reading] = {}

    def ask(index: Index) -> Reading:
        if index not in seen:
            seen[index] = probe(index)
        return seen[index]

    pieces: list[Piece] = []
    todo = [(tuple(0 for _ in shape), tuple(shape))]
    while todo:
        low, high = todo.pop()
        piece = _guess(low, high, ask)
        wrong = next((i for i in _checked(low, high, piece, ask, budget) if not _holds(piece, i, ask)), None)
        if wrong is None:
            pieces.append(piece)
            continue
        axis, at = _cut(low, wrong, piece, ask)
        before = (*high[:axis], at, *high[axis + 1 :])
        after = (*low[:axis], at, *low[axis + 1 :])
        todo += [(after, high), (low, before)]
    return pieces


def _guess(low: Index, high: Index, ask: Probe) -> Piece:
    """What a box is if all places move evenly: as from its first cell to the next ones."""
    first = ask(low)
    strides = []
    for axis, (start, end) in enumerate(zip(low, high)):
        step: Places = (0,) * len(first.places)
        if end - start > 1:
            second = ask((*low[:axis], start + 1, *low[axis + 1 :]))
            if second.form == first.form:
                step = tuple(b - a for a, b in zip(first.places, second.places))
        strides.append(step)
    return Piece(low, high, first.form, first.places, tuple(strides))


def _holds(piece: Piece, index: Index, ask: Probe) -> bool:
    found = ask(index)
    return found.form == piece.form and found.places == piece.at(index)


def _checked(low: Index, high: Index, piece: Piece, ask: Probe, budget: int) -> Iterator[Index]:
    """The indices at which a piece is checked, those next to the first along each axis before others."""
    cost = ask(low).size
    for axis, (start, end) in enumerate(zip(low, high)):
        length = end - start
        steps = (
            range(start, end) if length * cost <= budget else _spread(start, end, max(3, budget // cost // 8))
        )
        for i in steps:
            yield (*low[:axis], i, *low[axis + 1 :])
    if math.prod(e - s for s, e in zip(low, high)) * cost <= budget:
        yield from product(*map(range, low, high))
        return
    yield from product(*({s, (s + e) // 2, e - 1} for s, e in zip(low, high)))
    dice = random.Random(0)
    for _ in range(min(200, budget // cost)):
        yield tuple(dice.randrange(s, e) for s, e in zip(low, high))


def _spread(start: int, end: int, count: int) -> list[int]:
    """About so many places from `start` to `end`, both ends among them."""
    return sorted({start + round(k * (end - 1 - start) / (count - 1)) for k in range(count)})


def _cut(low: Index, wrong: Index, piece: Piece, ask: Probe) -> tuple[int, int]:
    """Axis and place where a box is cut, given a cell at which its guess is wrong: where along an axis
    it first is, or before that cell."""
    moved = [axis for axis, (i, start) in enumerate(zip(wrong, low)) if i > start]
    for axis in moved:
        left, right = low[axis], wrong[axis]
        there = (*low[:axis], right, *low[axis + 1 :])
        if not _holds(piece, there, ask):
            while right - left > 1:  # right somewhere between, wrong at the end
                middle = (left + right) // 2
                if _holds(piece, (*low[:axis], middle, *low[axis + 1 :]), ask):
                    left = middle
                else:
                    right = middle
            return axis, right
    return moved[0], wrong[moved[0]]


# ---------------------------------------------------------------- rules of ops


def rule_of(
    explain: Callable[..., Any],
    shape: Sequence[int],
    specs: Sequence[Spec | None],
    attributes: dict[str, Any],
    budget: int = BUDGET,
) -> list[Piece]:
    """The rule of one output of an op, from its `explain`."""
    return fit(shape, lambda index: read(explain(index, *specs, **attributes), specs), budget)


def texts_of(
    explain: Callable[..., Any], shape: Sequence[int], attributes: dict[str, Any], budget: int = BUDGET
) -> list[Piece]:
    """How the cells of an op without operands are written, where each is a text of its own."""

    def probe(index: Index) -> Reading:
        tree = explain(index, **attributes)
        return read_text(tree.text if isinstance(tree, Literal) else "")

    return fit(shape, probe, budget)


# ---------------------------------------------------------------- as JSON


def rule_json(pieces: Sequence[Piece]) -> list[Any]:
    """[[low, high, [[name, part], …], expression], …]"""
    return [_piece_json(piece) for piece in pieces]


def choosers(rule: Any) -> Iterator[tuple[int, int]]:
    """(slot, size) of the cells that choose a place among so many, of a rule as JSON holds it."""
    if isinstance(rule, list):
        if rule and rule[0] == "v":
            yield from ((cell[1], size) for _, size, cell in rule[5])
        else:
            for part in rule:
                yield from choosers(part)


def texts_json(pieces: Sequence[Piece]) -> list[Any]:
    """[[low, high, [words, …], [[first, [stride by axis]], …]], …]"""
    found = []
    for piece in pieces:
        numbers = [[first, list(by_axis)] for first, by_axis in zip(_origin(piece), _by_place(piece))]
        found.append([list(piece.low), list(piece.high), list(piece.form), numbers])
    return found


def _origin(piece: Piece) -> list[int]:
    """The places where the index would be 0 on every axis."""
    return [
        place - sum(s * low for s, low in zip(steps, piece.low))
        for place, steps in zip(piece.places, _by_place(piece))
    ]


def _by_place(piece: Piece) -> list[tuple[int, ...]]:
    return list(zip(*piece.strides)) if piece.strides else [() for _ in piece.places]


def _piece_json(piece: Piece) -> list[Any]:
    parts, form = piece.form
    moving = iter(zip(_origin(piece), _by_place(piece)))
    running: list[Iterator[int]] = []

    def written(form: Any) -> list[Any]:
        kind = form[0]
        if kind == "c":
            return ["c", form[1], *place()]
        if kind == "v":
            own = place()
            return ["v", form[1], *own, [[factor, size, written(inner)] for factor, size, inner in form[2]]]
        if kind == "i":
            return ["i", *place(), form[1]]
        if kind == "r":
            _, function, name, count, inner, steps = form
            running.append(iter(steps))
            body = written(inner)
            running.pop()
            return ["r", function, name, count, body]
        if kind == "f":
            return ["f", form[1], form[2], *map(written, form[3])]
        return list(form)

    def place() -> list[Any]:
        first, by_axis = next(moving)
        return [first, list(by_axis), [next(steps) for steps in running]]

    named = [[name, written(part)] for name, part in parts]
    return [list(piece.low), list(piece.high), named, written(form)]
