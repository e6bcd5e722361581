"""graphattn.testing.contract: a lecturer's test file of three lines; and what docs show for graders."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from learners import changed

from graphattn import GraphError
from graphattn.testing import contract

ROOT = Path(__file__).resolve().parents[2]
LECTURER = 'from graphattn.testing import contract\n\ntest_model = contract("model.py"{})\n'


@pytest.mark.slow
def test_three_lines_are_a_test_for_each_function(tmp_path):
    (tmp_path / "test_it.py").write_text(LECTURER.format(', reveal="place"'), encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    names = {"__file__": str(tmp_path / "test_it.py")}
    exec(LECTURER.format(""), names)
    with pytest.raises(AssertionError, match=re.escape("there is no file 'model.py' to grade")):
        names["test_model"]("softmax")
    wrong = changed() + "\n\ndef softmax(xs):\n    return [x / sum(xs) for x in xs]\n"
    (tmp_path / "model.py").write_text(wrong, encoding="utf-8")
    told = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-c", str(tmp_path / "pytest.ini"), str(tmp_path),
         "-k", "softmax or causal or positions"],
        capture_output=True, encoding="utf-8", timeout=300, cwd=ROOT,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"},
    ).stdout  # fmt: skip
    assert "1 failed, 1 passed, 5 deselected" in told and "test_model[softmax]" in told
    assert "cells are wrong, the first at" in told and "expected  " not in told


def test_a_bad_request_is_told_when_tests_are_collected():
    with pytest.raises(GraphError, match="expected one of none, place, cause"):
        contract("model.py", reveal="all")
    with pytest.raises(GraphError, match="there is no contract 'modle'"):
        contract("model.py", "modle")


@pytest.mark.slow
def test_the_example_for_otter_is_a_doctest(tmp_path, monkeypatch):
    """Run as otter-grader runs it: the code of a case as a doctest beside the learner's file."""
    document = (ROOT / "docs" / "teaching.md").read_text(encoding="utf-8")
    (block,) = (b for b in re.findall(r"^```python\n(.*?)^```$", document, re.M | re.S) if '"suites"' in b)
    names = {}
    exec(block, names)
    assert set(names["test"]) == {"name", "points", "suites"}
    (suite,) = names["test"]["suites"]
    monkeypatch.chdir(tmp_path)
    for text, failures in (
        (changed(), 0),
        ("def softmax(xs):\n    return xs\n", 1),
    ):
        (tmp_path / "model.py").write_text(text, encoding="utf-8")
        for case in suite["cases"]:
            parsed = doctest.DocTestParser().get_doctest(textwrap.dedent(case["code"]), {}, "otter", None, 0)
            assert doctest.DocTestRunner(verbose=False).run(parsed, out=lambda _: None).failed == failures
