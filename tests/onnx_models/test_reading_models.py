"""ONNX models as graphs: small ones, written here."""

import pytest

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")

import numpy as np  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from graphattn import GraphError  # noqa: E402
from graphattn.onnx import load, operators  # noqa: E402

F, I = TensorProto.FLOAT, TensorProto.INT64  # noqa: E741


def model(nodes, inputs, outputs, initializers=(), opset=17, domains=()):
    """inputs and outputs: (name, type, shape); initializers: arrays by name."""
    made = [helper.make_node(op, list(i), list(o), name=f"n{k}", **a) for k, (op, i, o, a) in enumerate(nodes)]
    graph = helper.make_graph(
        made, "small",
        [helper.make_tensor_value_info(*i) for i in inputs],
        [helper.make_tensor_value_info(*o) for o in outputs],
        [numpy_helper.from_array(a, n) for n, a in dict(initializers).items()],
    )  # fmt: skip
    ids = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, 1) for d in domains)]
    return helper.make_model(graph, opset_imports=ids, ir_version=10)


def test_shape_arithmetic_is_computed_while_reading():
    """x (b, n, 4) as (b, n, 2, 2), as exporters write it; only the reshape is in the graph."""
    nodes = [
        ("Shape", ["x"], ["s"], {}),
        ("Gather", ["s", "zero"], ["b"], {}),
        ("Gather", ["s", "one"], ["n"], {}),
        ("Unsqueeze", ["b", "axis"], ["b1"], {}),
        ("Unsqueeze", ["n", "axis"], ["n1"], {}),
        ("Concat", ["b1", "n1", "two", "rest"], ["shape"], {"axis": 0}),
        ("Reshape", ["x", "shape"], ["y"], {}),
    ]
    given = {"zero": np.array(0), "one": np.array(1), "axis": np.array([0]), "two": np.array([2])}
    m = model(nodes, [("x", F, ["batch", "seq", 4])], [("y", F, None)], {**given, "rest": np.array([-1])})
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    made = load(m.SerializeToString(), {"x": x})
    assert [node.op.name for node in made.graph.nodes.values()] == ["input", "reshape"]
    assert made.run()["y"] == x.reshape(2, 3, 2, 2).tolist()
    assert made.graph.notes[0].startswith("6 of 7 nodes were computed while reading")
    with pytest.raises(GraphError, match="batch × seq × 4, and is not fed: its sizes are open"):
        load(m)


def test_names_are_kept_whatever_they_are():
    nodes = [
        ("Tanh", ["0"], ["a.b"], {}),
        ("Tanh", ["a.b"], ["a_b"], {}),
        ("Tanh", ["a_b"], ["a/b"], {}),
        ("Tanh", ["a/b"], ["lambda"], {}),
        ("Tanh", ["lambda"], ["a"], {}),
        ("Tanh", ["a"], ["/layer.0/Tanh_output_0"], {}),
    ]
    m = model(nodes, [("0", F, [1])], [("/layer.0/Tanh_output_0", F, [1])])
    trace = load(m, {"0": [0.5]}).run()
    x = np.array([0.5])
    for name in ("a.b", "a_b", "a/b", "lambda", "a", "/layer.0/Tanh_output_0"):
        x = np.tanh(x)
        assert np.allclose(trace[name], x, rtol=1e-15), name
    assert "layer0.Tanh" in trace.graph.nodes


def test_ids_that_are_fed_stay_an_input():
    nodes = [("Add", ["ids", "one"], ["next"], {}), ("Reshape", ["x", "next"], ["y"], {})]
    m = model(nodes, [("ids", I, [1]), ("x", F, [6])], [("y", F, None)], {"one": np.array([1])})
    made = load(m, {"ids": [5], "x": [1.0] * 6})
    assert made.run()["y"] == [1.0] * 6
    assert any("what was fed as ids is part of the graph" in note for note in made.graph.notes)


@pytest.mark.parametrize(
    "op, told", [("If", "control flow"), ("RandomNormal", "random"), ("QLinearMatMul", "quantised"),
                 ("SequenceAt", "a sequence"), ("StringConcat", "an operator on strings")],
)  # fmt: skip
def test_what_is_refused_is_refused_by_name(op, told):
    m = model([(op, ["x"], ["y"], {})], [("x", F, [1])], [("y", F, [1])])
    with pytest.raises(GraphError, match=rf"^{op} \(node 0 'n0'\) is {told}"):
        load(m)
    assert operators(m)[0].how.startswith(f"refused: {told}")
