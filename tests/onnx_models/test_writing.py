"""Graphs as ONNX models: samples and the block come out of ONNX Runtime as out of the interpreter."""

import math
import os
from dataclasses import replace

import pytest
from every_op import every_op

from graphattn import Graph, GraphError, run
from graphattn.builtin import specimen
from graphattn.core import nested
from graphattn.core.op import OPS, Op, Sample, register
from graphattn.models import pretrained
from graphattn.onnx import load, save
from graphattn.weights.toy_induction import toy_induction

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
np = pytest.importorskip("numpy")

OTHERWISE = {
    ("reduce_sum", 0): "a sum that cancels: fsum here",
    ("reduce_mean", 0): "a sum that cancels: fsum here",
}
"""Samples that a runtime's own sums get otherwise."""
LACKING = ("Erf",)
"""What ONNX Runtime does not have for doubles (`engine` writes it otherwise)."""


def kind_of(value):
    kinds = set(map(type, nested.flat(value)))
    return "bool" if kinds == {bool} else "int" if kinds == {int} else "float"


def graph_of(op, samples):
    """A graph with a node for each sample, and its feeds."""
    g, feeds = Graph(op.name), {}
    for number, sample in samples:
        operands = []
        for slot, value in enumerate(sample.operands):
            name = f"x{number}_{slot}"
            if value is not None:
                feeds[name] = value
                value = g.input(name, nested.shape_of(value), kind=kind_of(value))
            operands.append(value)
        results = g.apply(op, *operands, name=f"y{number}", **sample.attributes)
        results = results if isinstance(results, tuple) else (results,)
        g.output(**{f"out{number}_{port}": t for port, t in enumerate(results)})
    return g, feeds


def computed(path, feeds):
    """What ONNX Runtime makes of a model, by output."""
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    types = {"tensor(double)": "f8", "tensor(float)": "f4", "tensor(int64)": "i8", "tensor(bool)": "?"}
    with np.errstate(over="ignore"):
        given = {i.name: np.array(feeds[i.name], types[i.type]).reshape(i.shape) for i in session.get_inputs()}
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, given), strict=True))


def error(mine, theirs):
    """The largest difference, relative to the size of the tensor; infinite where infinities or NaN differ."""
    mine, theirs = np.array(mine, "f8").reshape(theirs.shape), theirs.astype("f8")
    finite = np.isfinite(mine)
    if not np.array_equal(mine[~finite], theirs[~finite], equal_nan=True):
        return math.inf
    size = np.abs(mine[finite]).max(initial=1.0)
    return np.abs(mine[finite] - theirs[finite]).max(initial=0.0) / size


def samples_of(op, numbers):
    for number, sample in enumerate(op.samples):
        cells = [c for x in sample.operands if x is not None for c in nested.flat(x)]
        ordinary = all(c == 0 or 1e-30 < abs(c) < 1e4 for c in cells)
        if (op.name, number) not in OTHERWISE and (numbers == "float" or ordinary):
            yield number, sample


@pytest.mark.parametrize("numbers, tolerance", [("float", 1e-12), ("float32", 1e-5)])
@pytest.mark.parametrize("op", every_op(lambda op: not op.fed))
def test_samples(op, numbers, tolerance, tmp_path):
    """In doubles all samples, infinities and NaN too; in float32 those that float32 holds."""
    samples = list(samples_of(op, numbers))
    g, feeds = graph_of(op, samples)
    if not g.outputs:
        pytest.skip("no sample of ordinary size")
    path = tmp_path / "model.onnx"
    assert save(g, path, numbers=numbers, exact=True, attention="decomposed") == ()
    trace = run(g, feeds, allow_nonfinite=True)
    model = onnx.load(path)
    assert load(path, feeds).graph == g
    found = [load(plain(model), feeds).run()]  # read as any other model
    if numbers == "float32" or not any(n.op_type in LACKING for n in model.graph.node):
        found.append(computed(path, feeds))  # of what else there is in doubles, see test_engine.py
    for theirs in found:
        wrong = [name for name in g.outputs if not error(trace[name], np.array(theirs[name])) <= tolerance]
        assert wrong == []


def plain(model):
    """A model without what graphattn says of the graph that it was written from."""
    del model.metadata_props[:]
    return model


@pytest.mark.parametrize("attention, nodes", [("whole", 1), ("heads", 2), ("decomposed", 0)])
@pytest.mark.parametrize("level", ["block", "head", "op", "primitive"])
def test_block(level, attention, nodes, tmp_path):
    made = specimen("block", n=3, d=4, heads=2, causal=True)
    path = tmp_path / "block.onnx"
    save(made.graph.at(level), path, feeds=None, attention=attention)
    operators = [node.op_type for node in onnx.load(path).graph.node]
    expected = {"block": nodes, "head": min(nodes, 1) * 2}.get(level, 0)
    assert operators.count("Attention") == expected
    trace, again, read = made.run(), load(path, made.feeds), load(plain(onnx.load(path)), made.feeds).run()
    assert again.graph == made.graph.at(level) and again.run(level=level) == made.run(level=level)
    for name, theirs in computed(path, made.feeds).items():
        assert error(trace[name], theirs) < 1e-5
        assert error(trace[name], np.array(read[name])) < 1e-5


