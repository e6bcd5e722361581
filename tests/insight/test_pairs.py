"""Two mistakes at once: what of the observed tensor tells them, within a budget that is counted."""

import re
from itertools import count

import pytest

from graphattn import Graph, diagnose, run
from graphattn.builtin import random_feeds
from graphattn.insight.compare.recording import Recorded
from graphattn.insight.diagnose import _untried, pairs, ranking
from graphattn.insight.diagnose.accuracy import FULL
from graphattn.insight.diagnose.alone import Sketch, changes
from graphattn.insight.diagnose.levels import levels
from graphattn.insight.diagnose.observed import Observed
from graphattn.insight.diagnose.search import Search


class Clock:
    """So many seconds pass whenever it is asked."""

    def __init__(self, step=0.0, asked=0):
        self.asked, self.step = count(asked), step

    @property
    def seconds(self):
        return next(self.asked) * self.step


def attention(both=False, n=3, d=2):
    g = Graph("attention")
    q, k, v = (g.input(name, (n, d)) for name in "QKV")
    q, k = (k, q) if both else (q, k)
    scores = g.matmul(q, k.T, name="scores")
    scores = scores if both else g.scale(scores, sqrt=d, name="scaled")
    weights = g.softmax(g.mask(scores, g.causal_mask(n), name="masked"), name="weights")
    g.output(out=g.matmul(weights, v, name="mixed"))
    return g


def observed(names=("out",), size=1.0):
    graph = attention()
    feeds = random_feeds(graph, 3)
    feeds["V"] = [[abs(cell) * size for cell in row] for row in feeds["V"]]
    trace = run(attention(both=True), feeds)
    return graph, feeds, {name: trace[name] for name in names}


def level_of(graph, feeds, theirs):
    seen = [
        Observed(name, graph.resolve(name), Recorded(name, (len(rows), len(rows[0])), rows))
        for name, rows in theirs.items()
    ]
    return next(levels(graph, seen, feeds, FULL, True, ()))


@pytest.fixture(scope="module")
def level():
    return level_of(*observed())


def started(clock, budget=1e9):
    search = Search(budget, clock=clock)
    search.start(budget)
    return search


def ranked(level, search=None):
    search, sketch = search or started(Clock()), Sketch(level.judge)
    return [
        (a.variant, b.variant) for a, b in ranking.ranked(search, changes(search, [level], sketch), sketch)
    ]  # fmt: skip


def names_of(hits):
    return [" and ".join(sorted(variant.name for variant in hit.variants)) for hit in hits]


BOTH = "skip scaled and swap Q and K"


@pytest.mark.slow
@pytest.mark.parametrize("names", [("masked",), ("masked", "out")])
def test_masked_cells_tell_nothing_and_all_others_do(names):
    level = level_of(*observed(names))
    assert BOTH in names_of(pairs.look_for_pairs(started(Clock()), [level])[:1])


def test_a_budget_that_ends_before_any_pair_is_run_leaves_a_note_that_is_true(level):
    whole = started(Clock(0.001))
    every = len(ranked(level, whole)) + whole.tried
    search = Search(0.0, tried=2000, clock=Clock(0.001, 2000))
    search.start(0.0)
    assert pairs.look_for_pairs(search, [level]) == []
    assert not search.finished and search.tried - 2000 < 10
    (note,) = _untried(search, pairs=True)
    told = re.search(r"([\d,]+) variants or more left untried: a budget of (\d+) seconds?", note)
    assert whole.tried - 10 <= int(told[1].replace(",", "")) <= every
    assert whole.tried / 1000 <= int(told[2]) <= 10 * ranking.KEPT / 1000


def test_what_changes_what_takes_a_part_of_the_budget_at_most(level):
    search = started(Clock(0.001), 1.0)
    found = changes(search, [level], Sketch(level.judge))
    assert len(found) > 50 and not search.over and search.left > 0
    assert [change.variant.price for change in found] == sorted(change.variant.price for change in found)


def test_no_pairs_are_ranked_where_the_budget_is_spent(level):
    sketch = Sketch(level.judge)
    found = changes(started(Clock()), [level], sketch)
    first = ranking.ranked(started(Clock(1.0), 0.0), found, sketch)
    assert len(found) > 2 * ranking.ASK
    assert 0 < len(first) < len(ranking.ranked(started(Clock()), found, sketch))


