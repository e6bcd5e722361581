"""A trace as a spreadsheet in which every computed cell is a live formula: change one, and all below follows.

    workbook(trace) -> bytes of an .xlsx file

Every tensor is a labelled table. What was fed, or stands in the graph (masks, positions), are plain cells
to be edited; every other cell is a formula, translated from the op's own cell expression (`explain`) by one
walker (`formulas`): no op has a formula of its own here. Parts that an expression names (max, Σ exp, mean)
and that several cells share become helper cells beside their row. A hidden cell holds −1E+306, the name
`hidden`, which survives arithmetic and shows as a dot.

    Contents     every tensor with a link to its table, and the picture of the graph
    a sheet for each part of the graph, or one sheet for a small graph

Each formula carries the value that the run recorded, for viewers that compute nothing. Two writes of one
trace give the same bytes. Raises a `GraphError` above 100,000 formulas, for +∞ and NaN, and for a trace
that shows a composite as one node. Numbers keep 16 digits.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from graphattn.core import nested
from graphattn.core.errors import GraphError

if TYPE_CHECKING:
    from graphattn.core.graph import Graph
    from graphattn.core.trace import Trace

LARGEST = int(sys.float_info.max)
CELLS = 100_000
"""The most formulas that one workbook holds."""


def check(graph: Graph) -> None:
    """Refuse a graph whose runs no workbook holds, before one is made: a `GraphError`."""
    from graphattn.dumps.workbook.tables import check_nodes

    _need_writer()
    check_nodes(graph.nodes.values(), CELLS)


def _need_writer() -> None:
    try:
        import xlsxwriter  # noqa: F401
    except ImportError:
        raise GraphError(
            "workbooks are written by XlsxWriter; expected `pip install 'graphattn[workbook]'`"
        ) from None


def workbook(trace: Trace) -> bytes:
    """The .xlsx file of a trace (see the module's docstring)."""
    _need_writer()
    for name in trace.names:
        if trace.spec(name).kind == "int" and any(abs(cell) > LARGEST for cell in nested.flat(trace[name])):
            raise GraphError(
                f"{name} holds an integer that no double holds; expected smaller ones in a workbook"
            )
    from graphattn.dumps.workbook.sheets import written
    from graphattn.dumps.workbook.tables import tables

    return written(trace, tables(trace, CELLS))
