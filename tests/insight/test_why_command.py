"""`graphattn why`: what it prints, and what it says of bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from graphattn.builtin import specimen
from graphattn.cli import main
from graphattn.dumps.trace_text import trace_text
from graphattn.insight.why.why_json import recompute

BLOCK = ("block", "--n", "3", "--d", "4", "--causal", "--labels", "the,cat,sat")


@pytest.fixture
def cli(capsys, tmp_path, monkeypatch):
    """cli("why", ...) -> (exit status, stdout, stderr), in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*args):
        capsys.readouterr()
        with pytest.raises(SystemExit) as caught:
            main(["why", *args])
        out, err = capsys.readouterr()
        return caught.value.code or 0, out, err

    return call


def trace():
    found = specimen("block", n=3, d=4, causal=True)
    return found.run(labels={"token": ["the", "cat", "sat"]})


def test_text(cli):
    status, out, _ = cli(*BLOCK, "head0.weights", "sat", "1", "--depth", "3")
    assert status == 0 and out == f"{trace().why('head0.weights', 2, 1, depth=3)}\n"


def test_options(cli):
    why = trace().why("head0.weights", 2, 1, depth=2)
    place = (*BLOCK, "head0.weights", "2", "1", "--depth", "2")
    assert cli(*place, "--markdown")[1] == why.markdown()
    assert cli(*place, "--json")[1] == why.json()
    assert cli(*place, "--digits", "3", "--width", "60", "--no-parts")[1] == why.text(60, 3, False) + "\n"
    assert cli(*place, "--level", "block")[1] == f"{why}\n"
    assert cli(*BLOCK, "head0.weights", "--", "-1", "-2")[1] == f"{trace().why('head0.weights', 2, 1)}\n"


@pytest.mark.slow
def test_all_the_way_down(cli):
    status, out, _ = cli(*BLOCK, "Y", "cat", "0", "--depth", "all", "--json", "-o", "why.json")
    document = json.loads(Path("why.json").read_text(encoding="utf-8"))
    assert (status, out) == (0, "") and abs(recompute(document) - document["value"]) < 1e-12


def test_reach(cli):
    found = trace().reach("X", "cat", 0)
    assert cli(*BLOCK, "X", "cat", "0", "--reach")[1] == f"{found}\n"
    assert cli(*BLOCK, "X", "cat", "0", "--reach", "--markdown")[1] == found.markdown()
    assert cli(*BLOCK, "X", "cat", "0", "--reach", "--json")[1] == found.json()


def test_a_saved_run(cli):
    Path("run.txt").write_text(trace_text(trace(), "exact"), encoding="utf-8")
    assert cli("run.txt", "head0.weights", "sat", "cat")[1] == f"{trace().why('head0.weights', 2, 1)}\n"


REFUSED = {
    ("block", "head0.weights", "0"): "'head0.weights' is token 4 × token 4; expected 2 indices, got 1",
    ("block", "head0.weights", "0", "4"): "4 is no place on axis token of 'head0.weights'; expected 0 to 3",
    ("block", "nope", "0", "0"): "graph 'block' has no tensor 'nope';"
    " `graphattn trace SOURCE --stats` lists those it has",
    ("toy", "layer1", "z", "3"): "label 'z' stands at places 5, 10 and 15 of axis token of 'layer1';"
    " expected one of these numbers",
    (
        "block",
        "Y",
        "0",
        "0",
        "--depth",
        "x",
    ): "invalid value for '--depth': expected a whole number of 1 or more"
    " or all, got 'x' (`graphattn why --help` tells more)",
    (
        "block",
        "Y",
        "0",
        "0",
        "--depth",
        "0",
    ): "invalid value for '--depth': expected a whole number of 1 or more"
    " or all, got '0' (`graphattn why --help` tells more)",
    (
        "block",
        "Y",
        "0",
        "0",
        "--json",
        "--markdown",
    ): "both --markdown and --json are given; expected one of them",
    ("block", "Y", "0", "0", "--digits", "18"): "--digits is 18; expected at most 17",
    ("block",): "missing argument 'TENSOR' (`graphattn why --help` tells more)",
}


@pytest.mark.parametrize("args", REFUSED, ids=" ".join)
def test_refusals(cli, args):
    status, out, err = cli(*args)
    told = [line for line in err.splitlines() if line.startswith("graphattn: ")]
    assert (status, out, told) == (2, "", [f"graphattn: {REFUSED[args]}"])
