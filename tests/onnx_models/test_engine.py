"""ONNX Runtime as the engine of a run gives the trace that the interpreter gives."""

import copy
import math
import os
import pickle
from dataclasses import replace

import pytest
from every_op import every_op
from hypothesis import given, settings
from random_graphs import cases
from test_writing import OTHERWISE, error, graph_of

from graphattn import Graph, GraphError, compare, run
from graphattn.builtin import specimen
from graphattn.core import nested
from graphattn.core.op import OPS, register
from graphattn.core.packed import Packed
from graphattn.dumps.trace_text import read_trace, trace_text
from graphattn.insight.heads import heads
from graphattn.insight.heads.corpus import heads_of_texts
from graphattn.passes.gradient import gradient
from graphattn.weights.toy_induction import toy_induction

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
np = pytest.importorskip("numpy")

ENGINE = "onnxruntime"


def worst(mine, theirs):
    """The largest difference of all tensors, relative to the size of each."""
    assert mine.names == theirs.names
    return max((error(mine[name], np.array(theirs[name])) for name in mine.names), default=0.0)


def same_facts(mine, theirs):
    assert mine.warnings == theirs.warnings
    assert all(mine.masked(name) == theirs.masked(name) for name in mine.names)
    assert (mine.labels, mine.patched, mine.graph) == (theirs.labels, theirs.patched, theirs.graph)


@pytest.mark.parametrize("op", every_op(lambda op: not op.fed))
def test_samples(op):
    """All samples, infinities, NaN and hidden cells too; sums that cancel are not taken exactly."""
    samples = [(i, s) for i, s in enumerate(op.samples) if (op.name, i) not in OTHERWISE]
    g, feeds = graph_of(op, samples)
    mine, theirs = (run(g, feeds, allow_nonfinite=True, engine=e) for e in (None, ENGINE))
    assert worst(mine, theirs) <= 1e-12
    same_facts(mine, theirs)


def test_a_wrong_operator_is_seen():
    """What is above can fail."""
    wrong = register(replace(OPS["add"], name="wrong_add", onnx="Sub"))
    try:
        g, feeds = graph_of(wrong, [(0, wrong.samples[0])])
        assert worst(run(g, feeds), run(g, feeds, engine=ENGINE)) > 0.1
    finally:
        del OPS["wrong_add"]


@pytest.mark.slow
@given(cases())
@settings(max_examples=20)
def test_random_graphs(case):
    """Any ops put together: values, masks and warnings are those of the interpreter."""
    try:
        mine = run(case.graph, case.feeds, allow_nonfinite=True)
    except GraphError:
        return
    theirs = run(case.graph, case.feeds, allow_nonfinite=True, engine=ENGINE)
    assert worst(mine, theirs) <= 1e-9
    same_facts(mine, theirs)


@pytest.mark.parametrize("level", ["block", "head", "op", "primitive"])
@pytest.mark.parametrize("numbers, tolerance", [("float", 1e-14), ("float32", 1e-6)])
def test_block(level, numbers, tolerance):
    made = specimen("block", n=5, d=8, heads=2, causal=True)
    theirs = made.run(level=level, engine=ENGINE, numbers=numbers)
    assert worst(made.run(level=level), theirs) <= tolerance
    same_facts(made.run(level=level), theirs)
    assert theirs.engine.endswith("doubles" if numbers == "float" else "float32")


def test_toy():
    toy = toy_induction()
    mine, theirs = toy.run(), toy.run(engine=ENGINE)
    assert worst(mine, theirs) <= 1e-13
    same_facts(mine, theirs)
    assert str(heads(theirs)) == str(heads(mine))


def test_gradients():
    made = specimen("block", n=3, d=4, heads=2, causal=True)
    graph = gradient(made.graph, "Y", ["X", "w_q"])
    feeds = {**made.feeds, "d_Y": nested.full((3, 4), 1.0)}
    mine, theirs = (run(graph, feeds, engine=engine) for engine in (None, ENGINE))
    assert worst(mine, theirs) <= 1e-13


