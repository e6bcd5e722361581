"""What refuses a variant before it is computed to the end, by proof.

**The same numbers give the same.** All that a change does to the result goes through a *waist*: the changed
tensors themselves, then often one tensor that all further steps read. Two variants, of whichever nodes, that
give the same there give the same result, and more than half of all do.

**What is linear reaches only so much.** Where all steps from a waist on are linear, a row of the result moves
along as many directions as the waist has cells: a change within one head moves it along that head's columns
of W_o. A difference with a part across these does not come of it, whatever the change.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from operator import mul, sub
from typing import Any

from ....core import nested
from ..intended import Intended
from ..structure.rows import row_of
from .tail import Result, Tail, Values

ACROSS = 4.0
"""How many times what all cells together may be off the part across has to be."""
DEPENDENT = 1e-13
"""So small a part of a direction that is left beside others is rounding."""


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
        self.narrow: dict[Tail, int | None] = {}
        """Where each tail is linear from, and narrowest."""
        self.reached: dict[tuple[Result, ...], bool] = {}
        """Whether the difference may come of a waist."""

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

    def reaches(self, tail: Tail) -> bool:
        """Whether the difference may come of a change above a tail."""
        if self.difference is None:
            return True
        if tail not in self.narrow:
            self.narrow[tail] = self._narrowest(tail)
        place = self.narrow[tail]
        if place is None:
            return True
        waist = tail.waists[place]
        if waist not in self.reached:
            self.reached[waist] = self._in_span(self._moves(tail, place))
        return self.reached[waist]

    def _narrowest(self, tail: Tail) -> int | None:
        """The waist with the fewest cells from which on all steps are linear; None where these are as many as
        those of the row."""
        best, fewest = None, len(self.difference or ())
        for place in reversed(range(len(tail.steps))):
            if not tail.steps[place].linear or not tail.wanted[0][1]:
                break
            specs = [self.intended.spec(ref) for ref, _ in tail.waists[place]]
            cells = sum(
                spec.size // spec.shape[-2] if single else spec.size
                for spec, (_, single) in zip(specs, tail.waists[place], strict=True)
            )
            if cells < fewest and all(spec.kind == "float" for spec in specs):
                best, fewest = place, cells
        return best

    def _moves(self, tail: Tail, place: int) -> Iterator[list[float]]:
        """How the row moves with each cell of a waist, from a waist of zeros: beside large numbers a step of 1
        is lost."""
        shapes = {result: nested.shape_of(self._own(result)) for result in tail.waists[place]}
        zeros = {result: nested.build(shape, lambda *_: 0.0) for result, shape in shapes.items()}
        base = self._row(tail, place, zeros)
        for result, shape in shapes.items():
            for index in nested.indices(shape):
                step = nested.build(shape, lambda *at, index=index: float(at == index))
                yield list(map(sub, self._row(tail, place, {**zeros, result: step}), base))

    def _row(self, tail: Tail, place: int, values: Values) -> list[float]:
        values = dict(values)
        tail.fill(values, start=place)
        return values[tail.wanted[0]][0]

    def _in_span(self, moves: Iterator[list[float]]) -> bool:
        """Whether the difference is a sum of so many times each move, but for what its cells may be off, or a
        move cannot be told."""
        left = self.difference or ()
        basis: list[list[float]] = []
        for move in moves:
            if not all(map(math.isfinite, move)):
                return True
            across = _across(_across(move, basis), basis)
            length = math.hypot(*across)
            if length > DEPENDENT * math.hypot(*move):
                basis.append([x / length for x in across])
        return not math.hypot(*_across(left, basis)) > ACROSS * math.sqrt(len(left)) * self.room


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
