"""Whatever is written in exact text or JSON reads back equal: random graphs, traces, labels, numbers."""

import json
import math
import sys
from dataclasses import replace

import networkx as nx
import pytest
from every_op import every_op
from hypothesis import example, given, settings
from hypothesis import strategies as st
from random_graphs import build, cases

from graphattn import Graph, GraphError, run
from graphattn.core import nested
from graphattn.core.graph import Scope
from graphattn.core.op import LEVELS
from graphattn.dumps.graph_json import graph_json, read_graph_json
from graphattn.dumps.graph_text import graph_text, parse_graph
from graphattn.dumps.trace_json import read_trace_json, trace_json
from graphattn.dumps.trace_text import read_trace, trace_text
from graphattn.passes.zoom import fuse

DOUBLES = st.one_of(
    st.floats(width=64, allow_nan=True, allow_infinity=True, allow_subnormal=True),
    st.sampled_from([0.0, -0.0, 5e-324, -5e-324, sys.float_info.max, math.inf, -math.inf, math.nan, 0.1]),
)
TEXTS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        ["", " ", "the", " the", "[CLS]", "1", "-3", '"', "'", "\\", "\n", "\r\n", "\t", "\u2028", "\u2029",
         "\x85", "\0", "\x7f", "\ufeff", "\u202e", "고양이", "猫 が", "e\u0301", "a·", "·", "…", "# x",
         "<b>&amp;</b>", "!", "! no", "not kept", "(no cells)", "end", "= 1", "\ud800", "😀", "\u200b"]
    ),
)  # fmt: skip


def exact(trace):
    return trace_text(trace, precision="exact")


def same_graph(graph):
    text, data = graph_text(graph), graph_json(graph)
    for back in (parse_graph(text), read_graph_json(data)):
        assert back == graph
        assert (graph_text(back), graph_json(back)) == (text, data)
    assert parse_graph(text.replace("\n", "\r\n")) == graph
    assert text.endswith("\n") and "\r" not in text and len(text.splitlines()) == text.count("\n")


def same_trace(trace):
    text, data = exact(trace), trace_json(trace)
    for back in (read_trace(text), read_trace_json(data)):
        assert back == trace
        assert back.numbers.name == trace.numbers.name
        assert back.warnings == trace.warnings
        for name in trace.names:
            mask = trace.masked(name)
            assert back.masked(name) == (mask if mask is not None and any(nested.flat(mask)) else None)
        assert (exact(back), trace_json(back)) == (text, data)
        assert str(back) == str(trace)
    assert len(text.splitlines()) == text.count("\n")


@pytest.mark.slow
@settings(max_examples=25)
@given(cases())
def test_random_graphs_and_their_traces(case):
    for level in LEVELS:
        same_graph(case.graph.at(level))
    same_graph(fuse(case.graph.at("primitive")))
    for level in ("head", "op"):
        same_trace(run(case.graph, case.feeds, level=level, allow_nonfinite=True))


@pytest.mark.slow
@settings(max_examples=20)
@given(cases(5), st.data())
def test_parts_of_random_traces(case, data):
    names = run(case.graph, case.feeds, allow_nonfinite=True).names
    some = data.draw(st.lists(st.sampled_from(names), max_size=3, unique=True))
    options = {"allow_nonfinite": True}
    same_trace(run(case.graph, case.feeds, keep=some, **options))
    if some:
        same_trace(run(case.graph, case.feeds, targets=some, **options))
        same_trace(run(case.graph, case.feeds, targets=some[:1], keep=some[:1], **options))
        same_trace(run(case.graph, case.feeds, patch={some[0]: lambda value: value}, **options))


@pytest.mark.slow
@pytest.mark.parametrize("op", every_op(lambda op: op.samples))
def test_every_sample_of_every_op(op):
    """Of heads and blocks, every fourth in all its primitives."""
    from random_graphs import Move

    for i, sample in enumerate(op.samples):
        case = build([Move(op.name, i, (None,) * len(sample.operands), True, False)])
        level = op.level if op.level in ("head", "block") and i % 4 else "primitive"
        same_graph(case.graph.at(level))
        same_trace(run(case.graph, case.feeds, level=level, allow_nonfinite=True))


