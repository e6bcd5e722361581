"""Sizes are bounded before anything is computed, for every op that makes cells."""

import pytest

from graphattn import Graph, GraphError, run
from graphattn.builtin import random_feeds, specimen
from graphattn.core import limits
from graphattn.core.limits import VARIABLE
from graphattn.core.tensor_file import read_tensors

FEEDS = {"x": [[1.0]], "i": [0]}
HUGE = {
    "broadcast": lambda g, x: g.broadcast(x, (10**5, 10**5)),
    "pad": lambda g, x: g.pad(x, 10**15, 0),
    "repeat": lambda g, x: g.repeat(x, 10**12, axis=0),
    "causal_mask": lambda g, x: g.causal_mask(10**6),
    "window_mask": lambda g, x: g.window_mask(10**6, 10**6, left=1, right=0),
    "alibi_bias": lambda g, x: g.alibi_bias(2, 10**5),
    "positional_encoding": lambda g, x: g.positional_encoding(10**7, 10**3),
    "rope_angles": lambda g, x: g.rope_angles(10**7, 10**3)[0],
    "padding_mask": lambda g, x: g.padding_mask(g.input("i", (1,), kind="int"), 10**12),
    "scatter_add": lambda g, x: g.scatter_add(x, g.input("i", (1,), kind="int"), rows=10**12),
    "one after another": lambda g, x: g.concat(*[g.broadcast(x, (10**4, 9 * 10**3))] * 2),
    "matmul": lambda g, x: (b := g.broadcast(x, (10**6, 1))) @ b.T,
    "inside a composite": lambda g, x: g.attention(*[g.broadcast(x, (10**5, 1))] * 3).out,
}


@pytest.mark.parametrize("what", HUGE)
def test_what_is_too_large_is_refused_at_once(what):
    g = Graph("g")
    g.output(y=HUGE[what](g, g.input("x", (1, 1))))
    feeds = {name: FEEDS[name] for name in g.inputs}
    with pytest.raises(GraphError, match=rf" has [\d,]+ cells .*; expected at most 100,000,000 \({VARIABLE}"):
        run(g, feeds)


def test_a_size_that_no_float_holds_is_refused_where_it_is_given():
    x = Graph("g").input("x", (1, 1))
    for size in (2**53 + 1, 10**5000):
        with pytest.raises(GraphError, match=r"is an int of \d+ bits; expected at most 2"):
            x.graph.broadcast(x, (1, size))


def test_the_limit_can_be_set(monkeypatch):
    g = Graph("g")
    g.output(y=g.broadcast(g.input("x", (1, 1)), (10, 11)))
    monkeypatch.setenv(VARIABLE, "100")
    with pytest.raises(GraphError, match=r"110 cells \(10 × 11\); expected at most 100 "):
        run(g, {"x": [[1.0]]})
    monkeypatch.setenv(VARIABLE, "1_000")
    assert len(run(g, {"x": [[1.0]]})["y"]) == 10
    monkeypatch.setenv(VARIABLE, "many")
    h = Graph("h")
    h.output(y=h.relu(h.input("x", (1, 1))))
    with pytest.raises(GraphError, match=f"{VARIABLE} is 'many'; expected a number of cells"):
        run(h, {"x": [[1.0]]})


@pytest.mark.parametrize("what", HUGE)
def test_nothing_is_made_while_a_graph_is_expanded(what):
    """What is made of sizes alone is refused there; anything else waits for the run."""
    g = Graph("g")
    g.output(y=HUGE[what](g, g.input("x", (1, 1))))
    with pytest.raises(GraphError, match=rf" has [\d,]+ cells .*; expected at most 100,000,000 \({VARIABLE}"):
        run(g, {name: FEEDS[name] for name in g.inputs}, level="primitive")


@pytest.mark.parametrize("ending", [".npz", ".safetensors"])
def test_a_file_of_tensors_is_as_large_as_it_is_read(ending, tmp_path, monkeypatch):
    g = Graph("g")
    g.output(y=g.broadcast(g.input("x", (1, 1)), (10, 11)))
    trace, file = run(g, {"x": [[1.0]]}), tmp_path / f"run{ending}"
    trace.save(file)
    monkeypatch.setattr(limits, "MOST_READ", 100)
    for use in (lambda: read_tensors(file), lambda: trace.save(file)):
        with pytest.raises(GraphError, match=rf"; expected at most 100.* \({VARIABLE} in the environment sets"):
            use()
    monkeypatch.setenv(VARIABLE, str(2 * limits.MOST_CELLS))
    trace.save(file)
    assert read_tensors(file).tensors["x"] == [[1.0]]


def test_built_in_graphs_follow_the_limit(monkeypatch):
    with pytest.raises(GraphError, match=rf"expected each to be at most 2048 \({VARIABLE} "):
        specimen("attention", n=2049, d=1)
    monkeypatch.setattr("graphattn.builtin.random_feeds", lambda *_: {})
    monkeypatch.setenv(VARIABLE, str(2 * limits.MOST_CELLS))
    assert specimen("attention", n=2049, d=1).graph.inputs["Q"].shape == (2049, 1)


def test_feeds_that_are_drawn_are_bounded_too():
    g = Graph("g")
    g.input("x", (10**5, 10**5))
    with pytest.raises(GraphError, match="input 'x' has 10,000,000,000 cells"):
        random_feeds(g)
