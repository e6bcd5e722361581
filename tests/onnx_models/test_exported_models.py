"""What torch.onnx.export writes, by both of its exporters: every intermediate against ONNX Runtime and, in
float64, against ONNX's reference; attention recognised; a planted fault found."""

import pytest

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")

import numpy as np  # noqa: E402
from onnx_peers import MODELS, by_reference, by_runtime, feeds, in_double, worst  # noqa: E402

from graphattn import compare  # noqa: E402
from graphattn.dumps.graph_text import graph_text, parse_graph  # noqa: E402
from graphattn.insight.heads import heads  # noqa: E402
from graphattn.onnx import importing, load, operators  # noqa: E402
from graphattn.passes.verify import verify  # noqa: E402

each_model = pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)


def test_there_are_models_of_both_exporters():
    names = {path.stem for path in MODELS}
    assert names == {f"{m}_{e}" for m in ("bert", "gpt2", "llama", "encoder") for e in ("dynamo", "script")}
    assert sum(path.stat().st_size for path in MODELS) < 600_000


@each_model
def test_every_intermediate_is_that_of_the_runtime(path):
    pytest.importorskip("onnxruntime", reason="the package onnxruntime is not installed")
    model = onnx.load(path)
    fed = feeds(model)
    trace = load(path, fed).run()
    largest, name, count = worst(trace, by_runtime(model, fed))
    assert largest < 1e-5, name
    assert count > 35


@pytest.mark.slow
@each_model
def test_every_intermediate_is_that_of_the_reference_in_double(path):
    model = in_double(onnx.load(path))
    fed = {n: a.astype(float) if a.dtype == np.float32 else a for n, a in feeds(model).items()}
    trace = load(model, fed).run()
    largest, name, count = worst(trace, by_reference(model, fed))
    assert largest < 1e-12, name
    assert count > 35


@each_model
def test_every_value_that_is_known_while_reading_is_that_of_the_runtime(path, monkeypatch):
    """Shapes, positions, masks: of the same type and sizes; whole numbers and bools equal."""
    pytest.importorskip("onnxruntime", reason="the package onnxruntime is not installed")
    folded = {}

    def fold(node, *given):
        found = importing_fold(node, *given)
        folded.update(zip(node.outputs, found or ()))
        return found

    importing_fold = importing.fold
    monkeypatch.setattr(importing, "fold", fold)
    model = onnx.load(path)
    fed = feeds(model)
    load(path, fed)
    theirs = by_runtime(model, fed)
    assert len(folded) > 2 or path.stem == "encoder_dynamo"  # which has nothing to fold
    for name, mine in folded.items():
        other = theirs[name]
        assert (mine.shape, mine.dtype) == (other.shape, other.dtype), name
        assert np.allclose(mine, other, rtol=1e-6 if mine.dtype.kind == "f" else 0, atol=0), name


def test_why_calls_tensors_by_their_whole_names():
    (path,) = (p for p in MODELS if p.stem == "bert_script")
    trace = load(path, feeds(onnx.load(path))).run()
    told = str(trace.why("layer0.attention.self.attention.weights[0, 0, 2, 1]"))
    assert "exp(/model/encoder/layer.0/attention/self/Mul_output_0[0, 0, 2, 1]" in told and "(0/" not in told


@pytest.mark.slow
@each_model
def test_attention_is_found_and_nothing_changes_by_that(path):
    """Bit for bit, but for what is hidden."""
    fed = feeds(onnx.load(path))
    whole, plain = load(path, fed), load(path, fed, grouped=False)
    layers = 1 if "encoder" in path.stem else 2
    scopes = [s for s in whole.graph.scopes.values() if s.op is not None and s.op.name == "attention"]
    assert len(scopes) == layers
    assert not any(s.op is not None and s.op.name == "attention" for s in plain.graph.scopes.values())
    assert verify(whole.graph).ok
    mine, theirs = whole.run(), plain.run()
    for name in plain.graph.tensor_names():
        if name not in plain.graph.aliases:
            continue
        a, b = np.array(mine[name], float), np.array(theirs[name], float)
        hidden = np.isneginf(a)
        assert np.all(b[hidden] <= -1e30), name
        assert np.array_equal(a[~hidden], b[~hidden], equal_nan=True), name


