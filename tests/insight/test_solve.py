"""A number that a variant leaves open is solved for from what was observed, and told in few digits."""

import math

import pytest

from graphattn import Graph, GraphError, diagnose, run
from graphattn.builtin import random_feeds
from graphattn.insight.variants.solve import forms, least

N, D = 3, 4


@pytest.mark.parametrize("cells, start", [
    (lambda v: [3 * v, v - 2, 0.5], 1.0),
    (lambda v: [math.exp(v), math.tanh(v), v * v], 0.0),
    (lambda v: [1 / math.sqrt(2 + v), v], 1e-5),
    (lambda v: [v * math.tanh(x / v) for x in (1.0, 5.0, -9.0)], 3.0),
])  # fmt: skip
def test_the_number_that_gives_all_cells_is_found(cells, start):
    for truth in (0.3, 2.0, 4.0):
        assert least(cells, cells(truth), start) == pytest.approx(truth, rel=1e-9)


def test_no_number_gives_what_is_off_the_curve():
    assert least(lambda v: [v, 2 * v, 3 * v], [1.0, -2.0, 3.0], 1.0) is None
    assert least(lambda v: [1.0, 2.0], [3.0, 4.0], 1.0) is None

    def refused(v):
        raise GraphError("no")

    assert least(refused, [1.0], 1.0) is None


def test_a_number_is_told_in_the_fewest_digits():
    numbers = (0.3, 1 / 0.7, math.sqrt(3), 1 / math.sqrt(12), -2.5)
    told = [next(told for value, told in forms(n) if math.isclose(value, n)) for n in numbers]
    assert told == ["0.3", "1/0.7", "√3", "1/√12", "-2.5"]
    assert not any(math.isclose(value, 0.123456789) for value, _ in forms(0.123456789))
    assert [list(forms(n))[:1] for n in (1e200, 1e-200)] == [[(1e200, "1e+200")], [(1e-200, "1e-200")]]


def built(bad):
    """A layer, or with one number other than it should be: where, and how that is said."""
    g = Graph("layer")
    x = g.input("x", (N, D), ("token", "feature"))
    w = [g.parameter(name, (D, D)) for name in ("w_1", "w_2")]
    norm = g.layernorm(x, eps="0.03" if bad == "eps" else "1e-05", name="norm")
    scale = {"multiply": 0.35} if bad == "scale" else {"divide": 1.4} if bad == "divide" else {"sqrt": D}
    weights = g.softmax(g.scale(g.matmul(norm, norm.T), **scale, name="scaled"), name="weights")
    hidden = g.linear(g.matmul(weights, norm), w[0], name="hidden")
    act = g.where(g.is_positive(hidden), hidden, 0.3 * hidden) if bad == "slope" else g.relu(hidden, name="act")
    branch = g.linear(act, w[1], g.parameter("b", (D,)), name="branch")
    g.output(
        y=g.add(0.9 * x if bad == "stream" else x, 0.15 * branch if bad == "branch" else branch, name="sum")
    )
    return g


@pytest.mark.slow
@pytest.mark.parametrize("bad, words", [
    ("eps", "with eps=0.03 instead of 1e-05 in the LayerNorm norm (eps=1e-05)"),
    ("scale", "with · 0.35 instead of ÷ √4 in the scale scaled"),
    ("divide", "with ÷ 1.4 instead of ÷ √4 in the scale scaled"),
    ("slope", "with 0.3 x for x below 0, a leaky ReLU, in the relu act"),
    ("stream", "with x times 0.9 in the add sum alone"),
    ("branch", "with the linear branch times 0.15"),
])  # fmt: skip
def test_a_number_that_no_list_has_is_named(bad, words):
    feeds = random_feeds(built(""))
    y = run(built(bad), feeds)["y"]
    found = diagnose(built(""), feeds, {"y": y}, pairs=False, budget=60)
    assert found.verdict == "mistake" and found.findings[0].phrase == words
    printed = [[round(cell, 6) for cell in row] for row in y]
    assert diagnose(built(""), feeds, {"y": printed}, pairs=False, budget=60).findings[0].phrase == words


def test_few_cells_tell_of_no_number():
    g = Graph("few")
    x = g.input("x", (N, D))
    g.output(y=g.reduce_mean(g.reduce_mean(g.relu(x, name="act")), axis=0, name="mean"))
    feeds = random_feeds(g)
    found = diagnose(g, feeds, {"y": [[1.2345678901234567 * run(g, feeds)["y"][0][0]]]}, pairs=False)
    assert found.verdict == "unexplained"


@pytest.mark.parametrize("number, verdict", [(0.05, "mistake"), (3.0, "unexplained"), (-1.0, "unexplained")])
def test_a_number_that_cannot_be_meant_is_not_told(number, verdict):
    """Labels are smoothed by a part of 1."""
    graph = Graph("loss")
    graph.output(y=graph.log_softmax(graph.input("x", (3, 4)), name="logs"))
    feeds = random_feeds(graph, 2)
    logs = run(graph, feeds)["y"]
    theirs = [[(1 - number) * y + number * sum(row) / 4 for y in row] for row in logs]
    found = diagnose(graph, feeds, {"y": theirs}, pairs=False)
    assert found.verdict == verdict
    assert not found.findings or "smoothed by 0.05" in found.findings[0].phrase