@pytest.mark.slow
def test_what_else_is_found_does_not_depend_on_the_machine(level):
    searches = [started(Clock(step)) for step in (0.0, 1.0)]
    found = [names_of(pairs.look_for_pairs(search, [level])) for search in searches]
    assert found[0] == found[1] and searches[0].tried == searches[1].tried < 2000


@pytest.mark.parametrize("size", [2.0**-700, 2.0**600])
def test_cells_of_any_size_tell_which_pairs_come_first(size):
    first = ranked(level_of(*observed(size=size)))[:50]
    assert {"skip scaled", "swap Q and K"} in [{a.name, b.name} for a, b in first]


def test_axes_exchanged_all_through_the_graph_are_no_change_beside_another():
    g = Graph("batch")
    x = g.input("x", (2, 3, 4))
    linear = g.linear(x, g.parameter("w", (4, 4)), name="linear")
    g.output(y=g.scale(g.softmax(linear, axis=-2, name="softmax"), multiply=3))
    feeds = random_feeds(g, 3)
    y = run(g, feeds)["y"]
    level = level_of(g, feeds, {"y": [[cell + 1.0 for cell in row] for block in y for row in block]})
    assert any(variant.throughout for rest in (False, True) for variant in level.variants(rest))
    both = ranked(level)
    assert both and not any(variant.throughout for pair in both for variant in pair)


def block(*wrong):
    """A norm and attention behind it, written by hand with some mistakes."""
    g = Graph("block")
    x, gamma = g.input("x", (4, 3)), g.parameter("gamma", (3,))
    normed = g.layernorm(x, gamma, None, eps="1e-05", name="norm")
    if "n − 1" in wrong:
        mean = g.reduce_mean(x, axis=-1)
        squared = g.multiply(g.subtract(x, mean), g.subtract(x, mean))
        spread = g.divide(g.reduce_sum(squared, axis=-1), g.constant(2.0))
        normed = g.divide(g.subtract(x, mean), g.sqrt(g.add(spread, g.constant(1e-5))))
        normed = normed if "no gamma" in wrong else g.multiply(normed, gamma)
    q, k, v = (g.linear(normed, g.parameter(f"w_{c}", (3, 3)), name=c) for c in "qkv")
    scores = g.matmul(q, k.T, name="scores")
    scores = scores if "no scale" in wrong else g.scale(scores, sqrt=3, name="scaled")
    see = g.causal_mask(4, name="visible")
    masked = (
        scores
        if "no mask" in wrong
        else g.mask(scores, see.T if "mask turned" in wrong else see, name="masked")
    )
    mixed = g.matmul(g.softmax(masked, name="weights"), v, name="mixed")
    out = mixed if "no residual" in wrong else g.add(x, mixed, name="out")
    g.output(y=out.T if "turned" in wrong else out)
    return g


TOGETHER = {
    ("no scale", "mask turned"): "the mask visible transposed",
    ("n − 1", "no scale"): "variance.count",
    ("n − 1", "no gamma"): "without gamma",
    ("no residual", "turned"): "transposed",
    ("no mask", "no residual"): "without x",
}


@pytest.mark.slow
@pytest.mark.parametrize("wrong", TOGETHER)
def test_two_at_once(wrong):
    graph, theirs = block(), block(*wrong)
    feeds, other = random_feeds(graph, 3), random_feeds(graph, 8)
    found = diagnose(graph, feeds, {"y": run(theirs, feeds)["y"]})
    first = found.findings[0]
    expected = run(theirs, {name: other[name] for name in theirs.inputs})["y"]
    assert len(first.variants) == 2 and TOGETHER[wrong] in first.phrase
    assert run(first.graph, other)["y"] == [pytest.approx(row, rel=1e-9) for row in expected]


@pytest.mark.slow
def test_two_at_once_beside_what_was_observed_on_the_way():
    graph, theirs = block(), block("n − 1", "no scale", "no residual")
    feeds = random_feeds(graph, 3)
    norm, y = run(graph, feeds)["norm"], run(block("no scale", "no residual"), feeds)["y"]
    found = diagnose(graph, feeds, {"norm": norm, "y": y})
    assert len(found.findings[0].variants) == 2 and found.findings[0].given == ("norm", "y")
    assert diagnose(graph, feeds, {"norm": norm, "y": run(theirs, feeds)["y"]}, budget=2).findings == []
