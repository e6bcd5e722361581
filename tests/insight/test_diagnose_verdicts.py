"""The verdicts that name no mistake: harmless, undecided, unexplained; and the one tensor to look at."""

import math
import re
from array import array
from dataclasses import replace
from itertools import count

import pytest
from op_laws import mapped

from graphattn import Graph, GraphError, diagnose, run
from graphattn.builtin import specimen
from graphattn.insight.compare.recording import Recorded
from graphattn.insight.diagnose.accuracy import FULL
from graphattn.insight.diagnose.judge import NOTHING, differing
from graphattn.insight.diagnose.levels import levels
from graphattn.insight.diagnose.observed import Observed
from graphattn.insight.variants import clock


@pytest.fixture(scope="module")
def block():
    given = specimen("block", n=3, d=4, causal=True)
    return given.graph, given.feeds, run(given.graph, given.feeds)


@pytest.fixture
def small():
    given = specimen("attention", n=3, d=4, causal=True)
    return given.graph, dict(given.feeds)


def test_one_more_on_all_visible_scores_is_harmless(small):
    graph, feeds = small
    right = run(graph, feeds)
    raised = mapped(lambda v: v + 1, right["scaled"])
    found = diagnose(graph, feeds, {"scaled": raised, "out": right["out"]}, budget=60)
    assert found.verdict == "harmless" and found.agrees and found.findings
    assert str(found).startswith("harmless: something in scaled, out differs")
    assert found.text("none") == "right, but for what does not matter\n"
    again = run(found.findings[0].graph, feeds)["out"]
    assert all(math.isclose(a, b, abs_tol=1e-12) for p, q in zip(again, right["out"], strict=True)
               for a, b in zip(p, q, strict=True))  # fmt: skip


def test_a_key_bias_left_out_is_harmless_without_rotary_positions():
    given = specimen("multi-head", n=3, d=4)
    graph = Graph("keys")
    x, w, b = graph.input("x", (3, 4)), graph.parameter("w", (4, 4)), graph.parameter("b", (4,))
    q, v = graph.input("q", (3, 4)), graph.input("v", (3, 4))
    k = graph.linear(x, w, b, name="k")
    weights = graph.softmax(
        graph.scale(graph.matmul(q, k.T, name="scores"), sqrt=4, name="scaled"), name="weights"
    )
    graph.output(y=graph.matmul(weights, v, name="mixed"))
    rows = list(given.feeds.values())
    matrix = [[0.5, -1.25, 2.0, 0.75], [1.5, 1.0, -3.0, 0.25], [-0.5, 0.1, 0.4, -1.0], [0.25, 0.5, -0.75, 1.0]]
    feeds = {"x": matrix[:3], "w": matrix, "b": [0.5, -1.0, 0.25, 2.0], "q": matrix[1:], "v": matrix[:3]}
    assert rows
    right = run(graph, feeds)
    plain = [[c - b for c, b in zip(row, feeds["b"], strict=True)] for row in right["k"]]
    found = diagnose(graph, feeds, {"k": plain, "y": right["y"]}, budget=60)
    assert found.verdict == "harmless"
    assert "without b (b) in the linear k" in [p for f in found.findings for p in (f.phrase, *f.equals)]


@pytest.mark.slow
def test_nothing_but_nan_has_suspects_and_no_name(block):
    graph, feeds, _ = block
    found = diagnose(graph, feeds, {"Y": [[math.nan] * 4] * 3}, budget=60)
    assert found.verdict == "undecided" and not found.findings and not found.agrees
    assert found.suspects and found.look_at in graph.at("primitive")
    assert f"record {found.look_at}" in str(found) and "would give it too" in str(found).replace(
        "\n           ", " "
    )
    assert found.data()["look at"] == found.look_at


@pytest.mark.parametrize("theirs", [math.nan, math.inf, 0.5])
def test_where_the_graph_itself_overflows_nothing_is_named(small, theirs):
    graph, feeds = small
    large = mapped(lambda c: c * 1e200, feeds["Q"])
    found = diagnose(graph, {**feeds, "Q": large, "K": large}, {"out": [[theirs] * 4] * 3})
    assert found.verdict == "undecided" and not (found.findings or found.suspects or found.tried)
    assert found.notes == ["this graph itself gives NaN in 12 of 12 cells of out on these inputs,"
                           " first in scores[0, 0]: expected inputs on which it is finite"]  # fmt: skip


def test_where_some_cells_are_not_finite_by_right_nothing_is_named_either(small):
    graph, feeds = small
    feeds["Q"] = [[math.nan, *feeds["Q"][0][1:]], *feeds["Q"][1:]]
    right = run(graph, feeds, allow_nonfinite=True)["out"]
    told = ("this graph itself gives "
            "NaN in 4 of 12 cells of out on these inputs, which are not finite in Q[0, 0]")  # fmt: skip
    found = diagnose(graph, feeds, {"out": right})
    assert (found.verdict, found.notes) == ("right", [told])
    found = diagnose(graph, feeds, {"out": mapped(lambda c: 2 * c, right)})
    assert (found.verdict, found.findings) == ("undecided", []) and found.notes[0].startswith(told)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1e-300, 1e-170, 1e160, 1e200, 1e300])
