"""Sums and maxima of no terms: an axis without cells went into them."""

import pytest

from graphattn import Graph, run
from graphattn.insight.why.why_json import recompute


def test_a_product_over_no_terms():
    g = Graph("z")
    g.output(m=g.matmul(g.input("a", (1, 0)), g.input("b", (0, 1)), name="m"))
    why = run(g, {"a": [[]], "b": []}).why("m", 0, 0)
    assert str(why).splitlines()[0].split("   ")[0] == "m[0, 0] = Σ of no terms = 0"
    assert recompute(why.data()) == 0.0


@pytest.mark.parametrize("level", ["op", "primitive"])
@pytest.mark.parametrize(
    "name, words",
    [
        ("reduce_sum", "Σ of no terms = 0"),
        ("reduce_max", "max of no terms = −∞"),
        ("reduce_mean", "= 0 / 0 = NaN"),
    ],
)
def test_a_reduction_of_no_cells(name, words, level):
    g = Graph("z")
    g.apply(name, g.input("x", (1, 0)), name="y")
    why = run(g, {"x": [[]]}, level=level).why("y", 0, 0, depth="all")
    assert words in str(why)
    assert repr(recompute(why.data())) == repr(run(g, {"x": [[]]})["y"][0][0])


@pytest.mark.parametrize("level", ["op", "primitive"])
def test_a_linear_layer_without_features(level):
    g = Graph("l")
    x, w, b = g.input("x", (2, 0)), g.input("w", (3, 0)), g.input("b", (3,))
    g.output(y=g.linear(x, w, b, name="y"), n=g.linear(x, w, name="n"))
    trace = run(g, {"x": [[], []], "w": [[], [], []], "b": [1, 2, 3]}, level=level)
    told = trace.why("y", 1, 2, depth="all")
    assert "of no terms" in str(told) and recompute(told.data()) == 3.0
    assert recompute(trace.why("n", 0, 0).data()) == 0.0
