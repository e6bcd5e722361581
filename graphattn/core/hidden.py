"""What follows from the values of a step: which cells of its results are hidden, and its warnings.

Hidden cells travel by the rule of each op (`masks.py`); a step warns where finite operands gave
something that is not, and of what its op says. All of it is found when it is asked for, a step at a
time. Rows are tested whole: a sum tells whether one of many cells is infinite or NaN, in 4 ns a cell;
what no feed can change is found once for a plan.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import compress
from operator import is_
from typing import Any

from . import nested
from .axes import Spec
from .errors import GraphError
from .graph import Node, Scope
from .interpreter import PlanStep
from .packed import Packed
from .words import sizes


def of_operands(step: PlanStep, table: Sequence[Any]) -> list[Any]:
    """What a table by place (of values, of masks) has for each operand of a step."""
    return [None if place is None else table[place] for place in step.operands]


def carried(
    step: PlanStep, incoming: list[Any], operands: list[Any], values: Sequence[Any]
) -> tuple[Any, ...] | None:
    """The masks of a step's outputs by the rule of its op, from those of its operands and their values;
    None where it has no rule, or nothing is hidden. A cell that is neither −∞ nor 0 any more, as after
    softcap or a factor of −1, is seen by whatever comes next: it is not hidden."""
    node = step.node
    if node.op.masked is None:
        return None
    found = node.op.told("masked", node.name, step.function, incoming, operands, *step.specs, **node.attributes)
    if found is None:
        return None
    by_port = found if len(step.places) > 1 else (found,)
    shapes = [spec.shape for spec in node.outputs]
    if len(by_port) != len(shapes) or not all(
        mask is None or nested.fits(mask, shape) for mask, shape in zip(by_port, shapes)
    ):
        raise GraphError(
            f"{node.op.name} {node.name!r}: its masked rule gives a mask of another shape;"
            f" expected {sizes(shapes[0])}"
        )
    return tuple(
        mask if mask is None or value is None else _still_hidden(mask, value, len(shape))
        for mask, value, shape in zip(by_port, (values[place] for place in step.places), shapes)
    )


GONE = {-math.inf, 0.0}
"""What a hidden cell is: as a score, and as a weight."""


def _still_hidden(mask: Any, value: Any, rank: int) -> Any:
    """The mask without the cells that can be seen again; the same mask where there are none."""
    if rank == 0:
        return bool(mask) and (value == -math.inf or value == 0)
    if rank == 1:
        try:
            if GONE.issuperset(compress(value, mask)):
                return mask
        except TypeError:  # cells that cannot stand in a set
            pass
        return [hidden and (cell == -math.inf or cell == 0) for hidden, cell in zip(mask, value)]
    rows = [_still_hidden(part, block, rank - 1) for part, block in zip(mask, value)]
    return mask if all(map(is_, rows, mask)) else rows


def warnings_of(step: PlanStep, values: Sequence[Any], masks: Sequence[Any]) -> list[str]:
    """What the op itself warns of, after a sentence where finite operands gave something that is not."""
    node = step.node
    own = own_warnings(node, of_operands(step, values), values[step.start], step.specs)
    warnings = []
    if step.runs:
        for place, spec in zip(step.places, node.outputs, strict=True):
            cells = list(_strange(values[place], masks[place], spec))
            nans = [index for index, cell in cells if cell != cell]
            if cells and not _strange_operand(step, values, masks):
                (index, cell), told = cells[0], _counted(cells)
                warnings.append(f"{told} not finite, though the operands are: {cell} at {list(index)}")
            elif nans and not own and not _strange_operand(step, values, masks, nan=True):
                warnings.append(f"{_counted(nans)} NaN, born of an infinite operand: nan at {list(nans[0])}")
    return [*warnings, *own]


def own_warnings(
    call: Node | Scope, operands: Sequence[Any], result: Any, specs: Sequence[Spec | None]
) -> list[str]:
    """What the op of a node, or of one whose inside is shown, warns of."""
    if call.op is None or call.op.warn is None:
        return []
    return call.op.told("warn", call.name, operands, result, *specs, **call.attributes)


def _counted(cells: Sequence[Any]) -> str:
    return f"{len(cells)} cells are" if len(cells) > 1 else "1 cell is"


def _strange_operand(step: PlanStep, values: Sequence[Any], masks: Sequence[Any], nan: bool = False) -> bool:
    """Whether a visible cell of an operand is infinite or NaN; with `nan`, whether one is NaN."""
    return any(
        not nan or cell != cell
        for spec, place in zip(step.specs, step.operands, strict=False)
        if place is not None and spec is not None
        for _, cell in _strange(values[place], masks[place], spec)
    )


def _strange(value: Any, mask: Any, spec: Spec) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Index and value of the visible cells that are infinite or NaN."""
    if spec.kind != "float" or finite(value, spec.rank):
        return
    for index, row in nested.rows(value, spec.rank):
        if finite(row, 1):
            continue
        hidden = mask if mask is None or not spec.rank else nested.at(mask, index)
        for j, cell in enumerate(row):
            if not _is_finite(cell) and not (hidden is not None and (hidden[j] if spec.rank else hidden)):
                yield ((*index, j) if spec.rank else ()), cell


def finite(value: Any, rank: int) -> bool:
    """Whether a sum tells that all cells are finite (a sum that overflows does not); a tensor that was not
    kept is not known to be."""
    if isinstance(value, Packed):
        return value.finite
    try:
        if rank == 2:
            return math.isfinite(sum(map(sum, value)))
        if rank == 1:
            return math.isfinite(sum(value))
        return all(finite(item, rank - 1) for item in value) if rank else math.isfinite(value)
    except (TypeError, ValueError, OverflowError):  # numbers that are no floats
        return False


def _is_finite(cell: Any) -> bool:
    return math.isfinite(cell) if isinstance(cell, float) else cell == cell and abs(cell) != math.inf
