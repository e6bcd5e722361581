"""An axis of size 0: what folds it keeps the other axes, and the export does the same."""

from __future__ import annotations

import math

import pytest

from graphattn import Graph, run
from graphattn.dumps.python_source import python_source

INF = math.inf


@pytest.mark.parametrize(
    ("op", "shape", "axis", "expected"),
    [
        ("reduce_sum", (0, 3), 0, [[0.0, 0.0, 0.0]]),
        ("reduce_max", (0, 3), 0, [[-INF, -INF, -INF]]),
        ("reduce_sum", (2, 0), 1, [[0.0], [0.0]]),
        ("reduce_sum", (3, 0), 0, [[]]),
        ("softmax", (0, 3), 0, []),
        ("softmax", (3, 0), 0, [[], [], []]),
        ("reduce_max", (2, 0, 1), 1, [[[-INF]], [[-INF]]]),
        ("reduce_sum", (0, 2, 1), 1, []),
    ],
)
def test_folding_an_axis_of_nothing(op, shape, axis, expected):
    g = Graph("nothing")
    y = g.apply(op, g.input("x", shape), axis=axis, name="y")
    g.output(y=y)
    x = [] if not shape[0] else [[] for _ in range(shape[0])]
    assert run(g, {"x": x})["y"] == expected
    namespace = {"math": math}
    exec(python_source(g), namespace)
    assert namespace["nothing"](x) == {"y": expected}
