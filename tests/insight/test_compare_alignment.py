"""Recordings of the same block in other people's forms align, whatever their names, masks and heads."""

import math
import random

import pytest
import recorded
from recorded import PATHS, batched, fused, per_head, torch_fx

from graphattn import Graph, GraphError, run
from graphattn.builtin import specimen
from graphattn.insight.compare import compare
from graphattn.insight.compare.alignment.names import is_gradient
from graphattn.passes.gradient import gradient

FORMS = (batched, torch_fx, per_head, fused)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_every_form_agrees(path, form):
    trace, case = recorded.traced(path)
    comparison = compare(trace, form(trace, case))
    assert comparison.agrees, str(comparison)
    placed = {t.pair.other for t in comparison.tensors} | {name for name, _ in comparison.alignment.copies}
    assert len(placed) >= len(form(trace, case)) - 1  # what is not placed: a query scaled early, of one head
    assert set(comparison.alignment.yours_left) <= {"q_scaled"}


@pytest.mark.parametrize(
    "hidden", [-math.inf, -1e9, -1e12, -3.4028234663852886e38, -1.7976931348623157e308, -65504.0]
)
@pytest.mark.parametrize("form", [torch_fx, per_head, fused], ids=lambda form: form.__name__)
def test_every_way_to_hide_agrees(form, hidden):
    trace, case = recorded.traced(PATHS[1])
    comparison = compare(trace, form(trace, case, hidden))
    assert comparison.agrees, str(comparison)


def test_scores_that_a_mask_was_added_to_agree():
    trace, _ = recorded.traced(PATHS[1])
    record = {name: trace[name] for name in trace.names}
    for name in ("head0.masked", "head1.masked"):
        full, scaled = (
            trace.graph.tensor_name(trace.graph.resolve(name)),
            trace[name.replace("masked", "scaled")],
        )
        record[full] = [
            [s - 1e9 if m == -math.inf else m for s, m in zip(a, b, strict=True)]
            for a, b in zip(scaled, trace[name], strict=True)
        ]
    assert compare(trace, record).agrees


def scaled_wrong(case, trace):
    """The block with every head's scale left out."""
    graph, feeds = recorded.block_of(case)
    back = math.sqrt(case["attrs"]["d_head"])
    heads = range(case["attrs"]["h"])
    patch = {f"head{i}.scaled": lambda x: [[v * back for v in row] for row in x] for i in heads}
    return run(graph, feeds, patch=patch)


@pytest.mark.parametrize("form", [batched, torch_fx, per_head], ids=lambda form: form.__name__)
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_mistake_is_found_in_every_form(path, form):
    trace, case = recorded.traced(path)
    first = compare(trace, form(scaled_wrong(case, trace), case)).first
    step = first.comparison.name.rpartition(".")[2]
    assert step in ("scaled", "masked", "weights")
    assert step == "scaled" or any("scaled" in name for name in first.between)
    if case["attrs"]["n"] > 2:
        assert any(relation.kind in ("factor", "temperature", "column factor") for relation in first.relations)


def test_operands_are_moved_and_it_is_found_behind_new_names():
    trace, case = recorded.traced(PATHS[1])
    graph, feeds = recorded.block_of(case)
    wrong = run(graph, feeds, patch={"attention.concat": lambda x: [row[::-1] for row in x]})
    first = compare(trace, torch_fx(wrong, case)).first
    assert first.comparison.name == "block.attention.concat"
    assert [relation.text for relation in first.relations] == ["the reference with its columns reversed"]


def test_batched_heads_of_reference_align_with_heads_one_by_one():
    graph = Graph("batched")
    x = graph.input("x", (2, 3, 4))
    scores = graph.matmul(x, x.T, name="scores")
    graph.output(weights=graph.softmax(scores, name="weights"))
    feed = [[[0.1 * i + 0.3 * j - 0.2 * k * i for k in range(4)] for j in range(3)] for i in range(2)]
    trace = run(graph, {"x": feed})
    record = {f"{name}{i}": trace[name][i] for name in ("x", "scores", "weights") for i in range(2)}
    comparison = compare(trace, record)
    assert comparison.agrees and len(comparison.tensors) == 6
    record["weights1"] = [[2 * v for v in row] for row in record["weights1"]]
    first = compare(trace, record).first
    assert first.comparison.name == "weights[1]" and first.relations[0].text.startswith("the reference × 2, ")


