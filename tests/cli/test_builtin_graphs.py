"""The built-in graphs: names, feeds that can be followed by hand, what is refused."""

from __future__ import annotations

import doctest

import pytest

import graphattn.builtin
import graphattn.weights.toy_induction
from graphattn import Graph, GraphError
from graphattn.builtin import GRAPHS, random_feeds, specimen
from graphattn.core import nested
from graphattn.passes.zoom import fuse, zoom


def test_names_are_those_of_the_design():
    trace = specimen("block", 3, 4, causal=True, projections=False).run(labels={"token": ["the", "cat", "sat"]})
    assert {"X", "norm", "attention.head0.weights", "attention.head1.masked", "residual"} <= set(trace.names)
    assert trace["head0.weights"] == trace["attention.head0.weights"] and trace["Y"] == trace["residual"]
    assert trace.graph.title == "pre-LN self-attention: X + multi_head(LN(X)), 2 heads, causal"
    assert {"head0.weights", "head1.out", "concat", "proj"} <= set(specimen("multi-head").run().names)
    assert {"Q", "K", "V", "scores", "scaled", "weights", "out"} <= set(specimen("attention").run().names)


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("projections", [True, False])
def test_block_is_its_composite(name, projections):
    ours = specimen(name, 3, 4, causal=True, projections=projections)
    assert fuse(zoom(ours.graph, "primitive")) == ours.graph
    op = {"multi-head": "multi_head", "encoder": "encoder_layer"}.get(name, name)
    graph = Graph()
    fed = {n: graph.apply(ours.graph.node(n).op, name=n, shape=s.shape) for n, s in ours.graph.inputs.items()}
    if name == "attention" and projections:
        q, k, v = (graph.linear(fed["X"], fed[f"w_{p}"]) for p in "qkv")
        result, _ = graph.attention(q, k, v, causal=True)
    else:
        first = (
            [fed["X"]] * (1 if name in ("block", "encoder") else 3) if "X" in fed else [fed[p] for p in "QKV"]
        )
        weights = {n: tensor for n, tensor in fed.items() if "_" in n}
        heads = {} if name == "attention" else {"heads": 2}
        result = graph.apply(op, *first, **weights, causal=True, **heads)
        result = result[0] if isinstance(result, tuple) else result
    graph.output(result=result)
    assert graph.run(ours.feeds)["result"] == next(iter(ours.run().outputs.values()))


def test_feeds_have_few_decimals_and_follow_the_seed():
    feeds = specimen("block", seed=1).feeds
    assert feeds == specimen("block", seed=1).feeds != specimen("block", seed=2).feeds
    for value in feeds.values():
        assert all(cell == round(cell, 2) and repr(cell) != "-0.0" for cell in nested.flat(value))


def test_feeds_of_every_kind():
    graph = Graph()
    graph.input("ids", (3,), kind="int")
    graph.input("see", (3, 3), kind="bool")
    graph.input("x", ())
    feeds = random_feeds(graph)
    assert set(feeds["ids"]) <= {0, 1} and all(isinstance(cell, bool) for cell in nested.flat(feeds["see"]))
    assert isinstance(feeds["x"], float)


def test_refused():
    for arguments, words in (
        ({"name": "blok"}, "there is no built-in graph 'blok'; expected one of attention, multi-head, block,"
                           " encoder; did you mean 'block'?"),
        ({"name": "block", "n": -1}, "size 0 of the shape must be an int of 0 or more, got -1"),
        ({"name": "block", "d": 5000}, "n = 4, d = 5000 is too large; expected each to be at most 2048"
                                          " (GRAPHATTN_MAX_CELLS in the environment sets another limit)"),
    ):  # fmt: skip
        with pytest.raises(GraphError) as caught:
            specimen(**arguments)
        assert str(caught.value).endswith(words)


@pytest.mark.parametrize("module", [graphattn.builtin, graphattn.weights.toy_induction])
def test_docstrings(module):
    assert doctest.testmod(module).failed == 0
