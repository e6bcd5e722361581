"""Numbers that hands can do: found for every seed, fast, and those that the graph really gives."""

from __future__ import annotations

import math
import time
from fractions import Fraction

import pytest
from filled_sheets import attention

from graphattn import Graph, GraphError, gradient, run
from graphattn.builtin import specimen
from graphattn.core import nested
from graphattn.worksheet import Exercises, worksheet
from graphattn.worksheet.by_hand import BY_HAND, NEAR
from graphattn.worksheet.nice import DENOMINATOR, LARGEST

SEEDS = range(1, 31)


def norm(backward=False):
    graph = Graph("norm")
    graph.output(Y=graph.layernorm(graph.input("X", (3, 4), ("token", "feature")), name="Y"))
    return gradient(graph, of="Y") if backward else graph


GRAPHS = {
    "n = 3": (specimen("attention", n=3, d=4).graph, None),
    "n = 3, causal": (specimen("attention", n=3, d=4, causal=True).graph, None),
    "n = 4, causal": (specimen("attention", n=4, d=4, causal=True).graph, None),
    "n = 5, causal": (specimen("attention", n=5, d=4, causal=True).graph, None),
    "two heads": (specimen("multi-head", n=3, d=8, heads=2, projections=False).graph, None),
    "norm": (norm(), None),
    "norm, backward": (norm(True), ["backward.*"]),
    "backward": (gradient(specimen("attention", n=3, d=4).graph, of="out"), ["backward.*"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", GRAPHS)
def test_every_seed_gives_nice_numbers(name):
    exercises = Exercises(*GRAPHS[name])
    spent, seen = [], []
    for seed in SEEDS:
        started = time.process_time()
        sheet = exercises.sheet(seed)
        spent.append(time.process_time() - started)
        assert sheet.nice, seed
        seen.append(sheet.drawn.feeds)
        for name in exercises.exercise.computed | exercises.exercise.given:
            for value in nested.flat(sheet.trace[name]):
                assert isinstance(value, (bool, int, Fraction)) or value == -math.inf
                assert value == -math.inf or (DENOMINATOR % Fraction(value).denominator == 0)
                assert value == -math.inf or abs(value) <= LARGEST
    assert all(a != b for i, a in enumerate(seen) for b in seen[:i])
    assert sorted(spent)[len(spent) // 2] < 0.1, spent


@pytest.mark.parametrize("name", list(GRAPHS)[:4])
def test_what_is_raised_and_what_comes_out_is_whole(name):
    exercises = Exercises(*GRAPHS[name])
    for seed in SEEDS[:10]:
        trace = exercises.sheet(seed).trace
        assert all(isinstance(cell, int) for cell in nested.flat(trace["scaled"]))
        assert all(isinstance(cell, int) for cell in nested.flat(trace["out"]))
        assert any(isinstance(cell, Fraction) for cell in nested.flat(trace["weights"]))


@pytest.mark.parametrize("seed", SEEDS[:10])
def test_the_numbers_are_those_of_a_run_in_floats(seed):
    """Scores in units of ln 2 are scores of a Q that is ln 2 times as large."""
    sheet = attention(seed)
    feeds = dict(sheet.drawn.feeds)
    feeds["Q"] = [[cell * math.log(2) for cell in row] for row in feeds["Q"]]
    trace = run(sheet.trace.graph, feeds)
    for name in ("weights", "out"):
        pairs = zip(nested.flat(trace[name]), nested.flat(sheet.trace[name]), strict=True)
        assert all(abs(a - b) < 1e-12 for a, b in pairs)


@pytest.mark.slow
def test_a_norm_leaves_out_its_small_eps():
    exercises = Exercises(norm())
    for seed in SEEDS:
        sheet = exercises.sheet(seed)
        trace = run(norm(), sheet.drawn.feeds)
        pairs = zip(nested.flat(trace["Y"]), nested.flat(sheet.trace["Y"]), strict=True)
        assert all(abs(a - b) < 1e-4 for a, b in pairs)


@pytest.mark.parametrize("name", list(GRAPHS)[:4])
def test_all_sheets_of_a_series_are_about_equally_hard(name):
    """As many zeros in each drawn row, and about as many fractions on each sheet."""
    exercises = Exercises(*GRAPHS[name])
    fractions = []
    for seed in SEEDS[:10]:
        sheet = exercises.sheet(seed)
        for tensor in sheet.drawn.feeds.values():
            assert {row.count(0) for row in tensor} == {1}
        fractions.append(sum(isinstance(cell, Fraction) for cell in nested.flat(sheet.trace["weights"])))
    n = len(sheet.trace["weights"])
    hidden = sum(map(sum, sheet.trace.masked("weights"))) if "causal" in name else 0
    assert max(fractions) <= n * n - hidden and min(fractions) >= (n * n - hidden) // 2 - 1


def test_the_same_seed_gives_the_same_sheet():
    assert attention(3).html == attention(3).html != attention(4).html


def test_what_is_given_is_drawn_where_only_later_tensors_are_blank():
    graph = specimen("block", n=3, d=4, heads=2, causal=True).graph
    exercises = Exercises(graph, ["attention.head0.weights", "attention.head0.out"])
    for seed in SEEDS[:5]:
        sheet = exercises.sheet(seed)
        assert sheet.nice and "attention.head0.scaled" in sheet.drawn.patch


def test_a_graph_without_such_numbers_has_decimals_and_says_so():
    graph = Graph("gelu")
    graph.output(y=graph.gelu(graph.input("x", (2, 3)), name="y"))
    sheet = worksheet(graph, seed=1)
    assert not sheet.nice and "decimals" in sheet.html and "4 digits" in sheet.markdown
    assert sheet.trace["y"] == run(graph, sheet.drawn.feeds)["y"]


def test_feeds_that_are_given_are_kept():
    feeds = {"Q": [[2, 0, 0, 0], [0, 2, 0, 0], [0, 0, 2, 0]]}
    sheet = worksheet(specimen("attention", n=3, d=4).graph, feeds=feeds, seed=2)
    assert sheet.nice and sheet.trace["Q"] == feeds["Q"]


def test_bad_requests_are_told():
    graph = specimen("attention", n=3, d=4).graph
    with pytest.raises(GraphError, match="Q is not computed; expected a tensor that is"):
        worksheet(graph, ["Q"])
    with pytest.raises(GraphError, match="wieghts"):
        worksheet(graph, ["wieghts"])
    with pytest.raises(GraphError, match=r"squares would be blank; expected at most"):
        worksheet(specimen("block", n=16, d=32).graph)
    with pytest.raises(GraphError, match="a worksheet is of a graph"):
        worksheet("attention")  # pyright: ignore[reportArgumentType]


def test_numbers_by_hand_are_exact_where_floats_are_near():
    for x in (-3, 0, 2):
        assert float(BY_HAND.exp(x)) == pytest.approx(NEAR.exp(x), rel=1e-15)
        assert BY_HAND.log(BY_HAND.exp(x)) == x
    assert (
        math.isnan(BY_HAND.exp(Fraction(1, 2))) and math.isnan(BY_HAND.sqrt(2)) and math.isnan(BY_HAND.sin(1))
    )
    assert BY_HAND.exp(-math.inf) == 0 and math.isnan(BY_HAND.divide(1, 0))
