"""A worksheet that was filled in (`graphattn worksheet` wrote it), graded square by square.

The exercise (the graph and its numbers) stands in the file, or in the sheet that is given as the contract. It
is computed again here, and with it what follows from each of the learner's own squares, so that one slip costs
one square: what follows from it has its credit. The marks are those of the spreadsheet itself
(`graphattn.dumps.worksheet`). Raises a `GraphError` for what is no worksheet. Needs the extra `workbook`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..core import nested
from ..core.cells import Apply, Cell, Expression, evaluate
from ..core.errors import GraphError
from ..worksheet.restored import Restored, restored
from .sheet_file import Book
from .sheet_report import Mark, SheetReport

if TYPE_CHECKING:
    from graphattn.dumps.workbook.tables import Place, Table
    from graphattn.dumps.worksheet.self_check import Blank

ENDING = ".xlsx"


def graded_sheet(file: str, reference: str | None, reveal: str) -> SheetReport:
    """Grade a sheet; `reference` is another file of the same exercise that is trusted more, or None."""
    try:
        from graphattn.dumps.worksheet.self_check import blanks
    except ImportError:
        raise GraphError(
            "worksheets are read with packages of their own; expected `pip install 'graphattn[workbook]'`"
        ) from None
    book = Book(file)
    exercise = restored(book.exercise if reference is None else Book(reference).exercise, reference or file)
    todo = list(blanks(exercise.tables, exercise.done))
    held = book.squares(exercise.sheet, [blank.place for blank in todo])
    return SheetReport(file, exercise.title, reveal, *_marked(exercise, todo, held))


def _marked(
    exercise: Restored, todo: Sequence[Blank], held: Mapping[Place, Any]
) -> tuple[list[Mark], dict[str, str]]:
    """The marks of all squares in order, and what is to be said of whole tensors."""
    used: dict[Place, Any] = {}
    for table in exercise.tables:
        for index in _indices(table):
            used[table.place(index)] = float(nested.at(table.tensor.value, index))
    marks: list[Mark] = []
    for table in exercise.tables:
        if table.operands is None:
            continue
        own = _Own(table, used, exercise)
        for blank in (b for b in todo if b.table is table):
            expression = blank.helper.expression if blank.helper else table.expressions[blank.index or ()]
            value = blank.helper.value if blank.helper else nested.at(table.tensor.value, blank.index or ())
            follows, gave = own.value(expression), held[blank.place]
            marks.append(
                Mark(blank.name, table.tensor.name, _mark(gave, float(value), follows), gave, float(value))
            )
            used[blank.place] = gave if _is_number(gave) else follows
    return marks, {t.tensor.name: hint for t in exercise.tables for hint in _skipped(t, marks, used)}


def _indices(table: Table) -> Iterator[tuple[int, ...]]:
    rank = table.spec.rank
    for index, row in nested.rows(table.tensor.value, rank):
        yield from ((*index, j) if rank else () for j in range(len(list(row))))


class _Own:
    """What follows from a learner's own squares, in one table."""

    def __init__(self, table: Table, used: Mapping[Place, Any], exercise: Restored) -> None:
        self.table, self.used, self.numbers = table, used, exercise.numbers

    def value(self, expression: Expression) -> Any:
        done: dict[int, Any] = {}
        self._parts(expression, expression, done, {})
        return evaluate(expression, self._cell, self.numbers, done)

    def _cell(self, cell: Cell) -> Any:
        operand = (self.table.operands or ())[cell.slot]
        assert operand is not None
        index = tuple(int(self._cell(i)) if isinstance(i, Cell) else i for i in cell.index)
        if operand.spec.kind != "float":
            return nested.at(operand.tensor.value, index)
        return self.used[operand.place(index)]

    def _parts(self, part: Expression, whole: Expression, done: dict[int, Any], keys: dict[int, int]) -> None:
        """Take the parts that have a square of their own from there."""
        if not isinstance(part, Apply) or id(part) in done:
            return
        if part is not whole:
            helper = self.table.helpers.get(self.table.keys.of(part, keys))
            if helper is not None and helper.place in self.used:
                done[id(part)] = self.used[helper.place]
                return
        for arg in part.args:
            self._parts(arg, whole, done, keys)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _mark(gave: Any, expected: float, follows: Any) -> str:
    from graphattn.dumps.worksheet.self_check import CHECK, FOLLOWS, NO_NUMBER, RIGHT, TOLERANCE

    if gave is None:
        return ""
    if not _is_number(gave):
        return NO_NUMBER
    if abs(gave - expected) <= TOLERANCE:
        return RIGHT
    return FOLLOWS if _is_number(follows) and abs(gave - follows) <= TOLERANCE else CHECK


def _skipped(table: Table, marks: Sequence[Mark], used: Mapping[Place, Any]) -> Iterator[str]:
    """Whether a step was left out: its squares hold the numbers of what it reads."""
    if table.operands is None or not any(m.tensor == table.tensor.name and m.mark == "check" for m in marks):
        return
    for operand in table.operands:
        if operand is None or operand.spec.shape != table.spec.shape or operand.spec.kind != "float":
            continue
        pairs = [(used[table.place(index)], used[operand.place(index)]) for index in _indices(table)]
        if all(a == b or (math.isfinite(a) and math.isfinite(b) and abs(a - b) <= 1e-9) for a, b in pairs):
            step = table.row.written.expression
            yield f"these are the numbers of {operand.tensor.name}: the step {step} was left out"
            return
