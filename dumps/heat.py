"""A tensor as heat maps: what each cell says, and how strong its colour is.

Two scales. `share` runs from 0 to 1, for what is a share (weights, gates); `signed` is symmetric about
0, as wide as the largest number that is seen. What is hidden has no place on a scale.
A tensor of rank 3 or more is one map for each slice along its leading axes.

>>> Scale("signed", 2.0).level(-1.0), Scale("share").text, Scale("signed", 2.0).text
(-0.5, '0 to 1', '±2.00')
>>> Scale("share", 0.05).text, Scale("share", 0.05).level(0.2), Scale("signed", 0.0).text
('0 to .05', 1.0, 'only 0')
>>> [short(number) for number in (0.5, -0.004, 11.21, 0, 123456.0)]
['0.50', '−4e−3', '11.2', '0', '1e5']
>>> short(0.5, share=True), short(1.0, share=True)
('.50', '1.00')
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from graphattn.core import nested
from graphattn.core.numbers import Numbers
from graphattn.dumps.rows import TensorRow

MINUS = "−"
MINUS_INFINITY = "−∞"


class Scale(NamedTuple):
    """What the colours of a map stand for."""

    kind: str
    """share or signed."""
    bound: float = 1.0

    @property
    def text(self) -> str:
        """The range in words."""
        if self.kind == "share":
            return f"0 to {self.end}"
        return f"±{self.end}" if self.bound else "only 0"

    @property
    def end(self) -> str:
        """Its largest number."""
        return f"{self.bound:g}".removeprefix("0") if self.kind == "share" else short(self.bound)

    def level(self, value: float) -> float:
        """Where a finite number is: from 0 to 1, or from −1 to 1."""
        if self.kind == "share":
            return min(max(value / self.bound, 0.0), 1.0)
        return min(max(value / self.bound, -1.0), 1.0) if self.bound else 0.0


class Cell(NamedTuple):
    """One cell of a map."""

    state: str
    """number, masked, broken (NaN or infinity that is not hidden)."""
    level: float
    text: str


@dataclass(frozen=True)
class HeatMap:
    """A matrix of a tensor."""

    tensor: TensorRow
    index: tuple[int, ...]
    """Where it is along the leading axes."""
    values: Sequence[Sequence[Any]]
    hidden: Sequence[Sequence[bool]] | None
    scale: Scale
    numbers: Numbers

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        *_, rows, columns = (1, *self.tensor.spec.shape)[-2:] if self.tensor.spec.rank else (1, 1)
        return rows, columns

    @property
    def cells(self) -> int:
        """How many cells it has."""
        rows, columns = self.shape
        return rows * columns

    @property
    def row_labels(self) -> tuple[str, ...] | None:
        """The labels of the rows, or None."""
        return self.tensor.labels[-2] if self.tensor.spec.rank > 1 else None

    @property
    def column_labels(self) -> tuple[str, ...] | None:
        """The labels of the columns, or None."""
        return self.tensor.labels[-1] if self.tensor.spec.rank else None

    def at(self, i: int, j: int) -> tuple[int, ...]:
        """The index of a cell in its tensor."""
        return (*self.index, i, j) if self.tensor.spec.rank > 1 else (j,)[: self.tensor.spec.rank]

    def is_hidden(self, i: int, j: int) -> bool:
        """Whether a cell is masked."""
        return self.hidden is not None and self.hidden[i][j]

    def cell(self, i: int, j: int) -> Cell:
        """What a cell says, and its colour."""
        value = self.numbers.nearest(self.values[i][j])
        if self.is_hidden(i, j):
            return Cell("masked", 0.0, MINUS_INFINITY if value == -math.inf else "")
        if not math.isfinite(value):
            return Cell("broken", 0.0, short(value))
        return Cell("number", self.scale.level(value), self._short(value))

    def strongest(self, down: Iterable[int], across: Sequence[int]) -> Cell:
        """What one cell says that stands for several: the number farthest from 0; broken where any of them
        is, masked where all are."""
        seen = [
            self.numbers.nearest(self.values[i][j]) for i in down for j in across if not self.is_hidden(i, j)
        ]
        if not seen:
            return Cell("masked", 0.0, "")
        if not all(map(math.isfinite, seen)):
            return Cell("broken", 0.0, "")
        return Cell("number", self.scale.level(max(seen, key=abs)), "")

    def _short(self, value: float) -> str:
        if self.tensor.spec.kind == "float":
            return short(value, self.scale.kind == "share")
        return short(value) if abs(value) >= 10**5 else f"{int(value)}".replace("-", MINUS)

    def digits(self, i: int, j: int) -> str:
        """Every digit of a cell."""
        value = self.values[i][j]
        return self.numbers.text(value) if self.tensor.spec.kind == "float" else str(value)


def heat_maps(tensor: TensorRow, numbers: Numbers, scale: Scale | None = None) -> list[HeatMap]:
    """The maps of a recorded tensor with cells, on one scale for all."""
    scale = scale or scale_of([tensor], numbers)
    rank, shape = tensor.spec.rank, tensor.spec.shape
    if not tensor.spec.size:
        return []
    if rank < 2:
        values = [tensor.value] if rank else [[tensor.value]]
        hidden = None if tensor.mask is None else [tensor.mask] if rank else [[tensor.mask]]
        return [HeatMap(tensor, (), values, hidden, scale, numbers)]
    return [
        HeatMap(
            tensor, index, nested.at(tensor.value, index),
            None if tensor.mask is None else nested.at(tensor.mask, index), scale, numbers,
        )
        for index in nested.indices(shape[:-2])
    ]  # fmt: skip


def scale_of(tensors: Iterable[TensorRow], numbers: Numbers) -> Scale:
    """The scale that shows all numbers of tensors."""
    tensors = list(tensors)
    if all(tensor.share or tensor.spec.kind == "bool" for tensor in tensors):
        return Scale("share")
    return Scale(
        "signed", max((abs(value) for tensor in tensors for value in _seen(tensor, numbers)), default=0.0)
    )


def spread_scale(tensors: Iterable[TensorRow], numbers: Numbers) -> Scale:
    """A scale that shows shares among many cells too: where each of n cells has little, it ends at ten
    times 1 / n, or beyond, where not more than a tenth of all that is given is larger; in round numbers."""
    tensors = list(tensors)
    scale = scale_of(tensors, numbers)
    if scale.kind == "signed" or not all(tensor.share for tensor in tensors):
        return scale
    fair = 1 / max((tensor.spec.shape or (1,))[-1] for tensor in tensors)
    cells = [value for tensor in tensors for value in _seen(tensor, numbers)]
    large = [value for value in cells if value > 10 * fair]
    beyond = sum(cells) / 10
    ends = (digit * 10.0**-power for power in range(4, 0, -1) for digit in (1, 2, 5))
    fitting = (end for end in ends if end >= 10 * fair and sum(v for v in large if v > end) <= beyond)
    return Scale("share", next(fitting, 1.0))


def _seen(tensor: TensorRow, numbers: Numbers) -> Iterator[float]:
    """The finite numbers that are not hidden."""
    rank = tensor.spec.rank
    masks = None if tensor.mask is None else nested.rows(tensor.mask, rank)
    for _, row in nested.rows(tensor.value, rank):
        hidden = None if masks is None else next(masks)[1]
        for j, cell in enumerate(row):
            value = numbers.nearest(cell)
            if math.isfinite(value) and not (hidden is not None and hidden[j]):
                yield value


def short(value: float, share: bool = False) -> str:
    """A number in at most six characters or so; exactly 0 is `0`."""
    if value != value:
        return "NaN"
    size = abs(value)
    if math.isinf(size):
        told = "∞"
    elif value == 0:
        return "0"
    elif share and size < 0.995:
        told = f"{size:.2f}"[1:]
    elif share:
        told = f"{size:.2f}"
    elif size < 0.005:
        told = _power(size)
    elif size < 9.995:
        told = f"{size:.2f}"
    elif size < 99.95:
        told = f"{size:.1f}"
    elif size < 9999.5:
        told = f"{size:.0f}"
    else:
        told = _power(size)
    return (MINUS if value < 0 else "") + told


def _power(size: float) -> str:
    """`4e−3`."""
    digit, _, power = f"{size:.0e}".partition("e")
    return f"{digit}e{int(power)}".replace("-", MINUS)
