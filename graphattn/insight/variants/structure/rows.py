"""Which ops give one row of their results from one row of an operand, found by asking how they compute it.

A variant is held first to one row of what was observed. An op whose `explain` says that row i of the results
reads row i alone of an operand is called on that row; its other operands are whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ....core.axes import Spec
from ....core.cells import Cell, sources
from ....core.errors import GraphError
from ....core.interpreter import FAILURES, padded

if TYPE_CHECKING:
    from ..intended import Call

LONGEST = 4096
"""The longest rows of which it is asked."""


def one_row(spec: Spec) -> Spec:
    """The spec of one row of a tensor."""
    return replace(spec, shape=(*spec.shape[:-2], 1, spec.shape[-1]))


def row_of(value: Any, row: int, rank: int) -> Any:
    """One row of a tensor, in every batch."""
    if rank == 2:
        if row >= len(value):
            raise GraphError(f"there is no row {row} of {len(value)}")
        return [value[row]]
    return [row_of(block, row, rank - 1) for block in value]


def carry(single: dict[Any, bool], reader: Any, call: Call, operands: Iterable[Any]) -> None:
    """Whether one row of its results will do (`single`), carried from a reader to what it reads: `operands`
    says what is read in each slot, None for what is known."""
    found = call.by_row if single.get(reader, True) else None
    single[reader] = found is not None
    for slot, other in enumerate(operands):
        if other is not None:
            single[other] = single.get(other, True) and found is not None and found[0][slot]


def by_row(call: Call) -> tuple[tuple[bool, ...], Call] | None:
    """See `Call.by_row`. The corners of the results are asked for, which tell a triangle from a plain row."""
    out = call.outputs[0]
    if call.op.explain is None or call.op.kernel is None or not call.operands:
        return None
    if out.rank < 2 or out.shape[-2] < 2 or not all(out.shape) or out.shape[-1] > LONGEST:
        return None
    if any(spec.rank < 2 or spec.shape[:-1] != out.shape[:-1] for spec in call.outputs):
        return None
    reads = _reads(call, out)
    if reads is None:
        return None
    local = tuple(
        spec is not None and spec.rank > 1 and spec.shape[-2] == out.shape[-2] and all(a == b for a, b in seen)
        for spec, seen in zip(call.operands, reads, strict=True)
    )
    if not any(local):
        return None
    sliced = [s if s is None or not here else one_row(s) for s, here in zip(call.operands, local, strict=True)]
    try:
        single = type(call)(call.op, sliced, call.attributes)
    except (GraphError, *FAILURES):
        return None
    fits = all(
        made.shape == one_row(spec).shape for made, spec in zip(single.outputs, call.outputs, strict=True)
    )
    return (local, single) if fits else None


def _reads(call: Call, out: Spec) -> Sequence[set[tuple[int | None, int]]] | None:
    """For each slot, the pairs (row read, row of the results); None where the op does not say."""
    reads: list[set[tuple[int | None, int]]] = [set() for _ in call.operands]
    full = padded(call.op, call.operands)
    more = {} if len(call.ports) == 1 else {"port": 0}
    row, column = out.shape[-2] - 1, out.shape[-1] - 1
    for at in ((0, 0), (0, column), (row, 0), (row, column)):
        try:
            index = (*(0 for _ in out.shape[:-2]), *at)
            tree = call.op.told("explain", None, index, *full, **call.attributes, **more)
        except GraphError:
            return None
        for cell in sources(tree):
            if cell.slot >= len(reads):
                continue
            if len(cell.index) > 1:
                place = cell.index[-2]
                reads[cell.slot].add((None if isinstance(place, Cell) else place, at[0]))
            elif cell.index and isinstance(cell.index[0], Cell):
                return None
    return reads