def test_cells_of_any_size_are_told_apart(small, size):
    graph, feeds = small
    large = mapped(lambda c: c * size, feeds["V"])
    right = run(graph, {**feeds, "V": large})["out"]
    feeds = {**feeds, "V": large}
    assert diagnose(graph, feeds, {"out": right}).verdict == "right"
    twice = diagnose(graph, feeds, {"out": mapped(lambda c: 2 * c, right)}, pairs=False)
    assert (twice.verdict, twice.findings[0].phrase) == ("mistake", "with the matmul out times 2")
    noise = {"out": mapped(lambda c: math.sin(1000 * c / size) * size, right)}
    found = diagnose(graph, feeds, noise, budget=0.6)
    assert (found.verdict, found.findings) == ("unexplained", []) and str(found)


def test_how_far_off_a_cell_may_be_grows_with_the_cells():
    rooms = []
    for size in (1.0, 2.0**-900, 2.0**600):
        g = Graph("products")
        g.output(y=g.matmul(g.input("a", (1, 2)), g.input("b", (2, 1)), name="mixed"))
        feeds = {"a": [[size, 0.75 * size]], "b": [[0.5], [-0.25]]}
        level = next(levels(g, [], feeds, FULL, True, ()))
        seen = Observed("y", level.whole.resolve("y"), Recorded("y", (1, 1), [[size]]))
        judge = replace(level, observed=[seen]).judge
        rooms.append(judge.strict[0][0][0] / size)
        assert judge.residual(NOTHING) == (1 - 0.3125) * size and not judge.right
    assert rooms[0] == rooms[1] == rooms[2] < 1e-13


def test_what_hides_in_a_row_is_told_by_the_row():
    row, hidden = [1.0, 800.0, -math.inf, -math.inf, math.nan], -math.inf
    assert list(differing([1.5, 800.0, -1e9, hidden, math.nan], row)) == [(0, 1.5, 1.0)]
    assert list(differing([1.0, 800.0, 0.0, 55.0, 2.0], row)) == [(3, 55.0, hidden), (4, 2.0, row[4])]


def test_what_comes_behind_the_last_step_is_the_result(small):
    graph, feeds = small
    theirs = mapped(lambda c: 2 * c, run(graph, feeds)["out"])
    found = diagnose(graph, feeds, {"out": theirs})
    first = found.findings[0]
    assert (found.verdict, first.phrase) == ("mistake", "with the matmul out times 2")
    assert run(first.graph, feeds)["out"] == theirs and first.changed == ("out_scale",)
    assert "yours    out_scale[1, 2] = out_before[1, 2] · 2" in str(found)


def test_too_few_digits_decide_nothing():
    graph = Graph("small")
    q, k, v = (graph.input(name, (3, 4)) for name in "qkv")
    weights = graph.softmax(graph.scale(graph.matmul(q, k.T), sqrt=4, name="scaled"), name="weights")
    graph.output(y=graph.matmul(weights, v, name="mixed"))
    rows = [[0.01, -0.02, 0.03, 0.01], [0.02, 0.01, -0.01, 0.02], [-0.01, 0.03, 0.02, 0.01]]
    feeds = {"q": rows, "k": rows[::-1], "v": [[0.5, 0.25, 1.0, 2.0]] * 2 + [[0.75, 0.5, 1.0, 2.5]]}
    right = run(graph, feeds)["y"]
    printed = mapped(lambda c: round(c, 1), right)
    found = diagnose(graph, feeds, {"y": printed}, precision=1)
    assert found.verdict == "undecided" and found.suspects and not found.findings
    assert "without the scale scaled (÷ √4)" in found.suspects
    assert "more digits would tell" in str(found).replace("\n           ", " ")
    assert diagnose(graph, feeds, {"y": right}).verdict == "right"
    assert not diagnose(graph, feeds, {"y": right}).notes


@pytest.mark.slow
def test_what_nothing_explains_says_what_to_look_at(block):
    graph, feeds, right = block
    noise = mapped(lambda c: math.sin(1000 * c), right["Y"])
    found = diagnose(graph, feeds, {"Y": noise}, pairs=False, budget=1)
    assert found.verdict == "unexplained" and found.look_at in graph.at("op")
    both = {"norm": mapped(lambda c: math.sin(1000 * c), right["norm"]), "Y": right["Y"]}
    told = diagnose(graph, feeds, both, pairs=False, budget=1)
    assert told.look_at is None and "norm" in str(told.comparison)


