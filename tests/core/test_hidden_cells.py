"""Hidden cells: how the metadata travels, and that nothing behind a mask leaks, not even NaN."""

import math

import pytest

from graphattn import Graph, run

inf, nan = math.inf, math.nan
LEVELS = ("block", "head", "op", "primitive")
T, F = True, False
CAUSAL = [[F, T, T], [F, F, T], [F, F, F]]
X = [[0.5, -1.0], [1.5, 1.0], [-0.5, 0.25]]


def masked_scores(g):
    """Scores (3, 3) of which the causal mask hides the upper triangle."""
    return g.mask(g.input("s", (3, 3)), g.causal_mask(3), name="scores")


S = {"s": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]}


# ---------------------------------------------------------------- the metadata


NONE = [[F, F, F]] * 3  # −∞ turned into something that a softmax sees
ROUTES = {
    "scale": (lambda g, y: g.scale(y, sqrt=4), CAUSAL),
    "softmax": (lambda g, y: g.softmax(y), CAUSAL),
    "softmax over columns": (lambda g, y: g.softmax(y, axis=0), CAUSAL),
    "negate": (lambda g, y: -y, NONE),
    "softcap": (lambda g, y: g.softcap(y, cap=2), NONE),
    "scale by -1": (lambda g, y: g.scale(y, multiply=-1), NONE),
    "scale by 0": (lambda g, y: g.scale(y, multiply=0), NONE),
    "softmax after softcap": (lambda g, y: g.softmax(g.softcap(y, cap=2)), NONE),
    "add": (lambda g, y: y + 1, CAUSAL),
    "add a row that is stretched": (lambda g, y: y + g.constant([1.0, 2.0, 3.0]), CAUSAL),
    "multiply by another": (lambda g, y: g.constant([[2.0]]) * y, CAUSAL),
    "subtract from a number": (lambda g, y: 1 - y, NONE),
    "divide": (lambda g, y: y / 2, CAUSAL),
    "exp": (lambda g, y: g.exp(y), CAUSAL),
    "relu": (lambda g, y: g.relu(y), CAUSAL),
    "gelu": (lambda g, y: g.gelu(y), NONE),
    "transpose": (lambda g, y: y.T, [[F, F, F], [T, F, F], [T, T, F]]),
    "transpose twice": (lambda g, y: y.T.T, CAUSAL),
    "broadcast": (lambda g, y: g.broadcast(y, (2, 3, 3)), [CAUSAL, CAUSAL]),
    "split": (lambda g, y: g.split(y, (1, 2))[1], [[T, T], [F, T], [F, F]]),
    "split into one": (lambda g, y: g.split(y, 1)[0], CAUSAL),
    "split of rows": (lambda g, y: g.split(y, 3, axis=0)[0], [[F, T, T]]),
    "concat with what is not hidden": (
        lambda g, y: g.concat(y, g.constant([[0.0], [0.0], [0.0]])),
        [[F, T, T, F], [F, F, T, F], [F, F, F, F]],
    ),
    "concat with itself": (lambda g, y: g.concat(y, y, axis=0), CAUSAL + CAUSAL),
    "where": (
        lambda g, y: g.where(g.constant([[T, T, F], [T, T, T], [F, T, T]]), y, g.constant(0)),
        [[F, T, F], [F, F, T], [F, F, F]],
    ),
    "embedding": (lambda g, y: g.embedding(y, g.constant([2, 0])), [CAUSAL[2], CAUSAL[0]]),
    "mask again": (
        lambda g, y: g.mask(y, g.constant([[F], [T], [T]])),
        [[T, T, T], [F, F, T], [F, F, F]],
    ),
    "mask again, by adding": (
        lambda g, y: g.mask(y, g.constant([[0.0, 0.0, 0.0], [-inf, 0.0, 0.0], [-1e9, 0.0, 0.0]])),
        [[F, T, T], [T, F, T], [F, F, F]],
    ),
}  # fmt: skip


