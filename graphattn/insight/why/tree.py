"""The lines of an explanation, before they are laid out: a cell, its named parts, its sources.

Each `Line` has a head (what it is of), the segments that stand between equals signs, a note, and
remarks. From level to level the cells of the formula itself are followed; the cells that stand only
in a named part (the other scores of a softmax's row) are shown there as numbers.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from graphattn.core.cells import Cell, Expression, Literal
from graphattn.core.words import counted
from graphattn.insight.why.derivation import Derivation, Entry, Key, applies, cells_of
from graphattn.insight.why.formula import BREAK, Formula, Names
from graphattn.insight.why.index import show_index, show_place
from graphattn.insight.why.remarks import as_usual, remarks

FOLLOWED = 4
"""Of so many source cells of one cell the explanation goes on; of more, of half as many."""
GIVEN = 16
"""So many numbers that were given stand on one line."""
COUNTED = 2_000
"""The most cells that are counted to say how much is left out."""
_AT = re.compile(r"\[[^]]*\]")
"""Where a cell stands: `[sat, 0]`."""
_DIGITS = re.compile(r"\d+")
LARGEST = "those above are of the largest terms; ask why of any other"


@dataclass(frozen=True)
class Line:
    """One cell, or one named part of it (`of` is then ""), with what is said of it."""

    level: int
    head: str
    segments: tuple[str, ...]
    note: str = ""
    remarks: tuple[str, ...] = ()
    part: bool = False

    @property
    def rows(self) -> Iterator[tuple[int, str, str]]:
        """Level, expression and note of the line, and of each remark below it."""
        yield self.level, " = ".join((self.head, *self.segments)).replace(BREAK, " "), self.note
        yield from ((self.level + 1, "", remark) for remark in self.remarks)


def lines(
    derivation: Derivation, key: Key, depth: float, digits: int = 6, parts: bool = True, name: str = "",
    most: int = 12,
) -> Iterator[Line]:  # fmt: skip
    """The lines that explain a cell, so many levels deep; `name` is what its tensor is called.

    Where there are more cells than `most`, one of those that read alike is written out, of these the nearest,
    and it is said how many are not. Each cell is written out once, where it is nearest to the first; elsewhere
    it is only a number.
    """
    name = name or derivation.entry(key).name
    names = Names(derivation, name)
    opened, alike, left = _nearest(derivation, key, depth, names, digits, most)
    told: set[Key] = set()
    written: dict[object, None] = {}
    todo: list[tuple[int, Key | Line, Key | None]] = [(0, key, None)]
    while todo:
        level, item, parent = todo.pop()
        if isinstance(item, Line):
            said = item.note == LARGEST and LARGEST in written
            yield replace(item, note="") if said else item
            written[item.note] = None
            continue
        node = opened.get(item)
        if node is None or node.parent != parent or item in told:
            like = f"like {names.cell(alike[item])}" if item in alike else ""
            place = like if node is None else "as above" if item in told else "as below"
            yield Line(level, names.cell(item), (number(derivation, item, names, digits),), place)
            continue
        told.add(item)
        entry = derivation.entry(item)
        head = names.cell(item) if level else name + _index(derivation, entry)
        remarked = remarks(derivation, names, entry, digits)
        yield Line(
            level,
            head,
            _segments(entry, node.formula),
            _note(derivation, names, entry, node.formula),
            tuple(remark for remark in remarked if remark not in written),
        )
        written.update(dict.fromkeys(remarked))
        if parts:
            yield from _parts(level + 1, node.formula, written)
        todo += [(level + 1, child, item) for child in reversed(node.children)]
    if left:
        more = f"more than {COUNTED:,}" if left >= COUNTED else f"{left:,}"
        written_out = f"{counted(len(opened), 'cell')} {'is' if len(opened) == 1 else 'are'} written out"
        behind = "like these or further back" if alike else "further back"
        yield Line(0, "…", (), f"{written_out}, {more} {behind} are not; ask why of any")


@dataclass
class _Opened:
    """A cell that is written out: below which cell, and what comes below it."""

    parent: Key | None
    formula: Formula
    children: list[Key | Line] = field(default_factory=list)


def _nearest(
    derivation: Derivation, key: Key, depth: float, names: Names, digits: int, most: int
) -> tuple[dict[Key, _Opened], dict[Key, Key], int]:
    """The cells that are written out, nearest first; those that read like one of them; how many are left, up
    to `COUNTED`."""
    opened, alike, left = _searched(derivation, key, depth, names, digits, most, merged=False)
    if left:
        every = len(opened) + left
        opened, alike, _ = _searched(derivation, key, depth, names, digits, most, merged=True)
        left = min(every - len(opened), COUNTED)
    return opened, alike, left


def _searched(
    derivation: Derivation, key: Key, depth: float, names: Names, digits: int, most: int, merged: bool
) -> tuple[dict[Key, _Opened], dict[Key, Key], int]:
    """As `_nearest`; `merged`: of cells that read alike one is looked at. They are of one tensor, or below one
    cell of tensors whose names differ in a number (head0.out, head1.out)."""
    opened: dict[Key, _Opened] = {}
    first: dict[object, Key] = {}
    alike: dict[Key, Key] = {}
    left: set[Key] = set()
    todo: deque[tuple[int, Key, Key | None]] = deque([(0, key, None)])
    while todo:
        level, now, parent = todo.popleft()
        if now in opened or now in left or now in alike:
            continue
        if len(left) >= COUNTED:
            break
        entry = derivation.entry(now)
        formula = Formula(derivation, names, entry, digits)
        if merged:
            told = _AT.sub("", formula.symbols()) if entry.expression else entry.kind
            own, siblings = (now.frame, now.place, told), (parent, _DIGITS.sub("", f"{entry.name} = {told}"))
            model = first.setdefault(own, first.setdefault(siblings, now))
            if model != now:
                alike[now] = model
                continue
        node = _Opened(parent, formula)
        if len(opened) < most:
            opened[now] = node
        else:
            left.add(now)
        if level + 1 < depth:
            node.children = list(_next(level + 1, derivation, names, entry, formula))
            todo += [(level + 1, child, now) for child in node.children if not isinstance(child, Line)]
    return opened, alike, len(left)


def _index(derivation: Derivation, entry: Entry) -> str:
    return show_index(entry.index, derivation.labels(entry.spec))


def number(derivation: Derivation, key: Key, names: Names, digits: int) -> str:
    """The number of a cell."""
    entry = derivation.entry(key)
    return Formula(derivation, names, entry, digits).number(entry.value)


def _segments(entry: Entry, formula: Formula) -> tuple[str, ...]:
    value = formula.number(entry.value)
    if entry.kind != "computed" or entry.expression is None:
        return (value,)
    tree = entry.expression
    if isinstance(tree, Literal):
        text = formula.symbols()
        if isinstance(tree.value, bool) and text != value:
            return (f"({text})", value)
        return tuple(dict.fromkeys([text, value]))
    return tuple(dict.fromkeys([formula.symbols(), *formula.steps(), value]))


def _parts(level: int, formula: Formula, written: dict[object, None]) -> Iterator[Line]:
    """The named parts of a formula, each with its own; once for all cells that share them."""
    again: list[str] = []
    for part in formula.parts():
        sources = formula.entry.sources
        own = (part.name, formula.entry.key.place, *(sources[cell] for cell in cells_of(part)))
        if own in written:
            again.append(part.name)
            continue
        written[own] = None
        value = formula.number(formula.value(part))
        yield Line(level, part.name, (formula.symbols(part), *formula.steps(part)[:1], value), part=True)
    if again:
        yield Line(level, ", ".join(again), ("as above",), part=True)


def _note(derivation: Derivation, names: Names, entry: Entry, formula: Formula) -> str:
    """A few words on what kind of cell it is."""
    op = entry.node.op
    if entry.kind == "fed":
        return op.title
    if entry.kind == "unknown":
        return entry.reason
    if entry.kind == "patched":
        return ""
    if not entry.sources:
        return op.name.replace("_", " ")
    row = _row(derivation, entry)
    return f"{op.title} over {row}" if row else ""


def _row(derivation: Derivation, entry: Entry) -> str:
    """'row "sat"' where a cell was computed from one whole row (or column) of its operand alone."""
    cells: dict[int, list[Key]] = {}
    for cell in cells_of(entry.expression):
        key = entry.sources[cell]
        if key not in (found := cells.setdefault(cell.slot, [])):
            found.append(key)
    if 0 not in cells or len(cells[0]) < 2 or any(len(keys) > 1 for slot, keys in cells.items() if slot):
        return ""
    keys = cells[0]
    spec = derivation.spec(keys[0])
    moving = [axis for axis, places in enumerate(zip(*(k.index for k in keys))) if len(set(places)) > 1]
    if len(moving) != 1 or len(keys) != spec.shape[moving[0]] or moving[0] < spec.rank - 2:
        return ""
    if spec.rank == 1:
        return "all cells"
    across = spec.rank - 1 if moving[0] == spec.rank - 2 else spec.rank - 2
    labels = derivation.labels(spec)[across]
    place = show_place(keys[0].index[across], labels)
    told = f'"{place}"' if labels and not place.startswith('"') else place
    return f"{'row' if across == spec.rank - 2 else 'column'} {told}"


# ---------------------------------------------------------------- from level to level


def _next(
    level: int, derivation: Derivation, names: Names, entry: Entry, formula: Formula
) -> Iterator[Key | Line]:
    """The source cells that an explanation goes on with: first those that were computed, then, on
    a line for each tensor, those that were not."""
    if entry.expression is not None:
        formula.symbols()  # settles which letter runs
    keys = list(dict.fromkeys(formula.key(cell) for cell in formula.main()))
    keys += [k for k in map(derivation.origin, _deciding(entry)) if k not in keys]
    computed = [key for key in keys if not _given(derivation, key)]
    shown = computed
    if len(computed) > FOLLOWED:
        weight = _weights(formula)
        largest = sorted(computed, key=lambda key: weight.get(key, 0.0), reverse=True)[: FOLLOWED // 2]
        shown = [key for key in computed if key in largest]
    for key in shown:
        yield key
    if len(shown) < len(computed):
        left = len(computed) - len(shown)
        yield Line(level, f"… {left} more", (), LARGEST)
    groups: dict[tuple[int, int], list[Key]] = {}
    for key in keys:
        if _given(derivation, key):
            groups.setdefault((key.frame, key.place), []).append(key)
    for group in groups.values():
        yield _givens(level, derivation, names, group, formula)


def _weights(formula: Formula) -> dict[Key, float]:
    """How much each source cell of a sum adds to it: the size of its term."""
    weights: dict[Key, float] = {}
    for tree in applies(formula.entry.expression):
        if tree.function == "total" and len(tree.args) > FOLLOWED // 2:
            for term in tree.args:
                size = abs(_near(formula, term))
                for cell in cells_of(term):
                    key = formula.key(cell)
                    weights[key] = max(weights.get(key, 0.0), size)
    return weights


def _near(formula: Formula, tree: Expression) -> float:
    value = formula.value(tree)
    near = 0.0 if value is None else float(formula.derivation.numbers.near(value))
    return near if math.isfinite(near) else math.inf


def _deciding(entry: Entry) -> Iterator[Key]:
    """The cells that decided which branch was taken, unless that is as usual."""
    for branch in entry.branches:
        if as_usual(branch):
            continue
        for cell in cells_of(branch.condition):
            yield entry.sources[cell]


def _given(derivation: Derivation, key: Key) -> bool:
    """Whether nothing stands behind a cell: fed, patched, unknown, or part of the graph."""
    if derivation.has_operands(key):
        return False
    entry = derivation.entry(key)
    plain = entry.kind == "computed" and not entry.sources and isinstance(entry.expression, (Literal, Cell))
    return entry.kind != "computed" or (plain and not _worded(entry.expression))


def _worded(tree: Expression | None) -> bool:
    """Whether a number of the op's own comes with a reason (3 ≤ 1)."""
    return isinstance(tree, Literal) and isinstance(tree.value, bool) and tree.text not in ("", "True", "False")


def _givens(level: int, derivation: Derivation, names: Names, keys: list[Key], formula: Formula) -> Line:
    """Cells of one tensor behind which nothing stands, on one line."""
    entries = [derivation.entry(key) for key in keys]
    first = entries[0]
    note = _note(derivation, names, first, formula)
    if first.kind == "patched":
        note = "patched"
    if len(keys) == 1:
        text = remarks(derivation, names, first, formula.digits)
        return Line(level, names.cell(keys[0]), (formula.number(first.value),), note, tuple(text))
    cells = [formula.number(entry.value) for entry in entries]
    if len(cells) > GIVEN:
        cells = [*cells[:4], f"… {len(cells) - 6} more …", *cells[-2:]]
    return Line(level, _common(names, keys, formula.letter), (f",{BREAK}".join(cells),), note)


def _common(names: Names, keys: list[Key], letter: str) -> str:
    """One name for cells of one tensor: their index where they agree, the running one where not."""
    columns = list(zip(*(key.index for key in keys), strict=True))
    several = sum(len(set(places)) > 1 for places in columns) > 1
    index = [places[0] if len(set(places)) == 1 else "…" if several else letter for places in columns]
    return names.cell(keys[0], index)
