"""jacobian: the matrix of derivatives of one tensor with respect to another."""

import pytest

from graphattn import Graph, GraphError, jacobian, run
from graphattn.builtin import specimen
from graphattn.passes.gradient import gradient


@pytest.fixture
def graph():
    g = Graph("softmax")
    x = g.input("scores", shape=(1, 3), axes=("token", "key"))
    g.output(weights=g.softmax(x, name="y"))
    return g


def test_softmax_is_diag_minus_outer_product(graph):
    feeds = {"scores": [[1.0, 2.0, 3.0]]}
    (p,) = run(graph, feeds)["weights"]
    found = jacobian(graph, of="weights", wrt="scores", feeds=feeds)
    wanted = [[p[i] * ((i == j) - p[j]) for j in range(3)] for i in range(3)]
    assert [list(row) for row in found.values] == [pytest.approx(row) for row in wanted]
    assert found[0, 1] == found.values[0][1]


def test_it_is_printed_with_labels(graph, golden):
    labels = {"key": ["the", "cat", "sat"]}
    golden(
        "jacobian.txt",
        str(jacobian(graph, "weights", "scores", {"scores": [[0.0, 0.0, 0.0]]}, labels=labels)) + "\n",
    )


@pytest.mark.parametrize(
    ("of", "wrt"), [("attention.head0.weights", "norm"), ("residual", "attention.head0.out")]
)
def test_inner_tensors_by_differences(of, wrt):
    block = specimen("block", n=2, d=2, heads=1, causal=True)
    found = jacobian(block.graph, of, wrt, block.feeds)
    base = run(block.graph, block.feeds)
    for j in range(4):

        def moved(by, j=j):
            changed = [row[:] for row in base[wrt]]
            changed[j // 2][j % 2] += by
            return [cell for row in run(block.graph, block.feeds, patch={wrt: changed})[of] for cell in row]

        slope = [(a - b) / 2e-6 for a, b in zip(moved(1e-6), moved(-1e-6), strict=True)]
        assert [row[j] for row in found.values] == pytest.approx(slope, abs=1e-6)


def test_what_is_refused(graph):
    feeds = {"scores": [[1.0, 2.0, 3.0]]}
    with pytest.raises(GraphError, match="wrt is a list; expected the name of one tensor"):
        jacobian(graph, "weights", ["scores"], feeds)
    with pytest.raises(GraphError, match="has no tensor 'loss'"):
        jacobian(graph, "loss", "scores", feeds)
    g = Graph("large")
    g.output(y=g.exp(g.input("x", shape=(400,))))
    with pytest.raises(GraphError, match="160,000 derivatives; expected at most 100,000"):
        jacobian(g, "y", "x", {"x": [0.0] * 400})


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_a_result_of_one_cell(shape):
    g = Graph("squares")
    x = g.input("x", shape=(2,))
    g.output(y=g.reshape(g.reduce_sum(x * x, axis=0), shape=shape, name="y"))
    feeds = {"x": [1.5, -2.0]}
    found = jacobian(g, of="y", wrt="x", feeds=feeds)
    assert found.values == ((3.0, -4.0),)
    again = jacobian(gradient(g, of="y"), of="d_x", wrt="x", feeds=feeds)
    assert again.values == ((2.0, 0.0), (0.0, 2.0))
