"""Attention as exporters write it, recognised; what is computed stays bit for bit what it was."""

import math

import pytest

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")

import numpy as np  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from graphattn.onnx import load  # noqa: E402

F, B = TensorProto.FLOAT, TensorProto.BOOL
DICE = np.random.default_rng(3)
N, D = 4, 3
LOW = float(np.finfo(np.float32).min)
CAUSAL = np.tril(np.ones((N, N), bool))


def attention(lead, scaling="div", mask=None, turn="transpose", tail=(), inputs=()):
    """A model of one attention: q, k, v of (*lead, N, D); mask: nodes from `scaled` to `masked`, and arrays."""
    rank = len(lead) + 2
    last = [*range(rank - 2), rank - 1, rank - 2]
    nodes, stored = [], {"root": math.sqrt(D), "factor": 1 / math.sqrt(D), "fourth": D**-0.25}
    q, k, scores = "q", "k", "scaled"
    if turn == "transpose":
        nodes.append(("Transpose", ["k"], ["kt"], {"perm": last}))
        k = "kt"
    elif turn == "with_heads":  # (b, n, h, d) in one step
        nodes.append(("Transpose", ["k"], ["kt"], {"perm": [0, 2, 3, 1]}))
        k = "kt"
    else:
        stored |= {"flat": [-1, N, D], "back": [*lead, D, N]}
        nodes += [
            ("Reshape", ["k", "flat"], ["k_flat"], {}),
            ("Transpose", ["k_flat"], ["k_turned"], {"perm": [0, 2, 1]}),
            ("Reshape", ["k_turned", "back"], ["kt"], {}),
        ]
        k = "kt"
    if scaling == "fourth":
        nodes += [("Mul", ["q", "fourth"], ["qs"], {}), ("Mul", [k, "fourth"], ["ks"], {})]
        q, k = "qs", "ks"
    if scaling == "q":
        nodes.append(("Mul", ["factor", "q"], ["qs"], {}))
        q = "qs"
    nodes.append(("MatMul", [q, k], ["scores"], {}))
    if scaling == "div":
        nodes.append(("Div", ["scores", "root"], ["scaled"], {}))
    elif scaling == "mul":
        nodes.append(("Mul", ["scores", "factor"], ["scaled"], {}))
    else:
        scores = "scores"
    masking, arrays = mask or ([], {})
    masking = [(op, [scores if i == "scaled" else i for i in ins], outs, a) for op, ins, outs, a in masking]
    nodes += masking
    nodes.append(("Softmax", ["masked" if masking else scores], ["softmax"], {"axis": -1}))
    nodes += [*tail, ("MatMul", ["kept" if tail else "softmax", "v"], ["y"], {})]
    made = [helper.make_node(op, list(i), list(o), **a) for op, i, o, a in nodes]
    k_shape = (lead[0], N, lead[1], D) if turn == "with_heads" else (*lead, N, D)
    infos = [helper.make_tensor_value_info(name, F, (*lead, N, D)) for name in "qv"]
    infos += [helper.make_tensor_value_info("k", F, k_shape), *inputs]
    tensors = []
    for name, value in {**stored, **arrays}.items():
        array = np.asarray(value)
        tensors.append(
            numpy_helper.from_array(array.astype(np.float32) if array.dtype == float else array, name)
        )
    graph = helper.make_graph(
        made, "one", infos, [helper.make_tensor_value_info("y", F, (*lead, N, D))], tensors
    )
    fed = {name: DICE.normal(size=(*lead, N, D)) for name in "qv"} | {"k": DICE.normal(size=k_shape)}
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10), fed


GUARD = (
    ("IsNaN", ["softmax"], ["nan"], {}),
    ("Where", ["nan", "zero", "softmax"], ["kept"], {}),
)
ADDED = ([("Add", ["scaled", "m"], ["masked"], {})], {"m": np.where(CAUSAL, 0.0, LOW)})


def both(made, fed):
    whole, plain = load(made, fed), load(made, fed, grouped=False)
    scopes = [s for s in whole.graph.scopes.values() if s.op is not None]
    return whole, plain, scopes


def same_bits(whole, plain):
    """Every tensor of the model as it is without grouping, but for what is hidden."""
    mine, theirs = whole.run(), plain.run()
    inside = {node.name for node in plain.graph.nodes.values() if node.scope is not None}
    for name in set(plain.graph.tensor_names()) - inside:  # what has the name of no tensor of the model
        a, b = np.array(mine[name], float), np.array(theirs[name], float)
        hidden = np.isneginf(a)
        assert np.all(b[hidden] < -9e3), name
        assert np.array_equal(a[~hidden], b[~hidden]), name
    return mine