def test_values_stay_packed_until_they_are_looked_at():
    trace = specimen("block", n=4, d=8).run(engine=ENGINE)
    place = trace.recording.place(trace.graph.resolve("norm"))
    assert isinstance(trace.recording.values[place], Packed)
    assert isinstance(trace["norm"], list) and isinstance(trace["norm"][0][0], float)


def test_what_a_trace_is_for():
    """Text, why, compare, copies and saved files are those of any trace; what differs is said."""
    made = replace(specimen("block", n=3, d=4, heads=2, causal=True), labels={"token": ["a", "b", "c"]})
    mine, theirs = made.run(), made.run(engine=ENGINE)
    head, _, steps = str(theirs).partition("\n\n")
    assert head.splitlines()[-1] == f"engine    {theirs.engine}"
    assert steps == str(mine).partition("\n\n")[2]
    assert str(read_trace(trace_text(theirs, "exact"))).partition("\n\n")[2] == steps
    assert compare(mine, theirs).agrees
    why = str(theirs.why("norm", 1, 2))
    assert why.splitlines()[0] == str(mine.why("norm", 1, 2)).splitlines()[0]
    for again in (copy.copy(theirs), pickle.loads(pickle.dumps(theirs))):
        assert again == theirs and again.engine == theirs.engine


def test_why_says_where_the_engine_rounds_otherwise():
    made = specimen("block", n=3, d=4, heads=2)
    mine, theirs = made.run(), made.run(engine=ENGINE, numbers="float32")
    assert "rounds otherwise" not in str(mine.why("norm", 1, 2))
    assert f"— {theirs.engine.split(',')[0]} rounds otherwise: the arithmetic shown is" in str(
        theirs.why("norm", 1, 2)
    )


def test_nothing_leaks_from_behind_a_mask():
    g = Graph("g")
    q, k, v = (g.input(name, (2, 2)) for name in "qkv")
    out, weights = g.attention(q, k, v, causal=True)
    g.output(out=out, weights=weights)
    feeds = {"q": [[1.0, 2.0], [3.0, 4.0]], "k": [[1.0, 0.0], [math.nan, 1.0]]}
    feeds["v"] = [[5.0, 6.0], [math.inf, 1.0]]
    mine, theirs = (run(g, feeds, allow_nonfinite=True, engine=e) for e in (None, ENGINE))
    assert theirs["out"][0] == [5.0, 6.0] and math.isnan(theirs["out"][1][0])
    assert worst(mine, theirs) == 0
    same_facts(mine, theirs)


def test_patch_targets_keep_and_listeners():
    made = specimen("block", n=3, d=4, heads=2, causal=True)
    name = "attention.head0.weights"
    patches = {
        name: lambda rows: [[cell / 2 for cell in row] for row in rows],
        "attention.head1.out": [[0.0, 0.0]] * 3, "X": nested.full((3, 4), 1.5),
    }  # fmt: skip
    mine, theirs = (made.run(patch=patches, engine=e) for e in (None, ENGINE))
    assert worst(mine, theirs) <= 1e-14 and theirs.patched == mine.patched
    same_facts(mine, theirs)
    some = [made.run(targets=["norm"], engine=e) for e in (None, ENGINE)]
    assert worst(*some) <= 1e-14 and [s.name for s in some[1].steps] == [s.name for s in some[0].steps]
    kept = made.run(keep=["*.weights"], engine=ENGINE)
    assert kept.names == made.run(keep=["*.weights"]).names
    same_facts(made.run(keep=["*.weights"]), kept)
    heard = []
    made.run(listeners=[lambda step: heard.append(step.name)], engine=ENGINE)
    assert heard == [step.name for step in made.run().steps]


