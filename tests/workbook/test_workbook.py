"""Workbooks: every computed cell is a formula that a real spreadsheet computes to the recorded number."""

from __future__ import annotations

import io
import math
import re
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("xlsxwriter")
openpyxl = pytest.importorskip("openpyxl")

import spreadsheet  # noqa: E402
from op_laws import kind_of  # noqa: E402

import graphattn.ops  # noqa: E402, F401
from graphattn import Graph, GraphError, gradient, run  # noqa: E402
from graphattn.builtin import specimen  # noqa: E402
from graphattn.cli import main  # noqa: E402
from graphattn.core import nested  # noqa: E402
from graphattn.core.op import OPS  # noqa: E402
from graphattn.core.specimen import Specimen  # noqa: E402
from graphattn.dumps.workbook import workbook  # noqa: E402
from graphattn.dumps.workbook.tables import HIDDEN, tables  # noqa: E402

DATA = Path(__file__).resolve().parents[1] / "data"
engine = pytest.mark.skipif(spreadsheet.SOFFICE is None, reason="libreoffice-calc is not installed")
SAFE = {
    "SUM", "SUMPRODUCT", "SUMSQ", "MAX", "IF", "AND", "OR", "NOT", "EXP", "LN", "SQRT", "TANH", "SIN", "COS",
    "ERF", "INDEX", "MMULT",
}  # fmt: skip


def block(level="op", **options):
    return specimen("block", n=4, d=8, heads=2, causal=True, **options).run(level=level)


def cells(trace):
    """Sheet, row, column (from 1) and recorded number of every cell."""
    for table in tables(trace, 10**6):
        for index, row in nested.rows(table.tensor.value, table.spec.rank):
            for j, cell in enumerate(row):
                place = table.place((*index, j) if table.spec.rank else ())
                want = HIDDEN if cell == -math.inf else cell
                yield table, table.sheet, place.row + 1, place.column + 1, want


def differences(trace, book, limit=1e-12):
    found = []
    for table, sheet, row, column, want in cells(trace):
        got = book[sheet].cell(row, column).value
        if spreadsheet.apart(want, got) > limit:
            found.append((table.tensor.name, row, column, want, got))
    return found


def formulas(data):
    book = openpyxl.load_workbook(io.BytesIO(data))
    return [
        cell.value
        for sheet in book
        for row in sheet.iter_rows()
        for cell in row
        if isinstance(cell.value, str) and cell.value.startswith("=")
    ]


def fits(op, sample):
    """Whether a spreadsheet can hold what goes in and what comes out; sums that cancel are 0 there."""
    graph, feeds = Graph("one"), {}
    place(graph, feeds, op, sample, "y")
    trace = run(graph, feeds, allow_nonfinite=True)
    return all(
        cell == -math.inf or abs(cell) < 1e15 for name in trace.names for cell in nested.flat(trace[name])
    )


def place(graph, feeds, op, sample, name):
    operands = []
    for slot, operand in enumerate(sample.operands):
        if operand is None:
            operands.append(None)
            continue
        kind = kind_of(operand)
        operands.append(graph.input(f"{name}_x{slot}", nested.shape_of(operand, "x"), kind=kind))
        feeds[operands[-1].name] = operand
    graph.apply(op, *operands, **sample.attributes, name=name)


def samples():
    """Every op's samples whose numbers a spreadsheet can hold, as one graph, and what it is fed."""
    graph, feeds, count = Graph("samples"), {}, 0
    for op in OPS.values():
        for sample in op.samples:
            if fits(op, sample):
                count += 1
                place(graph, feeds, op, sample, f"sample{count}")
    assert count > 200
    return graph, feeds


@pytest.mark.slow
def test_every_computed_cell_is_a_formula():
    trace = block()
    book = openpyxl.load_workbook(io.BytesIO(workbook(trace)))
    for table, sheet, row, column, want in cells(trace):
        value = book[sheet].cell(row, column).value
        if table.operands is None:
            assert value == want
        else:
            assert isinstance(value, str) and value.startswith("=")


