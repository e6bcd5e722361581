"""Where each tensor of a trace stands in a workbook, and which parts of its formulas have cells of their own.

    tables(trace, limit) -> [Table, …] in order of evaluation

A table has its title in one row, then for each block (a matrix of the last two axes) a row of column
labels, its rows, and below them the helper cells that a column shares. Helper cells that a row shares
stand to its right. Rows and columns count from 0.

        softmax(masked)
                    the     cat     sat             max     Σ exp
            the   1.0000       ·       ·          0.8839   1.0000
            cat   0.0659  0.9341       ·          3.0052   1.0705
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

from graphattn.core import nested
from graphattn.core.axes import Spec
from graphattn.core.cells import Apply, Cell, Expression, divided, evaluate
from graphattn.core.errors import GraphError
from graphattn.core.graph import Graph, Node
from graphattn.core.trace import Trace
from graphattn.dumps.rows import StepRow, TensorRow, step_rows

HIDDEN = -1e306
"""The number that a hidden cell holds."""
LARGEST = 1e300
"""No other number may be as large as this."""
SMALL = 400
"""A graph with no more cells than this stands on one sheet."""
ONE_SHEET = "graph"
COLUMNS = 16_384
ROWS = 1_048_576


@dataclass(frozen=True, slots=True)
class Place:
    """A cell of a workbook."""

    sheet: str
    row: int
    column: int


@dataclass(frozen=True, slots=True)
class Helper:
    """A part of the formulas of a row (or a column) that has a cell of its own."""

    name: str
    expression: Apply
    place: Place
    value: Any


@dataclass(eq=False)
class Table:
    """A tensor in its place. `operands` are the tables that its formulas read, by slot; None where the cells
    are plain. `expressions` and `helpers` are by index and by the key of the expression (`keys`)."""

    row: StepRow
    tensor: TensorRow
    sheet: str
    top: int = 0
    operands: tuple[Table | None, ...] | None = None
    expressions: dict[tuple[int, ...], Expression] = field(default_factory=dict)
    helpers: dict[int, Helper] = field(default_factory=dict)
    keys: Keys = field(default_factory=lambda: Keys())
    beside: list[str] = field(default_factory=list)
    """The names above the helper cells to the right."""
    below: list[str] = field(default_factory=list)
    """The names left of the helper cells below."""
    divided: bool = False
    """Whether what a quotient divides has cells of its own: a matrix to the right of all else."""
    working: bool = False
    """Whether there is such a matrix."""

    @property
    def spec(self) -> Spec:
        return self.tensor.spec

    @cached_property
    def matrix(self) -> tuple[int, int]:
        """Rows and columns of one block."""
        shape = (1, 1, *self.spec.shape)
        return shape[-2], shape[-1]

    @cached_property
    def blocks(self) -> list[tuple[int, ...]]:
        """The index of each block along the axes before the last two."""
        return list(product(*map(range, self.spec.shape[:-2])))

    @property
    def step(self) -> int:
        """From one block to the next: labels, rows, helper cells."""
        return 1 + self.matrix[0] + len(self.below)

    @property
    def height(self) -> int:
        return 1 + self.step * len(self.blocks)

    @property
    def width(self) -> int:
        working = 1 + self.matrix[1] if self.working else 0
        return 1 + self.matrix[1] + (1 + len(self.beside) if self.beside else 0) + working

    def place(self, index: tuple[int, ...]) -> Place:
        """The cell of the workbook that an index of the tensor has."""
        block, (i, j) = self._split(index)
        return Place(self.sheet, self.top + 2 + self.step * block + i, 1 + j)

    def beside_place(self, index: tuple[int, ...], number: int) -> Place:
        """The helper cell to the right of a row."""
        return Place(self.sheet, self.place(index).row, 2 + self.matrix[1] + number)

    def below_place(self, index: tuple[int, ...], number: int) -> Place:
        """The helper cell below a column."""
        block, (_, j) = self._split(index)
        return Place(self.sheet, self.top + 2 + self.step * block + self.matrix[0] + number, 1 + j)

    def working_place(self, index: tuple[int, ...]) -> Place:
        """Where what is divided in a cell stands."""
        place = self.place(index)
        return Place(self.sheet, place.row, self.width - self.matrix[1] + place.column - 1)

    def _split(self, index: tuple[int, ...]) -> tuple[int, tuple[int, int]]:
        if len(index) == 2:
            return 0, index
        block = 0
        for place, size in zip(index[:-2], self.spec.shape[:-2]):
            block = block * size + place
        i, j = (0, 0, *index)[-2:]
        return block, (i, j)


class Keys:
    """A number for each expression, the same for equal ones, in time that grows with what is new in it."""

    def __init__(self) -> None:
        self._known: dict[Any, int] = {}

    def of(self, expression: Expression, done: dict[int, int]) -> int:
        """The expression's number; `done` holds those of its parts by `id`."""
        key = done.get(id(expression))
        if key is None:
            if isinstance(expression, Apply):
                content: Any = (expression.function, tuple(self.of(arg, done) for arg in expression.args))
            elif isinstance(expression, Cell):
                content = (expression.slot, *expression.index)
            else:
                content = ("literal", repr(expression.value))
            key = done[id(expression)] = self._known.setdefault(content, len(self._known))
        return key


