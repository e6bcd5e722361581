"""jacobian: how each cell of one tensor changes with each cell of another, as a labelled matrix.

    J[i, j] = ∂ of[i] / ∂ wrt[j], cells in row-major order

It is the gradient graph, run once for each cell of `of` with a cotangent that is 1 there and 0 elsewhere.

>>> g = Graph("example")
>>> y = g.softmax(g.input("x", shape=(2,)), name="y")
>>> print(jacobian(g, of="y", wrt="x", feeds={"x": [0.0, 0.0]}))
∂y/∂x   x[0]   x[1]
y[0]    0.25  -0.25
y[1]   -0.25   0.25
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graphattn.core import nested
from graphattn.core.axes import Spec
from graphattn.core.elsewhere import meant
from graphattn.core.errors import GraphError
from graphattn.core.graph import Graph
from graphattn.core.run import run
from graphattn.core.trace import Trace
from graphattn.core.words import left, number, right, typed, width
from graphattn.passes.gradient import differentiate

LIMIT = 100_000
"""The most cells that a Jacobian may have."""


@dataclass(frozen=True)
class Jacobian:
    """A matrix of derivatives with the names of its rows (cells of `of`) and columns (cells of `wrt`)."""

    of: str
    wrt: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]

    def __getitem__(self, index: tuple[int, int]) -> float:
        return self.values[index[0]][index[1]]

    def __str__(self) -> str:
        head = [f"∂{self.of}/∂{self.wrt}", *self.columns]
        lines = [head, *([name, *map(number, row)] for name, row in zip(self.rows, self.values, strict=True))]
        places = [max(map(width, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join([left(line[0], places[0]), *map(right, line[1:], places[1:])]).rstrip() for line in lines
        )

    __repr__ = __str__


@meant
def jacobian(graph: Graph, of: str, wrt: str, feeds: Mapping[str, Any], **options: Any) -> Jacobian:
    """The derivatives of every cell of the tensor `of` with respect to every cell of the tensor `wrt`, at
    `feeds`. `options` are those of `run` (labels, level, numbers, …). Raises a `GraphError` for what
    `gradient` and `run` refuse, and for more than `LIMIT` derivatives."""
    for what, name in (("of", of), ("wrt", wrt)):
        if not isinstance(name, str):
            raise GraphError(f"{what} is {typed(name)}; expected the name of one tensor")
    forward = run(graph, feeds, **options)
    result, variable = forward.spec(of), forward.spec(wrt)
    if result.size * variable.size > LIMIT:
        raise GraphError(
            f"{of} has {result.size:,} cells and {wrt} {variable.size:,}: {result.size * variable.size:,}"
            f" derivatives; expected at most {LIMIT:,}"
        )
    backward = differentiate(forward.graph, of, [wrt])
    cotangent, output = backward.cotangents[of], backward.gradients[wrt]
    rows = []
    for place in range(result.size):
        one_hot = _folded([float(k == place) for k in range(result.size)], result.shape)
        trace = run(backward.graph, {**feeds, cotangent: one_hot}, targets=[output], **options)
        rows.append(tuple(map(trace.numbers.near, nested.flat(trace[output]))))
    return Jacobian(of, wrt, _cells(forward, of, result), _cells(forward, wrt, variable), tuple(rows))


def _folded(cells: list[float], shape: tuple[int, ...]) -> Any:
    for size in reversed(shape[1:]):
        cells = [cells[start : start + size] for start in range(0, len(cells), size)]  # type: ignore[misc]
    return cells if shape else cells[0]


def _cells(trace: Trace, name: str, spec: Spec) -> tuple[str, ...]:
    """weights[the, cat]: the cells of a tensor, with labels where the axes have them."""
    labels = [trace.labels.get(axis or "", ()) for axis in spec.axes]

    def told(index: tuple[int, ...]) -> str:
        shown = [
            names[i] if len(names) == size else str(i)
            for i, names, size in zip(index, labels, spec.shape, strict=True)
        ]
        return f"{name}[{', '.join(shown)}]" if shown else name

    return tuple(told(tuple(index)) for index in nested.indices(spec.shape))
