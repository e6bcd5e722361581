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
names), then `boxes`, `arrows` and `rows`, which fill the picture in that order.

Texts are clean and short here (`wording.py`); `Box.texts` lists all that the box must show.
"""

from __future__ import annotations

from collections.abc import Iterable

from graphattn.core.graph import Graph
from graphattn.dumps import wording
from graphattn.dumps.alike import Fold
from graphattn.dumps.diagram.arrows import Arrows
from graphattn.dumps.diagram.boxes import Boxes, drop_empty_frames, frames
from graphattn.dumps.diagram.parts import Arrow, Box, Cell, Diagram, Frame
from graphattn.dumps.diagram.roles import roles_of
from graphattn.dumps.diagram.rows import Rows
from graphattn.dumps.diagram.symbols import GAP, Symbols
from graphattn.dumps.diagram.uses import Uses

__all__ = ["GAP", "Arrow", "Box", "Cell", "Diagram", "Frame", "diagram"]


def diagram(graph: Graph, folds: Iterable[Fold] = ()) -> Diagram:
    """The picture of a graph, in which each fold is one box."""
    uses = Uses(graph, list(folds))
    roles = roles_of(graph, uses.of)
    picture = Diagram(graph.name, wording.clean(graph.title), frames=frames(graph, roles))
    boxes = Boxes(graph, picture, uses, Symbols(graph), roles)
    boxes.all()
    arrows = Arrows(boxes)
    arrows.between_nodes()
    arrows.to_results()
    arrows.label_once()
    Rows(boxes).all()
    drop_empty_frames(graph, picture)
    return picture