@dataclass(frozen=True, slots=True)
class Exercise:
    """Tables of a part of a trace, on one sheet: those that are `computed`, and what they read (`given`), which
    is plain. What a quotient divides has cells of its own."""

    given: frozenset[str]
    computed: frozenset[str]
    sheet: str
    top: int


def tables(trace: Trace, limit: int, exercise: Exercise | None = None) -> list[Table]:
    """Every recorded tensor as a table in its place. Raises a `GraphError` where no workbook holds them."""
    rows = list(step_rows(trace))
    _check_size(rows, limit)
    sheets = _sheets(trace.graph, rows)
    found: dict[str, Table] = {}
    next_row: dict[str, int] = {} if exercise is None else {exercise.sheet: exercise.top}
    for row in rows:
        for port, tensor in enumerate(row.tensors):
            if exercise is not None and tensor.name not in exercise.given | exercise.computed:
                continue
            _check_values(trace, tensor)
            sheet = sheets[row.name] if exercise is None else exercise.sheet
            table = Table(row, tensor, sheet, next_row.get(sheet, 0), divided=exercise is not None)
            plain = tensor.patched or (exercise is not None and tensor.name in exercise.given)
            if row.written.node.operands and not plain:
                table.operands = tuple(None if name is None else found[name] for name in row.written.operands)
                _explain(trace, table, port)
            if table.width > COLUMNS or table.top + table.height > ROWS:
                raise GraphError(
                    f"{tensor.name} takes {table.width} columns and {table.height} rows;"
                    " expected a tensor that a sheet of 16,384 columns can hold"
                )
            next_row[sheet] = table.top + table.height + 1
            found[tensor.name] = table
    return list(found.values())


def check_nodes(nodes: Iterable[Node], limit: int) -> None:
    """Refuse nodes that no workbook holds: too many computed cells, or a composite as one node."""
    computed = [node for node in nodes if node.operands]
    for node in computed:
        if node.op.explain is None:
            raise GraphError(
                f"{node.name} is a {node.op.name}, shown as one node; expected a trace at level op or primitive"
            )
    count = sum(spec.size for node in computed for spec in node.outputs)
    if count > limit:
        raise GraphError(f"the trace has {count:,} computed cells; expected at most {limit:,} in a workbook")


def _check_size(rows: list[StepRow], limit: int) -> None:
    check_nodes((row.written.node for row in rows), limit)
    for row in rows:
        for tensor in row.tensors:
            if tensor.value is None:
                raise GraphError(f"{tensor.name} was not kept in this run; expected every tensor of the trace")


def _check_values(trace: Trace, tensor: TensorRow) -> None:
    if tensor.spec.kind != "float":
        return
    for index, row in nested.rows(tensor.value, tensor.spec.rank):
        for j, cell in enumerate(row):
            if not (abs(trace.numbers.near(cell)) < LARGEST or cell == -math.inf):
                at = [*index, j] if tensor.spec.rank else []
                raise GraphError(
                    f"{tensor.name} has {cell} at {at}; expected numbers below 1E+300, or −∞ where a mask hides"
                )


def _sheets(graph: Graph, rows: list[StepRow]) -> dict[str, str]:
    """The sheet of each node: its head's, its block's or its group's; one for all where the graph is small."""
    if sum(t.spec.size for row in rows for t in row.tensors) <= SMALL:
        return {row.name: ONE_SHEET for row in rows}
    names = SheetNames()
    return {row.name: names.of(_part(graph, row.written.node.scope) or ONE_SHEET) for row in rows}