@each_model
def test_heads_and_their_masks(path):
    trace = load(path, feeds(onnx.load(path)), labels={}).run()
    found = list(heads(trace))
    scopes = [s.name for s in trace.graph.scopes.values() if s.op is not None and s.op.name == "attention"]
    assert len(found) == len(scopes) * (4 if "llama" in path.stem else 2)
    for name in scopes:
        hidden, weights = trace.masked(f"{name}.weights"), trace[f"{name}.weights"]
        if "encoder" in path.stem:
            assert hidden is None
            continue
        for head in range(len(hidden[0])):
            for i, row in enumerate(hidden[0][head]):
                expected = [j == 4 or ("bert" not in path.stem and j > i) for j in range(5)]
                assert row == expected
                assert all(w == 0.0 for w, gone in zip(weights[0][head][i], row) if gone)


@pytest.mark.slow
@each_model
def test_the_graph_is_printed_and_read_back(path):
    graph = load(path, feeds(onnx.load(path))).graph
    assert parse_graph(graph_text(graph)) == graph


@each_model
def test_every_operator_is_read(path):
    assert all(found.read for found in operators(path))


def test_scopes_are_those_of_the_modules():
    for path in (p for p in MODELS if p.stem.startswith("bert")):
        graph = load(path, feeds(onnx.load(path))).graph
        assert {"model.encoder.layer0.attention.self.query", "model.encoder.layer1.output.dense"} <= set(
            graph.scopes
        )


def _without(model, name):
    """The model with the node that gives a tensor replaced by what went into it: its first tensor that is
    computed."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    computed = {out: n for n in made.graph.node for out in n.output if n.op_type != "Constant"}
    node = computed[name]
    (first, *_) = [i for i in node.input if i in computed]
    del node.input[:], node.attribute[:]
    node.op_type = "Identity"
    node.input.append(first)
    return made


def _scales(graph):
    """By part, the ONNX name of the first tensor that a factor of attention was put on."""
    found = {}
    for name, ref in graph.aliases.items():
        part = ref.node.rpartition(".")[2]
        if part in ("q_scaled", "keys_scaled", "scaled") and graph.nodes[ref.node].op.name in (
            "multiply",
            "divide",
        ):
            found.setdefault(part, (name, ref.node))
    return found


@pytest.mark.slow
@each_model
def test_a_scale_that_is_missing_is_found_and_named(path):
    """√d_k after the product, or ⁴√d_k on either side of it."""
    pytest.importorskip("onnxruntime", reason="the package onnxruntime is not installed")
    model = onnx.load(path)
    fed = feeds(model)
    good = load(path, fed).run()
    scales = _scales(good.graph)
    assert scales
    scope = next(s for s in good.graph.scopes.values() if s.op is not None and s.op.name == "attention")
    d_k = good.spec(f"{scope.name}.out").shape[-1]
    for part, (name, ours) in scales.items():
        theirs = by_runtime(_without(model, name), fed)
        found = compare(good, {n: v for n, v in theirs.items() if v.dtype == np.float32})
        assert found.verdict == "different"
        assert found.first.key == ours, part
        told = " ".join(str(found).split())
        assert "as if this step were skipped" in told
        assert f"{'√d_k' if part == 'scaled' else 'd_k^¼'} (d_k = {d_k})" in told


def test_at_level_head_what_was_recognised_is_one_box():
    from graphattn.dumps.alike import kept
    from graphattn.dumps.diagram import diagram

    graph = load(next(path for path in MODELS if path.stem == "encoder_script")).graph
    names = {level: set() for level in ("head", "op")}
    for level, found in names.items():
        shown = graph.at(level)
        found |= {box.name for box in diagram(shown, kept(shown, level)).boxes.values()}
    inside = {name for name in names["op"] if name.startswith("layer.self_attn.attention.")}
    assert len(inside) > 4 and inside.isdisjoint(names["head"])
    (box,) = names["head"] - names["op"]  # it is called by the first that it holds
    assert box.startswith("layer.self_attn.attention.")
