"""What a mask hides gets a gradient of exactly 0, and whatever stands there, nothing of it comes through."""

import copy
import math
import random

import pytest

from graphattn import Graph, run
from graphattn.builtin import specimen
from graphattn.core import nested
from graphattn.passes.gradient import differentiate, value_and_grad

WILD = (math.inf, -math.inf, math.nan, 1e308)


def normal(seed, *shape):
    dice = random.Random(seed)
    return nested.build(shape, lambda *_: dice.gauss(0.0, 1.0))


def of_attention(level="op", n=3, n_k=4, wild=0.5, key=2, **attributes):
    """Gradients of attention from which one key is hidden, with `wild` in its key and value."""
    graph = Graph("hiding")
    q, k, v = (graph.input(name, (size, 2)) for name, size in (("q", n), ("k", n_k), ("v", n_k)))
    mask = graph.input("mask", (n, n_k), kind="bool")
    out, weights = graph.attention(q, k, v, mask, **attributes)
    graph.output(out=out, weights=weights)
    feeds = {"q": normal(1, n, 2), "k": normal(2, n_k, 2), "v": normal(3, n_k, 2)}
    feeds["mask"] = nested.build((n, n_k), lambda i, j: j != key)
    feeds["k"][key], feeds["v"][key] = [wild, 0.25], [wild, wild]
    feeds["d_out"] = normal(4, n, 2)
    _, found = value_and_grad(graph.at(level), feeds, "out", allow_nonfinite=True)
    return found


@pytest.mark.parametrize("level", ["op", "primitive"])
@pytest.mark.parametrize("wild", WILD)
def test_nothing_behind_a_mask_leaks(wild, level):
    harmless, found = of_attention(level), of_attention(level, wild=wild)
    assert found["k"][2] == found["v"][2] == [0.0, 0.0]
    assert repr(found) == repr(harmless)


def test_the_scores_of_hidden_cells():
    made = specimen("attention", n=4, d=3, causal=True)
    found = differentiate(made.graph, "out")
    trace = run(found.graph, {**made.feeds, "d_out": normal(5, 4, 3)})
    for name in ("d_masked", "d_scaled", "d_scores"):
        above = [trace[name][i][j] for i in range(4) for j in range(i + 1, 4)]
        assert above == [0.0] * 6
    for row in trace["d_masked"]:
        assert abs(math.fsum(row)) < 1e-15  # a softmax does not see what is added to a whole row
    hidden = [[j > i for j in range(4)] for i in range(4)]
    assert trace.masked("d_masked") == hidden  # shown as hidden, like the weights


def test_a_query_that_sees_nothing():
    graph = Graph("nothing")
    q, k, v = (graph.input(name, (2, 2)) for name in "qkv")
    out, _ = graph.attention(q, k, v, graph.input("mask", (2, 2), kind="bool"))
    graph.output(out=out)
    feeds = {name: normal(i, 2, 2) for i, name in enumerate("qkv")}
    feeds |= {"mask": [[False, False], [True, True]], "d_out": normal(4, 2, 2)}
    _, found = value_and_grad(graph, feeds, "out")
    assert found["q"][0] == [0.0, 0.0] != found["q"][1]
    assert all(map(math.isfinite, nested.flat(list(found.values()))))


def test_a_float_mask_has_a_gradient_where_it_lets_through():
    graph = Graph("biased")
    scores, mask = graph.input("scores", (2, 3)), graph.input("mask", (3,))
    graph.output(weights=graph.softmax(graph.mask(scores, mask)))
    feeds = {"scores": normal(1, 2, 3), "mask": [0.5, -math.inf, 0.25], "d_weights": normal(2, 2, 3)}
    _, found = value_and_grad(graph, feeds, "weights", allow_nonfinite=True)
    columns = [found["scores"][0][j] + found["scores"][1][j] for j in range(3)]
    assert found["mask"] == columns and columns[1] == 0.0 != columns[0]


@pytest.mark.parametrize("wild", WILD[:3])
def test_a_token_that_no_other_sees(wild):
    """Causal: the last token is seen by itself alone. Where nothing depends on its row, it may hold
    anything, and weights get the gradients that they have without it."""
    made = specimen("block", n=4, d=4, causal=True)
    feeds = {**copy.deepcopy(made.feeds), "d_Y": [*normal(6, 3, 4), [0.0] * 4]}
    feeds["X"][3] = [wild, 0.5, -1.0, wild]
    value, found = value_and_grad(made.graph, feeds, "Y", allow_nonfinite=True)
    assert not all(map(math.isfinite, value[3]))
    assert found["X"][3] == [0.0] * 4
    shorter = specimen("block", n=3, d=4, causal=True).graph
    less = {**feeds, "X": feeds["X"][:3], "d_Y": feeds["d_Y"][:3]}
    _, without = value_and_grad(shorter, less, "Y")
    for name, want in without.items():
        pairs = list(zip(nested.flat(found[name][:3] if name == "X" else found[name]), nested.flat(want)))
        assert all(abs(a - b) <= 1e-14 * (1 + abs(b)) for a, b in pairs), name


def test_a_key_bias_has_no_gradient():
    graph = Graph("biased")
    x = graph.input("x", (4, 6))
    w = {f"w_{p}": graph.parameter(f"w_{p}", (6, 6)) for p in "qkvo"}
    b = {f"b_{p}": graph.parameter(f"b_{p}", (6,)) for p in "qkvo"}
    graph.output(y=graph.multi_head(x, x, x, **w, **b, heads=2, causal=True))
    feeds = {name: normal(i, *spec.shape) for i, (name, spec) in enumerate(graph.inputs.items())}
    _, found = value_and_grad(graph, {**feeds, "d_y": normal(20, 4, 6)}, "y")
    assert max(map(abs, found["b_k"])) < 1e-14
    assert all(max(map(abs, found[f"b_{p}"])) > 0.1 for p in "qvo")
