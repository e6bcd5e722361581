"""Attention on Values: the same graph as on floats, its trace, gradients by differences and by PyTorch."""

from __future__ import annotations

import gc
import json
import math
import os
import random
import tracemalloc
from pathlib import Path

import op_laws
import pytest
from every_op import every_op

from graphattn import Graph, run
from graphattn.core import nested
from graphattn.core.trace import Trace
from graphattn.scalar import SelfAttention, Value
from graphattn.scalar.value import dot, total

HERE = Path(__file__).parent.parent / "data" / "corpora" / "torch"
ROOT = Path(os.environ["GRAPHATTN_CORPORA"]) / "torch" if "GRAPHATTN_CORPORA" in os.environ else HERE
SPECIAL = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def mapped(function, block):
    return [mapped(function, item) for item in block] if isinstance(block, (list, tuple)) else function(block)


def data(block):
    return mapped(lambda v: v.data if isinstance(v, Value) else v, block)


def grads(block):
    return mapped(lambda v: v.grad, block)


def scaled_sum(block, factors):
    return dot(list(nested.flat(block)), list(map(Value, nested.flat(factors))))


# ---------------------------------------------------------------- any graph on Values


@pytest.mark.slow
@pytest.mark.parametrize("op", every_op())
def test_values_are_the_floats_bit_for_bit(op):
    """Every sample of every op, also with infinities and NaN in it."""
    for calls in (op_laws.calls(op), op_laws.disturbed(op, rounds=2)):
        for call in calls:
            options = {"allow_nonfinite": True, "level": "primitive"}
            floats = run(call.graph, call.feeds, **options)
            values = run(call.graph, call.feeds, numbers="value", **options)
            for tensor in floats.names:
                if floats.spec(tensor).kind == "float":
                    kinds = set(map(type, nested.flat(values[tensor])))
                    assert kinds <= {Value}, f"{call.what}: {tensor} holds {kinds}"
                assert repr(data(values[tensor])) == repr(floats[tensor]), f"{call.what}: {tensor}"
                assert repr(values.masked(tensor)) == repr(floats.masked(tensor)), f"{call.what}: {tensor}"


def test_fed_values_keep_their_identity():
    graph = Graph()
    graph.output(y=graph.softmax(graph.input("x", (2, 2))))
    x = [[Value(1.0), 2.0], (Value(3.0), Value(-math.inf))]
    trace = run(graph, {"x": x}, numbers="value", allow_nonfinite=True)
    assert trace["x"][0][0] is x[0][0] and trace["x"][1][1] is x[1][1]
    assert isinstance(trace["x"][0][1], Value) and x[0][1] == 2.0 and trace["x"] is not x
    trace["y"][0][0].backward()
    assert x[0][0].grad == pytest.approx(0.25 * 1 / math.cosh(0.5) ** 2)


def test_a_patch_of_values_gets_gradients():
    graph = Graph()
    x = graph.input("x", (1, 2))
    graph.output(y=graph.multiply(graph.exp(x, name="raised"), 3.0))
    mine = [[Value(5.0), Value(7.0)]]
    trace = run(graph, {"x": [[0.0, 0.0]]}, numbers="value", patch={"raised": mine})
    total(trace["y"][0]).backward()
    assert grads(mine) == [[3.0, 3.0]] and trace["x"][0][0].grad == 0.0


@pytest.mark.slow
def test_constants_of_a_plan_are_shared_and_do_not_grow():
    graph = Graph()
    x = graph.input("x", (3, 4))
    graph.output(y=graph.layernorm(graph.gelu(x)))
    feeds = {"x": [[0.1 * i * j for j in range(4)] for i in range(3)]}

    def once():
        trace = run(graph, feeds, numbers="value")
        total(v for row in trace["y"] for v in row).backward()
        return grads(trace["x"])

    first = once()
    for _ in range(3):
        assert once() == first  # what constants accumulated changes nothing
    gc.collect()
    tracemalloc.start()
    once()
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(10):
        once()
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 5_000


def test_traces_of_values_compare_by_every_digit():
    graph = Graph()
    graph.output(y=graph.exp(graph.input("x", (1,))))
    a, b = (run(graph, {"x": [x]}, numbers="value") for x in (1.0, 1.0 + 2.0**-52))
    again = run(graph, {"x": [Value(1.0)]}, numbers="value")
    assert a == again and a != b and a != run(graph, {"x": [1.0]}, level="primitive")
    restored = Trace.restore(a.graph, {name: a[name] for name in a.names}, numbers="value")
    assert restored == a


