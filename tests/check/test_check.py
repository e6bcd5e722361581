"""Grading: right files in many styles, wrong ones with the mistake named, and files that misbehave."""

from __future__ import annotations

import json
import os
import re
import sys

import pytest
from learners import MISTAKES, RIGHT, STYLES, changed

from graphattn import Graph, GraphError
from graphattn.check import check
from graphattn.check.contract import load
from graphattn.check.grade import graded
from graphattn.check.process import Limits
from graphattn.check.report import Report
from graphattn.cli import main

FAST = Limits(0.1, 512)


def written(tmp_path, text, name="model.py"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def contract():
    return {function.name: function for function in load("model").functions}


@pytest.mark.slow
@pytest.mark.parametrize("style", STYLES)
def test_right_in_every_style(style, tmp_path):
    report = check(written(tmp_path, changed(*STYLES[style])))
    assert report.right, str(report)


@pytest.mark.slow
def test_the_references_are_right(tmp_path):
    assert check(written(tmp_path, "from graphattn.scalar import *\n"), "scalar").right


@pytest.mark.slow
@pytest.mark.parametrize("function, old, new, words", MISTAKES, ids=range(len(MISTAKES)))
def test_wrong_and_why(function, old, new, words, tmp_path, contract):
    if "memory" in words and sys.platform != "linux":
        pytest.skip("no limit of memory there")
    grade = graded(written(tmp_path, changed((old, new))), contract[function], FAST)
    assert not grade.right
    assert words in f"{grade.problem} {grade.mistake}", f"{grade.problem} | {grade.mistake}"


@pytest.mark.slow
@pytest.mark.parametrize(
    "text, words",
    [
        ("", "does not define softmax; expected softmax(xs)"),
        ("def softmax(:", "line 1: invalid syntax; expected Python\n    def softmax(:"),
        ("softmax = 3", "softmax is a int; expected a function"),
        ("import nowhere_to_be_found", "ModuleNotFoundError"),
        ("raise SystemExit(3)", "it called exit"),
        ("def softmax(xs):\n  import os\n  os.fork()\n  return xs", "wrong"),
        ("def softmax(xs):\n  return [[1], [2, 3]]", "rows of different lengths"),
    ],
)
def test_files_that_misbehave(text, words, tmp_path, contract):
    if "fork" in text and not hasattr(os, "fork"):
        pytest.skip("no fork there")
    grade = graded(written(tmp_path, text), contract["softmax"], FAST)
    assert not grade.right and words in grade.problem, grade.problem


@pytest.mark.slow
@pytest.mark.parametrize(
    "text, words",
    [("def softmax(:", "invalid syntax"), ("import time\ntime.sleep(99)", "did not finish within 0.1 seconds")],
)
def test_a_file_that_does_not_run_is_told_once(text, words, tmp_path, monkeypatch):
    monkeypatch.setattr("graphattn.check.process.START_UP", 1.0)
    report = check(written(tmp_path, text), seconds=0.1)
    assert report.score == "0 of 7" and report.text().count("\n") < 5
    assert "the file does not run" in str(report) and str(report).count(words) == 1
    assert "wrong  block" in Report(report.file, "model", "none", report.grades).text()


@pytest.mark.parametrize(
    "old, new, words",
    [
        ("1", "1", "these are Vaswani's"),
        ("10000 ** ((i - i % 2) / d)", "10000 ** (i / d)", "with 10000^(j/d) for odd j too"),
        ("math.cos(a) if i % 2", "0.5 if i % 2", "not Vaswani's sines and cosines"),
    ],
)  # fmt: skip
def test_a_property_alone_is_said_to_be_one(old, new, words, tmp_path, contract):
    grade = graded(written(tmp_path, changed((old, new))), contract["pos_encoding"], FAST)
    assert grade.right and grade.note.startswith("any vectors pass that differ") and words in grade.note


@pytest.mark.slow
def test_mistakes_in_what_is_called_are_not_its_own(tmp_path, contract):
    unscaled = changed((" / math.sqrt(d)", ""))
    grade = graded(written(tmp_path, unscaled), contract["multi_head"], FAST, wrongs=["softmax", "attention"])
    assert not grade.right and grade.mistake == "with the right attention, which it calls, it is right"
    both = unscaled.replace("row[i * d:(i + 1) * d]", "row[i::h]")
    grade = graded(written(tmp_path, both), contract["multi_head"], FAST, wrongs=["attention"])
    assert grade.mistake.startswith(
        "with the right attention, which it calls: yours is this graph with every split"
    )


@pytest.mark.slow
@pytest.mark.parametrize("reveal", ["none", "place", "cause"])
def test_nothing_is_told_beyond_what_may_be(reveal, tmp_path, contract):
    file = written(tmp_path, changed((" / math.sqrt(d)", "")))
    report = check(file, reveal=reveal)
    text, data = report.text(), json.dumps(report.data())
    expected = [f"{cell:.6g}" for case in contract["attention"].cases[:1] for cell in case.want[0][0]]
    for told in (text, data):
        digits = set(re.findall(r"-?\d+\.\d+", told))
        shown = any(any(d.startswith(cell[:6]) for d in digits) for cell in expected)
        assert shown == (reveal == "cause")
        assert ("without the scale" in told) == (reveal == "cause")
        assert ("cells are wrong" in told) == (reveal != "none")


@pytest.mark.slow
def test_a_contract_of_ones_own(tmp_path):
    course = written(
        tmp_path,
        "from graphattn import Graph\n"
        "def twice(x):\n    return [2 * c for c in x]\n"
        "CASES = {'twice': [([1.0, 2.0],), ([0.5],)]}\n"
        "def GRAPHS(name, args):\n"
        "    g = Graph(name)\n    x = g.input('x', (len(args[0]),))\n"
        "    g.output(out=g.scale(x, multiply=2, name='doubled'))\n"
        "    return g, {'x': args[0]}\n",
        "course.py",
    )
    assert check(written(tmp_path, "def twice(x):\n    return [c + c for c in x]\n", "a.py"), course).right
    wrong = check(written(tmp_path, "def twice(x):\n    return list(x)\n", "b.py"), course)
    assert not wrong.right and "without the scale" in str(wrong)


@pytest.mark.slow
def test_a_contract_of_graphs_takes_numpy(tmp_path):
    pytest.importorskip("numpy")
    course = written(
        tmp_path,
        "from graphattn import Graph\n"
        "scaled_dot_product_attention = g = Graph('sdpa')\n"
        "q, k, v = (g.input(c, (3, 4)) for c in 'qkv')\n"
        "g.output(out=g.attention(q, k, v).out)\n",
        "course.py",
    )
    answer = (
        "import numpy as np\n"
        "def scaled_dot_product_attention(q, k, v):\n"
        "    q, k, v = map(np.array, (q, k, v))\n"
        "    s = q @ k.T / np.sqrt(q.shape[1])\n"
        "    e = np.exp(s - s.max(1, keepdims=True))\n"
        "    return e / e.sum(1, keepdims=True) @ v\n"
    )
    assert check(written(tmp_path, answer, "a.py"), course).right
    wrong = check(written(tmp_path, answer.replace(" / np.sqrt(q.shape[1])", ""), "b.py"), course)
    assert "without the scale" in str(wrong)


@pytest.mark.parametrize(
    "args, words",
    [
        (("nowhere.py",), "there is no file 'nowhere.py'"),
        (("good.json",), "'good.json' is no Python; expected a .py file or a worksheet"),
        (("a.py", "modle"), "did you mean 'model'"),
    ],
)
def test_refusals(args, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "", "a.py")
    written(tmp_path, "{}", "good.json")
    with pytest.raises(GraphError, match=words):
        check(*args)


@pytest.mark.parametrize(
    "text, words",
    [("1 / 0", "ZeroDivisionError"), ("x = 1", "has no CASES"), ("CASES = {'f': [(1,)]}", "no such function")],
)
def test_contracts_that_are_none(text, words, tmp_path):
    with pytest.raises(GraphError, match=words):
        load(written(tmp_path, text, "course.py"))


@pytest.mark.slow
def test_gradients_are_graded(tmp_path):
    text = "from graphattn.scalar import *\nfrom graphattn.scalar import softmax as right\n"
    broken = text + "def softmax(xs):\n    return [Value(v.data) + 0 * xs[0] for v in right(xs)]\n"
    report = check(written(tmp_path, broken), "scalar")
    grade = report.grades[0]
    assert not grade.right and "result 1" in grade.problem


@pytest.mark.slow
def test_a_self_attention_that_is_not_causal(tmp_path):
    text = (
        "from graphattn.scalar import *\nfrom graphattn.scalar import SelfAttention as Right\n"
        "class SelfAttention(Right):\n"
        "    def forward(self, x, causal=True):\n        return super().forward(x, causal=False)\n"
    )
    grade = check(written(tmp_path, text), "scalar").grades[-1]
    assert not grade.right and "output: " in grade.problem


def test_a_graph_without_outputs_is_no_function(tmp_path):
    file = written(tmp_path, "from graphattn import Graph\nf = Graph('f')\nf.input('x', (1,))\n", "course.py")
    with pytest.raises(GraphError, match="has no outputs"):
        load(file)
    assert Graph("f").outputs == {}


@pytest.mark.slow
def test_the_command(capsys, tmp_path):
    def cli(*args):
        with pytest.raises(SystemExit) as stopped:
            main(["check", *args])
        out, err = capsys.readouterr()
        return stopped.value.code or 0, out, err

    right = written(tmp_path, RIGHT, "right.py")
    wrong = written(tmp_path, changed(("j <= i", "j < i")), "wrong.py")
    status, out, _ = cli(right, wrong, "--reveal", "none")
    assert status == 1
    assert re.search(r"right\.py +7 of 7", out) and re.search(r"wrong\.py +6 of 7", out)
    status, out, _ = cli(wrong, "--json", "--reveal", "place")
    data = json.loads(out)
    assert status == 1 and [f["name"] for f in data["functions"] if not f["right"]] == ["causal_mask"]
    status, _, err = cli(wrong, "--seconds", "0")
    assert status == 2 and "64 MB or more" in err
