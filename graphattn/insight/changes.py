"""changes(before, after): what a patch changed, of each tensor how much; two runs of one graph.

    before, after = run(g, feeds), run(g, feeds, patch={"head1.out": zeros})
    print(changes(before, after))

For a tensor x that became y:

    absolute   max |y − x|, and the cell where it is
    relative   √Σ (y − x)² / √Σ x², infinite where all of x is 0

Both are over the cells that are seen and finite in both runs. A cell is lost where it is hidden, infinite or
NaN in one of them alone, and counted; where it is in both, or holds the same number, it stays as it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat

from graphattn.dumps.rows import TensorRow, step_rows
from graphattn.dumps.table import place_text

from ..core import moments, nested
from ..core.errors import GraphError
from ..core.numbers import Numbers
from ..core.trace import Trace
from ..core.words import aligned, counted, joined, listed, number, sizes, tame, wrapped

WIDTH = 100
ROWS = 40
"""So many tensors are listed where not all are asked for."""
OUTPUTS = 4
"""So many outputs are spoken of in the first sentence."""
LEGEND = (
    "absolute: the largest change of a cell, which is at the place given; relative: √Σ change² / √Σ x², over"
    " the cells x of the run as it is"
)


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one tensor (see the module's docstring)."""

    name: str
    shape: tuple[int, ...]
    absolute: float
    relative: float
    index: tuple[int, ...] | None
    """The cell that changed most, or the first that is counted; None where none changed."""
    at: str
    """The same as it is shown, with labels: [sat, 2]; nothing of a scalar."""
    lost: int
    """How many cells are hidden, infinite or NaN in one of the runs and hold something else in the other."""
    moved: bool
    """Whether it only holds numbers of other tensors in other places, and is neither patched nor an output."""

    @property
    def changed(self) -> bool:
        return self.index is not None


@dataclass(frozen=True)
class Changes:
    """The changes of every tensor, in order of evaluation; printed as a table of those that changed."""

    tensors: tuple[Change, ...]
    outputs: dict[str, str]
    """The tensor of each output."""
    patched: tuple[str, ...]

    def find(self, name: str) -> Change:
        """The change of a tensor, by its name or that of an output. Raises a `GraphError` where it has none."""
        wanted = self.outputs.get(name, name)
        for change in self.tensors:
            if change.name == wanted:
                return change
        raise GraphError(
            f"no change of {name!r} is known; expected one of {listed(t.name for t in self.tensors)}"
        )

    def text(self, cause: str | None = None, everything: bool = False, width: int | None = None) -> str:
        """A sentence on the outputs, and the table. `cause` is what was done, `everything`
        lists also what stays as it is and what only moves numbers, `width` is how long a line may be."""
        cause = cause or (f"{joined(self.patched)} replaced" if self.patched else "other feeds")
        lines = wrapped(f"with {cause}: {self._headline()}", width or WIDTH, "    ")
        changed = [t for t in self.tensors if t.changed and not t.moved]
        shown = list(self.tensors) if everything else changed[:ROWS]
        if shown:
            lines += ["", *wrapped(LEGEND, width or WIDTH, "    "), "", *self._table(shown, width)]
        if not everything:
            lines += wrapped(self._rest(len(changed) - len(shown)), width or WIDTH, "    ")
        return "\n".join(map(tame, lines)) + "\n"

    def __str__(self) -> str:
        return self.text().removesuffix("\n")

    __repr__ = __str__

    def _headline(self) -> str:
        """the largest change of logits is 8.65668 at [m, m] (relative 1.12)."""
        recorded = {t.name for t in self.tensors}
        ends = [name for name, tensor in self.outputs.items() if tensor in recorded]
        if not ends:
            changed = sum(t.changed for t in self.tensors)
            return f"{counted(changed, 'tensor')} of {len(self.tensors):,} changed"
        still = [name for name in ends if not self.find(name).changed]
        if len(still) == len(ends):
            return f"{listed(ends, OUTPUTS)}: nothing changes there"
        told = [f"the largest change of {name} {_much(self.find(name))}" for name in ends if name not in still]
        more = f"; {listed(still, OUTPUTS)}: nothing changes there" if still else ""
        return listed(told, OUTPUTS, "; ") + more

    def _rest(self, left: int) -> str:
        """What the table leaves out."""
        moved = sum(t.changed and t.moved for t in self.tensors)
        still = sum(not t.changed for t in self.tensors)
        said = [f"… and {counted(left, 'tensor')} more"] if left else []
        if moved:
            said.append(
                f"{counted(moved, 'more tensor')} only {'moves' if moved == 1 else 'move'} these numbers"
            )
        said.append(counted(still, "tensor stays as it is", "tensors stay as they are"))
        return "; ".join(said)

    def _table(self, shown: Sequence[Change], width: int | None) -> list[str]:
        lost = any(change.lost for change in shown)
        rows = [["tensor", "shape", "absolute", "relative", *["lost"][:lost], "at"]]
        for change in shown:
            far = [number(change.absolute), number(change.relative, 3)] if change.changed else ["0", "0"]
            rows.append([
                self._name(change.name), sizes(change.shape), *far,
                *[str(change.lost or "")][: lost], change.at,
            ])  # fmt: skip
        lines = aligned(rows, limit=width, numbers=(2, 3, 4) if lost else (2, 3))
        if lost:
            lines += wrapped(
                "lost: cells that are hidden, infinite or NaN in one of the two runs", width or WIDTH
            )
        return lines

    def _name(self, name: str) -> str:
        """A tensor, with the output that it is where that has another name."""
        ends = [end for end, tensor in self.outputs.items() if tensor == name and end != name]
        return f"{name} ({', '.join(ends)})" if ends else name


