"""Mistakes of people who think in arrays, written in numpy, are named."""

import fresh
import pytest
from diagnose_report import judged_fresh

UNNAMED = {
    "norm by length", "norm by largest", "rope by head", "rope before the split", "euclidean",
    "one block of the projection",
}  # fmt: skip
"""Two changes at once, or what no part of the graph does."""
QUICK = ("qk-norm before the split", "softmax over all", "one qk gamma", "no up", "pooled over features")
SLOW = [what for what in fresh.CASES if what not in QUICK and what not in UNNAMED]


@pytest.mark.slow
@pytest.mark.parametrize("what", QUICK)
def test_a_fresh_mistake_is_named(what):
    pytest.importorskip("numpy")
    word, _, phrase = judged_fresh(what)
    assert word == "first", phrase


@pytest.mark.slow
def test_others_are_named_too():
    pytest.importorskip("numpy")
    assert [what for what in SLOW[::6] if judged_fresh(what)[0] not in ("first", "named")] == []
