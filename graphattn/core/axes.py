"""Shapes, axis names and kinds: what is known of a tensor before it has values.

A shape is a tuple of sizes; the last two axes are rows and columns, the axes before them are
batch. An axis may have a name, which flows through the ops so that text and pictures can say
`token 3 × feature 4`. A name never changes a value and never rejects one: an unknown name
unifies with anything, and a mismatch is only noted (see `noting`).

>>> describe(Spec((3, 4), ("token", "feature")))
'token 3 × feature 4'
>>> broadcast(Spec((3, 4), ("token", None)), Spec((4,), ("feature",)))
((3, 4), ('token', 'feature'))
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from .errors import Rejected
from .words import shown

LARGEST = 2**53
"""No size is larger: beyond it, not every int is a float."""
KINDS = ("float", "bool", "int")


@dataclass(frozen=True, slots=True)
class Spec:
    """A tensor without its numbers: shape, axis names (None = unknown), kind of cell.

    `value` holds the numbers where they are known before a run (constants); it takes no part in
    comparisons.
    """

    shape: tuple[int, ...]
    axes: tuple[str | None, ...] = ()
    kind: str = "float"
    value: Any = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not self.axes:
            object.__setattr__(self, "axes", (None,) * len(self.shape))

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of cells."""
        return math.prod(self.shape)


def describe(spec: Spec) -> str:
    """`token 3 × feature 4`; unnamed axes show their size alone; rank 0 is `scalar`."""
    text = " × ".join(
        f"{axis} {size}" if axis else str(size) for axis, size in zip(spec.axes, spec.shape, strict=True)
    )
    return (text or "scalar") + ("" if spec.kind == "float" else f" of {spec.kind}")


_notes: ContextVar[list[str] | None] = ContextVar("axis notes", default=None)


@contextmanager
def noting() -> Iterator[list[str]]:
    """Collect the axis names that did not agree while shape rules ran inside."""
    notes: list[str] = []
    token = _notes.set(notes)
    try:
        yield notes
    finally:
        _notes.reset(token)


def unify(a: str | None, b: str | None) -> str | None:
    """The name of an axis that both operands share; where they differ, the first, and a note."""
    if a is None or b is None or a == b:
        return a or b
    notes = _notes.get()
    if notes is not None:
        notes.append(f"axis {a!r} meets axis {b!r}")
    return a


def broadcast(*specs: Spec) -> tuple[tuple[int, ...], tuple[str | None, ...]]:
    """Shape and axes of an elementwise result: right-aligned, size 1 stretches (numpy's rule)."""
    first, *others = specs
    if all(spec.shape == first.shape and spec.axes == first.axes for spec in others):
        return first.shape, first.axes
    rank = max(spec.rank for spec in specs)
    shape: list[int] = []
    axes: list[str | None] = []
    for place in range(rank):
        size, name = 1, None
        for spec in specs:
            at = place - rank + spec.rank
            if at < 0:
                continue
            name = unify(name, spec.axes[at])
            if spec.shape[at] == size or spec.shape[at] == 1:
                continue
            if size != 1:
                raise Rejected(
                    f"sizes {size} and {spec.shape[at]} on axis {place - rank} do not agree;"
                    " expected equal sizes, or 1"
                )
            size = spec.shape[at]
        shape.append(size)
        axes.append(name)
    return tuple(shape), tuple(axes)


def position(axis: int, rank: int) -> int:
    """`axis` counted from the front; negative counts from the end. Rejected if out of range."""
    if isinstance(axis, bool) or not isinstance(axis, int):
        raise Rejected(f"axis must be an int, got {shown(axis)}")
    if not -rank <= axis < rank:
        raise Rejected(f"axis {shown(axis)} does not exist; expected an axis from {-rank} to {rank - 1}")
    return axis % rank


def need_rank(least: int, **operands: Spec) -> None:
    """Reject operands of a lower rank than `least`."""
    for name, spec in operands.items():
        if spec.rank < least:
            raise Rejected(f"{name} has rank {spec.rank}; expected rank {least} or more")


def need_kind(kinds: str | Sequence[str], **operands: Spec | None) -> None:
    """Reject operands whose cells are of another kind."""
    kinds = (kinds,) if isinstance(kinds, str) else kinds
    for name, spec in operands.items():
        if spec is not None and spec.kind not in kinds:
            raise Rejected(f"{name} holds {spec.kind}; expected {' or '.join(kinds)}")


def need_flag(**attributes: object) -> None:
    """Reject switches that are neither True nor False: "no" would count as true."""
    for name, value in attributes.items():
        if not isinstance(value, bool):
            raise Rejected(f"{name} is {shown(value)}; expected True or False")


def need_size(what: str, value: object, least: int = 0) -> None:
    """Reject an attribute that is not an int of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise Rejected(f"{what} must be an int of {least} or more, got {shown(value)}")
    if value > LARGEST:
        raise Rejected(f"{what} is an int of {value.bit_length()} bits; expected at most 2^53")


def need_int(what: str, value: object) -> None:
    """Reject an attribute that is not an int, or one too long to be a float exactly."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise Rejected(f"{what} is {shown(value)}; expected an int")
    if abs(value) > LARGEST:
        raise Rejected(f"{what} is an int of {value.bit_length()} bits; expected at most 2^53 in size")


def need_number(what: str, value: object, positive: bool = False) -> float:
    """An attribute as a float; rejected where it is not a number (or decimal text) of 0 or more,
    or above 0 where it must be `positive`."""
    try:
        number = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0 <= number < math.inf or (positive and not number):
        raise Rejected(
            f"{what} is {shown(value)}; expected a number {'above 0' if positive else 'of 0 or more'}"
        )
    return number
