"""An axis of size 0: what folds it keeps the other axes, and the export does the same."""

from __future__ import annotations

import math
from contextlib import suppress

import pytest
from op_laws import kind_of

import graphattn.ops  # noqa: F401
from graphattn import Graph, GraphError, run
from graphattn.core import nested
from graphattn.core.interpreter import padded
from graphattn.core.op import OPS
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


@pytest.mark.parametrize("lead", [(), (2,), (0,)], ids=str)
@pytest.mark.parametrize("op", [op for op in OPS.values() if op.mistakes or op.guises], ids=lambda op: op.name)
def test_what_is_declared_takes_axes_of_nothing(op, lead):
    """Or refuses, in a sentence: it is built for every call of its op."""
    for sample in op.samples:
        shapes = [None if x is None else nested.shape_of(x) for x in sample.operands]
        for size in {n for shape in shapes if shape for n in shape}:
            g = Graph("nothing")
            operands = [
                shape and g.input(
                    f"x{slot}", lead + tuple(n if n != size else 0 for n in shape), kind=kind_of(value)
                )
                for slot, (value, shape) in enumerate(zip(sample.operands, shapes, strict=True))
            ]  # fmt: skip
            with suppress(GraphError):  # such a call is refused
                g.apply(op, *operands, **sample.attributes, name="y")
                for declared in (*op.mistakes, *op.guises):
                    with suppress(GraphError):
                        declared.first(g, *padded(op, operands), **g.nodes["y"].attributes)
