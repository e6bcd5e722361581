"""Mistakes in one part of a model are named from the final output alone."""

import by_part
import pytest
from diagnose_report import judged

from graphattn import Graph, diagnose
from graphattn.builtin import random_feeds

QUICK = ("smoothed", "ln(p + 1e-9)", "relu for exp", "stream and memory exchanged", "blocks")
EVERY = [what if what in QUICK else pytest.param(what, marks=pytest.mark.slow) for what in by_part.CASES]


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


def test_a_variant_of_another_rank_is_refused():
    g = Graph("sums")
    rows = g.reduce_sum(g.log_softmax(g.input("x", (2, 3, 4)), name="logp"), name="picked")
    g.output(y=g.reduce_sum(g.reshape(rows, (2, 3), name="told"), axis=1, name="total"))
    assert diagnose(g, random_feeds(g), {"y": [[1.234567], [2.345678]]}, pairs=False).verdict == "unexplained"
