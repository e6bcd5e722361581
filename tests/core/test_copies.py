"""Graphs and traces copy and pickle, independent of the original; what is kept follows every change."""

import copy
import pickle

import networkx as nx
import pytest

from graphattn import Graph, GraphError, run
from graphattn.builtin import specimen
from graphattn.core.graph import Scope
from graphattn.passes.gradient import gradient


def pickled(thing):
    return pickle.loads(pickle.dumps(thing))


COPIES = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": pickled}


def block(level="op"):
    made = specimen("block", 3, 4, heads=2, causal=True)
    return made.graph.at(level), made.feeds


# ---------------------------------------------------------------- graphs


@pytest.mark.parametrize("level", ["block", "op", "primitive"])
@pytest.mark.parametrize("how", COPIES)
def test_a_copy_of_a_graph_is_equal_and_its_own(how, level):
    graph, feeds = block(level)
    twin = COPIES[how](graph)
    assert twin == graph and twin.notes == graph.notes and twin is not graph
    assert run(twin, feeds).outputs == run(graph, feeds).outputs
    assert list(twin.dag.edges(data=True)) == list(graph.dag.edges(data=True))
    twin.negate(twin.tensor(next(iter(twin.outputs))), name="more")
    twin.title = "another"
    assert "more" not in graph.nodes and graph.title != "another" and twin != graph
    graph.negate(graph.tensor(next(iter(graph.outputs))), name="mine")
    assert "mine" not in twin.nodes


@pytest.mark.parametrize("how", COPIES)
def test_names_go_on_in_a_copy(how):
    g = Graph("a")
    x = g.input("x", (2,))
    with g.scope("part"):
        g.relu(x)
    g.relu(x), g.relu(x)
    twin = COPIES[how](g)
    with pytest.raises(GraphError, match="taken"):
        twin.input("part", (2,))
    assert twin.relu(twin.tensor("x")).name == g.relu(x).name == "relu_x_2"


@pytest.mark.slow
def test_a_long_chain_copies():
    g = Graph("long")
    x = g.input("x", (1,))
    for _ in range(5000):
        x = g.negate(x)
    assert all(how(g) == g for how in COPIES.values())


def test_attributes_are_nobodys_to_change():
    g = Graph("a")
    node = g.softmax(g.input("x", (2, 2)), name="y").node
    with pytest.raises(TypeError):
        node.attributes["axis"] = 0
    given = {"axis": 0, "empty": "zero"}
    h = Graph("b")
    h.input("x", (2, 2))
    h.adopt(h.infer(node.op, node.operands, given, "y"))
    given["axis"] = 1
    assert h.nodes["y"].attributes["axis"] == 0


# ---------------------------------------------------------------- what is kept with a graph


def test_an_output_named_after_a_run():
    g = Graph("a")
    x = g.input("x", (2, 2))
    out, _ = g.attention(x, x, x, name="head")
    feeds = {"x": [[1.0, 2.0], [3.0, 4.0]]}
    run(g, feeds)
    g.output(out=out)
    assert "out" in run(g, feeds).outputs and "out" in run(g, feeds, targets=["out"])


