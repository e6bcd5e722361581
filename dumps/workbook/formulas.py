"""The formula of a spreadsheet for an expression of cells: one walker for every op.

    formula(table, expression) -> "IF(G45>-1E+300,EXP(C37-G45)/F45,0)", without the sign before it

A sum whose terms differ in their cells alone is one function over ranges:

    Σ x[i, k]                  SUM(B4:E4)
    Σ a[i, k] · b[j, k]        SUMPRODUCT(B4:E4,B9:E9)
    Σ a[i, k] · b[k, j]        SUM(MMULT(B4:E4,C9:C12))
    Σ x[i, k] · x[i, k]        SUMSQ(B4:E4)
    Σ exp(x[i, k] − max)       SUMPRODUCT(EXP(B4:E4-G4))

Only functions that every spreadsheet has are used; those that are no functions of arrays (IF, comparisons)
never stand inside SUMPRODUCT. −∞ is the name `hidden`; visible is what is above −1E+300.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xlsxwriter.utility import xl_rowcol_to_cell

from graphattn.core.cells import Apply, Cell, Expression, Literal
from graphattn.core.errors import GraphError
from graphattn.dumps.workbook.tables import Place, Table

COMPARED, ADDED, MULTIPLIED, WHOLE = range(4)
"""How tightly a text holds together, from comparisons to cells and calls."""
VISIBLE = "-1E+300"
ARGUMENTS = 250
"""The most arguments that a function is given."""


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of a formula. `shape` is (rows, columns) of a piece that stands for many cells."""

    text: str
    holds: int = WHOLE
    shape: tuple[int, int] | None = None
    factors: tuple[Text, Text] | None = None
    """Of a product of two ranges: those."""
    range: bool = False

    def inside(self, holds: int) -> str:
        """The text, in brackets where it holds together less than it must."""
        return self.text if self.holds >= holds else f"({self.text})"


def formula(table: Table, expression: Expression, at: str | None = None, by_two: bool = False) -> str:
    """The formula of a cell of the table, or of one of its helper cells, as it is written on the sheet `at`, or
    on its own. by_two: 2 is raised instead of e."""
    return _Writer(table, expression, at or table.sheet, by_two).write(expression).text


def reference(place: Place, sheet: str) -> str:
    """A cell, as a formula of a sheet writes it."""
    cell = xl_rowcol_to_cell(place.row, place.column)
    return cell if place.sheet == sheet else f"{_quoted(place.sheet)}!{cell}"


def span(first: Place, last: Place, sheet: str) -> str:
    """A range of cells."""
    return f"{reference(first, sheet)}:{xl_rowcol_to_cell(last.row, last.column)}"


def _quoted(sheet: str) -> str:
    return "'" + sheet.replace("'", "''") + "'"


