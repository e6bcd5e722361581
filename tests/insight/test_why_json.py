"""The JSON form: exact numbers, each cell once, and it recomputes from the inputs alone."""

from __future__ import annotations

import json
import math
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_graphs import cases
from why_laws import cells, problems

from graphattn import Graph, GraphError, run
from graphattn.builtin import specimen
from graphattn.dumps.trace_text import read_trace, trace_text
from graphattn.insight.why.why_json import recompute
from graphattn.passes.gradient import differentiate
from graphattn.weights.toy_induction import toy_induction


def test_what_it_holds(head):
    data = head().why("head0.scaled", "sat", "cat", depth=2).data()
    top = data["cells"][-1]
    keys = ("format", "graph", "numbers", "tensor", "index", "labels", "depth", "complete")
    assert {key: data[key] for key in keys} == {
        "format": "graphattn why 1", "graph": "head", "numbers": "float", "tensor": "head0.scaled",
        "index": [2, 1], "labels": ["sat", "cat"], "depth": 2, "complete": True,
    }  # fmt: skip
    assert data["cell"] == top["id"] and data["value"] == top["value"] == head()["head0.scaled"][2][1]
    assert top["expression"] == {"divide": [{"cell": top["id"] - 1}, {"sqrt": [{"literal": 2}]}]}
    scores = data["cells"][-2]
    assert list(scores["expression"]) == ["total"] and len(scores["expression"]["total"]) == 2
    assert Counter(cell["tensor"] for cell in data["cells"])["q"] == 2


def test_named_parts_stand_once(head):
    top = head().why("head0.weights", 2, 1).data()["cells"][-1]
    assert [part["name"] for part in top["parts"]] == ["max", "Σ exp"]
    assert json.dumps(top["expression"]).count('"part"') == 2


def test_a_wrong_input_is_seen(head):
    """Test the tester: recompute does not read the values on the way."""
    data = json.loads(head().why("head0.out", 2, 0, depth="all").json())
    assert math.isclose(recompute(data), data["value"], rel_tol=1e-15)
    for cell in data["cells"]:
        if cell["kind"] == "computed":
            cell["value"] = 99.0
    assert math.isclose(recompute(data), data["value"], rel_tol=1e-15)
    next(cell for cell in data["cells"] if cell["tensor"] == "v")["value"] += 1.0
    assert not math.isclose(recompute(data), data["value"], rel_tol=1e-3)


@pytest.mark.slow
@given(cases(), st.sampled_from(["block", "head", "op", "primitive"]))
def test_random_graphs_recompute(case, level):
    trace = run(case.graph, case.feeds, level=level, allow_nonfinite=True)
    for name in trace.names[-3:]:
        for index in cells(trace, name, 1, name):
            assert list(problems(trace, name, index)) == []


@pytest.mark.parametrize("numbers", ["value", "mpmath", "float32", "float16", "bfloat16", "bfloat16:bfloat16"])
def test_other_numbers(head, numbers):
    trace = head(numbers=numbers)
    for name in ("head0.scores", "head0.weights", "head0.out"):
        for index in cells(trace, name, 2, name):
            found = list(problems(trace, name, index, 1e-9 if numbers in ("value", "mpmath") else 1e-2))
            assert found == []


def test_fractions():
    graph = Graph("g")
    x = graph.input("x", (2, 2))
    graph.scale(graph.matmul(x, x.T), divide=3, name="y")
    trace = run(graph, {"x": [[Fraction(1, 3), 2], [3, Fraction(1, 7)]]}, numbers="fraction")
    why = trace.why("y", 0, 1, depth="all")
    assert recompute(why.json()) == why.value == Fraction(3, 7)
    assert why.data()["value"] == "3/7"


def test_more_digits_than_the_run_had(head):
    why = head().why("head0.out", 2, 0, depth="all")
    assert abs(recompute(why.json(), "mpmath") - why.value) < 1e-15


