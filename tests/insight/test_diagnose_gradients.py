"""Which gradients were observed: of what, and by which cotangents."""

import math
from operator import mul

import pytest
from op_laws import mapped

from graphattn import Graph, diagnose, run
from graphattn.builtin import random_feeds
from graphattn.core.errors import GraphError
from graphattn.insight.compare import compare
from graphattn.passes.cotangents import spelled
from graphattn.passes.gradient import gradient
from graphattn.testing import assert_close

X, W = [[1.0, 2.0], [3.0, 4.0]], [[0.5, -0.25]]
SEED = [[1.0], [-3.0]]


@pytest.fixture
def fit():
    """A loss of one cell, and what it is computed from."""
    g = Graph("fit")
    x, w = g.input("x", (2, 2)), g.parameter("w", (1, 2))
    guess = g.matmul(x, w.T, name="guess")
    error = g.subtract(guess, g.constant([[1.0], [-1.0]], name="wanted"), name="error")
    g.output(guess=guess, loss=g.reduce_sum(g.reduce_sum(error * error, name="rows"), axis=0, name="loss"))
    return g


@pytest.fixture
def line():
    """A result of two cells."""
    g = Graph("line")
    g.output(y=g.matmul(g.input("x", (2, 2)), g.parameter("w", (1, 2)).T, name="guess"))
    return g


@pytest.mark.parametrize("given, right", [({}, [[7.0, 8.0]]), ({"d_loss": [[2.0]]}, [[14.0, 16.0]])])
@pytest.mark.parametrize("seen", [False, True])
def test_the_cotangent_of_one_cell_is_1_unless_it_is_known(fit, given, right, seen):
    feeds, more = {"x": X, "w": W, **({} if seen else given)}, given if seen else {}
    assert diagnose(fit, feeds, {"d_w": right, **more}).verdict == "right"
    half = [[cell / 2 for cell in row] for row in right]
    found = diagnose(fit, feeds, {"d_w": half, **more}, pairs=False)
    assert found.verdict == "mistake" and "overwritten by the last" in found.findings[0].sentence


def test_what_is_observed_of_a_result_with_a_loss_behind_it_is_its_gradient(fit):
    trace = run(gradient(fit, of="loss", wrt=["guess", "w"]), {"x": X, "w": W})
    seen = {"d_guess": trace["d_guess"], "d_w": trace["d_w"]}
    assert diagnose(fit, {"x": X, "w": W}, seen).verdict == "right"
    assert diagnose(fit, {"x": X, "w": W}, seen | {"d_guess": SEED}, pairs=False, budget=0.1).verdict != "right"


def test_a_cotangent_that_was_observed_is_fed(line):
    feeds = {"x": X, "w": W}
    right = run(gradient(line, of="y", wrt="w"), {**feeds, "d_y": SEED})["d_w"]
    assert diagnose(line, feeds, {"d_y": SEED, "d_w": right}).verdict == "right"
    assert diagnose(line, None, {**feeds, "d_y": SEED, "d_w": right}).verdict == "right"
    wrong = {"d_y": SEED, "d_w": [[-cell for cell in right[0]]]}
    assert diagnose(line, feeds, wrong, pairs=False).verdict == "mistake"


@pytest.mark.parametrize("called", ["d_y", "d_guess", "d_out", "upstream"])
def test_a_cotangent_goes_by_the_tensor_that_is_the_result_too(line, called):
    feeds, names = {"x": X, "w": W}, {"d_y": called} if called == "upstream" else {}
    right = run(gradient(line, of="y", wrt="w"), {**feeds, "d_y": SEED})["d_w"]
    seen = {called: SEED, "grad": right}
    found = diagnose(line, feeds, seen, names={**names, "d_w": "grad"})
    assert (found.verdict, found.observed) == ("right", ["d_w"])
    if not names:
        assert diagnose(line, {**feeds, called: SEED}, {"d_w": right}).verdict == "right"