class _Writer:
    """Writes one formula. The expression that it is of is written out, though it may have a helper cell."""

    def __init__(self, table: Table, whole: Expression, sheet: str, by_two: bool) -> None:
        self.table = table
        self.whole = whole
        self.sheet = sheet
        self.by_two = by_two
        self.done: dict[int, int] = {}

    def write(self, part: Expression) -> Text:
        if isinstance(part, Literal):
            return _number(part)
        if isinstance(part, Cell):
            return self._cell(part)
        place = self._helper(part)
        if place is not None:
            return Text(reference(place, self.sheet))
        if part.function == "total":
            return self._total(part.args)
        if part.function == "maximum":
            return self._maximum(part.args)
        if part.function in CHAINS:
            arguments = [self.write(arg).text for arg in _flat(part)]
            return Text(_nested(CHAINS[part.function], arguments))
        if part.function not in WRITTEN:
            raise GraphError(f"{self.table.tensor.name} uses {part.function}, which spreadsheets cannot write")
        return self._call(part.function, *map(self.write, part.args))

    def _call(self, function: str, *args: Text) -> Text:
        if self.by_two and function == "exp":  # 2^x is an error where x is what a mask hides with
            return Text(f"EXP({args[0].inside(WHOLE)}*LN(2))")
        if self.by_two and function == "log":
            return Text(f"{WRITTEN[function](*args).text}/LN(2)", MULTIPLIED)
        return WRITTEN[function](*args)

    # ------------------------------------------------------------ cells

    def _helper(self, part: Apply) -> Place | None:
        if part is self.whole or not (part.name or self.table.working) or not self.table.helpers:
            return None
        helper = self.table.helpers.get(self.table.keys.of(part, self.done))
        return None if helper is None else helper.place

    def _cell(self, cell: Cell) -> Text:
        place = self._place(cell)
        if place is not None:
            return Text(reference(place, self.sheet))
        operand = self._operand(cell)
        first = tuple(0 if isinstance(i, Cell) else i for i in cell.index)
        *block, _, _ = (0, 0, *first)
        block = block[-max(len(first) - 2, 0) :] if len(first) > 2 else []
        rows, columns = operand.matrix
        corner = operand.place((*block, 0, 0)[-len(first) :])
        other = operand.place((*block, rows - 1, columns - 1)[-len(first) :])
        *_, i, j = (0, 0, *cell.index)
        counted = [self._counted(k, size) for k, size in ((i, rows), (j, columns))]
        return Text(f"INDEX({span(corner, other, self.sheet)},{','.join(counted)})")

    def _counted(self, index: int | Cell, size: int) -> str:
        """An index as spreadsheets count, from 1; one below 0 counts from the end."""
        if isinstance(index, int):
            return str(index + 1)
        cell = self._cell(index).text
        return f"IF({cell}<0,{cell}+{size + 1},{cell}+1)"

    def _place(self, cell: Cell) -> Place | None:
        """Where a cell stands, unless that is chosen by another cell."""
        if any(isinstance(i, Cell) for i in cell.index):
            return None
        return self._operand(cell).place(cell.index)  # pyright: ignore[reportArgumentType]

    def _operand(self, cell: Cell) -> Table:
        assert self.table.operands is not None
        operand = self.table.operands[cell.slot]
        assert operand is not None
        return operand

    # ------------------------------------------------------------ many cells

    def _total(self, terms: Sequence[Expression]) -> Text:
        if not terms:
            return Text("0")
        if len(terms) == 1:
            return self.write(terms[0])
        many = self._spread(terms)
        if many is None:
            return Text(_nested("SUM", [self.write(term).text for term in terms]))
        if many.shape is None:
            return Text(f"{len(terms)}*{many.inside(MULTIPLIED)}", MULTIPLIED)
        if many.range:
            return Text(f"SUM({many.text})")
        if many.factors is None:
            return Text(f"SUMPRODUCT({many.text})")
        a, b = many.factors
        if a.text == b.text:
            return Text(f"SUMSQ({a.text})")
        if a.shape == b.shape:
            return Text(f"SUMPRODUCT({a.text},{b.text})")
        row, column = (a, b) if a.shape is not None and a.shape[0] == 1 else (b, a)
        return Text(f"SUM(MMULT({row.text},{column.text}))")

    def _maximum(self, terms: Sequence[Expression]) -> Text:
        if not terms:
            return Text("hidden")
        many = self._spread(terms) if all(isinstance(term, Cell) for term in terms) else None
        if many is not None and many.range:
            return Text(f"MAX({many.text})")
        return Text(_nested("MAX", [self.write(term).text for term in terms]))

    def _spread(self, terms: Sequence[Expression]) -> Text | None:
        """What the terms have in common, with a range where their cells differ; None where that is no
        formula. A product of a row and a column is one only as the whole of a sum."""
        first = terms[0]
        if isinstance(first, Literal):
            same = all(isinstance(term, Literal) and repr(term.value) == repr(first.value) for term in terms)
            return _number(first) if same else None
        places = [self._standing(term) for term in terms]
        if all(place is not None for place in places):
            return self._range([place for place in places if place is not None])
        if any(place is not None for place in places) or not isinstance(first, Apply):
            return None
        if first.function not in OF_ARRAYS:
            return None
        for term in terms:
            if not isinstance(term, Apply) or (term.function, len(term.args)) != (
                first.function,
                len(first.args),
            ):
                return None
        args = []
        for column in zip(*(term.args for term in terms if isinstance(term, Apply)), strict=True):
            arg = self._spread(column)
            if arg is None or (arg.factors is not None and arg.factors[0].shape != arg.factors[1].shape):
                return None
            args.append(arg)
        shapes = {arg.shape for arg in args if arg.shape is not None}
        written = self._call(first.function, *args)
        if first.function in PRODUCTS and all(arg.range for arg in args):
            return Text(written.text, written.holds, args[0].shape, (args[0], args[1]))
        if len(shapes) > 1:
            return None
        return Text(written.text, written.holds, shapes.pop() if shapes else None)

    def _standing(self, term: Expression) -> Place | None:
        """The place of a term that is one cell."""
        if isinstance(term, Cell):
            return self._place(term)
        return self._helper(term) if isinstance(term, Apply) else None

    def _range(self, places: list[Place]) -> Text | None:
        """Cells side by side or below each other, in order, or all the same cell."""
        first, last = places[0], places[-1]
        if all(place == first for place in places):
            return Text(reference(first, self.sheet))
        count = len(places)
        for shape, down, across in (((1, count), 0, 1), ((count, 1), 1, 0)):
            if all(
                (place.sheet, place.row, place.column)
                == (first.sheet, first.row + k * down, first.column + k * across)
                for k, place in enumerate(places)
            ):
                return Text(span(first, last, self.sheet), shape=shape, range=True)
        return None


