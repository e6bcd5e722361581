"""Attention, called at random: equal to the specification, and to ONNX Runtime where that follows it."""

from collections import Counter
from pathlib import Path

import pytest

from graphattn.conventions import CONTRADICTIONS, contradictions_table

PAGE = Path(__file__).parent.parent.parent / "docs" / "conventions.md"


@pytest.fixture(scope="module")
def calls():
    pytest.importorskip("onnx", reason="the reference comes with the package onnx")
    import attention_calls

    return attention_calls


def test_the_page_is_current():
    page = PAGE.read_text(encoding="utf-8")
    table = page.partition("<!-- contradictions -->\n")[2].partition("<!-- end of contradictions -->")[0]
    assert table == contradictions_table(), "write docs/conventions.md anew from contradictions_table()"


@pytest.mark.slow
@pytest.mark.parametrize("start", [0, 40])
def test_the_reference_and_the_runtime(calls, start):
    """Each difference is one that is known; `python tests/onnx_suite/attention_calls.py 600` draws more."""
    pytest.importorskip("onnxruntime", reason="one of the two that it is compared with")
    told = Counter()
    assert [wrong for seed in range(start, start + 40) for wrong in calls.judged(seed, told)] == []
    assert told["equal to the reference"] > 25
    assert told["equal to the runtime"] > 20


CALLS = {"qk_matmul_output_mode=0": 20, "is_causal with a mask": 17, "is_causal with one": 7, "hidden": 82}
"""A seed whose call meets each of the contradictions."""


@pytest.mark.parametrize("contradiction", CONTRADICTIONS, ids=lambda c: c.what)
def test_each_contradiction_is_there(calls, contradiction):
    """With onnx 1.23 and ONNX Runtime 1.32: the one that is said to differs, the other agrees."""
    onnx = pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    if not (onnx.__version__.startswith("1.23") and onnxruntime.__version__.startswith("1.32")):
        pytest.skip("said of onnx 1.23 and ONNX Runtime 1.32")
    seed = next(seed for what, seed in CALLS.items() if contradiction.what.startswith(what))
    call = calls.drawn(seed)
    for peer, says in (("reference", contradiction.reference), ("runtime", contradiction.runtime)):
        tolerance = calls.REFERENCE if peer == "reference" else calls.RUNTIME
        differs = calls.apart(call, calls.ours(call), calls.FUNCTIONS[peer](call), tolerance)
        assert bool(differs) == bool(says)
