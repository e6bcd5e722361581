"""What a patch changes, by numbers that are known by hand."""

from __future__ import annotations

import math

import pytest

from graphattn import Graph, run
from graphattn.core.errors import GraphError
from graphattn.insight.changes import changes


def halves():
    """x (2 × 2), its double, the transpose of that, and its row sums; beside it y, which nobody touches."""
    graph = Graph("halves")
    x = graph.input("x", (2, 2), ("token", "feature"))
    doubled = graph.multiply(x, graph.constant(2.0, name="two"), name="doubled")
    turned = graph.transpose(doubled, name="turned")
    graph.output(total=graph.reduce_sum(turned, axis=-1, name="sums"), still=graph.negate(x, name="minus"))
    return graph


X = [[1.0, 2.0], [3.0, 4.0]]


def test_how_far_each_tensor_moves():
    graph = halves()
    before = run(graph, {"x": X}, labels={"token": ["a", "b"]})
    after = run(graph, {"x": X}, labels={"token": ["a", "b"]}, patch={"doubled": [[2.0, 4.0], [6.0, 0.0]]})
    found = changes(before, after)
    doubled = found.find("doubled")
    assert (doubled.absolute, doubled.index, doubled.at, doubled.lost) == (8.0, (1, 1), "[b, 1]", 0)
    assert doubled.relative == pytest.approx(8 / math.sqrt(4 + 16 + 36 + 64))
    assert found.find("total") is found.find("sums") and found.find("total").relative == pytest.approx(
        8 / math.hypot(8, 12)
    )
    assert found.find("turned").moved and not found.find("x").changed
    text = str(found)
    assert text.startswith(
        "with doubled replaced: the largest change of total is 8 at [1, 0] (relative 0.555); still: nothing"
    )
    listed = [line.split()[0] for line in text.split("\n\n")[2].splitlines()]
    assert listed == ["tensor", "doubled", "sums", "1"]  # neither turned nor what stays as it is
    assert text.splitlines()[-1] == "1 more tensor only moves these numbers; 3 tensors stay as they are"
    assert "turned" in found.text(everything=True) and "sums (total)" in text


def test_what_is_hidden_or_infinite_is_counted_apart():
    graph = Graph("masked")
    x = graph.input("x", (2, 2), ("token", "token"))
    masked = graph.mask(x, graph.causal_mask(2, name="visible"), name="masked")
    graph.output(weights=graph.softmax(masked, name="weights"))
    before = run(graph, {"x": X})
    same = changes(before, run(graph, {"x": [[1.0, 9.0], [3.0, 4.0]]}))
    assert same.find("x").absolute == 7.0
    assert not same.find("masked").changed and not same.find("weights").changed
    assert "weights: nothing changes there" in str(same)
    seen = changes(before, run(graph, {"x": X}, patch={"masked": [[1.0, 2.0], [3.0, 5.0]]})).find("masked")
    assert (seen.absolute, seen.index, seen.lost) == (1.0, (1, 1), 1)  # −∞ became 2: no number of its own
    even = [[1.0, 0.0], [0.5, 0.5]]
    weights = changes(before, run(graph, {"x": X}, patch={"weights": even})).find("weights")
    assert weights.lost == 0  # 0 where 0 was, though no mask says so any more


def test_from_nothing_and_beyond_all_doubles():
    graph = Graph("zero")
    graph.output(y=graph.negate(graph.input("x", (2,)), name="y"))
    before = run(graph, {"x": [0.0, 0.0]})
    far = changes(before, run(graph, {"x": [0.0, -1e308]})).find("y")
    assert (far.absolute, far.relative) == (1e308, math.inf)
    over = changes(run(graph, {"x": [1e308, 0.0]}), run(graph, {"x": [-1e308, 0.0]})).find("y")
    assert over.absolute == math.inf and over.index == (0,)


def test_two_graphs_are_refused():
    graph, other = halves(), Graph("other")
    other.output(y=other.negate(other.input("x", (2, 2))))
    with pytest.raises(GraphError, match="expected two runs of one"):
        changes(run(graph, {"x": X}), run(other, {"x": X}))