@pytest.mark.parametrize("seed", ["dY", "dout", "y.grad", "grad_output"])
@pytest.mark.parametrize("gradient_of_w", ["dW", "W.grad", "grad_w", "w_grad", "dL/dW"])
def test_gradients_go_by_the_names_that_people_give_them(line, seed, gradient_of_w):
    right = run(gradient(line, of="y", wrt="w"), {"x": X, "w": W, "d_y": SEED})["d_w"]
    found = diagnose(line, {"x": X, "w": W}, {seed: SEED, gradient_of_w: right})
    assert (found.verdict, found.observed) == ("right", ["d_w"])
    doubled = mapped(lambda cell: 2 * cell, right)
    found = diagnose(line, {"x": X, "w": W}, {seed: SEED, gradient_of_w: doubled}, pairs=False)
    assert "of two calls added up" in found.findings[0].phrase


def test_a_name_that_two_tensors_could_have_is_none_of_a_gradient():
    g = Graph("two")
    a, b = g.input("w_q", (2,)), g.input("wq", (2,))
    g.output(y=a + b)
    assert [spelled(g, name) for name in ("dWq", "d_w_q", "d_wq", "depth", "y", "w_q.grad")] == [
        None, "d_w_q", "d_wq", None, None, "d_w_q",
    ]  # fmt: skip


def test_a_tensor_of_the_shape_of_the_result_may_be_its_cotangent(line):
    feeds = {"x": X, "w": W, "d_y": SEED}
    right = run(gradient(line, of="y", wrt="w"), feeds)["d_w"]
    found = diagnose(line, feeds, {"seed": [[2.0], [-2.0]], "d_w": right})
    assert (found.verdict, found.observed) == ("right", ["d_w"])
    assert found.notes == ["not looked at, for the graph has no such tensor: seed"]


def test_a_cotangent_that_nobody_knows_is_asked_for(line):
    with pytest.raises(GraphError, match="no result has one cell or a known cotangent; expected d_y too, in"):
        diagnose(line, {"x": X, "w": W}, {"d_w": W})


def _slope(kind, v):
    """The derivative of an activation at v."""
    s, bell = 1 / (1 + math.exp(-v)), math.exp(-v * v / 2) / math.sqrt(2 * math.pi)
    if kind == "quick":
        steep = 1 / (1 + math.exp(-1.702 * v))
        return steep + 1.702 * v * steep * (1 - steep)
    if kind == "tanh":
        factor = math.sqrt(2 / math.pi)
        t = math.tanh(factor * (v + 0.044715 * v**3))
        return 0.5 * (1 + t) + 0.5 * v * (1 - t * t) * factor * (1 + 3 * 0.044715 * v * v)
    exact = 0.5 * (1 + math.erf(v / math.sqrt(2))) + v * bell
    return {"exact": exact, "relu": float(v > 0), "sigmoid": s * (1 - s)}[kind]


@pytest.mark.slow
@pytest.mark.parametrize("activation, kind, words", [
    ("gelu", "quick", "x · sigmoid(1.702 x)"), ("gelu", "tanh", "approximate=tanh"), ("gelu", "relu", "relu"),
    ("gelu_tanh", "exact", "approximate=none"), ("silu", "sigmoid", "sigmoid"),
])  # fmt: skip
def test_the_derivative_of_another_form_is_named(activation, kind, words):
    g = Graph("layer")
    x, w = g.input("x", (3, 2)), g.parameter("w", (2, 2))
    hidden = g.linear(x, w, name="hidden")
    more = {"approximate": "tanh"} if activation == "gelu_tanh" else {}
    g.output(y=g.apply(activation.removesuffix("_tanh"), hidden, **more, name="act"))
    feeds = {"x": [[0.5, -1.0], [2.0, 0.25], [-0.75, 1.5]], "w": [[0.5, 1.0], [-1.5, 0.25]]}
    before = run(g, feeds)["hidden"]
    feeds["d_y"] = [[1.0, -0.5], [0.25, 2.0], [-1.0, 0.75]]
    slopes = [
        [d * _slope(kind, v) for d, v in zip(*rows, strict=True)]
        for rows in zip(feeds["d_y"], before, strict=True)
    ]
    d_x = [[sum(d * w[j] for d, w in zip(row, feeds["w"], strict=True)) for j in range(2)] for row in slopes]
    found = diagnose(g, feeds, {"d_x": d_x}, pairs=False)
    assert words in found.findings[0].phrase and "the derivative of" in found.findings[0].phrase


