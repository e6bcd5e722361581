"""Nothing recurses on the depth of a graph."""

import sys

import pytest

from graphattn import Graph, Trace, run, steps
from graphattn.passes.bind import bind
from graphattn.passes.common_subexpressions import common_subexpressions
from graphattn.passes.constant_folding import constant_folding
from graphattn.passes.cost import cost
from graphattn.passes.dead_code import dead_code
from graphattn.passes.verify import verify
from graphattn.passes.zoom import fuse, zoom

LENGTH = 5_000
"""Five times what Python's own stack would take."""


def chain_of(length):
    g = Graph("chain")
    y, one = g.input("x", (1,)), g.input("one", (1,))
    for i in range(length):
        y = g.add(y, one, name=f"n{i}")
    g.output(y=y)
    return g


@pytest.fixture(scope="module")
def chain():
    return chain_of(LENGTH)


FEEDS = {"x": [0.0], "one": [1.0]}


def test_a_long_chain_is_longer_than_the_stack():
    assert 4 * sys.getrecursionlimit() < LENGTH


@pytest.mark.slow
def test_a_long_chain_runs(chain):
    trace = run(chain, FEEDS)
    assert trace["y"] == [float(LENGTH)]
    assert trace.warnings == [] and trace.masked("y") is None
    assert run(chain, FEEDS, targets=["y"])["y"] == trace["y"]
    assert run(chain, FEEDS, keep=["y"]).names == [f"n{LENGTH - 1}"]
    assert sum(1 for _ in steps(chain, FEEDS)) == len(chain)
    assert Trace.restore(chain, {name: trace[name] for name in trace.names}) == trace


@pytest.mark.slow
def test_zoom_fuse_and_verify_a_long_chain(chain):
    assert zoom(chain) is chain
    assert fuse(chain) == chain
    assert verify(chain).ok


@pytest.mark.slow
def test_passes_over_a_chain_longer_than_the_stack():
    chain = chain_of(4 * sys.getrecursionlimit())
    assert dead_code(chain) is chain
    assert common_subexpressions(chain) == chain
    folded = constant_folding(bind(chain, FEEDS))
    assert run(folded)["y"] == [float(len(chain) - 2)]
    assert cost(chain) is not None


@pytest.mark.slow
def test_a_long_chain_of_composites():
    g = Graph("chain")
    y = g.input("x", (1, 2))
    for i in range(400):
        y = g.softmax(y, name=f"n{i}")
    g.output(y=y)
    fine = zoom(g)
    assert len(fine) > 2 * sys.getrecursionlimit()
    assert run(fine, {"x": [[1.0, 2.0]]})["y"] == run(g, {"x": [[1.0, 2.0]]})["y"]
    assert fuse(fine) == g


@pytest.mark.slow
def test_a_long_chain_is_printed(chain):
    text = str(chain)
    assert f"n{LENGTH - 1}" in text or "more" in text or "…" in text


@pytest.mark.slow
def test_a_long_trace_is_printed(chain, monkeypatch):
    """Each step is looked up; no look-up that finds nothing compares all names with the one it was given."""
    trace = run(chain, FEEDS)

    def compared(*_, **__):
        raise AssertionError("names were compared")

    monkeypatch.setattr("difflib.get_close_matches", compared)
    assert str(trace).count("\n") > 2 * LENGTH
    assert "n7" in trace and "y" in trace and "n_7" not in trace and None not in trace