@pytest.mark.slow
def test_gradients():
    found = specimen("block", n=3, d=4, causal=True)
    made = differentiate(found.graph, "Y")
    feeds = dict(found.feeds)
    for cotangent in made.cotangents.values():
        feeds[cotangent] = [[0.5, -1.0, 0.25, 2.0]] * 3
    for level in ("block", "op", "primitive"):
        trace = run(made.graph, feeds, level=level)
        for gradient in made.gradients.values():
            for index in cells(trace, gradient, 1, gradient):
                assert list(problems(trace, gradient, index)) == []


@pytest.mark.slow
def test_a_trained_model():
    trace = toy_induction("aba").run()
    for name, index in (("layer0.attention", (2, 2)), ("layer1.attention.q", (0, 1))):
        assert list(problems(trace, name, index)) == []


def test_saved_traces(head):
    trace = read_trace(trace_text(head(patch={"head0.scores": [[1.0, 2.0, 3.0]] * 3}), "exact"))
    assert list(problems(trace, "head0.out", (2, 0))) == []
    kinds = {cell["tensor"]: cell["kind"] for cell in trace.why("head0.out", 2, 0, depth="all").data()["cells"]}
    assert kinds["head0.scores"] == "patched" and kinds["v"] == "fed" and "q" not in kinds


def test_what_was_not_kept(head):
    why = head(keep=["head0.weights"]).why("head0.weights", 2, 1, depth="all")
    data = why.data()
    assert data["cells"][0]["value"] is None
    with pytest.raises(GraphError, match=r"q\[2, 0\] has no value, so it cannot be computed"):
        recompute(data)


def test_the_limit_is_said(head):
    data = head().why("head0.out", 2, 0, depth="all").data(limit=20)
    assert data["complete"] is False
    count = len(data["cells"])
    assert data["stopped"] == f"after {count} cells; those that they depend on are not listed"
    assert 10 < count <= 20
    assert math.isclose(recompute(data), data["value"], rel_tol=1e-15)


@pytest.mark.slow
def test_a_chain_of_100_000_nodes_is_cut_and_said():
    graph = Graph("g")
    y = graph.input("x", ())
    for _ in range(4000):
        y = graph.add(y, y)
    trace = run(graph, {"x": 1e-300})
    data = trace.why(y.name, depth="all").data(limit=1000)
    assert not data["complete"] and 990 < len(data["cells"]) <= 1000


def test_infinities_are_texts():
    graph = Graph("g")
    x = graph.input("x", (2,))
    graph.exp(x, name="y")
    trace = run(graph, {"x": [1000.0, math.nan]}, allow_nonfinite=True)
    assert trace.why("y", 0).data()["value"] == "inf"
    assert recompute(trace.why("y", 1, depth="all").json()) != 0.0


HEAD = '{"format": "graphattn why 1", "numbers": "float", "cell": 0, "cells": [{"id": 0, '
DAMAGED = {
    "[": "the explanation is not JSON: Expecting value: line 1 column 2 (char 1)",
    "{}": "this is no explanation; expected 'format': 'graphattn why 1'",
    "[1]": "this is no explanation; expected 'format': 'graphattn why 1'",
    '{"format": "graphattn why 1"}': "the explanation is damaged: KeyError: 'numbers'",
    '{"format": "graphattn why 1", "numbers": "float"}': "the explanation is damaged: KeyError: 'cells'",
    '{"format": "graphattn why 1", "numbers": "complex", "cells": []}': None,
    HEAD + '"expression": {"evil": []}}]}': "the explanation is damaged: KeyError: 'evil'",
    HEAD + '"expression": {"cell": 1}}]}': "the explanation is damaged: KeyError: 1",
    HEAD + '"expression": 3}]}': None,
    HEAD + '"tensor": "x", "index": [], "value": "z"}]}': None,
    HEAD + '"expression": {"exp": [{"literal": 1}, {"literal": 2}]}}]}': None,
    HEAD + '"expression": ' + '{"exp": [' * 5000 + '{"literal": 1}' + "]}" * 5000 + "}]}": None,
}


@pytest.mark.parametrize("text", DAMAGED, ids=range(len(DAMAGED)))
def test_damaged_documents(text):
    with pytest.raises(GraphError) as told:
        recompute(text)
    assert "\n" not in str(told.value)
    if DAMAGED[text]:
        assert str(told.value) == DAMAGED[text]
