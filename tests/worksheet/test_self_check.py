"""The spreadsheet that checks itself, filled in as learners do, and recalculated by a real engine."""

from __future__ import annotations

import io
import re
import sys
from collections import Counter
from pathlib import Path

import pytest
from filled_sheets import answers, attention, filled, skipped, slips, squares, worked

pytest.importorskip("xlsxwriter")
openpyxl = pytest.importorskip("openpyxl")
sys.path.append(str(Path(__file__).parent.parent / "workbook"))

import spreadsheet  # noqa: E402

from graphattn import Graph, GraphError, gradient  # noqa: E402
from graphattn.check import check  # noqa: E402
from graphattn.dumps.worksheet.self_check import MARKS  # noqa: E402
from graphattn.worksheet import worksheet  # noqa: E402

engine = pytest.mark.skipif(spreadsheet.SOFFICE is None, reason="libreoffice-calc is not installed")
SAFE = {
    "SUM", "SUMPRODUCT", "SUMSQ", "MAX", "IF", "EXP", "LN", "SQRT", "MMULT", "ABS", "ISNUMBER", "ISBLANK",
    "COUNTIF",
}  # fmt: skip


def norm():
    graph = Graph("norm")
    graph.output(Y=graph.layernorm(graph.input("X", (3, 4), ("token", "feature")), name="Y"))
    return graph


@pytest.mark.slow
def test_two_writes_give_the_same_bytes_and_formulas_are_safe():
    sheet = attention()
    assert sheet.xlsx == attention().xlsx
    book = openpyxl.load_workbook(io.BytesIO(sheet.xlsx))
    written = [c.value for s in book for row in s.iter_rows() for c in row if str(c.value).startswith("=")]
    assert {name for text in written for name in re.findall(r"([A-Z.]+)\(", text)} <= SAFE
    assert max(map(len, written)) < 400
    assert [s.sheet_state for s in book] == ["visible"] + ["veryHidden"] * 4


def test_only_the_blanks_may_be_changed_and_hold_nothing():
    sheet = attention()
    page = openpyxl.load_workbook(io.BytesIO(sheet.xlsx))["Worksheet"]
    assert page.protection.sheet
    places = {(b.place.row + 1, b.place.column + 1) for b in squares(sheet)}
    for row in page.iter_rows():
        for cell in row:
            if (cell.row, cell.column) in places:
                assert cell.value is None and not cell.protection.locked
            elif cell.row != 4:  # the name
                assert cell.protection.locked


def test_text_of_a_users_stays_text():
    sheet = attention(labels={"token": ["=1+1", "http://example.org", "x"]}, title="=2+2")
    book = openpyxl.load_workbook(io.BytesIO(sheet.xlsx))
    shown = [
        c
        for s in book
        for row in s.iter_rows()
        for c in row
        if c.value in ("=1+1", "http://example.org", "=2+2")
    ]
    assert len(shown) > 3 and all(c.data_type == "s" and c.hyperlink is None for c in shown)


@engine
@pytest.mark.slow
def test_a_spreadsheet_marks_what_is_wrong_and_nothing_else(tmp_path):
    """Right, rounded at every step, five slips, a scale that was forgotten, a text; and the same on norms and
    backwards. The grader gives every square the mark that LibreOffice does."""
    sheet = attention()
    right = answers(sheet)
    cases = {"right": (sheet, right), "empty": (sheet, {})}
    for digits in (2, 3, 4):
        cases[f"round{digits}"] = (sheet, worked(sheet, lambda _, v, n=digits: round(v, n)))
    for number, (blank, value) in enumerate(slips(sheet, 5)):
        once = worked(sheet, lambda b, v, at=blank.place, wrong=value: wrong if b.place == at else v)
        cases[f"slip{number}"] = (sheet, once)
    cases["forgotten"] = (sheet, skipped(sheet, "scaled"))
    cases["text"] = (sheet, {**right, squares(sheet)[0].place: "x"})
    for name, graph, blank in (("norm", norm(), None), ("back", gradient(norm(), of="Y"), ["backward.*"])):
        other = worksheet(graph, blank, 4)
        cases[name] = (other, answers(other))
        cases[f"{name}-round"] = (other, worked(other, lambda _, v: round(v, 3)))
    files = [filled(s, written, tmp_path / f"{name}.xlsx") for name, (s, written) in cases.items()]
    found = {}
    for (name, (of, _)), file, book in zip(
        cases.items(), files, spreadsheet.recalculated(tmp_path, files), strict=True
    ):
        page = book["Worksheet"]
        across = max(table.width for table in of.tables) + 1
        told = [page.cell(b.place.row + 1, b.place.column + 1 + across).value or "" for b in squares(of)]
        found[name] = told
        assert [mark.mark for mark in check(str(file)).marks] == told, name
        counted = [page.cell(3, 3 + 2 * j).value for j in range(4)]
        assert counted == [told.count(mark) for mark in MARKS]
    total = len(squares(sheet))
    assert Counter(found["right"]) == {"right": total} and set(found["empty"]) == {""}
    for name in ("round2", "round3", "round4", "norm", "norm-round", "back", "back-round"):
        assert set(found[name]) <= {"right", "follows"}, name
    for number, (blank, _) in enumerate(slips(sheet, 5)):
        at = [b.place for b in squares(sheet)].index(blank.place)
        assert [i for i, mark in enumerate(found[f"slip{number}"]) if mark == "check"] == [at]
    scaled = [b.table.tensor.name == "scaled" for b in squares(sheet)]
    wrong = [mark == "check" for mark in found["forgotten"]]
    zero = [right[b.place] == 0 for b in squares(sheet)]
    assert wrong == [s and not z for s, z in zip(scaled, zero, strict=True)] and sum(wrong) > 5
    assert found["forgotten"].count("follows") > 0 and found["text"].count("number?") == 1


def test_a_missing_package_is_a_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    for name in [n for n in sys.modules if n.startswith("graphattn.dumps.worksheet.self_check")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(GraphError, match=r"pip install 'graphattn\[workbook\]'"):
        attention().xlsx  # noqa: B018
