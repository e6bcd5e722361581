"""Mistakes of people who think in arrays, written in numpy, are named."""

import fresh
import pytest
from diagnose_report import judged_fresh

UNNAMED = {
    "norm by length", "norm by largest", "rope by head", "rope before the split",
    "one block of the projection",
}  # fmt: skip
"""Two changes at once, or what no part of the graph does."""
QUICK = ("qk-norm before the split", "softmax over all", "one qk gamma", "no up", "pooled over features")
OTHERS = [what for what in fresh.CASES if what not in QUICK and what not in UNNAMED]


@pytest.mark.slow
@pytest.mark.parametrize("what", QUICK)
def test_a_fresh_mistake_is_named_first(what):
    pytest.importorskip("numpy")
    word, _, phrase = judged_fresh(what)
    assert word == "first", phrase


@pytest.mark.slow
@pytest.mark.parametrize("what", OTHERS[::6])
def test_others_are_named_too(what):
    pytest.importorskip("numpy")
    word, _, phrase = judged_fresh(what)
    assert word in ("first", "named"), phrase
