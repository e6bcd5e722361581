"""Worksheets as learners fill them in: right, rounded at every step, with a slip."""

from __future__ import annotations

import io
from pathlib import Path

from graphattn.builtin import specimen
from graphattn.core import nested
from graphattn.core.cells import evaluate
from graphattn.core.numbers import FLOAT
from graphattn.dumps.worksheet.self_check import blanks
from graphattn.worksheet import Worksheet, worksheet
from graphattn.worksheet.by_hand import NEAR
from graphattn.worksheet.contents import example

WORDS = {"token": ["the", "cat", "sat"]}


def attention(seed=7, n=3, **options) -> Worksheet:
    return worksheet(specimen("attention", n=n, d=4, causal=True).graph, seed=seed, **options)


def squares(sheet):
    return list(blanks(sheet.tables, example(sheet.tables)))


def answer(blank):
    value = blank.helper.value if blank.helper else nested.at(blank.table.tensor.value, blank.index)
    return float(value)


def answers(sheet):
    """What belongs into each square, by place."""
    return {blank.place: answer(blank) for blank in squares(sheet)}


def worked(sheet, change):
    """Fill in square after square, each computed from what stands in those before it; `change(blank, value)` is
    what the learner writes."""
    own = {}
    for table in sheet.tables:
        for index in indices(table):
            own[table.place(index)] = float(nested.at(table.tensor.value, index))
    written, numbers = {}, NEAR if sheet.nice else FLOAT
    todo = squares(sheet)
    for table in sheet.tables:
        pending = {b.place: b for b in todo if b.table is table}
        for place, blank in pending.items():
            tree = blank.helper.expression if blank.helper else table.expressions[blank.index]
            value = evaluate(tree, lambda cell, t=table: _read(t, cell, own), numbers, _known(table, tree, own))
            written[place] = own[place] = change(blank, value)
    return written


def _applies(tree):
    if hasattr(tree, "args"):
        yield tree
        for arg in tree.args:
            yield from _applies(arg)


def _known(table, tree, own):
    done, keys = {}, {}
    for part in _applies(tree):
        helper = table.helpers.get(table.keys.of(part, keys))
        if part is not tree and helper is not None and helper.place in own:
            done[id(part)] = own[helper.place]
    return done


def _read(table, cell, own):
    operand = table.operands[cell.slot]
    if operand.spec.kind != "float":
        return nested.at(operand.tensor.value, cell.index)
    return own[operand.place(cell.index)]


def indices(table):
    for index, row in nested.rows(table.tensor.value, table.spec.rank):
        yield from ((*index, j) if table.spec.rank else () for j in range(len(list(row))))


def filled(sheet, written, path: Path) -> Path:
    """The spreadsheet with these squares filled in."""
    import openpyxl

    book = openpyxl.load_workbook(io.BytesIO(sheet.xlsx))
    page = book["Worksheet"]
    for place, value in written.items():
        page.cell(place.row + 1, place.column + 1).value = value
    book.save(path)
    return path


def slips(sheet, count=10):
    """So many single slips, spread over the sheet: the square, and what is written there."""
    todo = squares(sheet)
    step = max(len(todo) // count, 1)
    return [(blank, answer(blank) + 1.5) for blank in todo[::step][:count]]


def skipped(sheet, name):
    """What a learner writes who copies a step's operand instead of computing it."""

    def change(blank, value):
        if blank.table.tensor.name != name or blank.helper:
            return value
        operand = next(o for o in blank.table.operands if o is not None)
        return float(nested.at(operand.tensor.value, blank.index))

    return worked(sheet, change)