@pytest.mark.slow
@given(st.lists(DOUBLES, max_size=8), st.lists(DOUBLES, min_size=6, max_size=6), DOUBLES)
def test_numbers_bit_for_bit(row, cells, one):
    g = Graph("numbers")
    g.input("row", (len(row),))
    g.input("cube", (1, 3, 2))
    g.input("scalar", ())
    cube = [[cells[0:2], cells[2:4], cells[4:6]]]
    trace = run(g, {"row": row, "cube": cube, "scalar": one}, allow_nonfinite=True)
    same_trace(trace)
    for read, write in ((read_trace, exact), (read_trace_json, trace_json)):
        assert list(map(repr, read(write(trace))["row"])) == list(map(repr, row))


@pytest.mark.slow
@given(st.lists(TEXTS, min_size=2, max_size=2), st.lists(TEXTS, min_size=3, max_size=3), TEXTS, TEXTS)
@example(["a", "a b"], ["b", "", "a b c"], "x", "title")
def test_labels_titles_and_axis_names(rows, columns, axis, title):
    g = Graph("labels", title)
    x = g.input("x", (2, 3), ("token", axis), title=title)
    with g.scope("part", title):
        y = g.softmax(x, title=title)
    g.output(y=y)
    if "\ud800" not in title:
        same_graph(g)
    trace = run(g, {"x": [[1, 2, 3], [3, 2, 1]]}, labels={"token": rows, axis: columns})
    same_trace(trace)


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), DOUBLES, TEXTS),
    lambda inner: st.lists(inner, max_size=3),
)


@pytest.mark.slow
@given(VALUES)
@example([10**5000, -(10**4999)])
@example(["inf", math.inf, "nan", math.nan, "1e-05", 1e-05, 1, 1.0, True])
def test_any_attribute(value):
    from graphattn.dumps.graph_json import _attribute, _plain
    from graphattn.dumps.literals import Line, literal

    def frozen(item):
        return tuple(map(frozen, item)) if isinstance(item, list) else item

    def same(a, b):
        if type(a) is not type(b):
            return False
        if isinstance(a, tuple):
            return len(a) == len(b) and all(map(same, a, b))
        return repr(a) == repr(b) if isinstance(a, float) else a == b

    value = frozen(value)
    text = literal(value)
    assert len(text.splitlines()) == 1
    assert same(Line(text).value(), value)
    assert same(_attribute(json.loads(json.dumps(_plain(value), allow_nan=False)), "value"), value)


def test_what_python_compares_equal_but_is_not():
    g = Graph("constants")
    for i, value in enumerate(
        (0.0, -0.0, 1, 1.0, "1", "1e-05", "inf", math.inf, math.nan, (True, False), (1, 0))
    ):
        g.constant(value, name=f"c{i}")
    for back in (parse_graph(graph_text(g)), read_graph_json(graph_json(g))):
        values = [repr(node.attributes["value"]) for node in back.nodes.values()]
        assert values == [repr(node.attributes["value"]) for node in g.nodes.values()]
        assert back == g


@pytest.mark.slow
@given(TEXTS)
@example("/layer.0/Softmax_output_0")
@example("a.b.c")
@example("True")
@settings(max_examples=60, deadline=None)
def test_an_alias_is_any_text(alias):
    """As other formats call their tensors."""
    g = Graph("named")
    x = g.input("x", shape=(2,))
    g.softmax(x, name="y")
    if alias not in ("x", "y"):
        g.adopt_alias(alias, g.tensor("y").ref)
    same_graph(g)
    assert read_trace(exact(run(g, {"x": [0.5, 1.0]}))).graph == g


def test_scopes_whose_nodes_do_not_stand_together():
    g = Graph("apart")
    x = g.input("x", (2, 2))
    with g.scope("first", "one"):
        y = g.relu(x, name="y")
        with g.scope("inner"):
            z = g.exp(y, name="z")
        g.exp(z, name="w")
    between = g.relu(z, name="between")
    with g.within(g.scopes["first"]):
        g.add(between, y, name="late")
        with g.within(g.scopes["first.inner"]):
            g.add(between, z, name="later")
    with g.scope("empty"), g.scope("emptier"):
        pass
    same_graph(g)
    assert "again first\n" in graph_text(g) and "    again inner\n" in graph_text(g)


def test_composites_whose_nodes_are_gone():
    g = Graph("gone")
    x = g.input("x", (2, 2))
    g.output(y=g.layernorm(g.softmax(x, name="a"), name="b"))
    fine = g.at("primitive")
    bare = Graph("gone")
    for node in fine.nodes.values():
        bare.adopt(replace(node, scope=None) if node.scope == "a" else node)
    for scope in (*fine.scopes.values(), Scope("b.late", parent="b"), Scope("a.late", parent="a")):
        bare.adopt_scope(scope)
    same_graph(bare)
    assert graph_text(bare).count("return ") == len(fine.scopes)


