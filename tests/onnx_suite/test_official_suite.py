"""The official suite of ONNX: what passed once passes always, and no value is ever wrong.

`tests/data/onnx_suite_passed.txt` is written by `python -m graphattn.onnx.suite --passed FILE`.
"""

from pathlib import Path

import pytest

from graphattn.conventions.onnx import OPERATORS
from graphattn.onnx.suite import Outcome, group, official, report

PASSED = Path(__file__).parent.parent / "data" / "onnx_suite_passed.txt"
ONNX = "1.23"
"""The version whose tests the list names."""


@pytest.mark.slow
def test_the_suite(monkeypatch):
    """Every test passes or is refused with a reason; those that are listed pass, and no others."""
    onnx = pytest.importorskip("onnx", reason="the official suite comes with the package onnx")
    listed = PASSED.read_text(encoding="utf-8").split()
    assert listed == sorted(set(listed))
    outcomes = {outcome.name: outcome for outcome in official()}
    wrong = {o.name: o.reason for o in outcomes.values() if o.status == "failed"}
    lost = {
        name: outcomes[name].reason for name in listed if name in outcomes and outcomes[name].status != "passed"
    }
    assert (wrong, lost) == ({}, {})
    assert all(o.reason for o in outcomes.values() if o.status == "refused")
    if onnx.__version__.startswith(ONNX):
        passed = {o.name for o in outcomes.values() if o.status == "passed"}
        assert passed == set(listed), "write the list anew: python -m graphattn.onnx.suite --passed FILE"
        assert len(outcomes) == 2033

    # an operator that is wrong is seen: such a test is neither passed nor refused
    monkeypatch.setattr(OPERATORS["Abs"], "build", lambda g, X: [g.negate(X)])
    monkeypatch.setattr(OPERATORS["Tanh"], "build", lambda g, input: [g.scale(g.tanh(input), multiply=1.01)])
    names = ["test_abs", "test_tanh", "test_tanh_example", "test_sqrt", "test_if"]
    status = {outcome.name: outcome.status for outcome in official(names=names)}
    assert status == {
        "test_abs": "failed", "test_tanh": "failed", "test_tanh_example": "failed", "test_sqrt": "passed",
        "test_if": "refused",
    }  # fmt: skip


def test_the_report_counts():
    outcomes = [
        Outcome("test_a", "node", "passed", computed=True),
        Outcome("test_b", "node", "passed"),
        Outcome("test_c", "node", "refused", "If (node 0) is control flow; expected …"),
        Outcome("test_d", "simple", "failed", "Traceback\nAssertionError: not close"),
    ]
    text = report(outcomes)
    assert text.splitlines()[1].split() == ["node", "3", "2", "1", "1", "0"]
    assert text.splitlines()[3].split() == ["all", "4", "2", "1", "1", "1"]
    assert "      1  control flow" in text
    assert text.endswith("test_d: AssertionError: not close")
    assert group("a reason of its own") == "other"
