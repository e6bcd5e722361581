"""An exercise read back from the text that a worksheet's spreadsheet keeps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphattn.dumps.graph_json import check_format, entry, graph_of, read_json
from graphattn.dumps.workbook.tables import Exercise, Table, tables

from ..core.errors import GraphError
from ..core.graph import Graph
from ..core.numbers import FLOAT, Numbers
from ..core.run import run
from ..core.trace import Trace
from .by_hand import BY_HAND, NEAR
from .contents import example
from .exercise import SHEET, TOP
from .limits import CELLS, FORMAT


@dataclass(frozen=True)
class Restored:
    """An exercise: its tables with what belongs in them. numbers: to compute with what a learner wrote."""

    title: str
    sheet: str
    tables: Sequence[Table]
    done: Mapping[str, tuple[int, ...]]
    numbers: Numbers


def restored(text: str, file: str) -> Restored:
    """The exercise in a text. Raises a `GraphError` where it is not one that a worksheet keeps."""
    data = read_json(text, file)
    check_format(data, FORMAT, file)
    graph = graph_of(entry(data, "graph", dict, file), file)
    _need_small(graph, file)
    by_hand = entry(data, "by_hand", bool, file)
    options: dict[str, Any] = {"numbers": BY_HAND} if by_hand else {}
    trace: Trace = run(
        graph, entry(data, "feeds", dict, file), level="op", labels=entry(data, "labels", dict, file),
        patch=entry(data, "patch", dict, file), allow_nonfinite=True, **options,
    )  # fmt: skip
    blank = {str(name) for name in entry(data, "blank", list, file)}
    found = [t for t in tables(trace, CELLS) if t.tensor.name in blank and t.operands is not None]
    if len(found) != len(blank) or not found:
        raise GraphError(f"{file} asks for tensors that its graph does not compute; expected a worksheet")
    given = {o.tensor.name for t in found for o in t.operands or () if o is not None} - blank
    exercise = Exercise(frozenset(given), frozenset(blank), SHEET, TOP)
    placed = tables(trace, CELLS, exercise)
    title = entry(data, "title", str, file)
    return Restored(title, SHEET, placed, example(placed), NEAR if by_hand else FLOAT)


def _need_small(graph: Graph, file: str) -> None:
    """Refuse, before anything is computed, what no worksheet is as large as."""
    size = sum(math.prod(spec.shape) for node in graph.nodes.values() for spec in node.outputs)
    if size > 20 * CELLS:
        raise GraphError(f"{file} holds a graph of {size:,} cells; expected a worksheet")
