"""The tensors that may hold given numbers, found by their first cell: each with each would be quadratic."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from ..masked_cells import is_masked
from ..recording import Recorded


class FirstCells:
    """Tensors in the order of their first cells, those of one size together."""

    def __init__(self, tensors: Iterable[Recorded], near: float) -> None:
        self.near = near
        self.largest: dict[int, float] = {}
        grouped: dict[int, list[tuple[float, int, Recorded]]] = {}
        self.hidden: dict[int, list[Recorded]] = {}
        """Those whose first cell is masked or NaN."""
        for i, tensor in enumerate(tensors):
            if tensor.size:
                first = tensor.rows[0][0]
                if first != first or is_masked(first):
                    self.hidden.setdefault(tensor.size, []).append(tensor)
                else:
                    grouped.setdefault(tensor.size, []).append((first, i, tensor))
                    self.largest[tensor.size] = max(self.largest.get(tensor.size, 0.0), tensor.largest)
        self.sorted = {size: sorted(group, key=lambda entry: entry[:2]) for size, group in grouped.items()}
        self.firsts = {size: [first for first, _, _ in group] for size, group in self.sorted.items()}

    def like(self, first: float, size: int) -> list[Recorded]:
        """The tensors of a size whose first cell is near that, in their own order."""
        if first != first or is_masked(first):
            return self.hidden.get(size, [])
        if size not in self.firsts:
            return []
        room, firsts = self.near * self.largest[size], self.firsts[size]
        low, high = bisect_left(firsts, first - room), bisect_right(firsts, first + room)
        return [tensor for _, _, tensor in sorted(self.sorted[size][low:high], key=lambda entry: entry[1])]

    @property
    def sizes(self) -> list[int]:
        """The sizes that there are, the largest first."""
        return sorted(self.firsts, reverse=True)
