"""Mistakes that were reported somewhere, written by hand, are named first from the final output alone."""

import by_hand
import pytest
from diagnose_report import judged_by_hand

PLANTED = (
    "H1:merged", "L12", "E8", "E10", "M14", "M3:nan", "M20", "P3:twice", "L7:squared", "H5:batch", "X3",
    "E7:pad",
)  # fmt: skip


def word(what, column="output"):
    return judged_by_hand(by_hand.LISTED[what], what, column)[0]


@pytest.mark.slow
@pytest.mark.parametrize("what", PLANTED)
def test_a_listed_mistake_is_named_first(what):
    assert word(what) == "first"


@pytest.mark.slow
@pytest.mark.parametrize("what, column", [("L4", "float32"), ("L11", "float32")])
def test_the_best_match_is_first_where_little_was_observed(what, column):
    assert word(what, column) == "first"


@pytest.mark.parametrize("what", by_hand.HARMLESS)
def test_what_is_no_mistake_in_value_is_right(what):
    assert judged_by_hand(by_hand.HARMLESS[what], what, "output")[0] == "right"


@pytest.mark.slow
def test_two_differences_that_cancel_are_harmless():
    assert judged_by_hand("plain", "S0", "some")[0] == "harmless"  # q is scaled, and the scores are not


@pytest.mark.slow
@pytest.mark.parametrize("what", by_hand.HARMLESS)
def test_what_differs_between_and_not_at_the_end_is_harmless(what):
    assert judged_by_hand(by_hand.HARMLESS[what], what, "all")[0] == "harmless"