def test_a_model_that_was_changed_is_read_as_any_other(tmp_path):
    """Its text is not believed: a factor that someone changed in the file is what is read."""
    g = Graph("g")
    g.output(y=g.scale(g.input("x", (2,)), multiply=2, name="doubled"))
    save(g, tmp_path / "m.onnx")
    model = onnx.load(tmp_path / "m.onnx")
    assert load(model, {"x": [1.0, 2.0]}).graph == g
    (factor,) = model.graph.initializer
    factor.CopyFrom(onnx.numpy_helper.from_array(np.array(3.0, "f4"), factor.name))
    found = load(model, {"x": [1.0, 2.0]})
    assert found.graph != g and found.run()["y"] == [3.0, 6.0]


@pytest.mark.parametrize(
    "text", ["", "graphattn graph 1", "graph g\n\nx = causal_mask(n=1000000)\noutput y = x", "{"]
)
def test_a_text_that_is_none(text, tmp_path):
    """What a file says of itself may be anything."""
    g = Graph("g")
    g.output(y=g.exp(g.input("x", (2,))))
    save(g, tmp_path / "m.onnx")
    model = onnx.load(tmp_path / "m.onnx")
    for pair in model.metadata_props:
        if pair.key == "graphattn.graph" or text == "{":
            pair.value = text
    assert load(model, {"x": [0.0, 1.0]}).run()["y"] == [1.0, math.e]


def test_no_softmax_is_guarded_where_a_mask_leaves_something(tmp_path):
    save(specimen("block", n=3, d=4, heads=2, causal=True).graph, tmp_path / "m.onnx", attention="decomposed")
    assert not {"IsInf", "ReduceMax"} & {n.op_type for n in onnx.load(tmp_path / "m.onnx").graph.node}
    g = Graph("g")
    see = g.constant([[True, False], [False, False]])
    g.output(y=g.softmax(g.mask(g.scale(g.input("x", (2, 2)), sqrt=4), see)))
    g.output(
        logs=g.softmax(g.log(g.sqrt(g.matmul(g.input("p", (2, 2)), g.constant(((1.0, 0.0), (0.0, 1.0)))))))
    )
    save(g, tmp_path / "m.onnx", exact=False)
    x = {"x": [[1.0, 2.0], [3.0, 4.0]], "p": [[0.0, 0.0], [1.0, 0.0]]}
    assert computed(tmp_path / "m.onnx", x)["logs"].tolist() == [[0.0, 0.0], [1.0, 0.0]]
    assert computed(tmp_path / "m.onnx", x)["y"].tolist() == [[1.0, 0.0], [0.0, 0.0]]


def test_what_stands_behind_a_weight_of_0(tmp_path):
    """Said where it leaks, and written so that it does not where that is asked for."""
    g = Graph("g")
    a, b = g.input("a", (1, 2)), g.input("b", (2, 1))
    g.output(y=g.matmul(a, b, absorb_zeros=True, name="product"))
    feeds = {"a": [[0.0, 1.0]], "b": [[math.nan], [2.0]]}
    (said,) = save(g, tmp_path / "m.onnx")
    assert said == "infinity and NaN beside a factor of exactly 0 give NaN, not 0 (product)"
    assert math.isnan(computed(tmp_path / "m.onnx", feeds)["y"][0, 0])
    assert save(g, tmp_path / "m.onnx", exact=True) == ()
    assert computed(tmp_path / "m.onnx", feeds)["y"].tolist() == [[2.0]]


def test_names_scopes_and_axes(tmp_path):
    made = specimen("block", n=3, d=4, heads=2)
    save(made.graph, tmp_path / "m.onnx", attention="decomposed")
    graph = onnx.load(tmp_path / "m.onnx").graph
    node = next(n for n in graph.node if n.name.endswith("head1.weights"))
    told = {p.key: p.value for p in node.metadata_props}
    assert told["graphattn.name"] == node.name and told["graphattn.op"] == "softmax"
    assert told["pkg.torch.onnx.name_scopes"].endswith(f"head1', '{node.name}']")
    axes = {i.name: i.metadata_props[0].value for i in graph.input if i.metadata_props}
    assert axes["X"] == "token,feature"
    assert [o.name for o in graph.output] == list(made.graph.outputs)


def test_parameters_become_part_of_the_model(tmp_path):
    made = specimen("block", n=3, d=4, heads=2)
    weights = {name: value for name, value in made.feeds.items() if name != "X"}
    save(made.graph, tmp_path / "m.onnx", feeds=weights)
    graph = onnx.load(tmp_path / "m.onnx").graph
    assert [i.name for i in graph.input] == ["X"]
    again = load(tmp_path / "m.onnx", {"X": made.feeds["X"]})
    assert again.graph == made.graph and set(again.feeds) == set(made.feeds)
    assert set(weights) <= {i.name for i in graph.initializer}