@pytest.mark.slow
@pytest.mark.parametrize("at, words", [("act", "the result in the place of x"), ("raw", "a of the add before")])
def test_a_derivative_at_the_wrong_point_is_named(at, words):
    g = Graph("layer")
    x, b = g.input("x", (3, 2)), g.parameter("b", (3, 2))
    raw = g.scale(x, multiply=1.5, name="raw")
    g.output(y=g.gelu(g.add(raw, b, name="hidden"), name="act"))
    feeds = {"x": [[0.5, -1.0], [2.0, 0.25], [-0.75, 1.5]], "b": [[0.5, 1.0], [-1.5, 0.25], [0.75, -0.3]]}
    points = run(g, feeds)[at]
    feeds["d_y"] = [[1.0, -0.5], [0.25, 2.0], [-1.0, 0.75]]
    d_x = [
        [1.5 * d * _slope("exact", v) for d, v in zip(*rows, strict=True)]
        for rows in zip(feeds["d_y"], points, strict=True)
    ]
    found = diagnose(g, feeds, {"d_x": d_x}, pairs=False)
    assert any(words in said for one in found.findings for said in (one.phrase, *one.equals))


@pytest.mark.parametrize("places", [None, 10, 4])
def test_a_gate_that_is_never_open_does_not_hide_the_mistake(places):
    """Where a unit is never active its row of the right gradient is all zeros, and theirs is not."""
    graph = Graph("mlp")
    x, w_1, w_2 = graph.input("x", (3, 2)), graph.parameter("w_1", (3, 2)), graph.parameter("w_2", (2, 3))
    graph.output(y=graph.linear(graph.relu(graph.linear(x, w_1, name="hidden"), name="act"), w_2))
    backward = gradient(graph, of="y", wrt=["w_1"])
    feeds = {
        "x": [[0.5, 1.25], [1.5, 0.75], [0.9, 1.1]], "w_1": [[1.1, 0.4], [-0.7, -1.3], [0.9, -0.35]],
        "w_2": [[0.3, 1.7, -0.6], [-1.2, 0.8, 0.45]], "d_y": [[0.13, -0.71], [1.37, 0.29], [0.77, 0.31]],
    }  # fmt: skip
    trace = run(backward, feeds)
    assert trace["d_w_1"][1] == [0.0, 0.0]
    act = trace["backward.d_act"]
    wrong = [
        [sum(max(act[t][unit], 0.0) * feeds["x"][t][j] for t in (2, 1, 0)) for j in range(2)]
        for unit in range(3)
    ]
    wrong = mapped(lambda cell: cell * (1 + 2**-52) if places is None else round(cell, places), wrong)
    found = diagnose(backward, feeds, {"d_w_1": wrong}, pairs=False, precision=places)
    assert found.findings[0].phrase.startswith("with backward.d_act instead of hidden as x of ")


def test_a_gradient_that_was_handed_in_by_another_name():
    graph = Graph("product")
    q, k = graph.input("q", (2, 2)), graph.input("k", (2, 2))
    graph.output(out=graph.relu(graph.matmul(q, k.T), name="act"))
    backward = gradient(graph, of="out", wrt=["q", "k"])
    feeds = {"q": X, "k": [[0.5, -0.25], [1.0, 2.0]], "d_out": [[1.0, -3.0], [0.5, 2.0]]}
    trace = run(backward, feeds)
    found = diagnose(backward, feeds, {"out": trace["d_q"]})
    assert (found.verdict, found.findings, found.tried) == ("undecided", [], 0)
    assert str(found).startswith("undecided: out of yours is d_q of this graph: expected under that name")


