"""Whatever is written is read back equal; what would not be is refused, and nothing is left."""

import os
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_graphs import cases
from test_dump_round_trips import TEXTS

from graphattn import Graph, GraphError, run
from graphattn.core import limits, nested
from graphattn.dumps import table
from graphattn.dumps.graph_json import graph_json, read_graph_json
from graphattn.dumps.graph_text import graph_text, parse_graph
from graphattn.dumps.load import load
from graphattn.dumps.page import write_page

ENDINGS = (".txt", ".json", "/", ".npz")
HUGE = 10**140_000


def written_is_read(trace, folder):
    """The endings under which the trace was written, and read back equal; nothing is left of the others."""
    written = []
    for ending in ENDINGS:
        path = f"{folder}/trace{ending}"
        try:
            trace.save(path)
        except GraphError as refused:
            assert "\n" not in str(refused)
            assert not os.path.exists(path) and not os.listdir(folder)
            continue
        back = load(path)
        assert back == trace and back.warnings == trace.warnings
        for name in trace.names:
            mask = trace.masked(name)
            assert back.masked(name) == (mask if mask is not None and any(nested.flat(mask)) else None)
        written.append(ending)
        for name in os.listdir(folder):
            _remove(os.path.join(folder, name))
    for write, read in ((graph_text, parse_graph), (graph_json, read_graph_json)):
        try:
            text = write(trace.graph)
        except GraphError:
            assert not written
            continue
        assert read(text) == trace.graph
    return written


def _remove(path):
    if os.path.isdir(path):
        for name in os.listdir(path):
            os.remove(os.path.join(path, name))
        os.rmdir(path)
    else:
        os.remove(path)


def traced(name="y", feeds=((1.0, -2.0), (3.0, 4.5)), shape=(2, 2), axes=("token", "feature"), **kinds):
    g = Graph(kinds.pop("graph", "g"), kinds.pop("title", ""))
    kind = kinds.pop("kind", "float")
    x = g.input("x", shape, axes, kind=kind)
    y = g.relu(x, name=name) if kind == "float" else g.reshape(x, shape, name=name)
    g.output(**{kinds.pop("output", "out"): y})
    if "alias" in kinds:
        g.adopt_alias(kinds.pop("alias"), y.ref)
    return run(g, {"x": [list(row) if isinstance(row, tuple) else row for row in feeds]}, **kinds)


ALL, NONE = list(ENDINGS), []
ROWS = 500
"""So many rows of nothing are taken where `HARD` is tried."""
HARD = {
    "a name of 1,001 letters": (lambda: traced("a" * 1001), NONE),
    "a name of 70,000 letters": (lambda: traced("a" * 70_000), NONE),
    "a name of 65 parts": (lambda: traced(".".join("a" * 65)), NONE),
    "a name of 1,000 letters": (lambda: traced("a" * 1000), ALL),
    "a long name of a graph": (lambda: traced(graph="g" * 1001), NONE),
    "a long alias": (lambda: traced(alias="a" * 1001), NONE),
    "an alias of any text": (lambda: traced(alias='/model/MatMul "x" = \n # z'), ALL),
    "a long output": (lambda: traced(output="o" * 1001), NONE),
    "a long title": (lambda: traced(title="t" * 200_000), ALL),
    "labels of 200,000 letters": (lambda: traced(labels={"token": ["a" * 200_000, "b"]}), ALL),
    "labels of two lines": (lambda: traced(labels={"token": ['a,\n"b\r', "'=1\0"]}), ALL),
    "half a character": (lambda: traced(axes=("\ud800", "b\n,")), ALL),
    "an int of 5,000 digits": (
        lambda: traced(kind="int", feeds=[[10**5000, 1], [2, 3]]),
        [".txt", ".json", "/"],
    ),
    "an int of 140,000 digits": (
        lambda: traced(kind="int", feeds=[[HUGE, -HUGE], [2, 3]]),
        [".txt", ".json", "/"],
    ),
    "an int too long for CSV": (
        lambda: traced(kind="int", feeds=[[16**140_000, 1], [2, 3]]),
        [".txt", ".json"],
    ),
    "long fractions": (
        lambda: traced(
            numbers="fraction", feeds=[[Fraction(1 - HUGE, HUGE + 1), 1], [2, Fraction(1, 10**5000)]]
        ),
        [".txt", ".json"],
    ),
    "many empty rows": (lambda: traced(shape=(ROWS, 0), feeds=[[]] * ROWS), ALL),
    "too many empty rows": (lambda: traced(shape=(ROWS + 1, 0), feeds=[[]] * (ROWS + 1)), [".json", ".npz"]),
    "50 digits": (lambda: traced(numbers="mpmath"), [".txt", ".json", "/"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", HARD)
def test_hard_ones(what, tmp_path, monkeypatch):
    monkeypatch.setattr(table, "EMPTY_LIMIT", ROWS)
    make, endings = HARD[what]
    if "digits" in what and "int" not in what:
        pytest.importorskip("mpmath")
    assert written_is_read(make(), tmp_path) == endings


@pytest.mark.slow
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(cases(5), st.lists(TEXTS, min_size=8, max_size=8))
def test_random_graphs_in_every_form(tmp_path, case, texts):
    trace = run(case.graph, case.feeds, allow_nonfinite=True)
    specs = [trace.spec(name) for name in trace.names]
    sizes = {axis: n for spec in specs for axis, n in zip(spec.axes, spec.shape, strict=True) if axis and n < 9}
    labels = {axis: texts[:size] for axis, size in sizes.items() if size}
    trace = run(case.graph, case.feeds, labels=labels, allow_nonfinite=True)
    assert set(written_is_read(trace, tmp_path)) >= ({".npz", ".json"} if trace.names else {".json"})


def test_what_is_larger_than_is_read_is_not_written(tmp_path, monkeypatch):
    trace = traced()
    monkeypatch.setattr(limits, "MOST_BYTES", 300)
    assert written_is_read(trace, tmp_path) == []
    with pytest.raises(GraphError, match="bytes, and 300 are read back; expected fewer tensors"):
        trace.save(tmp_path / "t.txt")
    monkeypatch.setenv(limits.VARIABLE, str(100 * limits.MOST_CELLS))
    assert written_is_read(trace, tmp_path) == ALL


def test_integers_that_no_double_holds(tmp_path):
    trace = traced(kind="int", feeds=[[10**400, 1], [2, -(10**400)]])
    assert "∞" in str(trace.stats()) and str(trace).count("1" + "0" * 400) == 4
    write_page(tmp_path / "t.html", trace)
    pytest.importorskip("xlsxwriter")
    with pytest.raises(
        GraphError, match="x holds an integer that no double holds; expected smaller ones in a work"
    ):
        trace.save(tmp_path / "t.xlsx")
