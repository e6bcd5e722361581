"""Feeds that make a graph's numbers fit for hands: whole, or fractions with small denominators.

    needs = needs_of(graph, tables, blank, given)      once for a graph
    drawn = nice_feeds(needs, seed)                    for each sheet: feeds, and whether they are nice

The graph itself says what it needs. Its cells, as expressions (`explain`), tell which rows of the inputs each
of them reads. The rows are drawn one after the other, those first that touch the most cells; each cell that a
row completes is computed with `by_hand`'s numbers, and at the first that no hand can do the row is drawn anew.
In attention, K comes before Q, and then each row of Q is searched for by itself. At last an input is
multiplied by what makes the results whole, where that leaves all else nice: V, by the weights' common
denominator.

Every row of an input is drawn from the same few numbers with the same share of zeros, so that all sheets of a
series are about equally hard. Where nothing is found (a graph with sines, say), the feeds are decimals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from random import Random
from typing import Any

from graphattn.dumps.workbook.tables import Table

from ..builtin import random_feeds
from ..core import nested
from ..core.axes import Spec
from ..core.cells import Cell, prepared, sources
from ..core.graph import Graph
from .by_hand import BY_HAND, HIDDEN, Number, lift

ROUNDS, TRIES = 24, 60
"""How often everything is drawn anew, and how often one row in a round."""
DENOMINATOR, LARGEST = 24, 72
"""What a hand can do: fractions whose denominators divide the one, numbers up to the other."""
EASY = 12
"""And what is looked for first."""
TINY, SMALL, EVEN, WIDE = (1, -1), (1, -1, 2, -2), (2, -2), (0, 1, -1, 2, -2, 3, -3, 5, -5)


@dataclass(frozen=True)
class Unit:
    """A row of an input, and the computed cells that are known once it is, in order."""

    name: str
    start: int
    size: int
    completes: Sequence[Known]


@dataclass(frozen=True)
class Known:
    """A computed cell: where its value goes, and the function that gives it."""

    place: int
    compute: Callable[[Sequence[Any]], Any]
    raised: bool
    """Whether shares come of it: then it had better be whole."""


@dataclass(frozen=True)
class Needs:
    """What a search has to know of a graph. Values of all tensors stand in one list; `spans` says where."""

    graph: Graph
    others: Mapping[str, Any]
    blank: tuple[str, ...]
    results: tuple[str, ...]
    """What is blank and read by nothing else that is: this is to be whole."""
    shares: tuple[str, ...]
    """What is blank and holds shares: most of its rows are to have several of them."""
    drawn: tuple[str, ...]
    units: Sequence[Unit]
    specs: Mapping[str, Spec]
    spans: Mapping[str, range]
    constants: Sequence[Number | bool | None]


@dataclass(frozen=True)
class Drawn:
    """Feeds, the intermediate tensors that are drawn instead of being computed, and whether all is nice."""

    feeds: Mapping[str, Any]
    patch: Mapping[str, Any]
    nice: bool


def needs_of(graph: Graph, found: Sequence[Table], blank: Sequence[str], given: Mapping[str, Any]) -> Needs:
    """What the tables of a graph need, of which some are left blank. Tables that are not computed are drawn,
    constants and `given` inputs excepted."""
    drawn = tuple(
        t.tensor.name for t in found
        if t.operands is None and t.spec.kind == "float" and t.tensor.name not in given
        and (t.row.op.fed or t.row.written.node.operands)
    )  # fmt: skip
    spans: dict[str, range] = {}
    constants: list[Any] = []
    rows: list[tuple[str, int, int]] = []
    reads: list[int] = []
    known: list[Known] = []
    raised = _raised(found)
    for table in found:
        name, spec = table.tensor.name, table.spec
        spans[name] = range(len(constants), len(constants) + spec.size)
        if table.operands is not None:
            for place, index in zip(spans[name], product(*map(range, spec.shape)), strict=True):
                expression = table.expressions[index]
                read = {cell: _place(table, cell, spans) for cell in sources(expression)}
                known.append(Known(place, prepared(expression, read.__getitem__, BY_HAND), name in raised))
                bits = 0
                for at in read.values():
                    bits |= reads[at]
                reads.append(bits)
            constants += [None] * spec.size
        elif name in drawn:
            size = spec.shape[-1] if spec.rank else 1
            for start in spans[name][:: max(size, 1)]:
                reads += [1 << len(rows)] * size
                rows.append((name, start, size))
            constants += [0] * spec.size
        else:
            cells = nested.flat(given.get(name, table.tensor.value))
            constants += [lift(cell) if spec.kind == "float" else cell for cell in cells]
            reads += [0] * spec.size
    units = _in_order(rows, known, reads, constants)
    asked = [t for t in found if t.tensor.name in blank]
    read = {o.tensor.name for t in asked for o in t.operands or () if o is not None}
    shares = tuple(t.tensor.name for t in asked if t.tensor.share)
    names = tuple(t.tensor.name for t in asked if t.tensor.name not in read and t.tensor.name not in shares)
    specs = {t.tensor.name: t.spec for t in found}
    return Needs(graph, given, tuple(blank), names, shares, drawn, units, specs, spans, constants)


def _raised(found: Sequence[Table]) -> set[str]:
    """The tensors that shares come of."""
    behind: set[str] = set()
    for table in reversed(found):
        if table.tensor.share or table.tensor.name in behind:
            behind |= {o.tensor.name for o in table.operands or () if o is not None}
    return behind


def _place(table: Table, cell: Cell, spans: Mapping[str, range]) -> int:
    """Where the value of an operand's cell stands; of one that another cell chooses, that of the first."""
    assert table.operands is not None
    operand = table.operands[cell.slot]
    assert operand is not None
    place = 0
    for i, size in zip(cell.index, operand.spec.shape, strict=True):
        place = place * size + (0 if isinstance(i, Cell) else i)
    return spans[operand.tensor.name][place]