# ---------------------------------------------------------------- self-attention


def attended(n=4, d=3, causal=True, seed=0):
    dice = random.Random(seed)
    attn = SelfAttention(d, rng=dice)
    for part in (attn.W_q, attn.W_k, attn.W_v, attn.W_o):
        for bias in part.bias:
            bias.data = dice.gauss(0.0, 0.5)
    x = [[Value(dice.gauss(0.0, 1.0)) for _ in range(d)] for _ in range(n)]
    factors = [[dice.gauss(0.0, 1.0) for _ in range(d)] for _ in range(n)]
    return attn, x, factors, attn(x, causal=causal)


@pytest.mark.parametrize("causal", [True, False])
def test_gradients_by_central_differences(causal):
    attn, x, factors, out = attended(causal=causal)
    scaled_sum(out, factors).backward()
    leaves = [*attn.parameters(), *nested.flat(x)]
    assert len(leaves) == 4 * 12 + 12
    for leaf in leaves:
        before, ends = leaf.data, []
        for sign in (1, -1):
            leaf.data = before + sign * 1e-5
            ends.append(scaled_sum(attn(x, causal=causal), factors).data)
        leaf.data = before
        assert leaf.grad == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-7, abs=1e-8)


def test_gradients_by_50_digits():
    """The same graph in mpmath, differences so small that only its digits allow them."""
    attn, x, factors, out = attended(n=3, d=2)
    scaled_sum(out, factors).backward()
    graph = attn.graph(3)
    feeds = {"x": data(x)}
    for part in "qkvo":
        linear = getattr(attn, f"W_{part}")
        feeds |= {f"W_{part}": data(linear.weight), f"b_{part}": data(linear.bias)}
    import mpmath

    with mpmath.workdps(50):
        step = mpmath.mpf("1e-15")
        for name, own in (
            ("x", x),
            ("W_q", attn.W_q.weight),
            ("W_k", attn.W_k.weight),
            ("b_v", [attn.W_v.bias]),
        ):
            for i, row in enumerate(own):
                for j, leaf in enumerate(row):
                    ends = []
                    for sign in (1, -1):
                        shaken = mapped(mpmath.mpf, feeds[name])
                        cells = shaken[i] if isinstance(shaken[0], list) else shaken
                        cells[j] += sign * step
                        y = run(graph, {**feeds, name: shaken}, numbers="mpmath")["out"]
                        ends.append(sum(f * c for fs, r in zip(factors, y) for f, c in zip(fs, r)))
                    slope = (ends[0] - ends[1]) / (2 * step)
                    assert abs(leaf.grad - slope) <= 1e-14 * max(1, abs(slope)), (name, i, j)


def test_what_is_hidden_has_no_weight_and_no_gradient():
    attn, x, factors, out = attended(n=4)
    scaled_sum(out, factors).backward()
    weights, scores = attn.trace["weights"], attn.trace["head.scores"]
    for i in range(4):
        for j in range(i + 1, 4):
            assert (weights[i][j].data, scores[i][j].grad) == (0.0, 0.0)
        assert sum(data(weights[i])) == pytest.approx(1.0, abs=1e-15)
    total(out[0]).backward()
    later = [leaf for row in x[1:] for leaf in row]
    for leaf in later:
        leaf.grad = 0.0
    total(attn(x)[0]).backward()
    assert [leaf.grad for leaf in later] == [0.0] * len(later)


def test_a_key_bias_has_no_influence():
    attn, _, factors, out = attended()
    scaled_sum(out, factors).backward()
    assert all(abs(bias.grad) < 1e-15 for bias in attn.W_k.bias)
    assert all(abs(bias.grad) > 1e-6 for bias in attn.W_q.bias)


def test_what_a_mask_hides_may_be_infinite():
    graph = Graph()
    q, k, v = (graph.input(name, (3, 2)) for name in "qkv")
    graph.output(out=graph.attention(q, k, v, causal=True)[0])
    feeds = {name: [[Value(i + 0.5 * j - len(name)) for j in range(2)] for i in range(3)] for name in "qkv"}
    for bad in (math.inf, -math.inf, math.nan):
        feeds["k"][2] = [Value(bad), Value(1.0)]
        feeds["v"][2] = [Value(bad), Value(bad)]
        for leaf in nested.flat(list(feeds.values())):
            leaf.grad = 0.0
        out = run(graph, feeds, numbers="value", allow_nonfinite=True)["out"]
        total(out[0] + out[1]).backward()
        found = [leaf.grad for leaf in nested.flat(list(feeds.values()))]
        assert all(map(math.isfinite, found)) and any(found)
        assert grads(feeds["k"][2] + feeds["v"][2]) == [0.0] * 4


