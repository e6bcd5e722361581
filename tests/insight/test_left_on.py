"""Dropout that was left on is named, with its p, where its cells can be read off what was observed."""

from random import Random

import pytest

from graphattn import diagnose, run
from graphattn.builtin import specimen


def dropped(rows, p, seed=3, scaled=True):
    random = Random(seed)
    return [[0.0 if random.random() < p else x / (1 - p) * scaled for x in row] for row in rows]


def block():
    given = specimen("block", n=5, d=6, heads=2, causal=True)
    return given, run(given.graph, given.feeds)


@pytest.mark.parametrize("p, digits", [(0.1, None), pytest.param(0.2, 4, marks=pytest.mark.slow), (0.5, 4)])
def test_behind_the_branch_of_a_residual(p, digits):
    given, right = block()
    wrong = run(given.graph, given.feeds, patch={"attention.proj": dropped(right["attention.proj"], p)})["Y"]
    if digits:
        wrong = [[round(x, digits) for x in row] for row in wrong]
    found = diagnose(given.graph, given.feeds, {"Y": wrong}, pairs=False, budget=0.2)
    best = found.findings[0]
    assert found.verdict == "mistake" and len(found.findings) == 1
    assert best.phrase == f"with dropout (p = {p:.3g}) left on behind the linear attention.proj"
    assert "  mend     Switch dropout off before you compare: model.eval(), or p = 0.\n" in str(found)
    again = run(best.graph, given.feeds)["Y"]
    assert again == [pytest.approx(row, abs=1e-3 if digits else 1e-12) for row in wrong]


@pytest.mark.slow
def test_behind_weights_that_were_recorded():
    given, right = block()
    weights = dropped(right["attention.head1.weights"], 0.3)
    wrong = run(given.graph, given.feeds, patch={"attention.head1.weights": weights})["Y"]
    found = diagnose(
        given.graph, given.feeds, {"attention.head1.weights": weights, "Y": wrong}, pairs=False, budget=0.2
    )
    assert found.verdict == "mistake"
    told = "with dropout (p = 0.3) left on behind the softmax attention.head1.weights (rows sum to 1)"
    assert found.findings[0].phrase == told


@pytest.mark.slow
def test_two_at_once_where_each_was_recorded():
    given, right = block()
    weights = dropped(right["attention.head0.weights"], 0.3)
    branch = run(given.graph, given.feeds, patch={"attention.head0.weights": weights})["attention.proj"]
    branch = dropped(branch, 0.2)
    wrong = run(given.graph, given.feeds, patch={"attention.proj": branch})["Y"]
    seen = {"attention.head0.weights": weights, "attention.proj": branch, "Y": wrong}
    found = diagnose(given.graph, given.feeds, seen, pairs=False, budget=10)
    assert found.verdict == "mistake"
    assert "p = 0.3" in found.findings[0].phrase and "p = 0.2" in found.findings[0].phrase


@pytest.mark.slow
def test_what_is_no_dropout_is_called_none():
    given, right = block()
    random = Random(1)
    for make in (
        lambda x: 0.0 if random.random() < 0.3 else x * random.choice((1.2, 1.3)),  # two factors
        lambda x: 0.0 if random.random() < 0.3 else 0.8 * x,  # smaller, not larger
        lambda x: x * 1.2,  # none is 0
    ):
        branch = [[make(x) for x in row] for row in right["attention.proj"]]
        wrong = run(given.graph, given.feeds, patch={"attention.proj": branch})["Y"]
        found = diagnose(given.graph, given.feeds, {"Y": wrong}, pairs=False, budget=0.2)
        assert not any("dropout" in finding.phrase for finding in found.findings)
