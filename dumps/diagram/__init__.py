"""What a picture of a graph shows, before anything is written in a language of pictures.

`diagram` turns a graph into `Box`es, `Arrow`s and `Frame`s (one per scope), and `rows` of boxes
that belong side by side. It asks the `Op` records and never names an op:

- `drawn == "inside"` (weights, transposes): part of the box that uses it, where just one does;
- `drawn == "beside"` (constants): a copy beside each box that uses it;
- several outputs that only move numbers: a bar with one cell per piece;
- `roles` of a composite (Q, K, V, weights): its operands and outputs are coloured, back through
  ops that only move numbers to the op that computes them;
- an addition of a tensor and of something computed from it: the residual arrow.

The parts: `parts` (what a picture is made of), `uses` and `roles` (read from the graph), `symbols` (short
names), `values` (a run's numbers), then `boxes`, `arrows` and `rows`, which fill the picture in that order.

Texts are clean and short here (`wording.py`); `Box.texts` lists all that the box must show.
"""

from __future__ import annotations

from collections.abc import Iterable

from graphattn.core.graph import Graph
from graphattn.core.trace import Trace
from graphattn.dumps import wording
from graphattn.dumps.alike import Fold
from graphattn.dumps.diagram.arrows import Arrows
from graphattn.dumps.diagram.boxes import Boxes, drop_empty_frames, frames
from graphattn.dumps.diagram.parts import Arrow, Box, Cell, Diagram, Frame
from graphattn.dumps.diagram.roles import roles_of
from graphattn.dumps.diagram.rows import Rows
from graphattn.dumps.diagram.symbols import GAP, Symbols
from graphattn.dumps.diagram.uses import Uses
from graphattn.dumps.diagram.values import NUMBERS, PLAIN, Grid, Values

__all__ = ["GAP", "Arrow", "Box", "Cell", "Diagram", "Frame", "Grid", "diagram"]


def diagram(graph: Graph, folds: Iterable[Fold] = (), trace: Trace | None = None) -> Diagram:
    """The picture of a graph, in which each fold is one box; with a trace, the numbers are in the boxes.

    Where these are more cells than a picture may have, large maps are cut to their corners; boxes for
    which there is still no room go without (`Diagram.dropped`).
    """
    folds = list(folds)
    if trace is None:
        return _drawn(graph, folds, None)
    for most in (PLAIN, PLAIN // 2, NUMBERS):
        picture = _drawn(graph, folds, Values(graph, trace, most))
        if not picture.dropped:
            break
    return picture


def _drawn(graph: Graph, folds: list[Fold], values: Values | None) -> Diagram:
    uses = Uses(graph, folds)
    roles = roles_of(graph, uses.of)
    picture = Diagram(graph.name, wording.clean(graph.title), frames=frames(graph, roles))
    boxes = Boxes(graph, picture, uses, Symbols(graph), roles, values)
    boxes.all()
    arrows = Arrows(boxes)
    arrows.between_nodes()
    arrows.to_results()
    arrows.label_once()
    arrows.settle()
    Rows(boxes).all()
    arrows.label_bars()
    drop_empty_frames(graph, picture)
    picture.dropped = values.dropped if values else 0
    return picture