def test_the_trace_is_there_as_for_floats():
    attn, x, _, out = attended(n=3, d=2)
    trace = attn.trace
    assert trace.graph.at("primitive") is trace.graph and trace.numbers.name == "value"
    assert data(trace["out"]) == data(out) and trace["out"] is not out
    assert trace["x"][0][0] is x[0][0] and trace["W_q"][0][0] is attn.W_q.weight[0][0]
    assert {"q", "k", "v", "head.scores", "head.scaled", "head.weights", "weights", "out"} <= {
        *trace.graph.tensor_names()
    }
    assert trace.masked("weights") == [[j > i for j in range(2 + 1)] for i in range(3)]
    assert "head.scores = matmul(" in str(trace) and "Value" not in str(trace)
    assert attn.graph(3).at("primitive") == trace.graph
    attn(x, causal=False)
    assert attn.trace is not trace and attn.trace.masked("weights") is None


def test_floats_may_stand_for_values():
    attn, x, _, out = attended()
    assert data(attn(data(x))) == data(out)
    mixed = [[x[0][0], *data(x[0][1:])], *data(x[1:])]
    total(v for row in attn(tuple(map(tuple, mixed))) for v in row).backward()
    assert x[0][0].grad != 0.0


def test_results_and_inputs_are_not_touched():
    attn, x, _, out = attended()
    before = [list(row) for row in x]
    out[0][0] = Value(100.0)
    out[1].clear()
    assert all(a is b for r, s in zip(x, before) for a, b in zip(r, s))
    assert attn.trace["out"][0][0] != 100.0 and len(attn.trace["out"][1]) == 3


def test_projections_can_be_exchanged():
    from graphattn.scalar import Linear

    attn, x, _, _ = attended(d=3)
    attn.W_o = Linear(3, 3, bias=False)
    attn.W_q.weight = [[1.0 if i == j else 0.0 for j in range(3)] for i in range(3)]
    out = attn(x)
    assert "b_o" not in attn.trace.graph.inputs and len(out) == 4
    assert len(attn.parameters()) == 4 * 12 - 3 - 9


# ---------------------------------------------------------------- PyTorch's gradients


def sdpa(graph, attrs, q, k, v, attn_mask=None):
    if attrs.get("enable_gqa"):
        pytest.skip("shared key heads")
    return graph.attention(q, k, v, attn_mask, causal=attrs["is_causal"], scale=attrs["scale"])[0]


def linear(graph, attrs, x, weight, bias=None):
    if len(x.shape) > 1:
        return graph.linear(x, weight, bias)
    row = graph.linear(graph.reshape(x, (1, *x.shape)), weight, bias)
    return graph.reshape(row, (weight.shape[0],))


def layer_norm(graph, attrs, x, weight=None, bias=None):
    if len(attrs["normalized_shape"]) != 1:
        pytest.skip("several normalized axes")
    return graph.layernorm(x, weight, bias, eps=attrs["eps"])


FUNCTIONS = {
    "scaled_dot_product_attention": sdpa,
    "layer_norm": layer_norm,
    "linear": linear,
    "softmax": lambda graph, attrs, x: graph.softmax(x, axis=attrs["dim"]),
    "gelu": lambda graph, attrs, x: graph.gelu(x, approximate=attrs["approximate"]),
}


def test_what_a_case_is_given_is_passed_on():
    """A scale does not push out is_causal, and a vector is a row."""
    g = Graph("given")
    q, k, v = (g.input(name, (3, 2)) for name in "qkv")
    g.output(y=sdpa(g, {"is_causal": True, "scale": 0.5}, q, k, v))
    dice = random.Random(1)
    feeds = {name: [[dice.gauss(0, 1) for _ in range(2)] for _ in range(3)] for name in "qkv"}
    assert run(g, feeds)["y"][0] == feeds["v"][0]
    h = Graph("vector")
    h.output(y=linear(h, {}, h.input("x", (2,)), h.input("w", (3, 2)), h.input("b", (3,))))
    given = {"x": [1.0, 2.0], "w": [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], "b": [0.5, 0.0, 0.0]}
    assert run(h, given)["y"] == [1.5, 2.0, 3.0]


