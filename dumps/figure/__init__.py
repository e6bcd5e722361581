"""Figures: recorded tensors as labelled heat maps.

    figure(trace, "head0.weights").save("a.svg")            .svg, .png or .pdf
    figure(trace, "*.weights", theme="dark").svg()

A matrix is one map; a tensor of rank 3 or more has its slices side by side. Several tensors whose names
differ in one number (head0, head1, …) stand side by side on one scale, in two (layers and heads) in a
grid; many are thumbnails. What is hidden is hatched, and no picture speaks by colour alone: cells hold
numbers or marks, ranges are printed, tooltips have every digit. The same trace gives the same bytes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from graphattn.core.errors import GraphError
from graphattn.core.trace import Trace
from graphattn.core.words import typed
from graphattn.dumps.figure.arrange import page
from graphattn.dumps.figure.canvas import Canvas
from graphattn.dumps.figure.raster import raster
from graphattn.dumps.figure.svg import svg
from graphattn.dumps.theme import theme as known_theme
from graphattn.dumps.write import ending_of, write_bytes, write_text

SUFFIXES = (".svg", ".png", ".pdf")


@dataclass(frozen=True)
class Figure:
    """A drawing of tensors."""

    canvas: Canvas

    def svg(self) -> str:
        """The `<svg>` element: no scripts, nothing loaded from elsewhere, safe to put into a page."""
        return svg(self.canvas)

    def save(self, path: str | os.PathLike[str], timeout: float = 60) -> Path:
        """Write an .svg, .png or .pdf file, whole or not at all; the path."""
        suffix = suffix_of(path)
        if suffix == ".svg":
            return write_text(path, f'<?xml version="1.0" encoding="UTF-8"?>\n{self.svg()}\n')
        return write_bytes(path, raster(self.canvas, suffix[1:], timeout))

    def _repr_svg_(self) -> str:
        return self.svg()

    def __repr__(self) -> str:
        return f"<figure of {self.canvas.title}>"


def figure(trace: Trace, tensors: str | Iterable[str], theme: str = "light") -> Figure:
    """Heat maps of tensors, by their names or patterns (`*.weights`).

    theme: light, dark or print (without colours). Raises a `GraphError` for a name that is none, a
    tensor that was not kept, has no cells or is too large, and for an unknown theme.
    """
    if not isinstance(trace, Trace):
        raise GraphError(f"a figure shows a trace, got {typed(trace)}")
    return Figure(page(trace, tensors, known_theme(theme)))


def suffix_of(path: str | os.PathLike[str]) -> str:
    """.svg, .png or .pdf, or a `GraphError` that lists them."""
    return ending_of(path, SUFFIXES, "a figure")
