"""What a picture is made of: boxes, arrows, frames, and rows of boxes side by side."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from graphattn.core.graph import Ref
from graphattn.dumps.diagram.values import Grid


class Cell(NamedTuple):
    """One piece in a bar: its port, and its label."""

    port: str
    label: str


@dataclass(frozen=True)
class Box:
    """A node of the picture."""

    id: str
    name: str
    kind: str
    """op, bar, end (an input or output), constant, source, fold."""
    family: str
    glyph: str
    title: tuple[str, ...]
    """The bold words, in lines."""
    inside: tuple[str, ...] = ()
    """What is drawn inside: weights and transposes, in lines."""
    note: tuple[str, ...] = ()
    """The muted last lines: axes, shape, a few words of the op."""
    tooltip: str = ""
    frame: str | None = None
    role: str | None = None
    cells: tuple[Cell, ...] = ()
    grids: tuple[Grid, ...] = ()
    """What a run recorded, as heat maps."""

    @property
    def texts(self) -> list[str]:
        """Every text that the picture of this box must hold."""
        found = [self.glyph, *self.title, *self.inside, *self.note, *(cell.label for cell in self.cells)]
        found += (text for grid in self.grids for text in grid.texts)
        return [text for text in found if text.strip()]


@dataclass(frozen=True)
class Arrow:
    """An edge of the picture, from a box (or one cell of a bar) to a box."""

    tail: str
    head: str
    port: str = ""
    label: str = ""
    tooltip: str = ""
    kind: str = "plain"
    """plain, residual, beside (a constant), bundle (many in one)."""
    role: str | None = None
    refs: tuple[Ref, ...] = ()
    """The outputs that it stands for."""
    upward: bool = False
    """Whether the head stands above the tail: a decoder beside the encoder that it reads, not below it."""
    far: bool = False
    """Whether it leads past several boxes into another frame, as V does: its label stands at its head."""


@dataclass(frozen=True)
class Frame:
    """A cluster: what a scope holds."""

    id: str
    name: str
    title: tuple[str, ...]
    note: str
    tooltip: str
    parent: str | None
    depth: int
    role: str | None = None


@dataclass
class Diagram:
    """A whole picture."""

    name: str
    title: str
    boxes: dict[str, Box] = field(default_factory=dict)
    arrows: list[Arrow] = field(default_factory=list)
    frames: dict[str, Frame] = field(default_factory=dict)
    """By the name of the scope, outer ones first."""
    rows: list[tuple[str, ...]] = field(default_factory=list)
    """Boxes of one rank, from left to right."""
    dropped: int = 0
    """How many boxes go without the numbers that were recorded, for want of room."""
