"""What is on a worksheet, before it is laid out: steps, each with its boxes and what helps with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class Square:
    """One square of a box. kind: printed on the sheet (given, or done as an example), to be filled in, or
    hidden by a mask. The text is what belongs there."""

    text: str
    kind: Literal["given", "done", "blank", "hidden"]


@dataclass(frozen=True)
class Box:
    """A tensor, or a part of a step, as squares in rows. The labels may be empty."""

    name: str
    shape: str
    squares: Sequence[Sequence[Square]]
    rows: Sequence[str] = ()
    columns: Sequence[str] = ()
    tint: int = 0
    """A colour for each tensor that is given, counted from 1."""
    source: int = 0
    """The step whose result this is, where it is copied from there."""

    @property
    def size(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.squares), max(map(len, self.squares), default=0)


@dataclass(frozen=True)
class Step:
    """One step. `left` and `above` are the operands of a product of rows and columns; `beside` are other
    operands that are shown. `parts` come before the result: what a row shares, what is divided."""

    number: int
    title: str
    hint: Sequence[str]
    result: Box
    left: Box | None = None
    above: Box | None = None
    beside: Sequence[Box] = ()
    parts: Sequence[Box] = ()
    follows: bool = False
    """Whether it reads the result of the step before."""
    worked: str = ""
    """One square, worked out."""


@dataclass(frozen=True)
class Sheet:
    """A worksheet. checks: what is to add up to what."""

    title: str
    subtitle: str
    steps: Sequence[Step]
    checks: Sequence[tuple[str, str]] = ()
    question: str = ""
    footer: str = ""
    notes: Sequence[str] = field(default_factory=tuple)
