"""The graph behind a Value as a picture: every Value that it came from, with number and gradient.

    draw(value, path=None, names=None, limit=100, theme="light", timeout=30) -> Picture

The picture shows the numbers as they are when `draw` is called. Values come out as Graphviz lays
them out: what goes in on top, the result at the bottom, two arrows where a Value is used twice.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.errors import GraphError
from .value import Value, operands

if TYPE_CHECKING:
    from ..dumps.diagram import Diagram

LIMIT = 100
"""The most Values that are drawn, unless another limit is given."""

ARROWS = 6
"""The most arrows for each Value of the limit: more cannot be told apart."""

LOOKS = {
    "+": ("⊕", "add", "add"), "-": ("⊖", "subtract", "add"), "*": ("⊙", "multiply", "scale"),
    "/": ("÷", "divide", "scale"), "neg": ("−", "negate", "scale"), "**": ("ˣ", "power", "function"),
    "dot": ("⊗", "dot", "matmul"), "sum": ("Σ", "sum", "add"), "max": ("↑", "max", "function"),
}  # fmt: skip
"""Glyph, title and family (its colour) of the operations that are not functions of one Value."""


class Picture:
    """A drawn scalar graph: `dot` is its DOT text; a notebook shows it; `save` writes a file."""

    def __init__(self, diagram: Diagram, theme: str, timeout: float) -> None:
        from ..dumps.dot import drawing

        self.diagram = diagram
        self.timeout = timeout
        self._drawing = drawing(diagram, theme, legend=False)
        self._svg = ""

    @property
    def dot(self) -> str:
        """The DOT text."""
        return self._drawing.source

    @property
    def svg(self) -> str:
        """The picture as an SVG element, laid out on first use."""
        if not self._svg:
            from ..dumps.layout import laid_out
            from ..dumps.picture import finished

            raw = laid_out(self.dot, "svg", self.timeout).decode("utf-8")
            self._svg = finished(raw, self._drawing, self.diagram)
        return self._svg

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write an .svg, .png, .pdf or .dot file, whole or not at all; the path."""
        from ..dumps.layout import DPI, laid_out
        from ..dumps.picture import suffix_of
        from ..dumps.write import write_bytes, write_text

        suffix = suffix_of(path)
        if suffix == ".dot":
            return write_text(path, self.dot)
        if suffix == ".svg":
            return write_text(path, f'<?xml version="1.0" encoding="UTF-8"?>\n{self.svg}\n')
        dpi = DPI if suffix == ".png" else 0
        return write_bytes(path, laid_out(self.dot, suffix[1:], self.timeout, dpi))

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<picture of {len(self.diagram.boxes)} Values>"


def draw(
    value: Value,
    path: str | os.PathLike[str] | None = None,
    names: Mapping[str, Any] | None = None,
    limit: int = LIMIT,
    theme: str = "light",
    timeout: float = 30,
) -> Picture:
    """The graph behind a Value, written to `path` if given.

    names: what Values are called, each a Value or nested lists of them (`{"w": w, "x": rows}`
    calls them w, x[0][1], …). limit: the most Values to draw; where there are more, or so many
    arrows that they could not be told apart, a `GraphError` says how many there are.
    """
    from ..dumps.picture import suffix_of

    if not isinstance(value, Value):
        hint = ", such as one cell of it" if isinstance(value, list) else ""
        raise GraphError(f"draw got a {type(value).__name__}; expected one Value{hint}")
    if path is not None:
        suffix_of(path)
    picture = Picture(_diagram(_found(value, limit), _names(names or {})), theme, timeout)
    if path is not None:
        picture.save(path)
    return picture


def _found(value: Value, limit: int) -> dict[Value, list[Value]]:
    """Every Value behind `value`, itself first, with its operands."""
    found: dict[Value, list[Value]] = {}
    todo, arrows = [value], 0
    while todo:
        one = todo.pop()
        if one not in found:
            found[one] = operands(one)
            arrows += len(found[one])
            todo += reversed(found[one])
    for count, most, what in ((len(found), limit, "Values"), (arrows, limit * ARROWS, "arrows between them")):
        if count > most:
            raise GraphError(
                f"the graph behind this Value has {count:,} {what}, more than can be drawn; expected at most"
                f" {most:,} (limit={limit}), and the trace of a module draws as a graph of whole tensors"
            )
    return found


def _names(names: Mapping[str, Any]) -> dict[Value, str]:
    if not isinstance(names, Mapping):
        raise GraphError(f"names is a {type(names).__name__}; expected a dict of Values or lists of them")
    return {value: name for outer, thing in names.items() for value, name in _named(str(outer), thing)}


def _named(name: str, thing: Any) -> Iterator[tuple[Value, str]]:
    todo = [(name, thing)]
    while todo:
        name, thing = todo.pop()
        if isinstance(thing, Value):
            yield thing, name
        elif isinstance(thing, (list, tuple)):
            todo += [(f"{name}[{i}]", item) for i, item in enumerate(thing)]


def _diagram(found: Mapping[Value, list[Value]], names: Mapping[Value, str]) -> Diagram:
    from ..dumps import wording
    from ..dumps.diagram import Arrow, Box, Diagram

    picture = Diagram("value", "")
    ids = {value: f"n{place}" for place, value in enumerate(reversed(list(found)))}
    for value, ident in ids.items():
        leaf = not value._op
        own = wording.elide(wording.clean(value._op), 30)
        glyph, operation, family = ("", "", "source") if leaf else LOOKS.get(value._op, ("ƒ", own, "function"))
        name = wording.elide(wording.clean(names.get(value, "")), 30)
        numbers = (f"value {_digits(value.data)}", f"gradient {_digits(value.grad)}")
        picture.boxes[ident] = Box(
            ident, ident, "end" if leaf else "op", family, glyph,
            tuple(filter(None, (name, operation))) or ("leaf",), (), numbers,
            tooltip=" = ".join(filter(None, (name, operation, repr(value.data)))),
        )  # fmt: skip
    for value, sources in found.items():
        for source in sources:
            picture.arrows.append(Arrow(ids[source], ids[value]))
    return picture


def _digits(number: float) -> str:
    """Five digits, without a minus before 0."""
    return f"{number + 0.0:.5g}"
