"""What is on a worksheet of a run: its tables as steps and boxes (`graphattn.dumps.worksheet.sheet`).

Nothing here knows an op. A step is drawn as a product, its left operand beside it and the other above, where
each of its cells reads a row of the one and a column of the other; its parts are those that its cell
expressions name (max, Σ, mean, variance) and what they divide.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from graphattn.dumps.diagram.symbols import Symbols
from graphattn.dumps.workbook.tables import Helper, Table
from graphattn.dumps.worksheet.sheet import Box, Sheet, Square, Step
from graphattn.insight.why import why
from graphattn.insight.why.formula import joined

from ..core import nested
from ..core.axes import describe
from ..core.cells import Apply, Cell, Expression, sources
from ..core.trace import Trace
from .by_hand import BY_HAND

DIGITS = 4
"""The decimals of numbers that are no fractions."""


def written(value: Any) -> str:
    """A number as it stands in a square."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value == -math.inf:
        return "·"
    if isinstance(value, (int, Fraction)):
        return str(value).replace("-", "−")
    text = f"{round(value, DIGITS) + 0.0:.{DIGITS}f}"
    return text.rstrip("0").rstrip(".").replace("-", "−")


def by_two(text: str) -> str:
    """A formula as a sheet by hand says it: 2 for e."""
    return text.replace("Σ exp(", "Σ 2^(").replace("Σ exp", "Σ").replace("exp(", "2^(")


