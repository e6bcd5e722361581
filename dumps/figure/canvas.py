"""A drawing before it is written in any format: rectangles, lines, texts, hatching and images.

Lengths are points (1/72 inch), y runs down. `svg.py` and `raster.py` write it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class Rect(NamedTuple):
    """A filled rectangle, with an outline where `line` is a colour, and a tooltip."""

    x: float
    y: float
    width: float
    height: float
    fill: str
    line: str = ""
    tooltip: str = ""


class Hatch(NamedTuple):
    """A rectangle filled with slanting lines."""

    x: float
    y: float
    width: float
    height: float
    fill: str
    line: str
    tooltip: str = ""


class Line(NamedTuple):
    """A straight line."""

    x: float
    y: float
    x2: float
    y2: float
    colour: str


class Text(NamedTuple):
    """A line of text; `y` is its middle, `x` its start, middle or end, as `anchor` says."""

    x: float
    y: float
    text: str
    size: float
    colour: str
    anchor: str = "start"
    bold: bool = False
    mono: bool = False


class Image(NamedTuple):
    """Pixels, stretched over a rectangle: rows of red, green, blue, a byte each."""

    x: float
    y: float
    width: float
    height: float
    columns: int
    rows: int
    pixels: bytes
    tooltip: str = ""


Shape = Rect | Hatch | Line | Text | Image


@dataclass
class Canvas:
    """A page with shapes on it, later ones above earlier ones."""

    title: str
    page: str
    words: str = ""
    """What is to be seen, for those who do not see it."""
    width: float = 0.0
    height: float = 0.0
    shapes: list[Shape] = field(default_factory=list)

    def add(self, *shapes: Shape) -> None:
        """Put shapes on top."""
        self.shapes += shapes
