"""Seeing one thing: tables of single tensors, one step, statistics, and what is saved and read back."""

import json
import math
import statistics
from pathlib import Path

import pytest

import graphattn
from graphattn import Graph, GraphError, run
from graphattn.builtin import specimen
from graphattn.core import nested
from graphattn.dumps.forms import FORMS


@pytest.fixture(scope="module")
def trace():
    block = specimen("block", n=3, d=4, causal=True)
    return run(block.graph, block.feeds, labels={"token": ["the", "cat", "sat"]})


def test_tables_of_single_tensors(trace, golden):
    both = trace.table("attention.head0.scores", "attention.head0.weights")
    golden("table-beside.txt", both)
    assert repr(both) == str(both)  # an interactive session shows it as it is
    narrow = trace.table("attention.head0.scores", "attention.head0.weights", width=40)
    assert narrow == trace.table("*head0.scores") + "\n" + trace.table("*head0.weights")
    assert trace.table("norm", decimals=1).splitlines()[2].split() == ["the", "1.2", "-1.3", "-0.5", "0.6"]
    assert trace.table().startswith("out") or "residual" in trace.table()
    with pytest.raises(GraphError, match="no tensor 'nothing'"):
        trace.table("nothing")


def test_a_step_prints_as_in_the_whole_dump(trace):
    for step in trace.steps:
        assert str(step) in str(trace)


def test_statistics(trace, golden):
    shown = str(trace.stats("*head0.*"))
    golden("stats.txt", f"{shown}\n")
    assert repr(trace.stats("*head0.*")) == shown  # and print adds the only end of line
    rows = {row.name: row for row in trace.stats()}
    assert list(rows) == trace.names
    for name in ("norm", "attention.proj"):
        cells, row = list(nested.flat(trace[name])), rows[name]
        assert row.sum == pytest.approx(math.fsum(cells)) and row.mean == pytest.approx(statistics.fmean(cells))
        assert row.std == pytest.approx(statistics.pstdev(cells)) and row.norm == pytest.approx(
            math.hypot(*cells)
        )
        assert (row.smallest, row.largest) == (min(cells), max(cells))
        assert row.first == tuple(cells[:3]) and row.last == tuple(cells[-3:])
    masked = rows["attention.head0.masked"]
    assert (masked.hidden, masked.nonfinite) == (3, 0) and math.isfinite(masked.sum)
    assert json.dumps(trace.stats("norm").data())


def test_statistics_of_odd_tensors():
    g = Graph("odd")
    x = g.input("x", shape=(4,))
    g.input("none", shape=(0,))
    g.input("lone", shape=())
    g.exp(x, name="y")
    odd = run(g, {"x": [1e308, 1e308, 1000.0, -1.0], "none": [], "lone": 2.0})
    rows = {row.name: row for row in odd.stats()}
    assert rows["y"].nonfinite == 3 and rows["y"].sum == math.exp(-1)
    assert rows["x"].sum == math.inf and rows["none"].sum == 0 and math.isnan(rows["none"].mean)
    assert rows["lone"].first == (2.0,) and "NaN" in str(odd.stats("none"))


@pytest.mark.parametrize("name", ["run.txt", "run.json", "run.npz", "run/"])
def test_what_is_saved_is_loaded_bit_for_bit(trace, name, tmp_path):
    path = trace.save(f"{tmp_path}/{name}")
    back = graphattn.load(path)
    assert back == trace and back.warnings == trace.warnings and back.labels == trace.labels
    assert str(back) == str(trace)


def test_every_form_with_an_ending_is_saved(trace, tmp_path):
    for form in FORMS:
        for ending in form.endings:
            if form.name != "workbook":
                assert Path(trace.save(f"{tmp_path}/{form.name}{ending}")).exists()


def test_npz_is_read_by_numpy(trace, tmp_path):
    numpy = pytest.importorskip("numpy")
    path = trace.save(tmp_path / "run.npz")
    with numpy.load(path) as arrays:
        assert arrays["norm"].tolist() == trace["norm"]


def test_graphs_are_loaded_too(trace, tmp_path):
    path = tmp_path / "graph.txt"
    path.write_text(str(trace.graph), encoding="utf-8")
    assert graphattn.load(path) == trace.graph


def test_npz_refuses(trace, tmp_path):
    g = Graph("g")
    g.input("x", shape=(1,))
    with pytest.raises(GraphError, match=r"x holds fraction numbers, which \.npz cannot"):
        run(g, {"x": [1]}, numbers="fraction").save(tmp_path / "x.npz")
    (tmp_path / "bad.npz").write_bytes(b"PK")
    with pytest.raises(GraphError, match=r"is not a whole \.npz file"):
        graphattn.load(tmp_path / "bad.npz")
    from graphattn.dumps.tensor_bytes import npz_bytes, recorded

    (tmp_path / "bare.npz").write_bytes(npz_bytes(recorded(trace)))
    with pytest.raises(GraphError, match="it holds tensors and no trace"):
        graphattn.load(tmp_path / "bare.npz")


@pytest.mark.parametrize(
    ("path", "options", "words"),
    [
        ("x.doc", {}, "'x.doc' has no known ending; expected .txt, .json, "),
        ("x.json", {"decimals": 3}, "json has no option 'decimals'; expected none"),
        ("x.md", {"decimal": 3}, "did you mean 'decimals'?"),
        (3, {}, "path is an int; expected a file name"),
    ],
)
def test_save_refuses(trace, path, options, words):
    with pytest.raises(GraphError) as told:
        trace.save(path, **options)
    assert words in str(told.value)


def test_latex(trace, golden, tmp_path):
    golden("latex.tex", Path(trace.save(tmp_path / "x.tex", only=["*head0.weights"])).read_text("utf-8"))
    g = Graph("g")
    g.input("x", shape=(1, 2), axes=("to_k", "a&b"))
    text = run(g, {"x": [[1e30, -1.0]]}, labels={"to_k": ["50%_$"], "a&b": ["~", "\\"]})
    written = Path(text.save(tmp_path / "y.tex")).read_text(encoding="utf-8")
    assert r"50\%\_\$ & $1.0000 \cdot 10^{30}$" in written and r"\textbackslash{}" in written


def test_the_command_line(cli, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    block = ("trace", "block", "--n", "3", "--d", "4", "--causal")
    status, out, _ = cli(*block, "--tensor", "*.weights", "--beside")
    assert status == 0 and out.splitlines()[0].count("token 3 × token 3") == 2
    assert cli(*block, "--stats", "--tensor", "norm")[1].splitlines()[0].startswith("tensor  shape  sum")
    assert cli(*block, "--beside")[2].startswith("graphattn: --beside shows tables of text; expected it with")
    assert cli(*block, "--npz")[2] == "graphattn: this form is not text; expected -o FILE\n"
    assert cli(*block, "-o", "x.npz") == (0, "", "wrote x.npz\n")
    assert isinstance(graphattn.load("x.npz"), graphattn.Trace)


def test_statistics_of_numbers_whose_squares_are_beyond_doubles():
    g = Graph("g")
    g.output(y=g.negate(g.input("x", (2, 2))))
    (row,) = run(g, {"x": [[1e300, 2e300], [-1e300, -2e300]]}).stats("y")
    assert (row.mean, row.std) == (0.0, pytest.approx(math.sqrt(2.5) * 1e300))