class Contents:
    """The steps of a sheet, from the tables of an exercise."""

    def __init__(self, trace: Trace, tables: Sequence[Table]) -> None:
        self.trace = trace
        self.tables = tables
        self.by_hand = trace.numbers is BY_HAND
        self.names = self._names()
        self.example = example(tables)
        self.number: dict[str, int] = {}
        """The step that each blank tensor is the result of."""
        self.tint: dict[str, int] = {}
        self.steps = [self._step(t, number) for number, t in enumerate(self._blank(), 1)]

    def _blank(self) -> list[Table]:
        return [table for table in self.tables if table.operands is not None]

    # ------------------------------------------------------------ names

    def _names(self) -> dict[str, str]:
        """What each tensor is called: its symbol where it only moves numbers (Kᵀ), else the end of its name,
        as far as no other is called so."""
        symbols = Symbols(self.trace.graph)
        found: dict[str, str] = {}
        for table in self.tables:
            name = table.tensor.name
            short = name.rpartition(".")[2]
            if table.row.op.moves or table.row.op.fed:
                short = symbols.of(self.trace.graph.resolve(name), table.row.written.node) or short
            found[name] = short
        shared = {short for short in found.values() if list(found.values()).count(short) > 1}
        return {name: name if short in shared else short for name, short in found.items()}

    def _text(self, text: str) -> str:
        return by_two(text) if self.by_hand else text

    # ------------------------------------------------------------ boxes

    def box(self, table: Table, example: tuple[int, ...] | None = None, blank: bool | None = None) -> Box:
        """A tensor as a box; `example` is the square that is done. `blank`: whether it is to be filled in."""
        blank = table.operands is not None if blank is None else blank
        return Box(
            self.names[table.tensor.name], describe(table.spec),
            [[self._square(table, index, example, blank) for index in row] for row in _rows(table)],
            self._labels(table, -2), self._labels(table, -1), tint=self._tint(table),
        )  # fmt: skip

    def _square(self, table: Table, index: tuple[int, ...], example: Any, blank: bool) -> Square:
        value = nested.at(table.tensor.value, index)
        if _hidden(table, index):
            return Square("·", "hidden")
        kind = "done" if index == example else "blank" if blank else "given"
        return Square(written(value), kind)

    def _tint(self, table: Table) -> int:
        if table.operands is not None or table.spec.kind != "float":
            return 0
        return self.tint.setdefault(table.tensor.name, len(self.tint) + 1)

    def _labels(self, table: Table, axis: int) -> list[str]:
        """The labels of rows or columns; numbers where there are several and they have no names."""
        rank = table.spec.rank
        if rank < -axis:
            return []
        labels = table.tensor.labels[axis]
        size = table.spec.shape[axis]
        names = (
            list(labels)
            if labels
            else [str(i) for i in range(size)]
            if table.spec.axes[axis] == "token"
            else []
        )
        if axis == -2 and rank > 2:
            blocks = [", ".join(map(str, block)) for block in table.blocks]
            return [f"[{block}] {name}".strip() for block in blocks for name in names or [""] * size]
        return names

    def _parts(self, table: Table) -> Iterator[Box]:
        """The parts in the order in which they are worked out."""
        helpers = list(table.helpers.values())
        working = [h for h in helpers if not h.name]
        first = {p.name for h in working[:1] for p in _named(h.expression)}
        columns = [self._column(table, number, name) for number, name in enumerate(table.beside)]
        yield from (box for box, name in zip(columns, table.beside, strict=True) if name in first)
        if working:
            yield self._working(table)
        yield from (box for box, name in zip(columns, table.beside, strict=True) if name not in first)
        for number, name in enumerate(table.below):
            squares = [
                self._part(table, (*index[:-2], 0, index[-1]), number, True) for index in _rows(table)[0]
            ]
            yield Box(self._text(name), "", [squares], columns=self._labels(table, -1))

    def _column(self, table: Table, number: int, name: str) -> Box:
        squares = [[self._part(table, row[0], number, False)] for row in _rows(table) if row]
        return Box(self._text(name), "", squares)

    def _part(self, table: Table, index: tuple[int, ...], number: int, below: bool) -> Square:
        place = table.below_place(index, number) if below else table.beside_place(index, number)
        helper = _helper_at(table, place)
        return Square("", "hidden") if helper is None else Square(written(helper.value), "blank")

    def _working(self, table: Table) -> Box:
        def square(index: tuple[int, ...]) -> Square:
            if _hidden(table, index):
                return Square("·", "hidden")
            helper = _helper_at(table, table.working_place(index))
            return Square("", "hidden") if helper is None else Square(written(helper.value), "blank")

        return Box(
            self._working_name(table), "", [[square(index) for index in row] for row in _rows(table)],
            columns=self._labels(table, -1),
        )  # fmt: skip

    def _working_name(self, table: Table) -> str:
        part = next(h.expression for h in table.helpers.values() if not h.name)
        return self._text(_symbols(part))

    # ------------------------------------------------------------ steps

    def _step(self, table: Table, number: int) -> Step:
        name = table.tensor.name
        operands = [o for o in table.operands or () if o is not None]
        product = _is_product(table)
        before = next((n for n, at in self.number.items() if at == number - 1), None)
        self.number[name] = number
        done = self.example.get(table.tensor.name)
        worked = self._worked(table, done) if done is not None else ""
        boxes = [self._operand(o) for o in operands]
        shown = [
            box for box, o in zip(boxes, operands, strict=True)
            if box.source == 0 and (o.spec.kind == "float" or not _any_hidden(table))
        ]  # fmt: skip
        left, above = (boxes[0], boxes[1]) if product else (None, None)
        return Step(
            number, self._title(table, operands, product), self._hint(table, operands, boxes, product),
            self.box(table, done), left, above, [] if product else shown, list(self._parts(table)),
            follows=before is not None and any(o.tensor.name == before for o in operands), worked=worked,
        )  # fmt: skip

    def _operand(self, table: Table) -> Box:
        box = self.box(table, blank=table.operands is not None)
        source = self.number.get(table.tensor.name, 0)
        return Box(box.name, box.shape, box.squares, box.rows, box.columns, box.tint, source)

    def _title(self, table: Table, operands: Sequence[Table], product: bool) -> str:
        names = [self.names[o.tensor.name] for o in operands if o.spec.kind == "float"]
        name = self.names[table.tensor.name]
        if product:
            return f"{name} = {' · '.join(names)}"
        if _short_note(table) and len(names) == 1:
            return f"{name} = {names[0]} {table.row.written.note}"
        if _plain_formula(table):
            words = dict(zip((p.name for p in table.row.op.operands), names, strict=False))
            return re.sub(
                r"\w+", lambda word: words.get(word[0], word[0]), table.row.op.formula.replace("y", name, 1)
            )
        return f"{name} = {table.row.op.title}({', '.join(names)})"

    def _hint(
        self, table: Table, operands: Sequence[Table], boxes: Sequence[Box], product: bool
    ) -> list[str]:  # fmt: skip
        if product:
            a, b = (self.names[o.tensor.name] for o in operands[:2])
            lines = [f"each box: its row of {a} times its column of {b}, added up"]
        elif _short_note(table) and len(operands) == 1:
            lines = [f"every box of {self.names[operands[0].tensor.name]} {table.row.written.note}"]
        elif _plain_formula(table):
            whole = table.spec.size == max(o.spec.size for o in operands)
            lines = ["box by box" if whole else "each row, added up"]
        elif table.row.op.family == "mask":
            lines = ["a dot hides a box; copy the others"]
        else:
            lines = [self._text(table.row.op.formula)]
        if self.by_hand and any(_raises(tree) for tree in list(table.expressions.values())[:1]):
            lines.append("2⁰ = 1, 2⁻¹ = 1/2, 2⁻² = 1/4 (2 stands for e: scores in units of ln 2)")
        lines += [
            f"{b.name} is in step {b.source}"
            for b in boxes
            if 0 < b.source < self.number[table.tensor.name] - 1
        ]
        return lines

    def _worked(self, table: Table, index: tuple[int, ...]) -> str:
        line = why(self.trace, table.tensor.name, *index).lines(DIGITS, parts=False)[0]
        head, *segments = (joined(part) for part in (line.head, *line.segments))
        name = table.tensor.name
        text = self._text(" = ".join((head.replace(name, self.names[name], 1), *(segments[1:] or segments))))
        return re.sub(r"-(?=\d)", "−", text)

    # ------------------------------------------------------------ checks

    def checks(self) -> Iterator[tuple[str, str]]:
        """Sums that tell a wrong square without telling a right one."""
        for table in self._blank():
            name = self.names[table.tensor.name]
            cells = [
                nested.at(table.tensor.value, index)
                for row in _rows(table) for index in row if not _hidden(table, index)
            ]  # fmt: skip
            if table.tensor.share:
                yield f"each row of {name} adds up to", "1"
            elif not table.row.op.moves:
                total = self.trace.numbers.total(cells) if cells else 0
                boxes = "the box" if len(cells) == 1 else f"all {len(cells)} boxes"
                yield f"{boxes} of {name} add{'s' * (len(cells) == 1)} up to", written(total)

    def question(self) -> str:
        """Something to say in words, to which the sheet has one answer."""
        for table in self._blank():
            told = self.names[table.tensor.name]
            row = next((row for row in reversed(_rows(table)) if len(_largest(table, row)) == 1), None)
            if not table.tensor.share or table.spec.rank < 2 or row is None:
                continue
            labels, at = table.tensor.labels[-2], row[0][-2]
            who = f"“{labels[at]}”" if labels else f"row {at} of {told}"
            read = next(self.names[o.tensor.name] for o in table.operands or () if o is not None)
            return f"Say it in words: whom does {who} look at most, and why? (see its row of {read})"
        table = self._blank()[-1]
        told = self.names[table.tensor.name]
        one = len(_largest(table, [index for row in _rows(table) for index in row])) == 1
        which = f"which box of {told} is the largest" if one else f"which boxes of {told} are the largest"
        return f"Say it in words: {which}, and which numbers made {'it' if one else 'them'} so?"