def test_large_constants_are_fed_and_sessions_kept():
    g = Graph("g")
    w = g.constant([[float(i * j % 7) for j in range(130)] for i in range(130)], name="w")
    g.output(y=g.matmul(g.input("x", (2, 130)), w))
    feeds = {"x": [[0.5] * 130, [1.0] * 130]}
    first = run(g, feeds, engine=ENGINE)
    from graphattn.onnx.engine import session_of

    session = session_of(first.graph, "float", frozenset(), ("y",), frozenset())
    assert session is session_of(first.graph, "float", frozenset(), ("y",), frozenset())
    assert set(session.fixed) == {"w"}
    assert run(g, feeds, engine=ENGINE)["y"] == run(g, feeds)["y"]


def test_what_is_computed_in_float32_is_said(monkeypatch):
    """An operator that the runtime turns out to lack: without an expansion it is done in float32."""
    import graphattn.onnx.engine as engine

    monkeypatch.setattr(engine, "LACKS", {"float": {("Tanh", "float")}, "float32": set()})
    g = Graph("g")
    g.output(y=g.tanh(g.input("x", (2,)), name="t"))
    trace = run(g, {"x": [0.1, 0.7]}, engine=ENGINE)
    assert trace.warnings == ["t: computed in float32, since onnxruntime has no Tanh of doubles"]
    assert 0 < abs(trace["y"][1] - math.tanh(0.7)) < 1e-7


def test_an_operator_that_is_missing_is_learned(monkeypatch):
    import graphattn.onnx.engine as engine

    monkeypatch.setattr(engine, "LACKS", {"float": set(), "float32": set()})
    op = register(replace(OPS["tanh"], name="lean", onnx="Tan", kernel=OPS["sin"].kernel))
    try:
        g = Graph("g")
        g.output(y=g.apply(op, g.input("x", (1,)), name="t"))
        trace = run(g, {"x": [0.5]}, engine=ENGINE)
    finally:
        del OPS["lean"]
    assert trace["y"] == [pytest.approx(math.tan(0.5), rel=1e-6)]
    assert engine.LACKS["float"] == {("Tan", "float")} and "no Tan of doubles" in trace.warnings[0]


def test_an_index_outside_the_table():
    g = Graph("g")
    g.output(y=g.embedding(g.input("table", (3, 1)), g.input("ids", (1,), kind="int"), name="rows"))
    for index in (3, -1):
        with pytest.raises(GraphError, match=r"embedding 'rows': onnxruntime says: .*out of"):
            run(g, {"table": [[1.0], [2.0], [3.0]], "ids": [index]}, engine=ENGINE)


@pytest.mark.parametrize(
    "options, words",
    [
        ({"engine": "onxruntime"}, "engine is 'onxruntime'; expected onnxruntime, or None; did you mean"),
        ({"engine": ENGINE, "numbers": "float16"}, "numbers is 'float16' and engine onnxruntime;"),
        ({"engine": 1}, "engine is 1; expected onnxruntime"),
    ],
)
def test_bad_calls(options, words):
    with pytest.raises(GraphError) as caught:
        specimen("block", n=2, d=4).run(**options)
    assert words in str(caught.value)


def test_a_corpus():
    texts = ["qmxbzqm", "ababa", "xyzxyzx"]
    mine, theirs = (heads_of_texts(toy_induction, texts, engine=engine) for engine in (None, ENGINE))
    assert str(mine) == str(theirs)


@pytest.mark.slow
@pytest.mark.skipif("GRAPHATTN_MINILM" not in os.environ, reason="GRAPHATTN_MINILM names no folder")
def test_minilm():
    from graphattn.models import pretrained

    text = "the cat sat on the mat because it was tired"
    made = pretrained(os.environ["GRAPHATTN_MINILM"], text)
    mine = made.run()
    for numbers, tolerance in (("float", 1e-12), ("float32", 1e-5)):
        theirs = made.run(engine=ENGINE, numbers=numbers)
        assert worst(mine, theirs) <= tolerance
        same_facts(mine, theirs)