# ---------------------------------------------------------------- numbers and functions


def _number(literal: Literal) -> Text:
    value = literal.value
    if isinstance(value, bool):
        return Text("TRUE" if value else "FALSE")
    value = float(value)
    if value == -math.inf:
        return Text("hidden")
    if not math.isfinite(value):
        raise GraphError(f"a formula holds {value}; expected finite numbers, or −∞ where a mask hides")
    root = re.fullmatch(r"√(\d+)", literal.text)
    if root and math.isclose(math.sqrt(int(root[1])), value, rel_tol=1e-15):
        return Text(f"SQRT({root[1]})")
    text = str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value).upper()
    return Text(text) if value >= 0 else Text(text, ADDED)


def _call(name: str) -> Callable[..., Text]:
    return lambda *args: Text(f"{name}({','.join(arg.text for arg in args)})")


def _infix(sign: str, holds: int, right: int) -> Callable[..., Text]:
    return lambda a, b: Text(f"{a.inside(holds)}{sign}{b.inside(right)}", holds)


def _squared_or(a: Text, b: Text) -> Text:
    """A product; a square is written as one, in brackets since −2^2 is 4 in spreadsheets."""
    if a.text == b.text and a.holds < WHOLE:
        return Text(f"({a.text})^2", MULTIPLIED)
    return Text(
        f"{a.inside(MULTIPLIED)}*{b.inside(MULTIPLIED + 1 if '/' in b.text else MULTIPLIED)}", MULTIPLIED
    )


WRITTEN: dict[str, Callable[..., Text]] = {
    "add": _infix("+", ADDED, ADDED),
    "subtract": _infix("-", ADDED, MULTIPLIED),
    "multiply": _squared_or,
    "absorb": _squared_or,
    "divide": _infix("/", MULTIPLIED, WHOLE),
    "absorb_divide": lambda a, b: Text(f"IF({a.text}=0,0,{a.inside(MULTIPLIED)}/{b.inside(WHOLE)})"),
    "negate": lambda a: Text(f"0-{a.inside(MULTIPLIED)}", ADDED),
    "exp": _call("EXP"),
    "log": lambda a: Text(f"IF({a.text}=0,hidden,LN({a.text}))"),
    "sqrt": _call("SQRT"),
    "tanh": _call("TANH"),
    "erf": _call("ERF"),
    "sin": _call("SIN"),
    "cos": _call("COS"),
    "is_visible": lambda a: Text(f"{a.inside(ADDED)}>{VISIBLE}", COMPARED),
    "positive": lambda a: Text(f"{a.inside(ADDED)}>0", COMPARED),
    "less": lambda a, b: Text(f"{a.inside(ADDED)}<{b.inside(ADDED)}", COMPARED),
    "equal": lambda a, b: Text(f"{a.inside(ADDED)}={b.inside(ADDED)}", COMPARED),
    "where": lambda condition, a, b: Text(f"IF({condition.text},{a.text},{b.text})"),
    "logical_not": lambda a: Text(f"NOT({a.text})"),
}
CHAINS = {"logical_and": "AND", "logical_or": "OR"}
PRODUCTS = ("multiply", "absorb")
OF_ARRAYS = {"add", "subtract", "multiply", "absorb", "divide", "negate", "exp", "sqrt", "tanh", "sin", "cos"}
"""Functions that take arrays inside SUMPRODUCT, in every spreadsheet."""


def _flat(chain: Apply) -> list[Expression]:
    """The conditions of a chain of one connective, in order."""
    found: list[Expression] = []
    todo: list[Expression] = [chain]
    while todo:
        part = todo.pop()
        if isinstance(part, Apply) and part.function == chain.function:
            todo += reversed(part.args)
        else:
            found.append(part)
    return found


def _nested(function: str, arguments: list[str]) -> str:
    """A call of a function that may be called on its own results, of any number of arguments."""
    while len(arguments) > ARGUMENTS:
        groups = range(0, len(arguments), ARGUMENTS)
        arguments = [f"{function}({','.join(arguments[i : i + ARGUMENTS])})" for i in groups]
    return f"{function}({','.join(arguments)})"