@pytest.mark.slow
def test_where_nothing_fits_the_numbers_themselves_are_told():
    given = specimen("attention", n=4, d=6)
    right = run(given.graph, given.feeds)["out"]
    more = [[cell + 0.001 for cell in row] for row in right]
    found = diagnose(given.graph, given.feeds, {"out": more}, pairs=False)
    assert found.notes == ["out of yours is what this graph gives + 0.001"]
    one = [list(row) for row in right]
    one[2][3] += 0.1
    found = diagnose(given.graph, given.feeds, {"out": one}, pairs=False)
    assert found.notes == ["1 of 24 cells of out differ, most at [2, 3]"]
    columns = [list(column) for column in zip(*more, strict=True)]
    found = diagnose(given.graph, given.feeds, {"out": columns}, pairs=False)
    assert found.notes == ["out is 6 × 4 in yours; expected 4 × 6, its transpose"]


LEFT = re.compile(
    r"([\d,]+) variants?( or more)? left untried: a budget of (\d+) seconds?"
    r" \(--budget \3, or budget=\3\) would reach (them|those of one mistake)"
)


@pytest.mark.slow
@pytest.mark.parametrize("budget, pairs", [(0.02, True), (0.05, False), (0.3, True)])
def test_what_the_budget_left_untried_is_said_and_what_would_reach_it(small, monkeypatch, budget, pairs):
    ticks = count()
    monkeypatch.setattr(clock, "thread_time", lambda: next(ticks) / 1000)  # the same work on every machine
    monkeypatch.setattr(clock, "monotonic", lambda: 0.0)
    graph, feeds = small
    noise = {"out": mapped(lambda c: math.sin(1000 * c), feeds["Q"])}
    cut = diagnose(graph, feeds, noise, budget=budget, pairs=pairs)
    told = LEFT.fullmatch(cut.notes[-1])
    assert cut.verdict == "unexplained" and not cut.finished and told, cut.notes
    whole = diagnose(graph, feeds, noise, budget=float(told[3]), pairs=pairs and told[4] == "them")
    assert whole.finished and not whole.notes and cut.tried < whole.tried
    if not pairs:
        assert cut.tried + int(told[1].replace(",", "")) <= whole.tried


def test_a_causal_mask_too_many():
    meant, made = specimen("attention", n=4, d=6), specimen("attention", n=4, d=6, causal=True)
    found = diagnose(meant.graph, meant.feeds, {"out": run(made.graph, meant.feeds)["out"]})
    assert found.findings[0].phrase == "with a causal mask before the softmax weights (rows sum to 1)"


def test_right_code_in_an_array_of_float32_that_was_printed():
    given = specimen("block", n=4, d=8, heads=2, causal=True)
    right = run(given.graph, given.feeds)["Y"]
    printed = [array("f", [round(cell, 4) for cell in row]).tolist() for row in right]
    found = diagnose(given.graph, given.feeds, {"Y": printed})
    assert (found.verdict, found.accuracy) == ("right", "4 printed decimals of float32")


@pytest.mark.parametrize("budget", [-1, math.nan])
def test_a_budget_is_a_number_of_seconds(small, budget):
    graph, feeds = small
    told = f"budget is {budget!r}; expected a number of seconds of 0 or more"
    with pytest.raises(GraphError, match=told):
        diagnose(graph, feeds, {"out": run(graph, feeds)["out"]}, budget=budget)


def test_one_minus_the_mask_times_infinity_is_the_first_suspect_of_all_nan(small):
    graph, feeds = small
    found = diagnose(graph, feeds, {"out": [[math.nan] * 4] * 3})
    assert found.verdict == "undecided" and found.suspects == ["with (1 − mask) · −∞ added in the mask masked"]
    phrase = "without the softmax weights (rows sum to 1)"
    assert found.notes == [f"this graph {phrase} would give NaN in some cells, which may spread"]
    assert str(found).startswith("undecided: out of yours is NaN in every cell, which many mistakes give\n")
    seen = run(graph, feeds)
    found = diagnose(graph, feeds, {"scaled": seen["scaled"], "out": [[math.nan] * 4] * 3}, pairs=False)
    assert found.findings[0].name == "times infinity masked"


@pytest.mark.slow
def test_nan_among_wrong_numbers_is_told(small):
    graph, feeds = small
    (a, *_), *rest = run(graph, feeds)["out"]
    found = diagnose(graph, feeds, {"out": [[a + 1, math.nan, math.nan, a], *rest]}, pairs=False, budget=0.5)
    assert found.notes[0] == "of the 4 cells of out that differ, 2 are NaN in yours", found.notes


@pytest.mark.slow
def test_a_row_of_nan_names_no_logarithm():
    given = specimen("multi-head", n=5, d=6, heads=2, causal=True)
    right = run(given.graph, given.feeds)["Y"]
    found = diagnose(given.graph, given.feeds, {"Y": [[math.nan] * 6, *right[1:]]}, pairs=False, budget=60)
    assert not found.findings
    assert "Y of yours is what this graph gives but for 6 cells that are NaN in yours (row 0)" in found.notes
