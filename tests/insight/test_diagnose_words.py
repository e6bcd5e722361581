"""How diagnose says it: a step of a composite by the composite's name, sizes by theirs, what does not matter
left out, the plainest of several wordings first."""

import math
from operator import mul

import pytest

from graphattn import Graph, diagnose, run
from graphattn.builtin import random_feeds, specimen

ROWS = [[0.5, -1.25, 2.0], [1.5, 0.25, -0.75], [-2.0, 1.0, 3.5], [0.1, 0.4, -0.3]]


def sentence(graph, feeds, observed):
    found = diagnose(graph, feeds, observed, budget=60)
    assert found.verdict == "mistake"
    return found.findings[0].phrase


def normed(op, **attributes):
    g = Graph("norm")
    x = g.input("X", (4, 3), ("token", "feature"))
    g.output(y=getattr(g, op)(x, name="norm", **attributes))
    return g


def standardized(rows, ddof=0):
    means = [math.fsum(row) / 3 for row in rows]
    squares = [math.fsum((v - m) ** 2 for v in row) for row, m in zip(rows, means, strict=True)]
    return [
        [(v - m) / math.sqrt(s / (3 - ddof) + 1e-5) for v in row]
        for row, m, s in zip(rows, means, squares, strict=True)
    ]


def test_a_divisor_beside_a_size_is_told_by_the_size():
    assert sentence(normed("layernorm"), {"X": ROWS}, {"y": standardized(ROWS, 1)}) == (
        "with d − 1 = 2 instead of 3 as the constant variance.count of the LayerNorm norm"
    )


def test_a_norm_over_everything_is_one_mistake():
    cells = [v for row in ROWS for v in row]
    mean = math.fsum(cells) / 12
    root = math.sqrt(math.fsum((v - mean) ** 2 for v in cells) / 12 + 1e-5)
    observed = [[(v - mean) / root for v in row] for row in ROWS]
    assert sentence(normed("layernorm"), {"X": ROWS}, {"y": observed}) == (
        "with mean and variance over rows and columns at once in the LayerNorm norm (eps=1e-05)"
    )
    root = math.sqrt(math.fsum(v * v for v in cells) / 12 + 1e-5)
    assert sentence(normed("rmsnorm"), {"X": ROWS}, {"y": [[v / root for v in row] for row in ROWS]}) == (
        "with the mean square over rows and columns at once in the RMSNorm norm (eps=1e-05)"
    )


def test_a_step_of_a_composite_is_told_by_the_composite():
    observed = [[v / math.sqrt(math.fsum(w * w for w in row) / 9 + 1e-5) for v in row] for row in ROWS]
    phrase = sentence(normed("rmsnorm"), {"X": ROWS}, {"y": observed})
    assert phrase == "with reduce_mean instead of the reduce_sum mean.total of the RMSNorm norm"


def test_a_sum_for_a_mean_is_told_as_people_have_it():
    observed = [[v / math.sqrt(math.fsum(w * w for w in row) + 1e-5) for v in row] for row in ROWS]
    assert sentence(normed("rmsnorm"), {"X": ROWS}, {"y": observed}) == (
        "with the sum of the squares, not their mean, in the RMSNorm norm (eps=1e-05)"
    )


@pytest.mark.parametrize("act", ["silu", "gelu"])
def test_a_slope_of_0_is_no_number_whatever_rounding_makes_of_it(act):
    g = Graph("mlp")
    x = g.input("x", (5, 8), ("token", "feature"))
    hidden = g.linear(x, g.parameter("w1", (16, 8)), name="hidden")
    active = getattr(g, act)(hidden, name="act")
    g.output(y=g.add(x, g.linear(active, g.parameter("w2", (8, 16)), name="back"), name="sum"))
    feeds = random_feeds(g, seed=1)
    theirs = []
    for row in feeds["x"]:
        above = [max(sum(map(mul, row, w)), 0.0) for w in feeds["w1"]]  # summed one by one, as others do
        theirs.append([a + sum(map(mul, above, w)) for a, w in zip(row, feeds["w2"], strict=True)])
    assert (
        sentence(g, feeds, {"y": theirs}) == f"with relu instead of the {g.at('op').node('act').op.title} act"
    )