@pytest.mark.parametrize("level", ["op", "primitive"])
@pytest.mark.parametrize("route", ROUTES)
def test_hidden_cells_travel(route, level):
    g = Graph()
    build, hidden = ROUTES[route]
    y = build(g, masked_scores(g))
    trace = run(g, S, level=level, allow_nonfinite=True)
    assert trace.masked("scores") == CAUSAL
    assert trace.masked(y.name) == hidden


@pytest.mark.parametrize(
    "build",
    [
        lambda g, y: g.softmax(y) @ g.input("v", (3, 1)),
        lambda g, y: g.reduce_sum(g.softmax(y)),
        lambda g, y: g.reduce_mean(g.softmax(y)),
        lambda g, y: g.reduce_max(y),
    ],
    ids=["matmul", "reduce_sum", "reduce_mean", "reduce_max"],
)
def test_a_sum_over_hidden_cells_is_not_hidden(build):
    g = Graph()
    y = build(g, masked_scores(g))
    trace = run(g, {**S, "v": [[1], [2], [3]]} if "v" in g.inputs else S)
    assert not any(cell for row in trace.masked(y.name) or [] for cell in row)


def test_what_hides():
    """False, and −∞ in a float mask; a large negative number does not, and nor does a weight of 0."""
    g = Graph()
    s = g.input("s", (1, 3))
    flags = g.mask(s, g.constant([[T, F, T]]), name="flags")
    adds = g.mask(s, g.constant([[0.0, -inf, -1e9]]), name="adds")
    g.softmax(flags, name="w1")
    g.softmax(adds, name="w2")
    fed = g.mask(s, g.input("m", (3,), kind="bool"), name="fed")
    trace = run(g, {"s": [[-800.0, 5.0, 0.0]], "m": [F, F, T]})
    assert trace.masked("w1") == trace.masked("w2") == [[F, T, F]]
    assert trace["w1"] == [[0.0, 0.0, 1.0]]  # the first is 0 and visible
    assert trace.masked(fed.name) == [[T, T, F]]
    assert trace.masked("s") is None


def test_a_bias_that_hides_is_hidden_itself():
    """A −∞ in a constant that is added hides as one in a mask does."""
    g = Graph()
    y = g.input("s", (1, 2)) + g.constant([[0.0, -inf]])
    assert run(g, {"s": [[1, 2]]}).masked(y.name) == [[F, T]]


@pytest.mark.parametrize("level", LEVELS)
def test_composites_hide_the_same_at_every_level(level):
    g = Graph()
    x = g.input("x", (3, 2))
    g.attention(x, x, x, causal=True, name="head")
    trace = run(g, {"x": X}, level=level)
    assert trace.masked("head.weights") == CAUSAL
    assert not any(map(any, trace.masked("head.out") or []))
    assert [[w == 0 for w in row] for row in trace["head.weights"]] == CAUSAL


def test_a_patched_tensor_hides_nothing():
    g = Graph()
    y = g.softmax(masked_scores(g), name="weights")
    even = [[1 / 3] * 3] * 3
    trace = run(g, S, patch={"weights": even})
    assert trace.masked("weights") is None
    assert trace.masked("scores") == CAUSAL
    assert y.name == "weights"


# ---------------------------------------------------------------- nothing leaks


def attended(q, k, v, level, causal=True, mask=None, kind="bool"):
    g = Graph()
    tensors = [g.input(name, (3, 2)) for name in "qkv"]
    m = None if mask is None else g.input("m", (3, 3), kind=kind)
    g.attention(*tensors, m, causal=causal, name="head")
    feeds = {"q": q, "k": k, "v": v} | ({} if mask is None else {"m": mask})
    return run(g, feeds, allow_nonfinite=True, level=level)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("poison", [nan, inf, -inf, 1e308])
def test_what_stands_behind_the_causal_mask_never_leaks(poison, level):
    """Row i of the result is the same whatever stands in K and V after i."""
    clean = attended(X, X, X, level)
    bad = [*X[:2], [poison, poison]]
    for k, v in ((X, bad), (bad, X), (bad, bad)):
        trace = attended(X, k, v, level)
        assert trace["head.out"][:2] == clean["head.out"][:2]
        assert trace["head.weights"][:2] == clean["head.weights"][:2]
    bad = [X[0], [poison, -poison], [-poison, poison]]
    assert attended(X, bad, bad, level)["head.out"][0] == clean["head.out"][0]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", ["bool", "float"])
