"""Worksheets that came back: graded with credit for what follows from a slip; and files that are none."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from random import Random

import pytest
from filled_sheets import answers, attention, filled, skipped, slips, squares, worked

from graphattn import Graph, GraphError
from graphattn.check import check
from graphattn.cli import main
from graphattn.worksheet import worksheet
from graphattn.worksheet.restored import restored

pytest.importorskip("xlsxwriter")
openpyxl = pytest.importorskip("openpyxl")


@pytest.fixture(scope="module")
def sheet():
    return attention()


def code(words):
    with pytest.raises(SystemExit) as left:
        main(words)
    return left.value.code or 0


def test_right_is_right(sheet, tmp_path):
    report = check(filled(sheet, answers(sheet), tmp_path / "a.xlsx"))
    assert report.right and report.score == f"{len(squares(sheet))} of {len(squares(sheet))}"


@pytest.mark.parametrize("digits", [2, 3, 4])
def test_rounding_at_every_step_marks_nothing(sheet, tmp_path, digits):
    report = check(filled(sheet, worked(sheet, lambda _, v: round(v, digits)), tmp_path / "a.xlsx"))
    assert report.credit == len(report.marks)


def test_rounding_marks_nothing_on_a_sheet_of_decimals(tmp_path):
    graph = Graph("gelu")
    graph.output(y=graph.softmax(graph.gelu(graph.input("x", (2, 3)), name="raised"), name="y"))
    sheet = worksheet(graph, seed=1)
    assert not sheet.nice
    report = check(filled(sheet, worked(sheet, lambda _, v: round(v, 3)), tmp_path / "a.xlsx"))
    assert report.credit == len(report.marks) > 10


@pytest.mark.parametrize("number", range(10))
def test_a_slip_costs_its_own_square(sheet, tmp_path, number):
    blank, wrong = slips(sheet)[number]
    written = worked(sheet, lambda b, v: wrong if b.place == blank.place else v)
    report = check(filled(sheet, written, tmp_path / "a.xlsx"))
    assert [m.name for m in report.marks if m.mark == "check"] == [blank.name]
    assert report.credit == len(report.marks) - 1 and not report.right


def test_a_step_left_out_is_named(sheet, tmp_path):
    report = check(filled(sheet, skipped(sheet, "scaled"), tmp_path / "a.xlsx"))
    assert {m.tensor for m in report.marks if m.mark == "check"} == {"scaled"}
    assert "these are the numbers of scores: the step scale(scores, sqrt=4) was left out" in str(report)


@pytest.mark.slow
def test_no_more_is_told_than_reveal_allows(sheet, tmp_path):
    at = next(b for b in squares(sheet) if abs(answers(sheet)[b.place]) > 2)
    secret = answers(sheet)[at.place]
    path = filled(sheet, {**answers(sheet), at.place: 77.5}, tmp_path / "a.xlsx")
    texts = {reveal: str(check(path, reveal=reveal)) for reveal in ("none", "place", "cause")}
    datas = {reveal: json.dumps(check(path, reveal=reveal).data()) for reveal in texts}
    assert "77.5" not in texts["none"] and at.name not in texts["none"] and "77.5" not in datas["none"]
    assert f"{at.name} gave 77.5" in texts["place"] and "expected" not in texts["place"] + datas["place"]
    assert f"expected {secret:g}" in texts["cause"] and f'"expected": {secret}' in datas["cause"]


def test_texts_formulas_and_empty_squares(sheet, tmp_path):
    places = [b.place for b in squares(sheet)]
    told = {**answers(sheet), places[0]: "two", places[1]: None, places[2]: "=1+1", places[3]: True}
    marks = [m.mark for m in check(filled(sheet, told, tmp_path / "a.xlsx")).marks]
    assert marks[:4] == ["number?", "", "number?", "number?"] and set(marks[4:]) == {"right"}


@pytest.mark.slow
def test_the_command_and_a_table_of_several(sheet, tmp_path, capsys):
    good = filled(sheet, answers(sheet), tmp_path / "good.xlsx")
    bad = filled(sheet, {**answers(sheet), squares(sheet)[3].place: 99.0}, tmp_path / "bad.xlsx")
    assert code(["check", str(good)]) == 0 and code(["check", str(bad)]) == 1
    assert code(["check", str(good), str(bad)]) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[-3].split() == ["file", "right", "scores", "scaled", "masked", "weights", "out"]
    assert "wrong" in out[-1] and "wrong" not in out[-2]
    assert code(["check", str(good), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["right"]


@pytest.mark.slow
def test_a_sheet_that_is_not_trusted_is_graded_against_the_one_that_was_handed_out(sheet, tmp_path):
    """Whoever writes another exercise into the hidden sheet gains nothing."""
    other = attention(8)
    out = tmp_path / "handed-out.xlsx"
    out.write_bytes(sheet.xlsx)
    cheat = filled(other, answers(other), tmp_path / "cheat.xlsx")
    assert check(cheat).right and not check(cheat, out).right
    assert check(filled(sheet, answers(sheet), tmp_path / "honest.xlsx"), out).right
    with pytest.raises(GraphError, match="expected the sheet that was handed out"):
        check(cheat, "scalar")


# ---------------------------------------------------------------- files that are none of ours


def repacked(data, change):
    """The spreadsheet with its parts changed: name → bytes, or None to leave one out."""
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new:
        parts = {name: old.read(name) for name in old.namelist()}
        for name, content in change(parts).items():
            new.writestr(name, content)
    return packed.getvalue()


def exercise(sheet, change):
    """The spreadsheet with another exercise in it."""
    book = openpyxl.load_workbook(io.BytesIO(sheet.xlsx))
    page = book["exercise"]
    text = "".join(row[0].value for row in page.iter_rows() if row[0].value)
    page.delete_rows(1, page.max_row)
    page.cell(1, 1).value = change(text)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def plain():
    out = io.BytesIO()
    openpyxl.Workbook().save(out)
    return out.getvalue()


def bomb(parts):
    return parts | {"xl/worksheets/sheet1.xml": b"<a>" + b" " * 60_000_000}


def entity(parts):
    name = "xl/worksheets/sheet1.xml"
    return parts | {name: b'<!DOCTYPE x [<!ENTITY a "aaaa">]>' + parts[name]}


def resized(text):
    data = json.loads(text)
    for node in data["graph"]["nodes"]:
        node.pop("outputs", None)
        if node["op"] == "input":
            node["attributes"]["shape"] = [3, 100_000] if node["id"] != "V" else [3, 100_000_000]
    return json.dumps(data)


HOSTILE = {
    "not a zip": (lambda s: b"PK not really", "is no .xlsx file"),
    "empty": (lambda s: b"", "is no .xlsx file"),
    "cut short": (lambda s: s.xlsx[: len(s.xlsx) // 2], "is no .xlsx file"),
    "another spreadsheet": (lambda s: plain(), "has no sheet 'exercise'"),
    "a zip of something else": (lambda s: repacked(s.xlsx, lambda parts: {"a.txt": b"x"}), "is a broken"),
    "macros": (lambda s: repacked(s.xlsx, lambda parts: parts | {"xl/vbaProject.bin": b"x"}), "holds macros"),
    "a bomb": (lambda s: repacked(s.xlsx, bomb), "unpacks to more than a worksheet holds"),
    "many parts": (
        lambda s: repacked(s.xlsx, lambda parts: parts | {f"xl/{i}.xml": b"" for i in range(200)}),
        "unpacks to more",
    ),
    "entities": (lambda s: repacked(s.xlsx, entity), "a DOCTYPE"),
    "huge": (lambda s: s.xlsx + b"0" * 5_000_000, "is larger than"),
    "no exercise": (lambda s: exercise(s, lambda text: ""), "`graphattn worksheet` wrote"),
    "broken exercise": (lambda s: exercise(s, lambda text: text[:40]), "bad.xlsx"),
    "another format": (lambda s: exercise(s, lambda text: text.replace("graphattn worksheet", "x", 1)), "x"),
    "a huge graph": (lambda s: exercise(s, resized), "cells"),
    "blank that is not there": (
        lambda s: exercise(s, lambda text: text.replace('["masked"', '["m"')), "does not compute",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_worksheet_is_one_sentence(sheet, tmp_path, capsys, name):
    make, words = HOSTILE[name]
    path = tmp_path / "bad.xlsx"
    path.write_bytes(make(sheet))
    assert code(["check", str(path)]) == 2
    told = capsys.readouterr().err
    assert words in told and told.count("\n") == 1 and "Traceback" not in told, told


JUNK = (
    None, True, -1, 1e308, 10**30, "", "1e999999", [], {}, [[]], [1, [2]], {"float": "nan"}, [[1, 2], [3, 4]],
)  # fmt: skip


def _places(data, path=()):
    yield path
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield from _places(value, (*path, key))


@pytest.mark.slow
def test_an_exercise_that_was_tampered_with_is_read_or_refused(sheet):
    """Something in it is replaced or left out, 150 times: an exercise or a sentence, nothing else."""
    random, refused = Random(5), 0
    text = json.dumps(sheet.data())
    for _ in range(150):
        data = json.loads(text)
        *path, last = random.choice([place for place in _places(data) if place])
        parent = data
        for key in path:
            parent = parent[key]
        if random.random() < 0.3:
            del parent[last]
        else:
            parent[last] = random.choice(JUNK)
        try:
            restored(json.dumps(data), "a.xlsx")
        except GraphError as error:
            refused += 1
            assert "\n" not in str(error)
    assert refused > 75


def test_without_openpyxl_a_sentence_names_the_extra(sheet, tmp_path, monkeypatch):
    path = tmp_path / "a.xlsx"
    path.write_bytes(sheet.xlsx)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(GraphError, match=r"pip install 'graphattn\[workbook\]'"):
        check(path)