def read(tensors):
    return {t["name"]: mapped(lambda cell: SPECIAL.get(cell, cell), t["data"]) for t in tensors}


def torch_cases(root=ROOT):
    for path in sorted(root.glob("*.json")):
        case = json.loads(path.read_text(encoding="utf-8"))
        if case["op"] in FUNCTIONS and "grads" in case:
            yield pytest.param(case, id=path.stem)


@pytest.mark.parametrize("case", list(torch_cases()))
def test_gradients_of_pytorch(case):
    graph = Graph("case")
    tensors = {
        t["name"]: graph.input(t["name"], t["shape"], kind="bool" if t["dtype"] == "bool" else "float")
        for t in case["inputs"]
    }
    graph.output(y=FUNCTIONS[case["op"]](graph, case["attrs"], **tensors))
    feeds = {
        name: value if tensors[name].kind == "bool" else mapped(Value, value)
        for name, value in read(case["inputs"]).items()
    }
    y = run(graph, feeds, numbers="value", allow_nonfinite=True)["y"]
    (cotangent,) = read(case["cotangents"]).values()
    scaled_sum(y, cotangent).backward()
    for name, expected in read(case["grads"]).items():
        for got, want in zip(nested.flat(grads(feeds[name])), nested.flat(expected), strict=True):
            assert abs(got - want) <= case["grad_atol"] + case["grad_rtol"] * abs(want), name


def test_enough_cases_of_pytorch():
    """In the small copy; another folder may have fewer."""
    assert len(list(torch_cases(HERE))) >= 12


# ---------------------------------------------------------------- every op by differences


@pytest.mark.parametrize("op", every_op())
def test_gradients_of_every_op_along_a_direction(op):
    """Σ gradient · direction is the slope of the same graph in 50 digits, on samples with other numbers."""
    import mpmath

    compared = 0
    for call in op_laws.disturbed(op, rounds=1):
        dice = random.Random(call.what)
        floats = [key for key, spec in call.graph.inputs.items() if spec.kind == "float"]
        results = [t for t in call.outputs if t.kind == "float"]
        if not floats or not results:
            continue
        feeds = {**call.feeds, **{key: mapped(Value, call.feeds[key]) for key in floats}}
        trace = run(call.graph, feeds, numbers="value", allow_nonfinite=True)
        cells = [cell for t in results for cell in nested.flat(trace[t.name])]
        kept = [place for place, cell in enumerate(cells) if math.isfinite(cell.data)]  # no root below 0
        cotangents = {place: dice.gauss(0.0, 1.0) for place in kept}
        if not kept:
            continue
        dot([cells[place] for place in kept], list(map(Value, cotangents.values()))).backward()
        direction = {key: mapped(lambda _: dice.gauss(0.0, 1.0), call.feeds[key]) for key in floats}  # noqa: B023
        slope = sum(
            leaf.grad * along
            for key in floats
            for leaf, along in zip(nested.flat(feeds[key]), nested.flat(direction[key]), strict=True)
        )
        with mpmath.workdps(50):
            step, ends = mpmath.mpf("1e-16"), []
            for sign in (1, -1):
                moved = {
                    key: nested.lift(
                        lambda x, along: mpmath.mpf(x) + sign * step * along,  # noqa: B023
                        [0, 0],
                        [call.graph.inputs[key].shape] * 2,
                    )(call.feeds[key], direction[key])
                    for key in floats
                }
                shaken = run(call.graph, {**call.feeds, **moved}, numbers="mpmath", allow_nonfinite=True)
                y = [cell for t in results for cell in nested.flat(shaken[t.name])]
                ends.append(sum(c * y[place] for place, c in cotangents.items()))
            exact = (ends[0] - ends[1]) / (2 * step)
            assert abs(slope - exact) <= 1e-11 * max(1, abs(exact)), call.what
        compared += 1
    if op.family in ("matmul", "softmax", "norm", "function", "composite", "add"):
        assert compared


def test_dumps_of_values_read_back():
    from graphattn.dumps.trace_json import read_trace_json, trace_json
    from graphattn.dumps.trace_text import read_trace, trace_text

    attn, *_ = attended(n=3, d=2)
    for again in (
        read_trace(trace_text(attn.trace, precision="exact")),
        read_trace_json(trace_json(attn.trace)),
    ):
        assert again == attn.trace and again.numbers.name == "value"
