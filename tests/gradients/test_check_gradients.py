"""check_gradients: what it reports, in which numbers, and what it refuses."""

from dataclasses import replace

import pytest

from graphattn import Graph, GraphError
from graphattn.builtin import specimen
from graphattn.core.op import find
from graphattn.passes import check_gradients as module
from graphattn.passes.check_gradients import check_gradients


def wrong(factor="2.001"):
    """y = x · x + w, with a gradient of 2.001 x for 2 x."""
    graph = Graph("wrong")
    square = replace(
        find("exp"), name="square", gradient=lambda g, dy, y, x: (dy * g.constant(factor) * x,),
        kernel=find("negate").kernel, expand=lambda g, x: g.multiply(x, x, name="product"), level="op",
    )  # fmt: skip
    x, w = graph.input("x", (3,)), graph.parameter("w", (3,))
    graph.output(y=graph.add(graph.apply(square, x, name="squared"), w))
    return graph.at("op"), {"x": [0.5, -1.0, 2.0], "w": [1.0, 2.0, 3.0]}


@pytest.mark.parametrize("numbers", ["mpmath", None])
def test_a_wrong_gradient_is_told_and_named(numbers):
    graph, feeds = wrong()
    report = check_gradients(graph, feeds, "y", numbers=numbers)
    assert not report.ok and report.wrong == ("x, w", "x") and report.numbers == "mpmath"
    assert 1e-5 < report.worst < 1e-2
    assert str(report).startswith(
        "gradients of 'wrong': 1 of 4 directions agree (mpmath)\n  x, w: the gradient"
    )
    with pytest.raises(GraphError, match="which IS NOT"):
        report.check()
    assert check_gradients(*wrong("2"), "y", numbers=numbers).ok


def test_in_floats(monkeypatch):
    made = specimen("block", n=3, d=4)
    monkeypatch.setattr(module, "find_spec", lambda name: None)  # as if mpmath were not installed
    report = check_gradients(made.graph, made.feeds, "Y", directions=3)
    assert report.ok and report.numbers == "float" and len(report.slopes) == 3
    assert 1e-15 < report.worst < 1e-6
    report.check()


def test_in_50_digits():
    made = specimen("block", n=3, d=4, causal=True)
    report = check_gradients(made.graph, made.feeds, "Y")
    assert report.ok and report.numbers == "mpmath" and report.worst < 1e-25
    assert str(report) == "gradients of 'block': 2 of 2 directions agree (mpmath)"


def test_directions_are_the_same_each_time():
    made = specimen("attention", n=3, d=2)
    one, two, other = (check_gradients(made.graph, made.feeds, "out", seed=seed) for seed in (1, 1, 2))
    assert one == two != other


def test_hidden_cells_are_left_alone():
    graph = Graph("masked")
    x, mask = graph.input("x", (2, 3)), graph.input("mask", (3,))
    graph.output(masked=graph.mask(x, mask))
    feeds = {"x": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], "mask": [0.5, float("-inf"), 0.25]}
    assert check_gradients(graph, feeds, "masked").ok


@pytest.mark.parametrize(
    "options, words",
    [
        ({"directions": 0}, "directions is 0; expected an int of 1 or more"),
        ({"directions": True}, "directions is True; expected an int of 1 or more"),
        ({"step": 0}, "step is 0; expected a number above 0"),
        ({"tolerance": "small"}, "tolerance is 'small'; expected a number above 0"),
        ({"numbers": "decimal"}, "unknown number type 'decimal'"),
        ({"of": "Z"}, "has no tensor 'Z'"),
    ],
)
def test_bad_arguments(options, words):
    made = specimen("block", n=2, d=2)
    with pytest.raises(GraphError) as told:
        check_gradients(made.graph, made.feeds, **{"of": "Y", **options})
    assert words in str(told.value)