def test_the_recorded_numbers_stand_in_the_file():
    trace = block()
    book = openpyxl.load_workbook(io.BytesIO(workbook(trace)), data_only=True)
    assert differences(trace, book, 1e-15) == []


@pytest.mark.slow
def test_formulas_are_short_and_of_safe_functions():
    written = formulas(workbook(block())) + formulas(workbook(block("primitive")))
    assert max(map(len, written)) < 255
    assert {name for text in written for name in re.findall(r"([A-Z.]+)\(", text)} <= SAFE


@pytest.mark.slow
def test_two_writes_give_the_same_bytes():
    assert workbook(block()) == workbook(block())


@pytest.mark.slow
def test_labels_stay_text():
    trace = specimen("block", n=2, d=4, heads=1).run(labels={"token": ["=1+1", "http://example.org"]})
    book = openpyxl.load_workbook(io.BytesIO(workbook(trace)))
    shown = [
        c
        for sheet in book
        for row in sheet.iter_rows()
        for c in row
        if c.value in ("=1+1", "http://example.org")
    ]
    assert shown and all(cell.data_type == "s" and cell.hyperlink is None for cell in shown)


@pytest.mark.parametrize("cell", [math.inf, math.nan, 1e301])
def test_numbers_that_a_spreadsheet_cannot_hold(cell):
    graph = Graph("g")
    graph.negate(graph.input("x", (1, 2)), name="y")
    with pytest.raises(GraphError, match=r"x has .* at"):
        workbook(run(graph, {"x": [[cell, 1.0]]}, allow_nonfinite=True))


def test_too_many_cells():
    graph = Graph("g")
    graph.negate(graph.input("x", (400, 300)), name="y")
    with pytest.raises(GraphError, match="120,000 computed cells"):
        workbook(run(graph, {"x": [[0.0] * 300] * 400}))


def test_a_coarse_trace_is_refused():
    trace = specimen("block", n=2, d=4, heads=1).run(level="block")
    with pytest.raises(GraphError, match="expected a trace at level op or primitive"):
        workbook(trace)


def test_names_that_clash_in_a_spreadsheet():
    graph = Graph("g")
    q = graph.input("q", (1, 2))
    graph.negate(q, name="Q")
    graph.negate(q, name="R")
    graph.negate(q, name="ln1")
    names = openpyxl.load_workbook(io.BytesIO(workbook(run(graph, {"q": [[1.0, 2.0]]})))).defined_names
    assert len({name.casefold() for name in names}) == len(names) == 5 and "R_" in names and "ln1_" in names


def pictures(data):
    with zipfile.ZipFile(io.BytesIO(data)) as book:
        return [book.read(name) for name in book.namelist() if name.startswith("xl/media/")]


@pytest.mark.slow
def test_the_contents_show_the_graph(monkeypatch):
    """One picture, the same each time; none where the graph is large or Graphviz does not draw it."""
    trace = specimen("attention", n=2, d=2).run()
    (picture,) = pictures(workbook(trace))
    assert picture.startswith(b"\x89PNG") and [picture] == pictures(workbook(trace))

    def fails(*args, **options):
        raise GraphError("Graphviz did not answer")

    monkeypatch.setattr("graphattn.dumps.picture.png", fails)
    assert pictures(workbook(trace)) == []
    monkeypatch.undo()
    graph = Graph("chain")
    x = graph.input("x", (1, 2))
    for _ in range(130):
        x = graph.negate(x)
    assert pictures(workbook(run(graph, {"x": [[1.0, 2.0]]}))) == []


# ---------------------------------------------------------------- a real engine computes them anew


