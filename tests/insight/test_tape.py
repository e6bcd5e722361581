"""Engines written by hand, wrong as people write them, are named from the gradients of the leaves."""

import pytest
import tape

from graphattn import diagnose

NAMED = {
    "B1": "overwritten by the last", "B2": "whenever more arrives", "B3": "not set to zero",
    "B7": "not summed", "B9": "without the negate",
}  # fmt: skip


def found(wrong, hides=False):
    feeds = tape.feeds_of()
    return diagnose(tape.intended(hides), feeds, tape.head(feeds, wrong, hides), pairs=False, budget=60)


def test_a_right_engine_is_right():
    assert found(None).verdict == found(None, hides=True).verdict == "right"


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [pytest.param(w, marks=pytest.mark.slow if w == "B7" else ()) for w in NAMED])
def test_a_wrong_engine_is_named(wrong):
    said = found(wrong)
    assert said.verdict == "mistake" and NAMED[wrong] in said.findings[0].phrase


@pytest.mark.slow
def test_gradients_that_are_all_nan_are_undecided():
    said = found("B11", hides=True)
    assert said.verdict == "undecided" and said.suspects and said.look_at
