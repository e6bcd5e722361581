"""Test the tester: an op that explains itself wrongly is caught, in its own words and by the laws."""

from __future__ import annotations

from dataclasses import replace

import pytest
from why_laws import problems

from graphattn import Graph, run
from graphattn.core.cells import Cell, Literal, add
from graphattn.core.op import find

WRONG = {
    "forgets the divisor": lambda index, x, **_: Cell(0, index),
    "reads the neighbour": lambda index, x, **_: Cell(0, (index[0] ^ 1,)),
    "adds a little": lambda index, x, **_: add(find("scale").explain(index, x, **_), Literal("1e-6")),
    "a number of its own": lambda index, x, **_: Literal(7),
}


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_explanation_is_caught(fault):
    graph = Graph("g")
    x = graph.input("x", (2,))
    graph.apply(replace(find("scale"), explain=WRONG[fault]), x, sqrt=2, name="y")
    trace = run(graph, {"x": [1.5, -2.0]})
    found = list(problems(trace, "y", (0,)))
    assert any("recomputes to" in problem for problem in found)
    assert trace.why("y", 0).lines()[0].remarks[-1].startswith("recorded so, but its operands give")


def test_the_right_one_is_not():
    graph = Graph("g")
    graph.scale(graph.input("x", (2,)), sqrt=2, name="y")
    trace = run(graph, {"x": [1.5, -2.0]})
    assert list(problems(trace, "y", (0,))) == []