def _part(graph: Graph, scope: str | None) -> str | None:
    """The innermost scope around that is a block, a head or a group that the user named."""
    while scope is not None:
        record = graph.scopes[scope]
        if record.op is None or record.op.level in ("block", "head"):
            return scope
        scope = record.parent
    return None


class SheetNames:
    """Names that a workbook takes: at most 31 letters, none twice, whatever their case."""

    def __init__(self) -> None:
        self._given: dict[str, str] = {}

    def of(self, name: str) -> str:
        if name not in self._given:
            taken = {given.casefold() for given in self._given.values()} | {"contents", "history"}
            short, count = name[-31:].lstrip("."), 1
            while short.casefold() in taken:
                count += 1
                short = f"{name[-27:].lstrip('.')}~{count}"
            self._given[name] = short
        return self._given[name]


def _explain(trace: Trace, table: Table, port: int) -> None:
    """Enter the expression of every cell, and give those parts places that several cells share."""
    step = trace.step(table.row.name)
    node = step.node
    specs = _padded_specs(trace, table)
    more = {"port": port} if len(node.ports) > 1 else {}
    assert node.op.explain is not None
    users: dict[int, list[tuple[int, ...]]] = {}
    parts: dict[int, Apply] = {}
    for index in product(*map(range, table.spec.shape)):
        tree = node.op.told("explain", node.name, index, *specs, **node.attributes, **more)
        table.expressions[index] = tree
        done: dict[int, int] = {}
        here: dict[int, Apply] = {}
        for part in _named(tree):
            here.setdefault(table.keys.of(part, done), part)
        for key, part in here.items():
            parts.setdefault(key, part)
            users.setdefault(key, []).append(index)
    lookup = _lookup(table)
    shared = {key: cells for key, cells in users.items() if len(cells) > 1}
    beside: dict[tuple[int, ...], list[str]] = {}
    places: dict[int, tuple[bool, tuple[int, ...], int]] = {}
    for key, cells in shared.items():
        row = {cell[:-1] for cell in cells}
        column = {(*cell[:-2], *cell[-1:]) for cell in cells}
        down = len(row) > 1 and len(column) == 1
        home, names = cells[0], table.below if down else table.beside
        taken = beside.setdefault(next(iter(column)) if down else home[:-1], [])
        label = _numbered(parts[key].name, taken)
        taken.append(label)
        if label not in names:
            names.append(label)
        places[key] = (down, home, names.index(label))
    for key, (down, home, number) in places.items():
        place = table.below_place(home, number) if down else table.beside_place(home, number)
        value = evaluate(parts[key], lookup, trace.numbers)
        table.helpers[key] = Helper(parts[key].name, parts[key], place, value)
    if table.divided:
        _work(trace, table, lookup)


def _work(trace: Trace, table: Table, lookup: Any) -> None:
    """Give what is divided in each cell a place of its own."""
    working = {index: divided(tree) for index, tree in table.expressions.items()}
    if not working or None in working.values():
        return
    table.working = True
    for index, part in working.items():
        assert part is not None
        key = table.keys.of(part, {})
        value = evaluate(part, lookup, trace.numbers)
        table.helpers[key] = Helper("", part, table.working_place(index), value)


def _padded_specs(trace: Trace, table: Table) -> tuple[Spec | None, ...]:
    from graphattn.core.interpreter import padded

    assert table.operands is not None
    node = table.row.written.node
    return padded(node.op, [None if t is None else t.spec for t in table.operands])


def _numbered(name: str, taken: list[str]) -> str:
    label, count = name, 1
    while label in taken:
        count += 1
        label = f"{name} {count}"
    return label


def _named(tree: Expression) -> Iterator[Apply]:
    """The parts of an expression that have a name, inner ones first; not the whole of it."""
    todo: list[tuple[Expression, bool]] = [(tree, False)]
    seen: set[int] = set()
    while todo:
        part, opened = todo.pop()
        if not isinstance(part, Apply):
            continue
        if opened:
            if part.name and part is not tree:
                yield part
        elif id(part) not in seen:
            seen.add(id(part))
            todo.append((part, True))
            todo += [(arg, False) for arg in reversed(part.args)]


def _lookup(table: Table) -> Any:
    operands = table.operands or ()

    def value(cell: Cell) -> Any:
        operand = operands[cell.slot]
        assert operand is not None
        index = tuple(int(value(i)) if isinstance(i, Cell) else i for i in cell.index)
        return nested.at(operand.tensor.value, index)

    return value


Tables = Mapping[str, Table]
