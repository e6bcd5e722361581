"""How one number came about: the formula, the numbers put in, and the cells they came from.

>>> from graphattn import Graph, run
>>> g = Graph("example")
>>> x = g.input("x", shape=(2, 2))
>>> y = g.matmul(x, x, name="y")
>>> print(run(g, {"x": [[1.0, 2.0], [3.0, 4.0]]}).why("y", 0, 1))
y[0, 1] = Σ x[0, k] · x[k, 1] = (1)(2) + (2)(4) = 10
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from graphattn.core.errors import GraphError
from graphattn.insight.why.derivation import Derivation, Key
from graphattn.insight.why.index import read_index, show_index, split_cell

if TYPE_CHECKING:
    from graphattn.core.trace import Trace
    from graphattn.insight.why.tree import Line

WIDTH = 80
DIGITS = 6
CELLS = 12
"""How many cells are written out at most, where nothing else is asked for."""
SCREENFUL = 60
"""Fewer are, where their text would be of more lines than this."""


@dataclass(frozen=True, eq=False)
class Why:
    """How one cell came about. `print` shows it; `text`, `markdown` and `json` write it."""

    derivation: Derivation
    tensor: str
    key: Key
    depth: float

    @property
    def index(self) -> tuple[int, ...]:
        return self.key.index

    @property
    def value(self) -> Any:
        """The recorded number."""
        return self.derivation.value(self.key)

    @property
    def cell(self) -> str:
        """The cell with its labels: `head0.weights[sat, cat]`."""
        return self.tensor + show_index(self.index, self.derivation.labels(self.derivation.spec(self.key)))

    def lines(self, digits: int = DIGITS, parts: bool = True, cells: int = CELLS) -> list[Line]:
        """What there is to say, before it is laid out."""
        from graphattn.insight.why.tree import lines

        if isinstance(cells, bool) or not isinstance(cells, int) or cells < 1:
            raise GraphError(f"cells is {cells!r}; expected an int of 1 or more")
        return list(lines(self.derivation, self.key, self.depth, _digits(digits), parts, self.tensor, cells))

    def text(
        self, width: int = WIDTH, digits: int = DIGITS, parts: bool = True, cells: int | None = None
    ) -> str:
        """Lines of text of at most `width` places, numbers rounded to so many decimals. Without
        `parts`, the formulas of named parts (max, mean, Σ exp) are left out. The nearest `cells` are
        written out; where nothing is said, a screenful."""
        from graphattn.insight.why.layout import laid_out

        if isinstance(width, bool) or not isinstance(width, int) or width < 40:
            raise GraphError(f"width is {width!r}; expected a whole number of 40 or more")
        lines = self.lines(digits, parts, CELLS if cells is None else cells)
        text = laid_out(lines, width)
        if cells is None and (count := text.count("\n") + 1) > SCREENFUL:
            written = sum(len(line.segments) > 1 and not line.part for line in lines)
            text = laid_out(self.lines(digits, parts, written * SCREENFUL // count or 1), width)
        return text

    def markdown(self, digits: int = DIGITS, parts: bool = True, cells: int = CELLS) -> str:
        """The same as a nested list."""
        from graphattn.insight.why.layout import markdown

        return markdown(self.lines(digits, parts, cells))

    def data(self, limit: int | None = None) -> dict[str, Any]:
        """All cells that it goes back to with exact numbers, as JSON holds them; see `why_json`."""
        from graphattn.insight.why.why_json import LIMIT, data

        return data(self.derivation, self.key, self.tensor, self.depth, LIMIT if limit is None else limit)

    def json(self, limit: int | None = None) -> str:
        """`data` as JSON text."""
        from graphattn.insight.why.why_json import written

        return written(self.data(limit))

    def __str__(self) -> str:
        return self.text()

    def _repr_markdown_(self) -> str:
        return self.markdown()

    def _repr_html_(self) -> str:
        from graphattn.dumps.notebook import outline_html

        return outline_html(self.cell, (row for line in self.lines() for row in line.rows))

    def __repr__(self) -> str:
        return f"<why {self.cell}>"


def _digits(digits: Any) -> int:
    if isinstance(digits, bool) or not isinstance(digits, int) or not 0 <= digits <= 17:
        raise GraphError(f"digits is {digits!r}; expected an int from 0 to 17")
    return digits


def why(trace: Trace, tensor: str, *index: Any, depth: int | str = 1) -> Why:
    """The explanation of one cell of a trace.

    tensor: any name that the trace knows, also of a tensor inside a composite that the trace shows
    as one node, or a cell as it is shown, `weights[sat, 0]`. index: a number or a label for each
    axis. depth: how many cells deep, from the cell itself (1) to "all", the inputs. Cells that are only
    copied do not count.

    Raises a `GraphError` for an unknown tensor, an index that does not fit, or a tensor that was
    not kept.
    """
    deep = read_depth(depth)
    tensor, at = split_cell(tensor, index)
    derivation = Derivation(trace)
    frame, place = derivation.find(tensor)
    spec = frame.spec(place)
    cell = read_index(at, spec, derivation.labels(spec), tensor)
    return Why(derivation, frame.tensor_name(place), derivation.key(frame, place, cell), depth=deep)


def read_depth(depth: Any) -> float:
    """How many levels: a whole number from 1, or infinity for "all"."""
    if depth == "all" and isinstance(depth, str):
        return math.inf
    if isinstance(depth, bool) or not isinstance(depth, int) or depth < 1:
        raise GraphError(f"depth is {depth!r}; expected a whole number of 1 or more, or 'all'")
    return depth