def _in_order(
    rows: Sequence[tuple[str, int, int]], known: Sequence[Known], reads: Sequence[int], values: list[Any]
) -> list[Unit]:
    """The rows, those first that touch the most cells, each with the cells that it completes. Cells that no
    row touches are computed here."""
    influence = [0] * len(rows)
    for cell in known:
        for row in _set(reads[cell.place]):
            influence[row] += 1
        if not reads[cell.place]:
            values[cell.place] = cell.compute(values)
    order = sorted(range(len(rows)), key=lambda row: -influence[row])
    rank = {row: at for at, row in enumerate(order)}
    completes: list[list[Known]] = [[] for _ in order]
    for cell in known:
        if reads[cell.place]:
            completes[max(rank[row] for row in _set(reads[cell.place]))].append(cell)
    return [Unit(*rows[row], cells) for row, cells in zip(order, completes, strict=True)]


def _set(bits: int) -> Iterator[int]:
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low


# ---------------------------------------------------------------- the search

Draw = Mapping[str, Sequence[int]]
"""The numbers that each input is drawn from."""


def nice_feeds(needs: Needs, seed: int) -> Drawn:
    """Feeds of a seed, the same for the same seed."""
    random = Random(f"graphattn worksheet {seed}")
    ways = _ways(needs)
    for turn in range(ROUNDS if needs.units else 0):
        values = list(needs.constants)
        way, whole = ways[turn % len(ways)], turn < len(ways)
        if not all(_settled(unit, way, whole, values, random) for unit in needs.units):
            continue
        values = _whole(needs, values)
        if not _dull(needs, values):
            inputs = needs.graph.inputs
            tensors = {name: _tensor(needs, name, values) for name in needs.drawn}
            feeds = {name: value for name, value in tensors.items() if name in inputs}
            patch = {name: value for name, value in tensors.items() if name not in inputs}
            return Drawn({**random_feeds(needs.graph, seed), **needs.others, **feeds}, patch, True)
    return Drawn({**random_feeds(needs.graph, seed), **needs.others}, {}, False)


