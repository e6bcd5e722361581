"""What a sieve may not refuse: a variant that puts another tensor in the place of the result, or changes a
shape, or stands beside large numbers."""

from random import Random

import pytest

from graphattn import Graph, diagnose, run
from graphattn.core import nested


def drawn(graph, **scales):
    """Feeds; the cells of some times a scale."""
    random = Random(3)
    return {
        name: nested.build(spec.shape, lambda *_, name=name: scales.get(name, 1.0) * random.gauss(0.0, 1.0))
        for name, spec in graph.inputs.items()
    }


def attention(scaled=True, last=True, width=4):
    g = Graph("attention")
    x = g.input("x", (3, width))
    q, k, v = (g.matmul(x, g.parameter(f"w_{name}", (width, width)), name=name) for name in "qkv")
    scores = g.matmul(q, k.T, name="scores")
    weights = g.softmax(g.scale(scores, sqrt=width, name="scaled") if scaled else scores, name="weights")
    mixed = g.matmul(g.matmul(weights, v, name="mixed"), g.parameter("w_o", (width, width)), name="proj")
    g.output(out=g.relu(mixed, name="act") if last else mixed)
    return g


@pytest.mark.slow
def test_the_last_step_left_out_and_another_mistake():
    graph = attention()
    feeds = drawn(graph)
    theirs = run(attention(scaled=False, last=False), feeds)["out"]
    found = diagnose(graph, feeds, {"out": theirs})
    assert found.findings[0].phrase == "without the scale scaled (÷ √4) and without the relu act"


@pytest.mark.parametrize("function", ["sigmoid", "tanh"])
def test_a_slip_of_axis_that_changes_a_shape(function):
    def build(axis):
        g = Graph("gate")
        x = g.input("x", (4, 6))
        total = g.reduce_sum(x, axis=axis, name="total")
        g.output(out=g.add(x, getattr(g, function)(total, name="gate"), name="gated"))
        return g

    graph = build(-1)
    feeds = drawn(graph)
    found = diagnose(graph, feeds, {"out": run(build(0), feeds)["out"]}, pairs=False)
    assert found.findings[0].phrase == "with axis=-2 instead of -1 in the reduce_sum total"


def test_large_values_behind_a_mistake():
    graph = attention(last=False)
    feeds = drawn(graph, w_v=1e8)
    theirs = run(attention(scaled=False, last=False), feeds)["out"]
    found = diagnose(graph, feeds, {"out": theirs}, pairs=False)
    assert found.findings[0].phrase == "without the scale scaled (÷ √4)"
