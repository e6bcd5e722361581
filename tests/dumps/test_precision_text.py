"""Where precision goes: a short-float run beside one in doubles."""

import pytest

from graphattn import Graph, GraphError, run
from graphattn.builtin import specimen
from graphattn.dumps.precision_text import precision_rows, precision_text

LABELS = {"token": ["the", "cat", "sat"]}


def both(numbers="float32", level=None):
    one = specimen("block", n=3, d=4, heads=2, causal=True, seed=1)
    exact = run(one.graph, one.feeds, labels=LABELS, level=level)
    return exact, run(one.graph, one.feeds, numbers=numbers)


@pytest.mark.parametrize("numbers", ["float32", "bfloat16"])
def test_golden(golden, numbers):
    golden(f"precision_{numbers}.txt", precision_text(*both(numbers)))


@pytest.mark.slow
def test_each_step_rounds_as_it_may():
    """Moves round nothing, one operation half a unit, and a sum of n no more than its n steps."""
    rows = {row.tensor.name: row for row in precision_rows(*both(level="primitive"))}
    assert len(rows) > 40
    for name, row in rows.items():
        node = run(*_fed(), level="primitive").graph.nodes.get(name)
        if node is None or row.own is None:
            continue
        if node.op.moves:
            assert row.own == 0, name
        elif node.op.name in ("add", "subtract", "multiply", "divide", "exp", "sqrt"):
            assert row.own <= 0.5 + 1e-6, name


def _fed():
    one = specimen("block", n=3, d=4, heads=2, causal=True, seed=1)
    return one.graph, one.feeds


def test_errors_are_counted_in_units_of_the_short_format():
    g = Graph("sum")
    a, b = g.input("a", shape=(2,)), g.input("b", shape=(2,))
    g.output(y=g.add(a, b, name="y"))
    feeds = {"a": [1.0, 2.0], "b": [2.0**-9, 2.0**-7]}
    rows = {r.tensor.name: r for r in precision_rows(run(g, feeds), run(g, feeds, numbers="bfloat16"))}
    assert (rows["a"].error, rows["b"].error) == (0.0, 0.0)
    # a unit of bfloat16 is 2^-7 from 1 on, 2^-6 from 2 on
    assert (rows["y"].error, rows["y"].own, rows["y"].index) == (0.5, 0.5, (1,))
    assert (rows["y"].short, rows["y"].exact) == (2.0, 2.0078125)


def test_what_overflows_is_lost():
    g = Graph("square")
    x = g.input("x", shape=(2,))
    g.output(y=g.multiply(x, x, name="y"))
    feeds = {"x": [2.0, 300.0]}
    text = precision_text(run(g, feeds), run(g, feeds, numbers="float16"))
    assert "lost" in text and "[1]  inf  exactly 90000" in text
    assert text.endswith("largest error lost at y\n")


def test_equal_runs_have_no_error():
    g = Graph("twice")
    x = g.input("x", shape=(0, 2))
    g.output(y=g.add(x, x, name="y"))
    text = precision_text(run(g, {"x": []}), run(g, {"x": []}, numbers="float32"))
    assert "0.00" in text and "exactly" not in text


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda exact, short: (short, short), "the exact run has float32 numbers; expected float"),
        (
            lambda exact, short: (exact, exact),
            "the short run has float numbers; expected float32, float16, bfloat16",
        ),
        (lambda exact, short: (exact, None), "short is None; expected a Trace"),
        (
            lambda exact, short: (run(Graph("other"), {}), short),
            "the runs are of graphs 'other' and 'block'; expected one graph",
        ),
    ],
)
def test_what_does_not_belong_together(change, words):
    with pytest.raises(GraphError) as told:
        precision_text(*change(*both()))
    assert words in str(told.value)