def test_names_are_mapped():
    trace, _ = recorded.traced(PATHS[1])
    record = {"x": trace["x"], "Z": [[trace[f"head{i}.weights"] for i in range(2)]]}
    record["last"] = [[2 * v for v in row] for row in trace["y"]]
    record["Z"][0][1] = [[v + 0.5 for v in row] for row in record["Z"][0][1]]
    names = {"block.attention.head*.weights": "Z", "y": "last"}
    first = compare(trace, record, names=names).first
    assert (first.comparison.name, first.comparison.pair.yours.name) == (
        "block.attention.head1.weights",
        "Z[0, 1]",
    )
    alone = compare(trace, record, names={"head1.weights": "Z[0, 1]"})
    assert alone.first.comparison.name == "block.attention.head1.weights"


def test_names_may_be_ignored():
    trace, _ = recorded.traced(PATHS[1])
    q, k = trace["attention.q"], trace["attention.k"]
    record = {"x": trace["x"], "block.attention.q": k, "block.attention.k": q, "y": trace["y"]}
    assert list(compare(trace, record).harmless) == ["block.attention.q", "block.attention.k"]
    assert list(compare(trace, record, by="value").harmless) == []
    record["y"] = [[2 * v for v in row] for row in trace["y"]]
    assert compare(trace, record).first.comparison.name == "block.attention.q"
    assert compare(trace, record, by="value").first.comparison.name == "block.residual"


def test_weights_that_are_stored_the_other_way_round():
    trace, _ = recorded.traced(PATHS[1])
    record = {"x": trace["x"], "kernel": recorded.turned(trace["w_q"]), "y": trace["y"]}
    comparison = compare(trace, record)
    assert comparison.agrees and comparison.find("w_q").pair.how == "value, transposed"


def test_a_graph_is_run_on_the_inputs_of_yours():
    trace, case = recorded.traced(PATHS[1])
    graph, feeds = recorded.block_of(case)
    record = {name.replace("_", "."): value for name, value in feeds.items()} | {"y": [trace["y"]]}
    assert compare(graph, record).agrees
    record["y"] = [[[2 * v for v in row] for row in trace["y"]]]
    comparison = compare(graph, record)
    assert comparison.first.key == trace.graph.tensor_name(trace.graph.resolve("y"))
    assert comparison.first.between


def test_a_trace_is_compared_with_one_of_another_level():
    fine, case = recorded.traced(PATHS[1], level="primitive")
    graph, feeds = recorded.block_of(case)
    assert compare(run(graph, feeds), fine).agrees
    assert compare(fine, run(graph, feeds)).agrees
    assert compare(run(graph, feeds, level="block"), fine).agrees


def test_without_a_graph_the_order_tells():
    record = {"a": [[1.0, 2.5], [3.0, 4.0]], "b": [[0.5, 0.25], [0.75, 2.0]], "c": [[1.0, 7.0], [0.125, 3.0]]}
    other = {**record, "b": [[1.0, 0.5], [1.5, 4.0]], "c": [[9.0, 7.0], [0.125, 3.0]]}
    comparison = compare(record, other)
    assert comparison.first.comparison.name == "b" and len(comparison.divergences) == 1
    assert compare(record, dict(record)).agrees


@pytest.mark.parametrize("name, told", [
    ("d_X", True), ("d2_X", True), ("dX", True), ("dL_dX", True), ("X.grad", True), ("grad_X", True),
    ("w_o_grad", True), ("gradients.layer0.X", True), ("backward.scores", True),
    ("layer0.d_scores", True), ("∂X", True), ("dense", False), ("down_proj", False), ("decoder.d", False),
    ("head0.out", False), ("degrade", False), ("D", False),
])  # fmt: skip
def test_the_names_of_gradients(name, told):
    assert is_gradient(name) is told


@pytest.mark.parametrize(
    "name", ["d_X", "d_V", "dV", "V.grad", "grad_out", "gradients.out", "dout", "d_weights"]
)
def test_a_gradient_is_no_tensor_of_the_forward_pass(name):
    """Not by its place, its name, its value, or as what a graph is fed."""
    s = specimen("attention", n=3, d=4)
    t = s.run()
    given = {n: t[n] for n in ("Q", "K", "V", "weights")}
    gradient_of = [[0.3 * i - 1.1 * j + 0.7 for j in range(4)] for i in range(3)]
    forward = {n: t[n] for n in t.names}
    for mine in (t, forward):
        for value in (gradient_of, t["out"], [[2 * v for v in row] for row in t["out"]]):
            found = compare(mine, {**given, name: value})
            assert found.verdict == "the same" and found.uncompared == [name], str(found)
    with pytest.raises(GraphError, match="yours did not record V"):
        compare(s.graph, {"Q": t["Q"], "K": t["K"], name: gradient_of, "weights": t["weights"]})