def test_a_graph_is_compared_with_gradients_alone(fit):
    right = run(gradient(fit, of="loss", wrt=["w"]), {"x": X, "w": W})["d_w"]
    assert compare(fit, {"x": X, "w": W, "grad": right}, names={"d_w": "grad"}).verdict == "the same"
    found = compare(fit, {"x": X, "w": W, "d_w": mapped(lambda c: 2 * c, right)})
    assert (
        found.verdict == "different"
        and "yours is the reference × 2" in str(found)
        and "d_loss" not in found.text().split("tolerance")[0]
    )
    with pytest.raises(AssertionError, match="gradients of two calls added up"):
        assert_close(
            fit, {"x": X, "w": W, "grad": mapped(lambda c: 2 * c, right)}, names={"d_w": "grad"}, diagnose=True
        )


def test_a_cotangent_that_nobody_knows_is_asked_for_by_compare_and_a_size_is_no_gradient(line):
    seen = {"x": X, "w": W, "y": [[0.0], [0.5]]}
    found = compare(line, {**seen, "d_w": W})
    assert found.uncompared == ["d_w"] and "expected d_y too" in " ".join(str(found).split())
    found = compare(line, {**seen, "d_w": W, "d_y": SEED})
    assert found.verdict == "different" and "d_w" in found.first.key
    assert "expected" not in str(compare(line, {**seen, "d_x": 64}))


IDS, SEEDS = [2, 0, 2], [[1.0, -0.5, 0.25, 2.0], [0.5, 1.5, -1.0, 0.75], [-2.0, 0.25, 1.0, -0.5]]


def _rows(kind, g):
    """What comes of the gradients of a table that is looked up in and multiplied with, got wrong."""
    d_x = g["d_norm"] if kind == "through" else g["d_embedded"]
    looked_up = [[0.0] * 3 for _ in range(4)]
    for place, index in enumerate(IDS):
        share = IDS.count(index) if kind == "mean" else 1
        looked_up[index] = [a + b / share for a, b in zip(looked_up[index], d_x[place], strict=True)]
    head = [[sum(g["d_y"][t][r] * g["norm"][t][j] for t in range(3)) for j in range(3)] for r in range(4)]
    if kind == "written over":
        return [looked_up[r] if r in IDS else head[r] for r in range(4)]
    return [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(looked_up, head, strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize("kind, words", [
    ("mean", "with the mean of rows of one index, not their sum, in the scatter add"),
    ("through", "with the incoming gradient, as it is, as "),
    ("written over", "written over what else arrives at table, not added"),
])  # fmt: skip
def test_a_table_that_is_looked_up_in_and_multiplied_with(kind, words):
    g = Graph("tied")
    table, gamma = g.parameter("table", (4, 3)), g.parameter("gamma", (3,))
    norm = g.layernorm(
        g.embedding(table, g.input("ids", (3,), kind="int"), name="embedded"), gamma, name="norm"
    )
    g.output(y=g.matmul(norm, table.T))
    feeds = {"ids": IDS, **{k: v for k, v in random_feeds(g, 3).items() if k != "ids"}, "d_y": SEEDS}
    x = run(gradient(g, of="y", wrt=["gamma", "embedded", "norm"]), feeds)
    seen = {"d_table": _rows(kind, x), "d_gamma": x["d_gamma"]}
    found = diagnose(g, feeds, seen, pairs=False)
    assert words in found.findings[0].phrase


@pytest.mark.slow
def test_both_means_in_the_gradient_of_a_norm_are_of_one_less():
    g = Graph("norm")
    g.output(y=g.layernorm(g.input("x", (3, 4)), eps="0.0", name="norm"))
    feeds = random_feeds(g, 3)
    n = run(g, feeds)["y"]
    wrong = []
    for x, y, dy in zip(feeds["x"], n, SEEDS, strict=True):
        level, along = sum(dy) / 3, sum(map(mul, dy, y)) / 3
        root = (max(x) - min(x)) / (max(y) - min(y))
        wrong.append([(a - level - b * along) / root for a, b in zip(dy, y, strict=True)])
    found = diagnose(g, {**feeds, "d_y": SEEDS}, {"d_x": wrong}, pairs=False)
    words = "with the sum divided by n − 1, not n, in every reduce_mean in the gradient of LayerNorm"
    assert found.findings[0].phrase == words
