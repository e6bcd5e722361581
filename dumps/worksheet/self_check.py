"""A worksheet as a spreadsheet that checks itself while it is filled in.

    Worksheet   what is given, white squares to fill in, and a mark for each of them at the right
    key         what belongs there, live from what is given
    own         what follows from the squares that were filled in before
    used        those squares, and what follows where they are empty
    exercise    the graph and its numbers, for `graphattn check`

All but the first are hidden (which is not secret: whoever wants to see them can). The formulas are the
workbook's (`graphattn.dumps.workbook.formulas`), three times, with other sheets to read from. A square's mark
is one of MARKS:

    right     it is what belongs there
    follows   it is not, but follows from one's own earlier squares: the slip is up there
    check     it is neither
    number?   it is no number

A square may differ by half of its second decimal, so that whoever rounds at every step has nothing marked.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import xlsxwriter

from graphattn.core import nested
from graphattn.core.cells import Apply, Expression
from graphattn.dumps.workbook.formulas import formula, reference
from graphattn.dumps.workbook.sheets import NUMBER, Styles, write_labels
from graphattn.dumps.workbook.tables import HIDDEN, Helper, Place, Table

RIGHT, FOLLOWS, CHECK, NO_NUMBER = MARKS = ("right", "follows", "check", "number?")
TOLERANCE = 0.0051
"""How far a square may be from what belongs there."""
KEY, OWN, USED, EXERCISE = "key", "own", "used", "exercise"
FRACTION = '[<-1E+300]"·";[=0]0;# ?/??'
PIECE = 30_000
"""The letters of the exercise that one cell holds."""


class Blank:
    """A square to fill in: its table and its index, or the helper cell that it is."""

    def __init__(self, table: Table, index: tuple[int, ...] | None, helper: Helper | None) -> None:
        self.table, self.index, self.helper = table, index, helper

    @property
    def place(self) -> Place:
        if self.helper is not None:
            return self.helper.place
        assert self.index is not None
        return self.table.place(self.index)

    @property
    def name(self) -> str:
        """What it is called: weights[1, 0], or the part of a step: weights.max[1]."""
        name = self.table.tensor.name
        if self.helper is None:
            return f"{name}[{', '.join(map(str, self.index or ()))}]"
        return f"{name}: {self.helper.name or 'what is divided'} in row {self.place.row + 1}"


def blanks(tables: Sequence[Table], done: Mapping[str, tuple[int, ...]]) -> Iterator[Blank]:
    """The squares to fill in, in the order of the steps; `done` are those that stand there as examples."""
    for table in tables:
        if table.operands is None:
            continue
        hidden = hidden_places(table)
        for helper in _in_order(table):
            if helper.place not in hidden:
                yield Blank(table, None, helper)
        for index in _indices(table):
            if table.place(index) not in hidden and done.get(table.tensor.name) != index:
                yield Blank(table, index, None)


def _in_order(table: Table) -> list[Helper]:
    """The helper cells, those first that others read."""
    keys: dict[int, int] = {}

    def inner(part: Expression) -> int:
        if not isinstance(part, Apply):
            return 0
        return (table.keys.of(part, keys) in table.helpers) + sum(map(inner, part.args))

    return sorted(table.helpers.values(), key=lambda helper: inner(helper.expression))


def hidden_places(table: Table) -> set[Place]:
    """Where a mask hides a cell, and what is divided in it."""
    if table.tensor.mask is None:
        return set()
    found: set[Place] = set()
    for index in _indices(table):
        if nested.at(table.tensor.mask, index):
            found |= {table.place(index), *([table.working_place(index)] if table.working else [])}
    return found


def _indices(table: Table) -> Iterator[tuple[int, ...]]:
    rank = table.spec.rank
    for index, row in nested.rows(table.tensor.value, rank):
        for j in range(len(list(row))):
            yield (*index, j) if rank else ()


def self_check(
    tables: Sequence[Table], done: Mapping[str, tuple[int, ...]], title: str, exercise: str, by_two: bool
) -> bytes:
    """The .xlsx file of an exercise's tables, in which `exercise` is kept as text. by_two: whether 2 stands for
    e, and squares are shown as fractions. Two writes give the same bytes."""
    file = io.BytesIO()
    book = xlsxwriter.Workbook(
        file, {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    )
    book.set_properties({"title": title, "created": datetime(2000, 1, 1)})
    sheet, *behind = (book.add_worksheet(name) for name in (tables[0].sheet, KEY, OWN, USED, EXERCISE))
    for other in behind:
        other.very_hidden()
    book.define_name("hidden", f"={HIDDEN:.0E}")
    _Writer(book, sheet, behind, tables, by_two).write(done, title, exercise)
    book.close()
    return file.getvalue()


class _Writer:
    def __init__(self, book: Any, sheet: Any, behind: Sequence[Any], tables: Sequence[Table], by_two: bool):
        self.sheet, self.tables = sheet, tables
        self.key, self.own, self.used, self.exercise = behind
        self.by_two = by_two
        self.styles = Styles(book)
        number = {"num_format": FRACTION if by_two else NUMBER}
        self.given = book.add_format({**number, "bg_color": "#F1F3F5"})
        self.blank = book.add_format({**number, "bg_color": "#FFFFFF", "border": 1, "locked": False})
        self.mark = book.add_format({"font_color": "#52606D", "font_size": 9})
        self.colours = {
            RIGHT: book.add_format({"bg_color": "#DCEFD9"}),
            FOLLOWS: book.add_format({"bg_color": "#DCE9F7"}),
            CHECK: book.add_format({"bg_color": "#F9DCD3"}),
            NO_NUMBER: book.add_format({"bg_color": "#FBF0C4"}),
        }
        self.across = max(table.width for table in tables) + 1
        """How far to the right of a square its mark stands."""

    def write(self, done: Mapping[str, tuple[int, ...]], title: str, exercise: str) -> None:
        home = self.tables[0].sheet
        computed = {t.tensor.name for t in self.tables if t.operands is not None}
        keys = moved(self.tables, lambda name: KEY if name in computed else home)
        used = moved(self.tables, lambda name: USED if name in computed else home)
        open_places: list[Place] = []
        for table, key, own in zip(self.tables, keys, used, strict=True):
            write_labels(self.sheet, table, self.styles)
            if table.operands is None:
                self._given(table)
                continue
            if table.working:
                corner = table.working_place((0,) * table.spec.rank)
                self.sheet.write_string(corner.row - 1, corner.column, "what is divided", self.styles.label)
            for helper, at_key, at_own in zip(*(t.helpers.values() for t in (table, key, own)), strict=True):
                self._behind(helper.place, key, own, at_key.expression, at_own.expression, helper.value)
            for index in _indices(table):
                expression = table.expressions[index]
                value = nested.at(table.tensor.value, index)
                self._behind(table.place(index), key, own, expression, expression, value)
            todo = [b.place for b in blanks([table], done)]
            open_places += todo
            self._filled(table, set(todo))
        for place in open_places:
            self._marked(place)
        self._frame(title, open_places)
        for at in range(0, len(exercise), PIECE):
            self.exercise.write_string(at // PIECE, 0, exercise[at : at + PIECE])

    def _given(self, table: Table) -> None:
        for index in _indices(table):
            place, value = table.place(index), nested.at(table.tensor.value, index)
            if isinstance(value, bool):
                self.sheet.write_boolean(place.row, place.column, value, self.given)
            else:
                self.sheet.write_number(place.row, place.column, _number(value), self.given)

    def _filled(self, table: Table, todo: set[Place]) -> None:
        """The squares of a computed table: empty, or with what is hidden or done as an example."""
        values = {table.place(index): nested.at(table.tensor.value, index) for index in _indices(table)}
        values |= {helper.place: helper.value for helper in table.helpers.values()}
        hidden = hidden_places(table)
        for place, value in values.items():
            if place in todo:
                self.sheet.write_blank(place.row, place.column, None, self.blank)
            elif place in hidden:
                self.sheet.write_number(place.row, place.column, _number(value), self.styles.hidden)
            else:
                self.sheet.write_number(place.row, place.column, _number(value), self.given)

    def _behind(self, place: Place, key: Table, own: Table, a: Any, b: Any, value: Any) -> None:
        """The formulas of a square on the sheets behind."""
        at, cached = (place.row, place.column), _number(value)
        self.key.write_formula(*at, f"={formula(key, a, by_two=self.by_two)}", None, cached)
        self.own.write_formula(*at, f"={formula(own, b, OWN, self.by_two)}", None, cached)
        here, there = reference(place, USED), reference(replace(place, sheet=OWN), USED)
        self.used.write_formula(*at, f"=IF(ISNUMBER({here}),{here},{there})", None, cached)

    def _marked(self, place: Place) -> None:
        cell, key, own = (reference(replace(place, sheet=s), place.sheet) for s in (place.sheet, KEY, OWN))
        near = f'IF(ABS({cell}-{own})<={TOLERANCE},"{FOLLOWS}","{CHECK}")'
        follows = f'IF(ISNUMBER({own}),{near},"{CHECK}")'
        told = f'IF(ABS({cell}-{key})<={TOLERANCE},"{RIGHT}",{follows})'
        told = f'IF(ISBLANK({cell}),"",IF(ISNUMBER({cell}),{told},"{NO_NUMBER}"))'
        self.sheet.write_formula(place.row, place.column + self.across, f"={told}", self.mark, "")

    def _frame(self, title: str, places: Sequence[Place]) -> None:
        """What stands above the tables, the colours, and what may be changed."""
        sheet, styles = self.sheet, self.styles
        last = max(place.row for place in places)
        right = max(place.column for place in places)
        first = Place(self.tables[0].sheet, self.tables[0].top, 1 + self.across)
        marks = f"{reference(first, first.sheet)}:{reference(Place('', last, right + self.across), '')}"
        sheet.write_string(0, 0, title, styles.title)
        sheet.write_string(1, 0, "Fill in the white squares. Their marks stand to the right:", styles.note)
        for j, mark in enumerate(MARKS):
            sheet.write_string(2, 1 + 2 * j, mark, self.colours[mark])
            sheet.write_formula(2, 2 + 2 * j, f'=COUNTIF({marks},"{mark}")', styles.note, 0)
        sheet.write_string(2, 0, f"of {len(places)} squares", styles.note)
        sheet.write_string(3, 0, "Name", styles.label)
        sheet.merge_range(3, 1, 3, 6, "", self.blank)
        top = self.tables[0].top
        mark = reference(Place("", top, 1 + self.across), "")
        for name, colour in self.colours.items():
            told = {"type": "formula", "criteria": f'={mark}="{name}"', "format": colour}
            sheet.conditional_format(top, 1, last, right, told)
        sheet.set_column(0, 0, 18)
        sheet.set_landscape()
        sheet.fit_to_pages(1, 0)
        sheet.protect("", {"format_cells": True, "format_columns": True})


def moved(tables: Sequence[Table], sheet_of: Any) -> list[Table]:
    """The tables on other sheets, at the same places."""
    found: dict[int, Table] = {}
    for table in tables:
        sheet = sheet_of(table.tensor.name)
        helpers = {
            key: replace(helper, place=replace(helper.place, sheet=sheet))
            for key, helper in table.helpers.items()
        }
        operands = None
        if table.operands is not None:
            operands = tuple(None if o is None else found[id(o)] for o in table.operands)
        found[id(table)] = replace(table, sheet=sheet, helpers=helpers, operands=operands)
    return list(found.values())


def _number(value: Any) -> float:
    return HIDDEN if value == -math.inf else float(value)
