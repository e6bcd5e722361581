"""ONNX models as graphs: small ones, written here."""

import os

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


@pytest.mark.parametrize("kind", ["FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16"])
@pytest.mark.parametrize("raw", [True, False], ids=["bytes", "fields"])
def test_weights_are_exact(kind, raw):
    """The value of each cell is the one that is stored, of every type of float."""
    dtype = helper.tensor_dtype_to_np_dtype(getattr(TensorProto, kind))
    cells = np.random.default_rng(0).normal(size=(3, 4)).astype(dtype)
    stored = numpy_helper.from_array(cells, "w")
    if not raw:
        listed = cells if kind in ("FLOAT", "DOUBLE") else cells.view(np.uint16)
        field = {"FLOAT": "float_data", "DOUBLE": "double_data"}.get(kind, "int32_data")
        stored.ClearField("raw_data")
        getattr(stored, field).extend(listed.reshape(-1).tolist())
    m = model(
        [("Add", ["x", "w"], ["y"], {})], [("x", stored.data_type, [3, 4])], [("y", stored.data_type, [3, 4])]
    )
    m.graph.initializer.append(stored)
    made = load(m, {"x": np.zeros((3, 4))})
    assert made.run()["y"] == cells.astype(np.float64).tolist()
    assert made.feeds["w"].cells.nbytes == cells.size * (8 if kind == "DOUBLE" else 4)


@pytest.mark.parametrize(
    "feeds, told",
    [
        ({"x": [[1.0, 2.0]], "ids": [[1, 2]]}, r"^input 'ids' is fed 2 as 'seq', and input 'x' 1; expected"),
        ({"x": [[1.0, 2.0]], "ids": [[0.5]]}, r"^input 'ids' is fed float; expected int, as the model"),
        ({"x": [1.0, 2.0], "ids": [[1]]}, r"^input 'x' is fed 2; expected seq × 2"),
        ({"x": [[1.0, 2.0, 3.0]], "ids": [[1]]}, r"^input 'x' is fed 1 × 3; expected seq × 2"),
        ({"y": [[1.0, 2.0]]}, r"^the model has no input 'y'; expected 'x', 'ids'"),
        ({"x": [[1.0], [1.0, 2.0]], "ids": [[1]]}, "expected 1"),
        ({"x": [["a", "b"]], "ids": [[1]]}, "input 'x'"),
        ({"ids": [[1]]}, r"$^|x"),
    ],
)  # fmt: skip
def test_feeds(feeds, told):
    m = model(
        [("Tanh", ["x"], ["y"], {}), ("Identity", ["ids"], ["z"], {})],
        [("x", F, ["seq", 2]), ("ids", I, [1, "seq"])], [("y", F, ["seq", 2]), ("z", I, [1, "seq"])],
    )  # fmt: skip
    if told == r"$^|x":  # the size is told by the ids, and x is drawn
        assert load(m, feeds).graph.inputs["x"].shape == (1, 2)
        return
    with pytest.raises(GraphError, match=told):
        load(m, feeds)


def test_what_is_drawn_is_told_of(tmp_path, capsys):
    from graphattn.cli import main

    m = model([("MatMul", ["x", "w"], ["y"], {})], [("x", F, [2, 2]), ("w", F, [2, 1])], [("y", F, [2, 1])])
    x, w = np.array([[0.5, 2.0], [1.0, 1.0]]), np.array([[1.0], [-0.25]])
    assert list(load(m).drawn) == ["x", "w"] and list(load(m, {"w": w}).drawn) == ["x"]
    onnx.save(m, tmp_path / "small.onnx")
    np.savez(tmp_path / "mine.npz", W=w, y=x @ w)
    np.savez(tmp_path / "x.npz", x=x)
    np.savez(tmp_path / "back.npz", d_y=np.array([[1.0], [-3.0]]))
    np.savez(tmp_path / "gradient.npz", w=w, d_x=np.array([[1.0], [-3.0]]) @ w.T)

    def said(*words):
        with pytest.raises(SystemExit) as left:
            main([str(tmp_path / word) if "." in word else word for word in words])
        told = capsys.readouterr()
        return left.value.code or 0, told.out.split(":")[0], told.err.replace(f"{tmp_path}{os.sep}", "").strip()

    told = "they are drawn at random"
    assert said("trace", "small.onnx", "--feeds", "x.npz")[2].endswith(f"no feeds for w: {told} (--seed 0)")
    assert said("diagnose", "small.onnx", "--feeds", "x.npz", "mine.npz") == (0, "right", "")
    missing = f"mine.npz did not record x, and small.onnx does not hold them: {told} (--seed 0)"
    assert said("diagnose", "small.onnx", "mine.npz", "--no-pairs") == (1, "unexplained", missing)
    missing = f"B did not record x, and A does not hold them: {told}"
    assert said("compare", "small.onnx", "mine.npz")[2] == missing
    back = ("--feeds", "x.npz", "--feeds", "back.npz", "gradient.npz")
    assert said("diagnose", "small.onnx", *back) == (0, "right", "")


def test_the_command_line(tmp_path, capsys):
    from graphattn.cli import main

    path = tmp_path / "small.onnx"
    nodes = [
        ("Softmax", ["x"], ["/a.0/Softmax_output_0"], {}),
        ("Nonsense", ["/a.0/Softmax_output_0"], ["y"], {}),
    ]
    onnx.save(model(nodes[:1], [("x", F, [2, 2])], [("/a.0/Softmax_output_0", F, [2, 2])]), path)
    np.savez(tmp_path / "feeds.npz", x=np.array([[0.0, 0.0], [1.0, 1.0]]))

    def said(*words):
        with pytest.raises(SystemExit) as left:
            main(list(words))
        return left.value.code or 0, capsys.readouterr()

    code, told = said(
        "trace", str(path), "--feeds", str(tmp_path / "feeds.npz"), "--tensor", "/a.0/Softmax_output_0"
    )
    assert code == 0 and "a0.Softmax" in told.out and "0.5000   0.5000" in told.out
    feeds = ("--feeds", str(tmp_path / "feeds.npz"))
    code, told = said("why", str(path), "/a.0/Softmax_output_0", "1", "1", *feeds)
    assert code == 0 and "/a.0/Softmax_output_0[1, 1] = exp(x[1, 1] − max) / Σ exp" in told.out
    code, told = said("ops", "--onnx", str(path))
    assert code == 0 and "1 operator in 1 node; all of them are read" in told.out
    picture = tmp_path / "small.svg"
    assert said("render", str(path), "-o", str(picture), *feeds)[0] == 0 and picture.exists()
    np.savez(
        tmp_path / "ours.npz",
        x=np.array([[0.0, 0.0], [1.0, 1.0]]),
        **{"/a.0/Softmax_output_0": np.full((2, 2), 0.5)},
    )
    code, told = said("compare", str(path), str(tmp_path / "ours.npz"))
    assert code == 0 and told.out.startswith("the same")
    onnx.save(model(nodes, [("x", F, [2, 2])], [("y", F, [2, 2])]), path)
    code, told = said("ops", "--onnx", str(path))
    assert code == 1 and "1 operator in 1 node not read" in told.out
    code, told = said("trace", str(path))
    assert code == 2 and told.err.count("\n") == 1
