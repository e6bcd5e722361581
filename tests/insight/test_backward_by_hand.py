"""Backward passes written by hand in numpy and on scalars: right ones are right, wrong ones are named."""

import backprop
import pytest
from diagnose_report import judged_backward

from graphattn import diagnose

NAMED = [
    ("head", "two steps"), ("head", "dX the last alone"), ("head", "dWq and dWk exchanged"),
    ("head", "dX by W, not Wᵀ"), ("head", "dQ and dK exchanged"), ("head", "all dW turned"),
    ("head", "clipped"),
    ("bigram", "loss: no −1"), ("bigram", "embedding: last write"), ("value", "exp of the input"),
    ("value", "not in order"),
]  # fmt: skip
"""One of each kind: the engine, a path, names, a rule in some nodes, what is done to gradients afterwards, a
term left out, a rule of a primitive inside an op, and an engine on scalars."""


@pytest.mark.parametrize("base", [base for base in backprop.BASES if base not in ("gpt", "llama")])
def test_right_code_is_right(base):
    feeds = backprop.feeds(base)
    assert diagnose(backprop.intended(base), feeds, backprop.gradients(base, feeds)).verdict == "right"


@pytest.mark.slow
@pytest.mark.parametrize("base, wrong", NAMED)
def test_a_wrong_backward_pass_is_named(base, wrong):
    assert judged_backward(base, wrong)[0] == "first"