@pytest.mark.parametrize("lead", [(), (2,), (1, 2), (2, 2)], ids=str)
@pytest.mark.parametrize("scaling", ["div", "mul", "fourth", "q", "none"])
@pytest.mark.parametrize("turn", ["transpose", "reshaped"])
def test_factors_and_turns(lead, scaling, turn):
    if turn == "reshaped" and not lead:
        pytest.skip("there is nothing to merge")
    whole, plain, scopes = both(*attention(lead, scaling, turn=turn, mask=ADDED))
    (scope,) = scopes
    assert scope.op.name == "attention" and scope.name == "attention"
    assert scope.attributes["scale"] == (1.0 if scaling == "none" else None)
    trace = same_bits(whole, plain)
    assert trace["attention.weights"] == trace["softmax"]
    assert trace["attention.out"] == trace["y"]
    assert [whole.graph.tensor_name(ref) for ref in scope.operands[:3]] == ["q", "k", "v"]


def test_heads_that_are_turned_in_the_same_step():
    """k (b, n, h, d) is turned to (b, h, d, n) at once: k itself is made, and turned."""
    whole, plain, scopes = both(*attention((1, 2), turn="with_heads"))
    trace = same_bits(whole, plain)
    k = np.array(trace["attention_k"])
    assert k.shape == (1, 2, N, D)
    assert np.array_equal(k, np.array(whole.feeds["k"]).transpose(0, 2, 1, 3))
    assert whole.graph.tensor_name(scopes[0].operands[1]) == "attention_k"


HIDES = {
    "the smallest float": LOW, "minus infinity": -math.inf, "the smallest float16": -65504.0,
    "minus a billion": -1e9, "minus ten thousand": -1e4,
}  # fmt: skip
MASKS = {
    "added": lambda low: ([("Add", ["scaled", "m"], ["masked"], {})], {"m": np.where(CAUSAL, 0.0, low)}),
    "added first": lambda low: ([("Add", ["m", "scaled"], ["masked"], {})], {"m": np.where(CAUSAL, 0.5, low)}),
    "where": lambda low: (
        [("Where", ["see", "scaled", "low"], ["masked"], {})], {"see": CAUSAL, "low": np.array(low)}
    ),
    "made of a condition": lambda low: (
        [("Where", ["see", "none", "low"], ["m"], {}), ("Add", ["scaled", "m"], ["masked"], {})],
        {"see": CAUSAL, "low": np.array(low), "none": np.array(0.0)},
    ),
    "with a bias": lambda low: (
        [("Add", ["scaled", "bias"], ["biased"], {}), ("Add", ["biased", "m"], ["masked"], {})],
        {"m": np.where(CAUSAL, 0.0, low), "bias": DICE.normal(size=(N, N))},
    ),
}  # fmt: skip


@pytest.mark.parametrize("low", HIDES)
@pytest.mark.parametrize("how", MASKS)
def test_what_hides_is_seen_as_hidden(how, low):
    whole, plain, scopes = both(*attention((1, 2), mask=MASKS[how](HIDES[low])))
    trace = same_bits(whole, plain)
    assert trace.masked("attention.weights") == [[(~CAUSAL).tolist()] * 2]
    assert len(scopes) == 1
    assert any("is −∞ in place of a large negative number" in note for note in whole.graph.notes)


def test_a_query_that_sees_nothing_keeps_its_mask():
    """Its weights are even; with −∞ they would be NaN."""
    see = CAUSAL.copy()
    see[2] = False
    mask = ([("Add", ["scaled", "m"], ["masked"], {})], {"m": np.where(see, 0.0, LOW)})
    whole, plain, scopes = both(*attention((1, 2), mask=mask))
    trace = same_bits(whole, plain)
    assert trace["attention.weights"][0][0][2] == [0.25] * N
    assert any("a query sees nothing" in note for note in whole.graph.notes)
    assert len(scopes) == 1


def test_nan_that_is_made_zero():
    made, fed = attention((1, 2), "fourth", mask=ADDED, tail=GUARD)
    made.graph.initializer.append(numpy_helper.from_array(np.array(0, np.float32), "zero"))
    whole, plain, _ = both(made, fed)
    trace = same_bits(whole, plain)
    assert trace["attention.weights"] == trace["kept"]
    assert trace.masked("attention.weights") == [[(~CAUSAL).tolist()] * 2]


def test_a_softmax_that_is_no_attention():
    nodes = [helper.make_node("Softmax", ["x"], ["s"]), helper.make_node("MatMul", ["s", "w"], ["y"])]
    graph = helper.make_graph(
        nodes, "experts", [helper.make_tensor_value_info("x", F, (2, 3))],
        [helper.make_tensor_value_info("y", F, (2, 2))], [numpy_helper.from_array(np.ones((3, 2), "f"), "w")],
    )  # fmt: skip
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    whole, plain, scopes = both(made, {"x": DICE.normal(size=(2, 3))})
    assert scopes == [] and whole.graph == plain.graph
