"""Softmax, layer norm, linear, GELU and attention against PyTorch, and against 50 digits.

A case that asks for what we do not have (several normalized axes, shared key heads, …) is skipped
by name, so that the count of what runs is visible.
"""

import cases
import pytest

from graphattn import Graph, run


class Absent(Exception):
    """The case needs something that is not there."""


def softmax(graph, case, x):
    axis = case["attrs"].get("dim", case["attrs"].get("axis", -1))
    return {"y": graph.softmax(x, axis=axis, empty="nan")}


def layer_norm(graph, case, x, weight=None, bias=None):
    if len(case["attrs"].get("normalized_shape", [0])) != 1:
        raise Absent("several normalized axes")
    return {"y": graph.layernorm(x, weight, bias, eps=case["attrs"]["eps"])}


def linear(graph, case, x, weight, bias=None):
    return {"y": graph.linear(x, weight, bias)}


def gelu(graph, case, x):
    return {"y": graph.gelu(x, approximate=case["attrs"]["approximate"])}


def attention(graph, case, q, k, v, attn_mask=None):
    attrs = case["attrs"]
    if attrs.get("enable_gqa"):
        raise Absent("key heads that are shared by query heads")
    if attrs["scale"] is None:
        out, weights = graph.attention(q, k, v, attn_mask, causal=attrs["is_causal"])
    else:
        scores = graph.scale(q @ k.T, multiply=attrs["scale"])
        weights = graph.softmax(scores if attn_mask is None else graph.mask(scores, attn_mask))
        out = graph.matmul(weights, v, absorb_zeros=True)
    return {"out": out, "weights": weights}


FUNCTIONS = {
    "softmax": softmax, "layer_norm": layer_norm, "linear": linear, "gelu": gelu,
    "attention": attention, "scaled_dot_product_attention": attention,
}  # fmt: skip
CASES = [p for suite in ("torch", "mp") for p in cases.paths(suite) if cases.load(p)["op"] in FUNCTIONS]


def results(case):
    """Each output of a case as we compute it, at both levels."""
    graph = Graph("case")
    tensors = {
        t["name"]: graph.input(t["name"], t["shape"], kind="bool" if t["dtype"] == "bool" else "float")
        for t in case["inputs"]
    }
    graph.output(**FUNCTIONS[case["op"]](graph, case, **tensors))
    feeds = cases.inputs(case)
    fast, fine = (run(graph, feeds, allow_nonfinite=True, level=level) for level in ("op", "primitive"))
    assert repr(fast.outputs) == repr(fine.outputs)
    return fast.outputs


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_case(path):
    case = cases.load(path)
    try:
        got = results(case)
    except Absent as absent:
        pytest.skip(f"needs {absent}")
    wrong = [cases.judged(case, t, got["y" if t["name"] not in got else t["name"]]) for t in case["outputs"]]
    told = [one for one in wrong if one]
    if told and case.get("level") == "stretch":
        pytest.xfail(f"more than the textbook algorithm is asked: {told[0]}")
    assert told == []


def test_enough_cases_run():
    assert len(CASES) >= 25
    assert {cases.load(path)["op"] for path in CASES} == set(FUNCTIONS)
