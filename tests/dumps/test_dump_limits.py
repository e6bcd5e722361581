"""What a small file may claim: no more than memory and time can bear."""

import pytest

from graphattn import Graph, GraphError, run
from graphattn.dumps.trace_text import read_trace, trace_text


def test_rows_of_nothing_are_bounded():
    g = Graph("empty")
    g.output(y=g.exp(g.input("x", (2, 0)), name="y"))
    text = trace_text(run(g, {"x": [[], []]}), "exact")
    huge = text.replace("(2, 0)", "(1000000000000, 0)").replace("2 × 0", "1000000000000 × 0")
    with pytest.raises(GraphError, match="has 1000000000000 rows of nothing; expected at most 1048576"):
        read_trace(huge)


def test_a_fraction_of_a_billion_digits_is_refused():
    g = Graph("fraction")
    g.output(y=g.add(g.input("x", (1,)), 1, name="y"))
    text = trace_text(run(g, {"x": [2]}, numbers="fraction"), "exact")
    assert read_trace(text)["y"] == [3]
    with pytest.raises(GraphError, match="1e999999999; expected an exponent of at most 4 digits"):
        read_trace(text.replace("\n        3\n", "\n        1e999999999\n"))
    with pytest.raises(GraphError, match="expected an exponent of at most 4 digits"):
        h = Graph("constant")
        h.output(y=h.constant("1e-999999999", name="c"))
        run(h, numbers="fraction")
