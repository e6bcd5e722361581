"""One trained tensor as it is stored: a shape over packed numbers, made into others when they are needed.

float64 and float32 stay as they lie in the (mapped) file; float16 and bfloat16 are widened to float32, which is
exact, where they are fed. Rows can be picked and blocks of them cut without touching the rest.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import accumulate, chain, pairwise
from math import prod
from struct import Struct
from typing import Any

from ..core.errors import GraphError
from ..core.packed import Packed

CODES = {"F64": "d", "F32": "f", "F16": "e", "BF16": "b"}
"""How the types that weights come in are called here: as `struct` does, and b for bfloat16."""
SIZES = {"d": 8, "f": 4, "e": 2, "b": 2}
MOVED = {"d": "Q", "f": "I", "e": "H", "b": "H"}
"""Integers of as many bytes, which move cells without looking at them."""


class Weight:
    """A matrix or row of trained numbers. `cells` are packed little-endian numbers of the type that `code`
    names, in row-major order."""

    def __init__(self, shape: Sequence[int], code: str, cells: Any) -> None:
        self.shape = tuple(shape)
        self.code = code
        self.cells = memoryview(cells).cast("B")
        self._blocks: dict[tuple[int, ...], list[Weight]] = {}
        if len(self.cells) != prod(self.shape) * SIZES[code]:
            raise GraphError(f"{len(self.cells)} bytes are not a tensor of shape {list(self.shape)}")

    def tolist(self) -> Any:
        """Nested lists of floats."""
        *lead, width = self.shape
        code, cells = ("f", self._single()) if self.code == "b" else (self.code, self.cells)
        rows = list(map(list, Struct(f"<{width}{code}").iter_unpack(cells)))
        for size in reversed(lead[1:]):
            rows = [rows[start : start + size] for start in range(0, len(rows), size)]
        return rows if lead else rows[0]

    @cached_property
    def feed(self) -> Any:
        """What a graph is fed: the numbers as they lie there, of a matrix; lists of a row."""
        if len(self.shape) < 2 or not self.cells:
            return self.tolist()
        if sys.byteorder == "big":
            rows = self.tolist()
            return rows if len(self.shape) > 2 else Packed(self.shape, array("d", chain.from_iterable(rows)))
        if self.code == "b":
            return Packed(self.shape, memoryview(self._single()).cast("f"))
        if self.code == "e":
            wide = array("f")
            for row in Struct(f"<{self.shape[-1]}e").iter_unpack(self.cells):
                wide.fromlist(list(row))
            return Packed(self.shape, wide)
        return Packed(self.shape, self.cells.cast(self.code))  # type: ignore[call-overload]

    def _single(self) -> bytearray:
        """bfloat16 as float32, of which its bits are the first half."""
        cells, wide = bytes(self.cells), bytearray(2 * len(self.cells))
        wide[2::4], wide[3::4] = cells[0::2], cells[1::2]
        return wide

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
        """Blocks of so many rows each, the same ones whenever they are asked for."""
        if sizes not in self._blocks:
            stops = list(accumulate(sizes, initial=0))
            self._blocks[sizes] = [self.block(*ends) for ends in pairwise(stops)]
        return self._blocks[sizes]

    @cached_property
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
        return prod(self.shape[1:]) * SIZES[self.code]

    def __repr__(self) -> str:
        return f"<weight {' × '.join(map(str, self.shape))}>"