def test_a_large_model_has_its_tensors_beside_it(tmp_path, monkeypatch):
    import graphattn.onnx.writing as writing

    monkeypatch.setattr(writing, "LARGE", 0)
    made = specimen("block", n=4, d=64, heads=2)
    weights = {name: value for name, value in made.feeds.items() if name != "X"}
    for _ in range(2):
        save(made.graph, tmp_path / "m.onnx", feeds=weights, numbers="float")
        sizes = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
        assert set(sizes) == {"m.onnx", "m.onnx.data"} and sizes["m.onnx.data"] < 160_000
    again = load(tmp_path / "m.onnx", {"X": made.feeds["X"]})
    assert again.graph == made.graph and again.run() == made.run()


def out_and_back(made, path, numbers, tolerance, **options):
    """A trained model out of ONNX Runtime, read back, and read as any other model."""
    trained = {name: x for name, x in made.feeds.items() if made.graph.nodes[name].op.name == "parameter"}
    rest = {name: x for name, x in made.feeds.items() if name not in trained}
    save(made.graph, path, feeds=trained, numbers=numbers, **options)
    trace, model = made.run(), onnx.load(path)
    found = [load(plain(model), rest).run()]
    if numbers == "float32" or not any(node.op_type in LACKING for node in model.graph.node):
        found.append(computed(path, rest))
    for theirs in found:
        assert {n for n in made.graph.outputs if not error(trace[n], np.array(theirs[n])) <= tolerance} == set()
    again = load(path, rest)
    assert again.graph == made.graph
    if numbers == "float":
        assert again.run() == replace(made, labels={}).run()


@pytest.mark.parametrize("attention", ["whole", "decomposed"])
@pytest.mark.parametrize("numbers, tolerance", [("float", 1e-12), ("float32", 1e-5)])
def test_toy(attention, numbers, tolerance, tmp_path):
    out_and_back(toy_induction(), tmp_path / "toy.onnx", numbers, tolerance, attention=attention)


@pytest.mark.slow
@pytest.mark.skipif("GRAPHATTN_MINILM" not in os.environ, reason="GRAPHATTN_MINILM names no folder")
@pytest.mark.parametrize("numbers, tolerance", [("float", 1e-12), ("float32", 1e-5)])
def test_minilm(numbers, tolerance, tmp_path):
    layers = 2 if numbers == "float" else None  # the interpreter takes its time
    made = pretrained(os.environ["GRAPHATTN_MINILM"], "the cat sat on the mat", layers=layers)
    out_and_back(made, tmp_path / "minilm.onnx", numbers, tolerance)


# ---------------------------------------------------------------- ops of one's own


@pytest.fixture
def entered():
    """Register ops for one test."""
    names = []

    def enter(op):
        names.append(register(op).name)
        return op

    yield enter
    for name in names:
        del OPS[name]


def test_an_op_of_ones_own_exports_through_its_expansion(entered, tmp_path):
    tanh = OPS["tanh"]
    entered(Op(
        name="swing", title="swing", glyph="~", family="function", formula="x tanh x", level="op",
        shape=tanh.shape, expand=lambda g, x: g.multiply(x, g.tanh(x, name="t"), name="p"),
        samples=(Sample(([[0.5, -1.0]],)),),
    ))  # fmt: skip
    g = Graph("g")
    g.output(y=g.apply("swing", g.input("x", (1, 2))))
    save(g, tmp_path / "m.onnx")
    y = computed(tmp_path / "m.onnx", {"x": [[0.5, -1.0]]})["y"]
    assert y.tolist()[0] == pytest.approx([0.5 * math.tanh(0.5), math.tanh(1.0)], rel=1e-6)


def test_an_op_without_operator_and_expansion_is_refused(entered, tmp_path):
    entered(replace(OPS["tanh"], name="mine", onnx=None))
    g = Graph("g")
    g.output(y=g.apply("mine", g.input("x", (1, 2)), name="here"))
    with pytest.raises(GraphError, match="mine 'here' has no ONNX operator and no expansion"):
        save(g, tmp_path / "m.onnx")
    assert not (tmp_path / "m.onnx").exists()


@pytest.mark.parametrize(
    "options, words",
    [
        ({"opset": 17}, "opset is 17; expected an int from 18 to 26"),
        (
            {"attention": "head"},
            "attention is 'head'; expected whole, heads, decomposed; did you mean 'heads'?",
        ),
        ({"numbers": "float16"}, "numbers is 'float16'; expected float32, float"),
        ({"feeds": {"Y": 1.0}}, "graph 'g' has no input 'Y'"),
        ({"dtype": "f4"}, "save takes no argument 'dtype'"),
    ],
)
def test_bad_calls(options, words, tmp_path):
    g = Graph("g")
    g.output(y=g.exp(g.input("x", (2,))))
    with pytest.raises(GraphError) as caught:
        save(g, tmp_path / "m.onnx", **options)
    assert words in str(caught.value)


def test_an_integer_beyond_64_bits(tmp_path):
    g = Graph("g")
    g.output(y=g.add(g.input("i", (1,), kind="int"), g.constant((2**70,))))
    with pytest.raises(GraphError, match="beyond 64 bits"):
        save(g, tmp_path / "m.onnx")