def changes(before: Trace, after: Trace) -> Changes:
    """What changed from one run of a graph to the other (see the module's docstring), of each tensor that both
    recorded. Raises a `GraphError` where the two are no runs of one graph."""
    if before.graph != after.graph:
        raise GraphError("the two runs are of different graphs; expected two runs of one")
    outputs = {name: tensor.name for name, tensor in after.graph.outputs.items()}
    found = []
    for was, row in zip(step_rows(before), step_rows(after), strict=True):
        for x, y in zip(was.tensors, row.tensors, strict=True):
            if x.value is not None and y.value is not None:
                moved = row.op.moves and not y.patched and y.name not in outputs.values()
                found.append(_of(x, y, moved, after.numbers))
    return Changes(tuple(found), outputs, tuple(after.patched))


def _of(x: TensorRow, y: TensorRow, moved: bool, numbers: Numbers) -> Change:
    """How a tensor changed."""
    shape = x.spec.shape
    own: list[float] = []
    change: list[float] = []
    largest, place, lost = 0.0, None, 0
    if _same(x, y):
        return Change(y.name, shape, 0.0, 0.0, None, "", 0, moved)
    for at, (a, b, unseen) in enumerate(
        zip(_cells(x, numbers), _cells(y, numbers), map(sum, zip(_hidden(x), _hidden(y))))
    ):
        if not unseen and math.isfinite(a) and math.isfinite(b):
            own.append(a)
            change.append(b - a)
            if abs(b - a) > largest:
                largest, place = abs(b - a), at
        elif unseen < 2 and a != b and not (a != a and b != b):
            lost += 1
            place = at if place is None else place
    index = None if place is None else _index(place, shape)
    at = place_text(index, y.labels) if index else ""
    size = moments.rms(own)
    relative = 0.0 if not largest else moments.rms(change) / size if size else math.inf
    return Change(y.name, shape, largest, relative, index, at, lost, moved)


def _same(x: TensorRow, y: TensorRow) -> bool:
    """Whether it is plain that they are equal, without a look at each cell from here."""
    return (x.value is y.value or x.value == y.value) and x.mask == y.mask


def _cells(tensor: TensorRow, numbers: Numbers) -> Iterator[float]:
    return map(numbers.nearest, nested.flat(tensor.value))


def _hidden(tensor: TensorRow) -> Iterator[bool]:
    return repeat(False) if tensor.mask is None else nested.flat(tensor.mask)


def _index(place: int, shape: Sequence[int]) -> tuple[int, ...]:
    index = []
    for size in reversed(shape):
        place, at = divmod(place, size)
        index.append(at)
    return tuple(reversed(index))


def _much(change: Change) -> str:
    """is 8.65668 at [m, m] (relative 1.12)."""
    at = f" at {change.at}" if change.at else ""
    if not change.absolute:
        return f"is in {counted(change.lost, 'cell')}, the first{at}, hidden, infinite or NaN in one run alone"
    return f"is {number(change.absolute)}{at} (relative {number(change.relative, 3)})"