CHANGES = {
    "an output": lambda g: g.output(more=g.tensor("y")),
    "an alias": lambda g: g.adopt_alias("other", g.resolve("y")),
    "a scope": lambda g: g.adopt_scope(Scope("part")),
    "a scope that goes": lambda g: g.forget_scope("old"),
    "a node": lambda g: g.negate(g.tensor("y"), name="after"),
    "a title": lambda g: setattr(g, "title", "another"),
    "a name": lambda g: setattr(g, "name", "another"),
    "notes": lambda g: setattr(g, "notes", ("told",)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_kept_follows_every_change(change):
    def made():
        g = Graph("a")
        g.output(y=g.layernorm(g.input("x", (2, 2)), name="y"))
        g.adopt_scope(Scope("old"))
        return g

    g, fresh = made(), made()
    for level in ("op", "primitive"):
        g.at(level)
    gradient(g, of="y")
    assert "norm.y" not in g
    CHANGES[change](g)
    CHANGES[change](fresh)
    for level in ("block", "op", "primitive"):
        assert g.at(level) == fresh.at(level) and g.at(level).notes == fresh.at(level).notes
    assert gradient(g, of="y") == gradient(fresh, of="y")
    assert list(g.tensor_names()) == list(fresh.tensor_names())


def test_a_name_that_only_one_tensor_ends_in_is_asked_anew():
    g = Graph("a")
    x = g.input("x", (2,))
    y = g.relu(x, name="one.y")
    assert g.resolve("y") == y.ref
    g.output(**{"two.y": x})
    with pytest.raises(GraphError, match="could be"):
        g.resolve("y")


# ---------------------------------------------------------------- traces


@pytest.mark.parametrize(
    "options",
    [{}, {"level": "primitive"}, {"numbers": "mpmath"}, {"keep": ["*.weights"]}, {"targets": ["norm"]}],
)
@pytest.mark.parametrize("how", COPIES)
def test_a_copy_of_a_trace_is_equal_and_its_own(how, options):
    graph, feeds = block("block")
    trace = run(graph, feeds, labels={"token": ["a", "b", "c"]}, **options)
    twin = COPIES[how](trace)
    assert twin == trace and twin.labels == trace.labels and twin.numbers.name == trace.numbers.name
    assert [s.name for s in twin.steps] == [s.name for s in trace.steps]
    assert [s.masks for s in twin.steps] == [s.masks for s in trace.steps]
    assert [s.seconds for s in twin.steps] == [s.seconds for s in trace.steps]
    assert twin.warnings == trace.warnings
    name = trace.names[0]
    before = repr(trace[name])
    twin[name][0][0] = 99
    assert repr(trace[name]) == before
    twin.graph.negate(twin.graph.tensor(name), name="more")
    assert "more" not in trace.graph.nodes


@pytest.mark.parametrize("how", COPIES)
def test_a_copy_keeps_what_was_patched(how):
    graph, feeds = block()
    name = graph.tensor_name(graph.resolve("norm"))
    trace = run(graph, feeds, patch={name: lambda v: v})
    assert COPIES[how](trace).patched == trace.patched == [name]


# ---------------------------------------------------------------- networkx


def test_any_algorithm_of_networkx_takes_the_dag():
    graph, feeds = block()
    dag = graph.dag
    assert nx.is_directed_acyclic_graph(dag) and list(nx.lexicographical_topological_sort(dag))
    longest = nx.dag_longest_path(dag)
    assert longest[-1] == graph.outputs["Y"].name and all(map(dag.has_edge, longest, longest[1:]))
    path = nx.shortest_path(dag, longest[0], longest[-1])
    assert len(path) <= len(longest)
    assert graph.ancestors(longest[-1]) == nx.ancestors(dag, longest[-1]) | {longest[-1]}
    assert graph.descendants(longest[0]) == nx.descendants(dag, longest[0]) | {longest[0]}
    assert graph.ancestors() == graph.descendants() == set()
    with pytest.raises(nx.NetworkXError):
        dag.add_node("more")
    own = dag.copy()
    own.add_node("more")
    assert "more" not in graph.nodes
    assert set(run(graph, feeds).dag.nodes["norm"]) >= {"step", "value", "outputs", "node", "op"}


def test_nodes_are_a_view_of_the_dag():
    g = Graph("a")
    nodes = g.nodes
    x = g.input("x", (2,))
    g.output(y=g.add(x, x, name="y"))
    assert list(nodes) == list(g.dag) == ["x", "y"] and len(nodes) == 2 and "x" in nodes and "z" not in nodes
    assert nodes["y"] is g.dag.nodes["y"]["node"] and nodes.get("z") is None
    assert [n.name for n in nodes.values()] == [name for name, _ in nodes.items()]
    assert sorted(data["slot"] for _, _, data in g.dag.in_edges("y", data=True)) == [0, 1]
    with pytest.raises(TypeError):
        nodes["z"] = nodes["y"]
    with pytest.raises(GraphError, match="not there"):
        g.adopt(nodes["y"].__class__("z", nodes["y"].op, (g.resolve("y").__class__("ghost"),), {}, (), ()))
