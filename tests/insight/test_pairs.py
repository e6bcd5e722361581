"""Two mistakes at once: what of the observed tensor tells them, within a budget that is counted."""

import re
from itertools import count

import pytest

from graphattn import Graph, run
from graphattn.builtin import random_feeds
from graphattn.insight.compare.recording import Recorded
from graphattn.insight.diagnose import _untried, pairs
from graphattn.insight.diagnose.accuracy import FULL
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
    return pairs._ranked(search or started(Clock()), level)


def names_of(hits):
    return [" and ".join(sorted(variant.name for variant in hit.variants)) for hit in hits]


BOTH = "skip scaled and swap Q and K"


@pytest.mark.slow
@pytest.mark.parametrize("names", [("masked",), ("masked", "out")])
def test_masked_cells_tell_nothing_and_all_others_do(names):
    level = level_of(*observed(names))
    assert BOTH in names_of(pairs.look_for_pairs(started(Clock()), [level])[:1])


@pytest.mark.parametrize("variants", [0, 300])
def test_a_budget_that_ends_before_any_pair_is_run_leaves_a_note_that_is_true(level, variants):
    whole = started(Clock(0.001))
    every = len(ranked(level, whole)) + whole.tried
    search = Search(0.0, tried=2000, clock=Clock(0.001, 2000))
    search.start(variants / 1000)
    assert pairs.look_for_pairs(search, [level]) == []
    assert not search.finished and abs(search.tried - 2000 - variants) < 10
    (note,) = _untried(search, pairs=True)
    told = re.search(r"([\d,]+) variants or more left untried: a budget of (\d+) seconds?", note)
    assert 2000 + whole.tried - search.tried <= int(told[1].replace(",", "")) <= 2000 + every - search.tried
    assert every / 1000 <= int(told[2]) <= 10 * every / 1000


def test_no_pairs_are_ranked_where_the_budget_is_spent(level, monkeypatch):
    search, changes, made = started(Clock(1.0)), [], pairs._changes

    def spent(*given):
        changes.extend(made(*given))
        search.budget = 0.0
        return changes

    monkeypatch.setattr(pairs, "_changes", spent)
    first = ranked(level, search)
    likely = {id(change.variant) for change in changes[: pairs.ASK]}
    assert len(changes) > 2 * pairs.ASK
    assert all(id(a) in likely or id(b) in likely for a, b in first)


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