def contents(trace: Trace, tables: Sequence[Table], title: str, footer: str, notes: Sequence[str]) -> Sheet:
    """The sheet of an exercise's tables."""
    made = Contents(trace, tables)
    subtitle = "Every number is whole or a simple fraction." if made.by_hand else f"Round to {DIGITS} digits."
    return Sheet(title, subtitle, made.steps, tuple(made.checks()), made.question(), footer, tuple(notes))


def example(tables: Sequence[Table]) -> dict[str, tuple[int, ...]]:
    """The square that is done as an example, by tensor: one of the first step, below the first row where there
    is one; none where it is all that is asked for."""
    first, *others = (table for table in tables if table.operands is not None)
    squares = seen(first)
    if not squares or len(squares) + sum(map(len, map(seen, others))) == 1:
        return {}
    later = [index for index in squares if first.spec.rank > 1 and index[-2] == 1]
    return {first.tensor.name: (later or squares)[0]}


def seen(table: Table) -> list[tuple[int, ...]]:
    """The squares of a table that are not hidden."""
    return [index for row in _rows(table) for index in row if not _hidden(table, index)]


# ---------------------------------------------------------------- what cells say


def _rows(table: Table) -> list[list[tuple[int, ...]]]:
    """The indices of a table's squares, row by row, blocks below each other."""
    shape = table.spec.shape
    if not shape:
        return [[()]]
    if len(shape) == 1:
        return [[(j,) for j in range(shape[0])]]
    return [
        [(*block, i, j) for j in range(shape[-1])] for block in table.blocks for i in range(shape[-2])
    ]  # fmt: skip


