"""One trained tensor as it is stored: a shape over packed numbers, made into lists when they are needed.

float64, float32 and float16 stay as they lie in the (mapped) file; bfloat16 is widened to float32, which
is exact. Rows can be picked and blocks of them cut without touching the rest.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Sequence
from math import prod
from struct import Struct, calcsize
from typing import Any

from ..core import nested
from ..core.errors import GraphError
from ..core.packed import Packed

MOVED = {"d": "Q", "f": "I", "e": "H"}
"""Integers of as many bytes, which move cells without looking at them."""
CODES = {"F64": "d", "F32": "f", "F16": "e", "BF16": "f"}
"""How `struct` calls the types that weights come in."""


class Weight:
    """A matrix or row of trained numbers. `cells` are packed little-endian numbers of the type that
    `code` names to `struct`, in row-major order."""

    __slots__ = ("cells", "code", "shape")

    def __init__(self, shape: Sequence[int], code: str, cells: Any) -> None:
        self.shape = tuple(shape)
        self.code = code
        self.cells = memoryview(cells).cast("B")
        if len(self.cells) != prod(self.shape) * calcsize(f"<{code}"):
            raise GraphError(f"{len(self.cells)} bytes are not a tensor of shape {list(self.shape)}")

    @classmethod
    def stored(cls, dtype: str, shape: Sequence[int], data: memoryview) -> Weight:
        """The tensor of a safetensors file: `data` are its bytes there."""
        if dtype == "BF16":
            wide = bytearray(2 * len(data))
            wide[2::4], wide[3::4] = data[0::2], data[1::2]
            return cls(shape, "f", wide)
        return cls(shape, CODES[dtype], data)

    def tolist(self) -> Any:
        """Nested lists of floats."""
        *lead, width = self.shape
        rows = list(map(list, Struct(f"<{width}{self.code}").iter_unpack(self.cells)))
        for size in reversed(lead[1:]):
            rows = [rows[start : start + size] for start in range(0, len(rows), size)]
        return rows if lead else rows[0]

    def feed(self) -> Any:
        """What a graph is fed: the numbers as they lie there, of a matrix; lists of a row."""
        if len(self.shape) < 2 or not self.cells:
            return self.tolist()
        if self.code == "e" or sys.byteorder == "big":
            return Packed(self.shape, array("d", map(float, nested.flat(self.tolist()))))
        return Packed(self.shape, self.cells.cast(self.code))  # type: ignore[call-overload]

    def rows(self, places: Iterable[int]) -> Weight:
        """The matrix of these rows, in this order."""
        size = self._row_bytes
        places = list(places)
        cells = b"".join(self.cells[place * size : (place + 1) * size] for place in places)
        return Weight((len(places), *self.shape[1:]), self.code, cells)

    def block(self, start: int, stop: int) -> Weight:
        """Rows `start` to `stop`, the last one not included, still where they lie."""
        size = self._row_bytes
        return Weight((stop - start, *self.shape[1:]), self.code, self.cells[start * size : stop * size])

    def split(self, *sizes: int) -> list[Weight]:
        """Blocks of so many rows each."""
        starts = [sum(sizes[:i]) for i in range(len(sizes))]
        return [self.block(start, start + size) for start, size in zip(starts, sizes, strict=True)]

    @property
    def T(self) -> Weight:
        """The transposed matrix: its cells are moved as they are stored, a column at a time."""
        rows, width = self.shape
        cells = array(MOVED[self.code])
        cells.frombytes(self.cells)
        columns = array(cells.typecode)
        for place in range(width):
            columns.extend(cells[place::width])
        return Weight((width, rows), self.code, columns)

    @property
    def _row_bytes(self) -> int:
        return prod(self.shape[1:]) * calcsize(f"<{self.code}")

    def __repr__(self) -> str:
        return f"<weight {' × '.join(map(str, self.shape))}>"