def test_axes_are_called_by_their_names_or_by_what_sums_to_1():
    g = Graph("rows")
    x = g.input("X", (4, 3), ("token", "feature"))
    g.output(y=g.softmax(x, name="weights"))
    columns = Graph("columns")
    columns.output(y=columns.softmax(columns.input("X", (4, 3)), axis=-2))
    assert sentence(g, {"X": ROWS}, {"y": run(columns, {"X": ROWS})["y"]}) == (
        "with axis=-2 (token) instead of -1 (feature) in the softmax weights"
        " (rows sum to 1; yours: columns sum to 1)"
    )


def test_of_two_steps_the_one_that_takes_something_else_is_named():
    g = Graph("residuals")
    x = g.input("X", (4, 3), ("token", "feature"))
    first = g.add(x, g.relu(x, name="a"), name="residual1")
    second = g.add(first, g.tanh(first, name="b"), name="residual2")
    g.output(y=second)
    right = run(g, {"X": ROWS})
    theirs = [[p + q for p, q in zip(a, b, strict=True)] for a, b in zip(ROWS, right["b"], strict=True)]
    phrase = sentence(g, {"X": ROWS}, {"y": theirs})
    assert "residual2" in phrase and "residual*" not in phrase


@pytest.mark.parametrize("part, words", [
    ("peak", "with weights.peak as a row, not a column (as without keepdims), in the where safe_peak of "),
    ("total", "with weights.total as a row, not a column (as without keepdims), in the where safe_total of "),
])  # fmt: skip
def test_a_sum_without_keepdims_is_a_row(part, words):
    g = Graph("weights")
    g.output(y=g.softmax(g.input("X", (3, 3)), name="weights"))
    x = [row[:3] for row in ROWS[:3]]
    peaks = [max(row) for row in x]
    raised = [
        [math.exp(v - peaks[j if part == "peak" else i]) for j, v in enumerate(row)] for i, row in enumerate(x)
    ]
    sums = [math.fsum(row) for row in raised]
    observed = [
        [v / sums[j if part == "total" else i] for j, v in enumerate(row)] for i, row in enumerate(raised)
    ]
    assert sentence(g, {"X": x}, {"y": observed}) == f"{words}the softmax weights"


def test_a_mask_taken_as_numbers_is_told_with_what_it_is_added_to():
    g = Graph("masked")
    masked = g.mask(g.input("X", (3, 3)), g.causal_mask(3, name="visible"), name="masked")
    g.output(y=g.softmax(masked, name="weights"))
    x = [row[:3] for row in ROWS[:3]]
    wrong = run(
        g, {"X": x}, patch={"masked": [[v + (j <= i) for j, v in enumerate(r)] for i, r in enumerate(x)]}
    )
    assert (
        sentence(g, {"X": x}, {"y": wrong["y"]}) == "with X plus the mask as 0 and 1 instead of the mask masked"
    )


@pytest.mark.slow
def test_what_all_take_is_named_and_so_is_each_of_several():
    given = specimen("multi-head", n=3, d=4, causal=True)
    fine = run(given.graph, given.feeds, level="op")
    weights, values = fine["head1.weights"], fine["v_heads.part0"]
    rows = [[sum(w * v[k] for w, v in zip(row, values, strict=True)) for k in range(2)] for row in weights]
    wrong = run(given.graph, given.feeds, level="op", patch={"head1.out": rows})["Y"]
    assert sentence(given.graph, given.feeds, {"Y": wrong}) == (
        "with v_heads.part0 as b of the matmul head*.out, in all of them"
    )