def _largest(table: Table, indices: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Those of some squares whose number is the largest that is not hidden."""
    numbers = {index: nested.at(table.tensor.value, index) for index in indices if not _hidden(table, index)}
    return [index for index, cell in numbers.items() if cell == max(numbers.values())]


def _hidden(table: Table, index: tuple[int, ...]) -> bool:
    mask = table.tensor.mask
    return mask is not None and bool(nested.at(mask, index))


def _any_hidden(table: Table) -> bool:
    return table.tensor.mask is not None and True in set(nested.flat(table.tensor.mask))


def _short_note(table: Table) -> bool:
    """Whether a step is said in a few words: ÷ √4."""
    return table.row.written.note[:1] in ("÷", "·") and table.row.written.note[1:2] == " "


def _plain_formula(table: Table) -> bool:
    """Whether an op's formula is of its operands' names alone, so that tensors can stand for them."""
    formula, names = table.row.op.formula, {p.name for p in table.row.op.operands}
    return formula.startswith("y = ") and set(re.findall(r"\w+", formula[4:])) - {"Σ"} == names


def _helper_at(table: Table, place: Any) -> Helper | None:
    return next((h for h in table.helpers.values() if h.place == place), None)


def _is_product(table: Table) -> bool:
    """Whether each cell reads its row of the first operand and its column of the second, and no more."""
    operands = [o for o in table.operands or () if o is not None]
    if len(operands) != 2 or len(table.operands or ()) != 2 or table.spec.rank != 2:
        return False
    (n, m), (a, b) = table.spec.shape, (o.spec.shape for o in operands)
    if len(a) != 2 or len(b) != 2 or a[0] != n or b[1] != m or a[1] != b[0] or a[1] < 2:
        return False
    for (i, j), tree in table.expressions.items():
        read = set(sources(tree))
        want = {Cell(0, (i, k)) for k in range(a[1])} | {Cell(1, (k, j)) for k in range(a[1])}
        if read != want:
            return False
    return True


def _named(tree: Expression) -> Iterator[Apply]:
    if isinstance(tree, Apply):
        if tree.name:
            yield tree
        for arg in tree.args:
            yield from _named(arg)


def _raises(tree: Expression) -> bool:
    """Whether an expression has an exponential in it."""
    return isinstance(tree, Apply) and (tree.function == "exp" or any(map(_raises, tree.args)))


def _symbols(part: Expression) -> str:
    """A short formula of a part: its cells are x."""
    if isinstance(part, Cell):
        return "x"
    if not isinstance(part, Apply):
        return part.text or str(part.value)
    if part.name:
        return part.name
    args = [_symbols(arg) for arg in part.args]
    sign = {"add": " + ", "subtract": " − ", "multiply": " · ", "divide": " / "}.get(part.function)
    return sign.join(args) if sign else f"{part.function}({', '.join(args)})"