def _ways(needs: Needs) -> list[Draw]:
    """What the inputs are drawn from, one after the other: one input even and the others the smallest there
    are; small numbers; wider ones."""
    plain, tiny = dict.fromkeys(needs.drawn, SMALL), dict.fromkeys(needs.drawn, TINY)
    even = [tiny | {name: EVEN} for name in needs.drawn]
    return [*even, plain, dict.fromkeys(needs.drawn, WIDE)]


def _settled(unit: Unit, draw: Draw, whole: bool, values: list[Any], random: Random) -> bool:
    """Draw a row until all cells that it completes are nice; False where that does not come about."""
    numbers = draw[unit.name]
    zeros = 0 if 0 in numbers else unit.size // 4
    for _ in range(TRIES):
        row = [0] * zeros + random.choices(numbers, k=unit.size - zeros)
        random.shuffle(row)
        values[unit.start : unit.start + unit.size] = row
        if _nice(unit.completes, values, whole):
            return True
    return False


def _nice(cells: Sequence[Known], values: list[Any], whole: bool = False) -> bool:
    """Compute cells, up to the first that no hand can do. whole: what is raised is whole, and all is easy."""
    for cell in cells:
        value = values[cell.place] = cell.compute(values)
        if hard(value):
            return False
        if (
            whole
            and isinstance(value, Fraction)
            and (EASY % value.denominator or (cell.raised and value.denominator > 1))
        ):
            return False
    return True


def hard(value: Number | bool) -> bool:
    """Whether a hand cannot do a number."""
    if isinstance(value, float):
        return value != HIDDEN
    return DENOMINATOR % value.denominator > 0 or abs(value) > LARGEST


def _whole(needs: Needs, values: list[Any]) -> list[Any]:
    """The values with inputs multiplied so that results are whole, as far as that leaves all else nice."""
    left = _broken(needs, values)
    for name in reversed(list(dict.fromkeys(unit.name for unit in needs.units))):
        factor = math.lcm(*(value.denominator for value in left))
        if factor == 1:
            break
        tried = list(values)
        for place in needs.spans[name]:
            tried[place] *= factor
        if not DENOMINATOR % factor and all(_nice(unit.completes, tried) for unit in needs.units):
            still = _broken(needs, tried)
            if len(still) < len(left):
                values, left = tried, still
    return values


def _broken(needs: Needs, values: Sequence[Any]) -> list[Fraction]:
    """The cells of the results that are not whole."""
    cells = (values[place] for name in needs.results for place in needs.spans[name])
    return [cell for cell in cells if isinstance(cell, Fraction) and cell.denominator > 1]


def _dull(needs: Needs, values: Sequence[Any]) -> bool:
    """Whether a tensor to be filled in says one number over and over, or little but 0, or its shares are mostly
    the same."""
    for name in needs.blank:
        cells = [value for value in (values[place] for place in needs.spans[name]) if value != HIDDEN]
        if len(cells) > 3 and (len(set(cells)) < 2 or 3 * cells.count(0) > 2 * len(cells)):
            return True
    for name in needs.shares:
        size = max(needs.specs[name].shape[-1], 1) if needs.specs[name].rank else 1
        span = needs.spans[name]
        rows = [{values[at] for at in span[start : start + size]} - {0} for start in range(0, len(span), size)]
        if 2 * sum(len(row) > 1 for row in rows) < len(rows) - 1:
            return True
    return False


def _tensor(needs: Needs, name: str, values: Sequence[Any]) -> Any:
    spec = needs.specs[name]
    cells = iter([values[place] for place in needs.spans[name]])
    return nested.build(spec.shape, lambda *_: next(cells))
