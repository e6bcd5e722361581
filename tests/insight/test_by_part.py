"""Mistakes in one part of a model are named from the final output alone."""

import by_part
import pytest
from diagnose_report import judged, same

from graphattn import Graph, diagnose, run
from graphattn.builtin import random_feeds
from graphattn.insight.variants import Intended
from graphattn.insight.variants.generators.declared import declared

QUICK = ("smoothed", "ln(p + 1e-9)", "relu for exp", "stream and memory exchanged", "blocks")
DECLARED = {
    "cosines, then sines": "halves, cosines first", "row n for all": "row after the last",
    "in place": "in place", "max(x, 0)²": "squared relu", "row 0 of the table zero": "padding index",
    "timing signal": "timing signal", "s + 1e-6": "by standard deviation, 1e-06",
    "batch norm": "over the batch",
}  # fmt: skip
"""What ops declare, by name: planted, not searched for."""
SEARCHED = [what for what in by_part.CASES if what not in DECLARED]
EVERY = [what if what in QUICK else pytest.param(what, marks=pytest.mark.slow) for what in SEARCHED]


@pytest.mark.parametrize("part", dict.fromkeys(by_part.CASES.values()))
def test_right_code_is_right(part):
    pytest.importorskip("numpy")
    feeds = by_part.feeds(part)
    assert diagnose(by_part.graph(part), feeds, {"y": by_part.forward(part, feeds)}).verdict == "right"


@pytest.mark.parametrize("what", EVERY)
def test_a_mistake_in_a_part_is_named(what):
    pytest.importorskip("numpy")
    part = by_part.CASES[what]
    feeds, other = by_part.feeds(part), by_part.feeds(part, 3)
    observed = {"y": by_part.forward(part, feeds, what)}
    word, _, phrase = judged(
        by_part.graph(part), feeds, observed, other, lambda: by_part.forward(part, other, what)
    )
    assert word == "first", phrase


@pytest.mark.parametrize("what", DECLARED)
def test_what_is_declared_gives_these_numbers(what):
    pytest.importorskip("numpy")
    part = by_part.CASES[what]
    graph, feeds = by_part.graph(part).at("op"), by_part.feeds(part)
    intended = Intended(graph, feeds)
    made = [v for group in intended.groups for v in declared(intended, group) if v.kind == DECLARED[what]]
    values = [run(variant.rewrite.graph(graph), feeds)["y"] for variant in made]
    assert any(same(value, by_part.forward(part, feeds, what)) for value in values)


@pytest.mark.slow
def test_a_variant_of_another_rank_is_refused():
    g = Graph("sums")
    rows = g.reduce_sum(g.log_softmax(g.input("x", (2, 3, 4)), name="logp"), name="picked")
    g.output(y=g.reduce_sum(g.reshape(rows, (2, 3), name="told"), axis=1, name="total"))
    assert diagnose(g, random_feeds(g), {"y": [[1.234567], [2.345678]]}, pairs=False).verdict == "unexplained"