def test_names_that_hide_each_other():
    g = Graph("hiding")
    outer = g.input("x", (2, 2))
    with g.scope("s"):
        with g.scope("t"):
            inner = g.relu(outer, name="x")
            g.add(inner, outer, name="both")
        g.add(inner, outer, name="y")
    with g.scope("s2"):
        x = g.relu(outer, name="s.t.x")
        g.add(x, inner, name="end")
    same_graph(g)
    assert "both = add(x, .x)" in graph_text(g)


def test_words_of_the_format_are_names_too():
    g = Graph("graph")
    x = g.input("title", (2, 2))
    for name in ("graph", "scope", "again", "alias", "output", "end", "inf", "nan", "graphattn"):
        x = g.relu(x, name=name)
    with g.scope("output2"):
        g.add(x, x, name="end")
    g.output(output=x) if "output" not in g.nodes else g.output(result=x)
    same_graph(g)
    same_trace(run(g, {"title": [[1, 2], [3, 4]]}))


@pytest.mark.parametrize("numbers", ["fraction", "mpmath"])
def test_other_number_types(numbers):
    g = Graph("numbers")
    x = g.input("x", (2, 2))
    y = g.reduce_mean(x, name="mean")
    g.divide(x, y, name="y")
    trace = run(g, {"x": [[1, 2], [0.5, 7]]}, numbers=numbers)
    same_trace(trace)
    assert read_trace(exact(trace))["y"] == trace["y"]


def test_rounded_labels_do_not_hide_a_wrong_mask():
    g = Graph("masked")
    x = g.input("x", (2, 2), ("token", "token"))
    g.softmax(g.mask(x, g.causal_mask(2)), name="weights")
    trace = run(g, {"x": [[0, 1], [1, 0]]}, keep=["weights"])
    back = read_trace(exact(trace))
    assert back.masked("weights") == [[False, True], [False, False]]
    assert "·" in trace_text(back).split("weights =")[1]


def test_networkx_reads_the_graph_json():
    g = Graph("twice")
    x = g.input("x", (2, 2))
    g.multiply(x, x, name="y")
    dag = nx.node_link_graph(json.loads(graph_json(g)), edges="edges")
    assert sorted(dag.edges(keys=True, data="slot")) == [("x", "y", 0, 0), ("x", "y", 1, 1)]
    assert dag.nodes["y"]["op"] == "multiply" and dag.graph["name"] == "twice"


def test_nodes_may_come_in_any_order():
    g = Graph("order")
    x = g.input("x", (2, 2))
    g.output(y=g.add(g.exp(x, name="b"), g.relu(x, name="a"), name="y"))
    data = json.loads(graph_json(g))
    data["nodes"].reverse()
    data["edges"].reverse()
    back = read_graph_json(json.dumps(data))
    assert list(back.nodes) == ["x", "a", "b", "y"]
    assert list(back.nodes.values()) != list(g.nodes.values())
    assert run(back, {"x": [[1, 2], [3, 4]]})["y"] == run(g, {"x": [[1, 2], [3, 4]]})["y"]


@pytest.mark.slow
def test_a_long_chain_is_linear_and_does_not_recurse():
    g = Graph("chain")
    y = g.input("x", (1,))
    one = g.input("one", (1,))
    for i in range(1500):
        y = g.add(y, one, name=f"n{i}")
    g.output(y=y)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(400)
    try:
        assert parse_graph(graph_text(g)) == g
        assert read_graph_json(graph_json(g)) == g
        trace = run(g, {"x": [0], "one": [1]})
        assert read_trace(exact(trace)) == trace
        assert read_trace_json(trace_json(trace)) == trace
        assert trace_text(trace).count("\n") > 4500
    finally:
        sys.setrecursionlimit(limit)


def test_a_pretty_dump_is_not_read_back():
    g = Graph("pretty")
    g.input("x", (1,))
    with pytest.raises(GraphError) as told:
        read_trace(str(run(g, {"x": [1 / 3]})))
    assert str(told.value) == (
        "trace text, line 1: this dump is pretty: its digits are rounded; expected precision='exact'"
    )