def test_gradients_are_matched_with_gradients():
    s = specimen("attention", n=3, d=4)
    t = run(gradient(s.graph, of="out"), {**s.feeds, "d_out": [[1.0] * 4] * 3})
    names = {"grad.scores": "backward.d_scores", "d_V": "backward.d_V", "t1": "backward.d_weights"}
    found = compare(t, {"weights": t["weights"], **{theirs: t[own] for theirs, own in names.items()}})
    assert {p.other: p.key for p in found.alignment.pairs if p.other != "weights"} == names, str(found)
    assert found.agrees


# ---------------------------------------------------------------- which is which


def wavy(rows, by=0.3):
    return [[x + by * math.sin(7 * i + 3 * j + 1) for j, x in enumerate(row)] for i, row in enumerate(rows)]


def two_norms():
    """Two LayerNorms of one shape, called as exporters call them: a graph, its feeds."""
    g = Graph("norms")
    x, w, gain, shift = (
        g.input("x", (5, 4)),
        *(g.parameter(n, s) for n, s in (("w", (4, 4)), ("a", (4,)), ("c", (4,)))),
    )
    first = g.layernorm(x, gain, shift, name="layer_norm")
    second = g.layernorm(
        g.add(x, g.linear(first, w, name="linear"), name="add"), gain, shift, name="layer_norm_1"
    )
    g.output(y=g.linear(second, w, name="linear_1"))
    draw = random.Random(5)
    return g, {
        name: [[draw.gauss(0, 1) for _ in range(s.shape[-1])] for _ in range(s.shape[0])] if s.rank == 2
        else [draw.gauss(0, 1) for _ in range(4)] for name, s in g.inputs.items()
    }  # fmt: skip


@pytest.mark.parametrize("first, second", [
    ("norm1", "norm2"), ("ln_1", "ln_2"), ("norm.0", "norm.1"), ("block.ln1", "block.ln2"), ("norm", "norm_1"),
    ("layer_norm_1", "layer_norm_2"), ("LayerNorm_0", "LayerNorm_1"), ("pre", "post"),
])  # fmt: skip
def test_of_two_norms_of_one_shape_values_and_order_decide(first, second):
    g, feeds = two_norms()
    t = run(g, feeds)
    record = {first: t["layer_norm"], second: t["layer_norm_1"]}
    for names in ((first, second), (second, first), (first,), (second,)):
        found = compare(t, {**feeds, **{n: record[n] for n in names}, "y": t["y"]})
        if names != ("layer_norm_1",):  # the very name of the other one
            keys = {p.other: p.key for p in found.alignment.pairs if p.other in names}
            assert keys == {n: {first: "layer_norm", second: "layer_norm_1"}[n] for n in names}, str(found)
            assert found.verdict == "the same" and not found.harmless
    if first == "pre":
        return
    for wrong, name in (("layer_norm", first), ("layer_norm_1", second)):
        other = run(g, feeds, patch={wrong: wavy(t[wrong])})
        record = {first: other["layer_norm"], second: other["layer_norm_1"]}
        found = compare(t, {**feeds, **record, "y": other["y"]})
        assert found.verdict == "different", str(found)
        if first != "layer_norm_1":
            assert (
                not found.uncompared and found.first.key == wrong and found.first.comparison.pair.other == name
            ), str(found)


def test_what_stands_in_a_place_may_be_something_else():
    s = specimen("block", n=4, d=8, heads=2, causal=True)
    t = s.run()
    record = {n: t[n] for n in t.names if t.spec(n).kind == "float"}
    for key in ("attention.proj", "attention.concat", "norm"):

        def instead(name, value, key=key):
            return {name if n == key else n: value if n == key else v for n, v in record.items()}

        named = compare(
            t, instead("hidden_states.1", wavy(t[key]))
        )  # a name that says that it is no projection
        assert named.verdict == "the same" and named.uncompared == ["hidden_states.1"], str(named)
        found = compare(t, instead("t17", wavy(t[key])))
        assert found.verdict == "undecided" and found.find(key).guessed, str(found)
        assert str(found).startswith(
            f"undecided: whether t17 of yours is {key} is not known; name it: {key}=t17"
        )
        assert found.data()["undecided"] == [key]
        assert compare(t, instead("t17", wavy(t[key])), names={key: "t17"}).verdict == "different"
        assert compare(t, instead("t17", t[key])).agrees
    alone = {**s.feeds, "t17": wavy(t["residual"])}
    assert compare(s.graph, alone).verdict == "different"  # the only one that can be the result
    wrong = s.run(patch={"norm": wavy(t["norm"])})
    blank = {("t17" if n == "norm" else n): wrong[n] for n in record}
    assert compare(t, blank).verdict == "different"  # what was computed from it differs as well