@pytest.mark.parametrize("poison", [nan, inf, -inf])
def test_what_a_mask_hides_never_leaks(poison, kind, level):
    see = [[T, F, T], [T, F, F], [F, F, T]]
    mask = see if kind == "bool" else [[0.0 if cell else -inf for cell in row] for row in see]
    clean = attended(X, X, X, level, causal=False, mask=mask, kind=kind)
    bad = [X[0], [poison, poison], X[2]]
    trace = attended(X, bad, bad, level, causal=False, mask=mask, kind=kind)
    assert trace["head.out"] == clean["head.out"]
    assert trace["head.weights"] == clean["head.weights"]
    assert trace.masked("head.weights") == [[not cell for cell in row] for row in see]


@pytest.mark.parametrize("level", LEVELS)
def test_a_row_that_sees_nothing_gives_zeros_whatever_is_behind(level):
    mask = [[F, F, F], [T, T, F], [T, T, T]]
    bad = [[nan, inf]] * 3
    trace = attended(X, bad, bad, level, causal=False, mask=mask)
    assert trace["head.out"][0] == [0.0, 0.0]
    assert trace["head.weights"][0] == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("level", LEVELS)
def test_what_is_visible_does_show(level):
    """NaN in what a query may see is not hidden from anyone."""
    trace = attended(X, X, [[nan, 1.0], *X[1:]], level)
    assert all(row[0] != row[0] for row in trace["head.out"])
    assert all(row[1] == row[1] for row in trace["head.out"])
    trace = attended(X, [[nan, 1.0], *X[1:]], X, level)
    assert all(cell != cell for row in trace["head.out"] for cell in row)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("poison", [nan, inf])
def test_nothing_leaks_in_a_block_either(poison, level):
    """Later tokens do not reach earlier ones through projections and several heads."""

    def block(x):
        g = Graph()
        t = g.input("x", (3, 2))
        w = g.constant([[0.5, -1.0], [2.0, 0.25]])
        g.output(y=g.block(t, w_q=w, w_k=w, w_v=w, w_o=w, heads=2, causal=True))
        return run(g, {"x": x}, allow_nonfinite=True, level=level)["y"]

    assert block([*X[:2], [poison, 1.0]])[:2] == block(X)[:2]


def test_a_plain_matmul_keeps_the_rules_of_floats():
    g = Graph()
    a, b = g.input("a", (1, 2)), g.input("b", (2, 2))
    g.output(plain=a @ b, absorbing=g.matmul(a, b, absorb_zeros=True))
    got = run(g, {"a": [[0.0, 2.0]], "b": [[inf, nan], [1.0, 3.0]]}, allow_nonfinite=True).outputs
    assert all(cell != cell for cell in got["plain"][0])
    assert got["absorbing"] == [[2.0, 6.0]]
    got = run(g, {"a": [[0.0, 0.0]], "b": [[inf, nan], [-inf, 3.0]]}, allow_nonfinite=True).outputs
    assert got["absorbing"] == [[0.0, 0.0]]
    got = run(g, {"a": [[nan, 1.0]], "b": [[0.0, 1.0], [2.0, 3.0]]}, allow_nonfinite=True).outputs
    assert got["absorbing"][0][0] == 2.0 and got["absorbing"][0][1] != got["absorbing"][0][1]


@pytest.mark.parametrize(
    ("values", "warned"),
    [([0.0, 1.0], True), ([1.0, 1.0], True), ([0.0, 0.0], False), ([0.0, -inf], False), ([0.0, 2.0], False)],
)
def test_a_float_mask_of_0_and_1_is_doubted(values, warned):
    g = Graph()
    g.output(w=g.attention(*[g.input("x", (2, 2))] * 3, g.input("m", (1, 2)), name="head").weights)
    trace = run(g, {"x": [[1.0, 2.0], [3.0, 4.0]], "m": [values]}, allow_nonfinite=True)
    said = "the float mask holds 0 and 1, which are added; to hide, expected bools, or 0 and −∞"
    assert any(said in warning for warning in trace.warnings) is warned