@engine
@pytest.mark.slow
def test_a_spreadsheet_computes_the_same_numbers(tmp_path):
    """Block, primitives, gradients, the toy model, every op's samples; an edited input, a flipped mask cell."""
    from graphattn.weights.toy_induction import toy_induction

    s = specimen("block", n=4, d=4, heads=2, causal=True)
    edited = {
        **s.feeds,
        "X": [[cell + (i == j == 1) for j, cell in enumerate(row)] for i, row in enumerate(s.feeds["X"])],
    }
    norm = Graph("norm")
    norm.layernorm(norm.input("x", (3, 4)), name="y")
    graph, feeds = samples()
    mask = next(name for name in s.graph.at("op").nodes if name.endswith("head0.visible"))
    flipped = [[j <= i or (i, j) == (0, 3) for j in range(4)] for i in range(4)]
    feed = {
        "x": [[0.5, -1.0, 2.0, 0.25], [3.0, 1.0, -1.0, 0.0], [1.0, 2.0, 4.0, 8.0]],
        "d_y": [[1.0, 0.5, -1.0, 2.0]] * 3,
    }
    traces = {
        "block": s.run(),
        "primitive": s.run(level="primitive"),
        "edited": run(s.graph, edited),
        "flipped": s.run(patch={mask: flipped}),
        "gradient": run(gradient(norm, of="y"), feed),
        "toy": toy_induction("abab").run(),
        "samples": run(graph, feeds, allow_nonfinite=True),
    }
    files = []
    for name, trace in traces.items():
        files.append(tmp_path / f"{name}.xlsx")
        files[-1].write_bytes(workbook(trace))
    _edit(files[0], traces["block"], tmp_path / "by_hand.xlsx", {("X", (1, 1)): edited["X"][1][1]})
    _edit(files[0], traces["block"], tmp_path / "by_hand_mask.xlsx", {(mask, (0, 3)): True})
    _edit(files[0], traces["block"], tmp_path / "false.xlsx", {}, false=True)
    files += [tmp_path / "by_hand.xlsx", tmp_path / "by_hand_mask.xlsx", tmp_path / "false.xlsx"]
    books = dict(zip((file.stem for file in files), spreadsheet.recalculated(tmp_path, files), strict=True))
    for name, trace in traces.items():
        assert differences(trace, books[name]) == [], name
    assert differences(traces["edited"], books["by_hand"]) == []
    assert len(differences(traces["block"], books["by_hand"])) > 100
    assert differences(traces["flipped"], books["by_hand_mask"]) == []
    assert differences(traces["block"], books["false"]) == []


@engine
@pytest.mark.slow
def test_a_trained_head_and_all_gradients_of_a_block(tmp_path):
    from graphattn.weights.extract import extract

    s = specimen("block", n=3, d=4, heads=2, causal=True)
    traces = {
        "minilm": extract(DATA / "minilm_L0H2_prevtoken.safetensors").run(),
        "backward": run(gradient(s.graph, of="Y"), {**s.feeds, "d_Y": s.feeds["X"]}),
    }
    files = [tmp_path / f"{name}.xlsx" for name in traces]
    for file, trace in zip(files, traces.values(), strict=True):
        file.write_bytes(workbook(trace))
    assert max(map(len, formulas(files[0].read_bytes()))) < 255
    for trace, book in zip(traces.values(), spreadsheet.recalculated(tmp_path, files), strict=True):
        assert differences(trace, book) == []


def _edit(source, trace, target, changes, false=False):
    """A copy of a workbook with cells changed by hand; `false`: with a wrong value beside each formula, which
    an engine that computes nothing would show."""
    if false:
        import zipfile

        with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
            for item in old.namelist():
                data = old.read(item)
                if item.startswith("xl/worksheets/sheet2"):
                    data = re.sub(rb"(</f><v>)[^<]*(</v>)", rb"\g<1>12345\g<2>", data)
                new.writestr(item, data)
        return
    book = openpyxl.load_workbook(source)
    places = {
        (table.tensor.name, index): table.place(index)
        for table in tables(trace, 10**6)
        for name, index in changes
        if table.tensor.name == name
    }
    for key, value in changes.items():
        place = places[key]
        book[place.sheet].cell(place.row + 1, place.column + 1).value = value
    book.save(target)


def test_the_command_refuses_what_is_too_large_before_it_runs(capsys, monkeypatch):
    monkeypatch.setattr(Specimen, "run", lambda *_, **__: pytest.fail("it ran"))
    with pytest.raises(SystemExit):
        main(["workbook", "block", "--n", "100", "--d", "200", "-o", "large.xlsx"])
    assert "computed cells; expected at most 100,000 in a workbook" in capsys.readouterr().err
