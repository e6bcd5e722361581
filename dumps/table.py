"""One tensor as lines of text: columns aligned, labels on rows and columns, slices headed by their index.

          0        1        2                  [0]    0    1        0.5000
    the   0.5000  -1.0000   0.2500             the  1.0  2.0
    cat   1.5000   0.0000        ·             cat  3.0  4.0

Two forms of numbers. `Pretty` has a fixed number of decimals, `·` for hidden cells, and leaves out
what is beyond a limit, which it says. `Exact` has the digits that read back to the same number, a
`·` behind each hidden cell, and leaves nothing out. Widths are those of a terminal: CJK takes two
places, a combining mark none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from graphattn.core import nested
from graphattn.core.axes import Spec, describe
from graphattn.core.errors import GraphError
from graphattn.core.numbers import FLOAT, Numbers
from graphattn.core.words import integer, measures, read_integer, width
from graphattn.dumps.literals import plain, quote, shortened
from graphattn.dumps.rows import TensorRow, greatest, seen

HIDDEN = "·"
LEFT_OUT = "…"
NO_CELLS = "(no cells)"
EMPTY_LIMIT = 2**20
"""How many empty lists a tensor without cells may be made of."""
LABEL_LIMIT = 24


def label(text: str) -> str:
    """A label as it is shown: bare where no one could mistake it, else quoted."""
    bare = plain(text)
    mistaken = not text or " " in text or text in (HIDDEN, LEFT_OUT) or text.lstrip("+-").isdigit()
    return quote(text) if mistaken else bare


def index_text(tensor: TensorRow, index: Sequence[int]) -> str:
    """[sat, 2]: an index with labels where the axes have them."""
    return place_text(index, tensor.labels)


def place_text(index: Sequence[int], labels: Sequence[Sequence[str] | None]) -> str:
    """The same, from the labels of each axis (None where it has none), of all axes or the first ones."""
    shown = (label(names[i]) if names else str(i) for i, names in zip(index, labels, strict=False))
    return f"[{', '.join(shown)}]"


@dataclass(frozen=True, slots=True)
class Pretty:
    """Numbers for reading. `limit` is the most rows, columns and slices that are shown; with a `width`, there
    are as many columns as go into so many places, whatever the limit."""

    decimals: int = 4
    limit: int = 12
    width: int | None = None

    def cell(self, tensor: TensorRow, numbers: Numbers) -> Callable[[Any], str]:
        """How the cells of a tensor are written: all in the same form."""
        if tensor.spec.kind != "float":
            return integer
        if numbers is not FLOAT:
            cells = [cell for _, _, row, _ in seen(tensor) for cell in row]
            if any(isinstance(cell, Fraction) for cell in cells) and max(map(_size, cells)) < 10**6:
                return str
        largest = greatest(tensor, numbers)
        least = 10.0 ** (1 - self.decimals) if self.decimals > 1 else 0.5 * 10.0**-self.decimals
        if largest >= 10**6 or 0 < largest < least:
            return lambda cell: _scientific(cell, self.decimals, numbers)
        zero = f"-{0:.{self.decimals}f}"

        def fixed(cell: Any) -> str:
            text = f"{numbers.near(cell):.{self.decimals}f}"
            return text[1:] if text == zero else text

        return fixed

    def least(self, tensor: TensorRow) -> int:
        """The least width of a cell, so that columns of one step stand under those of another."""
        return self.decimals + 3 if tensor.spec.kind == "float" else 0

    def hidden(self, text: str) -> str:
        return HIDDEN

    def label(self, text: str) -> str:
        shown = label(text)
        if width(shown) <= LABEL_LIMIT:
            return shown
        kept = ""
        for letter in shown:
            if width(kept + letter) >= LABEL_LIMIT:
                break
            kept += letter
        return kept + LEFT_OUT

    def shown(self, count: int) -> list[int | None]:
        """Which of `count` rows are shown; None stands for those left out."""
        return _ends(count, self.limit)

    def columns(self, tensor: TensorRow, numbers: Numbers) -> list[int | None]:
        """Which columns of a tensor are shown."""
        count = tensor.spec.shape[-1]
        if self.width is None:
            return self.shown(count)
        rank = tensor.spec.rank
        names = [] if rank < 2 else _heads(tensor, self, -2, self.shown(tensor.spec.shape[-2]))
        last = index_text(tensor, [size - 1 for size in tensor.spec.shape[:-2]]) if rank > 2 else ""
        room = self.width - max(map(width, [*names, last, ""])) - 2 * (rank > 1)
        wide = (
            5 if tensor.spec.kind == "bool" else width(self.cell(tensor, numbers)(-greatest(tensor, numbers)))
        )
        heads = [self.label(name) for name in tensor.labels[-1] or ()] or [str(count - 1)]
        place = 2 + max(self.least(tensor), wide, *map(width, heads))
        return _ends(count, count if count * place <= room + 2 else max((room - 1) // place, 2))


@dataclass(frozen=True, slots=True)
class Exact:
    """Numbers for reading back."""

    def cell(self, tensor: TensorRow, numbers: Numbers) -> Callable[[Any], str]:
        return numbers.text if tensor.spec.kind == "float" else integer

    def least(self, tensor: TensorRow) -> int:
        return 0

    def hidden(self, text: str) -> str:
        return text + HIDDEN

    def label(self, text: str) -> str:
        return label(text)

    def shown(self, count: int) -> Sequence[int | None]:
        return range(count)

    def columns(self, tensor: TensorRow, numbers: Numbers) -> Sequence[int | None]:
        return range(tensor.spec.shape[-1])


def _ends(count: int, limit: int) -> list[int | None]:
    """The places that are shown where at most `limit` are: those at both ends, None between them."""
    if count <= limit:
        return list(range(count))
    head = (limit + 1) // 2
    return [*range(head), None, *range(count - (limit - head), count)]


def _size(cell: Any) -> int:
    return max(abs(cell.numerator), cell.denominator) if isinstance(cell, Fraction) else 0


def _scientific(cell: Any, decimals: int, numbers: Numbers) -> str:
    try:
        near = numbers.near(cell)
    except OverflowError:
        near = math.inf
    if math.isinf(near) and numbers.isfinite(cell):  # beyond what a double holds
        return numbers.text(cell)
    return f"{near + 0.0:.{decimals}e}"


@dataclass(frozen=True, slots=True)
class Slice:
    """A matrix of a tensor as texts, which a dump lays out. A lone row has one name, which is empty."""

    index: tuple[int, ...] | None
    """Where it is along the leading axes; None stands for slices that are left out."""
    heads: list[str]
    names: list[str]
    cells: list[list[str]]


def slices(tensor: TensorRow, form: Pretty | Exact, numbers: Numbers) -> Iterator[Slice]:
    """The slices that are shown of a recorded tensor with cells, of rank 1 or more."""
    shape, value, mask = tensor.spec.shape, tensor.value, tensor.mask
    columns = form.columns(tensor, numbers)
    whole = None not in columns
    heads, rows, names = _heads(tensor, form, -1, columns), form.shown(1), [""]
    if len(shape) > 1:
        rows = form.shown(shape[-2])
        names = _heads(tensor, form, -2, rows)
    else:
        value, mask = [value], None if mask is None else [mask]
    write = form.cell(tensor, numbers)
    indices = list(nested.indices(shape[:-2]))
    for place in form.shown(len(indices)):
        if place is None:
            yield Slice(None, heads, names, [])
            continue
        index = indices[place]
        block = nested.at(value, index) if index else value
        hidden = nested.at(mask, index) if index and mask is not None else mask
        grid: list[list[str]] = []
        for i in rows:
            if i is None:
                grid.append([LEFT_OUT] * len(columns))
                continue
            row, marks = block[i], None if hidden is None else hidden[i]
            texts = (
                list(map(write, row)) if whole else [LEFT_OUT if j is None else write(row[j]) for j in columns]
            )
            if marks is not None and True in marks:
                texts = [form.hidden(t) if j is not None and marks[j] else t for t, j in zip(texts, columns)]
            grid.append(texts)
        yield Slice(index, heads, names, grid)


def one_cell(tensor: TensorRow, form: Pretty | Exact, numbers: Numbers) -> str:
    """The text of a tensor of rank 0."""
    text = form.cell(tensor, numbers)(tensor.value)
    return form.hidden(text) if tensor.mask else text


def table(tensor: TensorRow, form: Pretty | Exact, numbers: Numbers) -> list[str]:
    """The lines of one recorded tensor, without margin."""
    shape = tensor.spec.shape
    if not shape:
        return [one_cell(tensor, form, numbers)]
    if 0 in shape:
        if isinstance(form, Exact):
            need_few_rows(tensor.spec)
        return [NO_CELLS]
    parts = list(slices(tensor, form, numbers))
    heads, names = parts[0].heads, parts[0].names
    starts = [index_text(tensor, part.index) if part.index else "" for part in parts]
    cells = [cell for part in parts for row in part.cells for cell in row]
    wide, _, fill = measures(cells)
    least = max(form.least(tensor), *map(wide, cells))
    wide, left, right = measures([*names, *starts, *heads])
    places = [1 if head == LEFT_OUT else max(least, wide(head)) for head in heads]
    margin, gap = max(map(wide, names + starts)), "  " if len(shape) > 1 else ""
    names = [left(name, margin) + gap for name in names]
    top = gap + "  ".join(map(right, heads, places))
    lines: list[str] = []
    for start, part in zip(starts, parts):
        if part.index is None:
            lines.append(LEFT_OUT)
            continue
        lines.append((left(start, margin) + top).rstrip())
        lines += [(name + "  ".join(map(fill, row, places))).rstrip() for name, row in zip(names, part.cells)]
    return lines


def _heads(tensor: TensorRow, form: Pretty | Exact, axis: int, shown: Sequence[int | None]) -> list[str]:
    labels = tensor.labels[axis]
    return [LEFT_OUT if i is None else form.label(labels[i]) if labels else str(i) for i in shown]


def left_out(tensor: TensorRow, form: Pretty | Exact, numbers: Numbers = FLOAT) -> str:
    """What a table leaves out, in words; '' where it shows everything."""
    shape = tensor.spec.shape
    if isinstance(form, Exact) or not tensor.spec.size or not shape:
        return ""
    counts = [("rows", (shape[-2:-1] or (1,))[0]), ("slices", math.prod(shape[:-2]))]
    places = [("columns", shape[-1], form.columns(tensor, numbers))]
    told = []
    for what, count, shown in [*places, *((what, count, form.shown(count)) for what, count in counts)]:
        kept = sum(i is not None for i in shown)
        if kept < count:
            told.append(f"{kept} of {count} {what}")
    return f"{', '.join(reversed(told))} shown" if told else ""


# ---------------------------------------------------------------- reading


def no_cells(spec: Spec) -> Any:
    """The nested lists of a tensor without cells. Raises a `GraphError` where a file claims so many
    empty rows that they would fill the memory."""
    need_few_rows(spec)
    return nested.full(spec.shape, None)


def need_few_rows(spec: Spec) -> None:
    """Raise a `GraphError` for a tensor without cells that no reader takes."""
    lists = next((math.prod(spec.shape[:i]) for i, size in enumerate(spec.shape) if not size), 0)
    if lists > EMPTY_LIMIT:
        raise GraphError(f"{describe(spec)} has {lists} rows of nothing; expected at most {EMPTY_LIMIT}")


def read_table(
    take: Callable[[], str], spec: Spec, labels: Sequence[Sequence[str] | None], numbers: Numbers
) -> tuple[Any, Any]:
    """Value and mask of a tensor from the lines that `table` wrote in `Exact` form; `take` gives the
    next line, `labels` are those of each axis. (None, None) where it was not kept."""
    line = take()
    if line == "not kept":
        return None, None
    if not spec.size:
        if line != NO_CELLS:
            raise GraphError(f"found {shortened(line)}; expected {NO_CELLS!r}")
        return no_cells(spec), None
    read = READERS[spec.kind]
    if not spec.rank:
        (value,), mask = _row(line, 1, read, numbers)
        return value, mask and mask[0]
    rows: list[Any] = []
    masks: list[Any] = []
    names = [""]
    if spec.rank > 1:
        names = list(map(label, labels[-2] or ())) or list(map(str, range(spec.shape[-2])))
    for index in nested.indices(spec.shape[:-2]):
        if rows:
            line = take()
        if index and not line.startswith(place_text(index, labels)):
            raise GraphError(f"found {shortened(line)}; expected slice {place_text(index, labels)}")
        for name in names:
            line = take()
            if not line.startswith(name):
                raise GraphError(f"found {shortened(line)}; expected row {name}")
            row, mask = _row(line[len(name) :], spec.shape[-1], read, numbers)
            rows.append(row)
            masks.append(mask)
    value = folded(rows, spec.shape)
    if not any(masks):
        return value, None
    no = [False] * spec.shape[-1]
    return value, folded([mask or no for mask in masks], spec.shape)


def _row(
    text: str, count: int, read: Callable[[str, Numbers], Any], numbers: Numbers
) -> tuple[list[Any], list[bool] | None]:
    fields = text.split()
    if len(fields) != count:
        raise GraphError(f"the row has {len(fields)} cells; expected {count}")
    mask = None
    if HIDDEN in text:
        mask = [field.endswith(HIDDEN) for field in fields]
        fields = [field.rstrip(HIDDEN) for field in fields]
    if read is read_number and numbers is FLOAT:
        try:
            row = list(map(float, fields))
        except ValueError:
            row = [math.inf]  # read_number says which it is
        if math.isfinite(sum(row)):
            return row, mask
    return [read(field, numbers) for field in fields], mask


def folded(rows: list[Any], shape: Sequence[int]) -> Any:
    """Rows in row-major order as a tensor."""
    if len(shape) == 1:
        return rows[0]
    for size in reversed(shape[1:-1]):
        rows = [rows[start : start + size] for start in range(0, len(rows), size)]
    return rows


def read_number(text: str, numbers: Numbers) -> Any:
    """A number from its digits."""
    try:
        value = numbers.lift(text)
    except GraphError:
        raise
    except (ArithmeticError, TypeError, ValueError):
        raise GraphError(f"found {shortened(text)}; expected a number") from None
    if isinstance(value, float) and math.isinf(value) and "inf" not in text:
        raise GraphError(f"{shortened(text)} is too large; expected a number that a double can hold")
    return value


def _read_bool(text: str, numbers: Numbers) -> bool:
    if text == "True" or text == "False":
        return text == "True"
    raise GraphError(f"found {shortened(text)}; expected True or False")


def _read_int(text: str, numbers: Numbers) -> int:
    try:
        return read_integer(text)
    except ValueError:
        raise GraphError(f"found {shortened(text)}; expected an integer") from None


READERS: dict[str, Callable[[str, Numbers], Any]] = {
    "float": read_number,
    "bool": _read_bool,
    "int": _read_int,
}
