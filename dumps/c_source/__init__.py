"""A graph as one file of plain C99 that needs only the standard library: a reference to step through in gdb.

    c_source(graph, feeds) -> text

Each kind of call is a function of loops (`softmax_0(const double *x, double *y)`), translated from the op's own
cell expression; `NAME_run` calls them in order on a struct that has every tensor by name, so that after it each
intermediate can be looked at; `NAME_tensors[]` lists them for programs. With `feeds`, and
`-DGRAPHATTN_MAIN`, the file is a program that runs them and prints every tensor with 17 digits.

    struct block t;
    block_constants(&t);              masks, positions: what is part of the graph
    memcpy(t.X, my_numbers, sizeof t.X);
    block_run(&t);
    t.head0_weights[0]

Sums are correctly rounded, dot products as this Python computes them (`math.sumprod` from 3.12 on, left to
right before); exp and its like are the C library's. Do not compile with -ffast-math. Raises a `GraphError`
where an op does not say how its cells come about.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphattn.core.graph import Graph
from graphattn.dumps.c_source.file import File


def c_source(graph: Graph, feeds: Mapping[str, Any] | None = None, level: str = "op") -> str:
    """The text of the C file (see the module's docstring). level: "op" or "primitive"."""
    return File(graph.at(level), feeds).text()
