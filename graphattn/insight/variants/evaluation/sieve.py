"""What refuses a variant before it is computed to the end, by proof.

**The same numbers give the same.** All that a change does to the result goes through a *waist*: the changed
tensors themselves, then often one tensor that all further steps read. Two variants, of whichever nodes, that
give the same there give the same result, and more than half of all do.

**What is linear reaches only so much.** Where all steps from a waist on are linear, a row of the result moves
along as many directions as the waist has cells: a change within one head moves it along that head's columns
of W_o. What of a difference is across these does not come of it, whatever the change; and of a change in
every head, what is across the columns of the heads that are still to be computed has to come of those that
are: the first head alone tells.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from operator import mul, sub
from typing import Any, NamedTuple

from ....core import nested
from ..intended import Intended
from ..structure.rows import row_of
from .tail import Result, Tail, Values

ACROSS = 4.0
"""How many times what all cells together may be off the part across has to be."""
DEPENDENT = 1e-13
"""So small a part of a direction that is left beside others is rounding."""
WIDE = 3
"""A waist with more than so many times as many cells as the row is not asked."""
ROUNDING = 1e-12
"""How far a sum may be off, in parts of all that is summed."""

Along = Sequence[tuple[Result, Sequence[float]]]
"""A number for each cell of some results."""


class Early(NamedTuple):
    """Where a tail tells before its end: along one direction nothing moves the row that is computed after so
    many `steps`, and what is computed by then has to move it as far as `target`."""

    heads: Sequence[str]
    """The changed nodes that these steps read."""
    steps: int
    along: Along
    """How far each cell of some results of a waist moves the row in that direction; of none where no change
    does."""
    target: float
    room: float

    def refuses(self, values: Values) -> bool:
        """Whether it does not; a cell that is no number, and moves the row at all, leaves none there."""
        moved = _moved(self.along, values)
        off = abs(sum(moved) - self.target)
        if not math.isfinite(off):
            return True
        return off > self.room and off > ROUNDING * (sum(map(abs, moved)) + abs(self.target))


class Sieve:
    """Holds variants to a tensor, or to one `row` of it, which the intended graph does not give, unless it
    `fits`. `difference` is how far the row as observed is off the intended one (None where that is no matter
    of numbers), and `room` how far off any of its cells may be."""

    def __init__(
        self, intended: Intended, row: int | None, fits: bool, difference: Sequence[float] | None, room: float
    ) -> None:  # fmt: skip
        self.intended, self.row, self.fits = intended, row, fits
        self.difference, self.room = difference, room
        self.known: dict[tuple[Result, ...], set[bytes]] = {}
        """Digests of the values that were at a waist and came to nothing."""
        self.way: list[tuple[set[bytes], bytes]] = []
        """Where what is looked at has come through."""
        self.tails: dict[Tail, Early | None] = {}
        """Where each tail tells early."""
        self.told: dict[tuple[Result, ...], tuple[Along, float] | None] = {}
        """Along what, and how far, by the results of a waist in the order in which they are computed."""

    # ------------------------------------------------------------ the same numbers

    def knows(self, waist: tuple[Result, ...], values: Values) -> bool:
        """Whether the values at a waist were there before, or are as intended."""
        found = digest([values[result] for result in waist])
        known = self.known.get(waist)
        if known is None:
            known = self.known[waist] = set()
            if not self.fits:
                known.add(digest([self._own(result) for result in waist]))
        self.way.append((known, found))
        return found in known

    def refuse(self) -> None:
        """What was looked at last is not it."""
        for known, found in self.way:
            known.add(found)

    def _own(self, result: Result) -> Any:
        """The value in the intended graph."""
        ref, single = result
        value, rank = self.intended.values[ref], self.intended.spec(ref).rank
        return row_of(value, self.row, rank) if single and rank > 1 else value  # pyright: ignore

    # ------------------------------------------------------------ what is linear

    def early(self, tail: Tail) -> Early | None:
        """Where a tail tells early, if anywhere."""
        if tail not in self.tails:
            self.tails[tail] = None if self.difference is None else self._early(tail)
        return self.tails[tail]

    def reaches(self, tail: Tail) -> bool:
        """Whether the difference may come of a change above a tail."""
        early = self.early(tail)
        return early is None or bool(early.along)

    def _early(self, tail: Tail) -> Early | None:
        place = self._narrowest(tail)
        if place is None:
            return None
        born = {result: count for count, step in enumerate(tail.steps, 1) for result in step.results}
        turn = {name: turn for turn, name in enumerate(tail.heads)}
        waist = tuple(
            sorted(tail.waist(place), key=lambda result: (born.get(result, 0), turn.get(result[0].node, 0)))
        )
        if waist not in self.told:
            self.told[waist] = self._told(tail, place, waist)
        found = self.told[waist]
        if found is None:
            return None
        along, target = found
        steps = max((born.get(result, 0) for result, _ in along), default=0)
        read = {result[0].node for step in tail.steps[:steps] for _, result, _ in step.open}
        read.update(result[0].node for result, _ in along)
        return Early([name for name in tail.heads if name in read], steps, along, target, self._across_room)

    def _narrowest(self, tail: Tail) -> int | None:
        """The first waist with the fewest cells from which on all steps are linear; None where there is none,
        or none that is not too wide."""
        best, fewest = None, WIDE * len(self.difference or ())
        for place in reversed(range(len(tail.steps))):
            if not tail.steps[place].linear or not tail.wanted[0][1]:
                break
            waist = tail.waist(place)
            specs = [self.intended.spec(ref) for ref, _ in waist]
            cells = sum(
                spec.size // spec.shape[-2] if single else spec.size
                for spec, (_, single) in zip(specs, waist, strict=True)
            )
            if cells <= fewest and all(spec.kind == "float" for spec in specs):
                best, fewest = place, cells
        return best

    def _told(self, tail: Tail, place: int, waist: Sequence[Result]) -> tuple[Along, float] | None:
        """What the first results of a waist, as few as tell, have to give (see `Early`): what of the difference
        is across all moves of those that are computed after them. None where nothing is, or a move is no
        number."""
        moves = self._moves(tail, place, waist)
        if not all(math.isfinite(x) for own in moves for move in own for x in move):
            return None
        left, basis, first = self.difference or (), [], None
        least = sum(map(len, moves)) >= len(left)  # as many as the cells of the row reach it all
        for count in range(len(waist), least - 1, -1):
            for move in moves[count] if count < len(waist) else ():
                size, across = math.hypot(*move), _across(move, basis)
                if math.hypot(*across) < size / 2:  # rounding is a part of what is left
                    across = _across(across, basis)
                length = math.hypot(*across)
                if length > DEPENDENT * size:
                    basis.append([x / length for x in across])
            left = _across(left, basis)
            if not math.hypot(*left) > self._across_room:
                break
            first = count, left
        if first is None:
            return None
        count, left = first
        length = math.hypot(*left)
        along = [
            (result, [sum(map(mul, left, move)) / length for move in own])
            for result, own in zip(waist[:count], moves)
        ]
        target = length + sum(_moved(along, {result: self._own(result) for result, _ in along}))
        return (along, target) if math.isfinite(target) else None

    @property
    def _across_room(self) -> float:
        """How far all cells together may be off."""
        return ACROSS * math.sqrt(len(self.difference or ())) * self.room

    def _moves(self, tail: Tail, place: int, waist: Sequence[Result]) -> list[list[list[float]]]:
        """How the row moves with each cell of each result of a waist, from a waist of zeros: beside large
        numbers a step of 1 is lost."""
        shapes = [nested.shape_of(self._own(result)) for result in waist]
        zeros = {
            result: nested.build(shape, lambda *_: 0.0) for result, shape in zip(waist, shapes, strict=True)
        }
        base = self._row(tail, place, zeros)
        moves: list[list[list[float]]] = []
        for result, shape in zip(waist, shapes, strict=True):
            moves.append([])
            for index in nested.indices(shape):
                step = nested.build(shape, lambda *at, index=index: float(at == index))
                moves[-1].append(list(map(sub, self._row(tail, place, {**zeros, result: step}), base)))
        return moves

    def _row(self, tail: Tail, place: int, values: Values) -> list[float]:
        values = dict(values)
        tail.fill(values, start=place)
        return values[tail.wanted[0]][0]


def _moved(along: Along, values: Values) -> list[float]:
    """How far each cell moves the row that moves it at all."""
    return [x * y for result, own in along for x, y in zip(own, _cells(values[result])) if x]


def _cells(value: Any) -> Iterable[float]:
    """All cells: mostly those of one row."""
    match value:
        case [[float(), *_] as row]:
            return row
    return nested.flat(value)


def _across(row: Sequence[float], basis: Sequence[Sequence[float]]) -> Sequence[float]:
    """The part of a row that is across all directions of an orthonormal basis."""
    for direction in basis:
        along = sum(map(mul, row, direction))
        row = [x - along * y for x, y in zip(row, direction, strict=True)]
    return row


def digest(values: Sequence[Any]) -> bytes:
    """16 bytes for the bits of all cells."""
    return blake2b(b"".join(map(_bits, values)), digest_size=16).digest()


def _bits(value: Any) -> bytes:
    if not isinstance(value, list):
        return array("d", nested.flat(value)).tobytes()  # packed, or a number
    return b"".join(map(_bits, value)) if value and isinstance(value[0], list) else array("d", value).tobytes()
