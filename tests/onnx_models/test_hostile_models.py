"""Models that are not as they should be: one sentence each, before any large allocation."""

import os
import random
import sys
import tracemalloc

import pytest

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")

import numpy as np  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx_peers import MODELS, feeds  # noqa: E402

from graphattn import GraphError  # noqa: E402
from graphattn.onnx import load  # noqa: E402

F, I = TensorProto.FLOAT, TensorProto.INT64  # noqa: E741
X = [("x", F, [2])]
Y = [("y", F, [2])]


def model(nodes, inputs=X, outputs=Y, initializers=(), opset=17):
    made = [helper.make_node(op, list(i), list(o), name=f"n{k}", **a) for k, (op, i, o, a) in enumerate(nodes)]
    graph = helper.make_graph(
        made, "small",
        [helper.make_tensor_value_info(*i) for i in inputs],
        [helper.make_tensor_value_info(*o) for o in outputs],
        list(initializers),
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def stated(name, dims, kind=F, **fields):
    """A stored tensor that states these sizes and holds what `fields` give."""
    tensor = TensorProto(name=name, data_type=kind, dims=dims)
    for field, value in fields.items():
        if isinstance(value, bytes):
            setattr(tensor, field, value)
        else:
            getattr(tensor, field).extend(value)
    return tensor


def external(location, **told):
    tensor = TensorProto(name="w", data_type=F, dims=[2], data_location=TensorProto.EXTERNAL)
    for key, value in {"location": location, **told}.items():
        tensor.external_data.add(key=key, value=str(value))
    return tensor


ADD = [("Add", ["x", "w"], ["y"], {})]
HUGE = [10**6, 10**6]
CASES = {
    "ten_to_the_twelve_cells": (
        lambda: model(ADD, initializers=[stated("w", HUGE, raw_data=b"\0" * 8)]),
        r"^initializer 'w' holds 8 bytes; expected 4,000,000,000,000",
    ),
    "ten_to_the_twelve_cells_in_fields": (
        lambda: model(ADD, initializers=[stated("w", HUGE, float_data=[1.0])]),
        r"^initializer 'w' holds 1 cells; expected 1,000,000,000,000",
    ),
    "a_constant_of_ten_to_the_twelve_cells": (
        lambda: model([("Constant", [], ["w"], {"value": stated("w", HUGE, float_data=[1.0])}), *ADD]),
        r"^the model is not as ONNX says: .*1000000000000",
    ),
    "sizes_below_zero": (
        lambda: model(ADD, initializers=[stated("w", [-1], float_data=[])]),
        r"initializer 'w' has shape \[-1\]",
    ),
    "a_shape_that_grows": (
        lambda: model(
            [("ConstantOfShape", ["s"], ["w"], {}), *ADD],
            initializers=[numpy_helper.from_array(np.array(HUGE), "s")],
        ),
        r"^ConstantOfShape \(node 0 'n0'\) gives more than 16,777,216 cells",
    ),
    "an_expansion_that_grows": (
        lambda: model(
            [("Expand", ["x", "s"], ["y"], {})],
            outputs=[("y", F, None)],
            initializers=[numpy_helper.from_array(np.array([10**12, 2]), "s")],
        ),
        r"2,000,000,000,000 cells .* expected at most 100,000,000",
    ),
    "a_range_that_grows": (
        lambda: model(
            [("Range", ["a", "b", "c"], ["r"], {}), ("Identity", ["x"], ["y"], {})],
            initializers=[
                numpy_helper.from_array(np.array(v), n) for v, n in ((0, "a"), (10**12, "b"), (1, "c"))
            ],
        ),
        r"^Range \(node 0 'n0'\) gives more than",
    ),
    "a_broadcast_that_grows": (
        lambda: model(
            [("Add", ["a", "b"], ["c"], {}), ("Identity", ["x"], ["y"], {})],
            initializers=[
                numpy_helper.from_array(np.ones((10**5, 1), np.int64), "a"),
                numpy_helper.from_array(np.ones((1, 10**5), np.int64), "b"),
            ],
        ),
        r"^Add \(node 0 'n0'\) gives more than",
    ),
    "a_cycle": (
        lambda: model([("Add", ["x", "b"], ["a"], {}), ("Tanh", ["a"], ["b"], {}), ("Tanh", ["b"], ["y"], {})]),
        r"^Add \(node 0 'n0'\) needs 'b', which no node before it gives; expected nodes in an order without",
    ),
    "a_name_that_is_given_twice": (
        lambda: model([("Tanh", ["x"], ["y"], {}), ("Tanh", ["x"], ["y"], {})]),
        r"^Tanh \(node 1 'n1'\) gives 'y', which is there already",
    ),
    "an_initializer_twice": (
        lambda: model(ADD, initializers=[stated("w", [2], float_data=[1, 2])] * 2),
        r"^initializer 'w' is there twice",
    ),
    "an_input_twice": (lambda: model([("Tanh", ["x"], ["y"], {})], X * 2), r"^input 'x' is there twice"),
    "an_output_that_nothing_gives": (
        lambda: model([("Tanh", ["x"], ["z"], {})]), r"^output 'y' is computed by no node"
    ),
    "types_that_do_not_agree": (
        lambda: model([("Add", ["x", "i"], ["y"], {})], [*X, ("i", I, [2])]),
        r"^the model is not as ONNX says: .*(n0|Add)",
    ),
    "an_attribute_of_another_type": (
        lambda: model([("Softmax", ["x"], ["y"], {"axis": "last"})]), r"^the model is not as ONNX says: "
    ),
    "too_few_inputs": (lambda: model([("Add", ["x"], ["y"], {})]), r"^the model is not as ONNX says: "),
    "no_such_operator": (lambda: model([("Softmaks", ["x"], ["y"], {})]), r"^the model is not as ONNX says: "),
    "strings": (
        lambda: model([("Tanh", ["x"], ["y"], {})], [("x", TensorProto.STRING, [2])]), "STRING|string"
    ),
    "float8": (
        lambda: model(ADD, initializers=[stated("w", [2], TensorProto.FLOAT8E5M2, raw_data=b"\0\0")]),
        "FLOAT8E5M2|float8e5m2",
    ),
    "shapes_that_depend_on_data": (
        lambda: model([("NonZero", ["x"], ["n"], {}), ("Identity", ["x"], ["y"], {})]),
        r"^NonZero \(node 0 'n0'\)",
    ),
    "a_shape_that_is_computed": (
        lambda: model([("ArgMax", ["x"], ["s"], {}), ("Reshape", ["x", "s"], ["y"], {})]),
        r"^Reshape \(node 1 'n1'\): input 's' must be known when the graph is built",
    ),
    "a_huge_name": (
        lambda: model([("Tanh", ["x"], ["y" * 10**6], {})], outputs=[("y" * 10**6, F, [2])]),
        r"^the model has a name of 1,000,000 characters; expected at most 1,000",
    ),
    "a_name_of_many_parts": (
        lambda: model([("Tanh", ["x"], ["/".join("y" * 400)], {}), ("Tanh", ["/".join("y" * 400)], ["y"], {})]),
        None,
    ),
    "feeds_that_do_not_fit": (lambda: model([("Tanh", ["x"], ["y"], {})]), r"^input 'x' is fed 3; expected 2"),
    "no_graph": (lambda: onnx.ModelProto(), r"^the model has no graph"),
    "an_opset_of_the_future": (
        lambda: model([("Tanh", ["x"], ["y"], {})], opset=10**6), r"^the model is of opset 1,000,000; expected"
    ),
    "a_rank_of_1000": (
        lambda: model(ADD, initializers=[stated("w", [1] * 1000, float_data=[1.0])]), "expected at most 32"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_one_sentence_and_little_memory(name):
    make, words = CASES[name]
    made = make()
    fed = {"x": [0.5, 1.0, 2.0] if name == "feeds_that_do_not_fit" else [0.5, 1.0]}
    fed |= {"i": [1, 2]} if name == "types_that_do_not_agree" else {}
    load(model([("Tanh", ["x"], ["y"], {})]), {"x": [0.5, 1.0]})  # what is imported once is not counted
    tracemalloc.start()
    try:
        if words is None:
            load(made, fed).run()
            return
        with pytest.raises(GraphError, match=words) as told:
            load(made, fed).run()
        assert "\n" not in str(told.value) and len(str(told.value)) < 500
        assert tracemalloc.get_traced_memory()[1] < 60e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "location", ["../secret.bin", "/etc/hostname", "..\\secret.bin", "link.bin", "gone.bin", ""]
)
def test_external_data_stays_in_the_folder(tmp_path, location):
    (tmp_path / "secret.bin").write_bytes(b"\0" * 8)
    folder = tmp_path / "model"
    folder.mkdir()
    try:
        os.symlink(tmp_path / "secret.bin", folder / "link.bin")
    except OSError:
        pytest.skip("links cannot be made here")
    path = folder / "m.onnx"
    path.write_bytes(model(ADD, initializers=[external(location)]).SerializeToString())
    with pytest.raises(GraphError, match=r"expected (a file in the model's own folder|it beside the model)"):
        load(path, {"x": [0.5, 1.0]})


@pytest.mark.parametrize(
    "told", [{"offset": 4}, {"offset": -8}, {"length": 4}, {"length": 10**12}, {"offset": "x"}]
)
def test_external_data_lies_where_it_says(tmp_path, told):
    (tmp_path / "w.bin").write_bytes(np.array([1, 2], "<f4").tobytes())
    path = tmp_path / "m.onnx"
    path.write_bytes(model(ADD, initializers=[external("w.bin", **told)]).SerializeToString())
    with pytest.raises(GraphError, match=r"^initializer 'w' "):
        load(path, {"x": [0.5, 1.0]})
    path.write_bytes(model(ADD, initializers=[external("w.bin", offset=0, length=8)]).SerializeToString())
    assert load(path, {"x": [0.5, 1.0]}).run()["y"] == [1.5, 3.0]
    with pytest.raises(GraphError, match="expected the model's path, not its bytes"):
        load(path.read_bytes(), {"x": [0.5, 1.0]})


def test_what_is_cut_off_or_changed_is_a_sentence():
    """A model cut short at any place, or with bytes exchanged: a sentence, or what it is then."""
    path = min(MODELS, key=lambda p: p.stat().st_size)
    data, fed = path.read_bytes(), feeds(onnx.load(path))
    dice = random.Random(0)
    told = 0
    for trial in range(60):
        if trial % 2:
            broken = data[: dice.randrange(len(data))]
        else:
            changed = bytearray(data)
            for _ in range(3):
                changed[dice.randrange(len(data))] = dice.randrange(256)
            broken = bytes(changed)
        try:
            load(broken, fed)
        except GraphError as error:
            assert "\n" not in str(error)
            told += 1
    assert told > 20


def test_what_is_no_model(tmp_path):
    path = tmp_path / "m.onnx"
    for data, words in (
        (b"", "is empty"),
        (b"graphattn graph 1\n" * 20, "is not a whole ONNX model|has no graph"),
    ):
        path.write_bytes(data)
        with pytest.raises(GraphError, match=words):
            load(path)
    with pytest.raises(OSError, match="gone"):
        load(tmp_path / "gone.onnx")
    with pytest.raises(GraphError, match=r"^the model is an? int; expected a path"):
        load(3)


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is measured as Linux tells it")
def test_weights_are_held_once():
    """50 MB of weights take less than three times that, the model that was given aside."""
    import resource

    cells = np.ones((3500, 3500), np.float32)
    made = model(
        [("MatMul", ["x", "w"], ["y"], {})], [("x", F, [1, 3500])], [("y", F, [1, 3500])],
        [numpy_helper.from_array(cells, "w")],
    )  # fmt: skip
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = load(made, {"x": np.zeros((1, 3500), np.float32)})
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert found.feeds["w"].shape == (3500, 3500)
    assert grown < 3 * cells.nbytes
