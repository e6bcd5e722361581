"""What follows from the values of a step: which cells of its results are hidden, and its warnings.

Hidden cells travel by the rule of each op (`masks.py`); a step warns where finite operands gave
something that is not, and of what its op says. All of it is found when it is asked for, a step at a
time. Rows are tested whole: a sum tells whether one of many cells is infinite or NaN, in 4 ns a cell;
what no feed can change is found once for a plan.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from . import nested
from .axes import Spec
from .interpreter import PlanStep
from .packed import Packed


def of_operands(step: PlanStep, table: Sequence[Any]) -> list[Any]:
    """What a table by place (of values, of masks) has for each operand of a step."""
    return [None if place is None else table[place] for place in step.operands]


def carried(step: PlanStep, incoming: list[Any], operands: list[Any]) -> tuple[Any, ...] | None:
    """The masks of a step's outputs by the rule of its op, from those of its operands and their values;
    None where it has no rule, or nothing is hidden."""
    node = step.node
    if node.op.masked is None:
        return None
    found = node.op.masked(step.function, incoming, operands, *step.specs, **node.attributes)
    return found if found is None or len(step.places) > 1 else (found,)


def warnings_of(step: PlanStep, values: Sequence[Any], masks: Sequence[Any]) -> list[str]:
    """What the op itself warns of, after a sentence where finite operands gave something that is not."""
    node = step.node
    warnings = []
    if step.runs:
        for place, spec in zip(step.places, node.outputs, strict=True):
            cells = _strange(values[place], masks[place], spec)
            first = next(cells, None)
            if first is not None and not _strange_operand(step, values, masks):
                count = 1 + sum(1 for _ in cells)
                index, cell = first
                told = f"{count} cells are" if count > 1 else "1 cell is"
                warnings.append(f"{told} not finite, though the operands are: {cell} at {list(index)}")
    if node.op.warn is not None:
        operands = of_operands(step, values)
        warnings += node.op.warn(operands, values[step.start], *step.specs, **node.attributes)
    return warnings


def _strange_operand(step: PlanStep, values: Sequence[Any], masks: Sequence[Any]) -> bool:
    """Whether a visible cell of an operand is infinite or NaN."""
    return any(
        place is not None
        and spec is not None
        and next(_strange(values[place], masks[place], spec), None) is not None
        for spec, place in zip(step.specs, step.operands, strict=False)
    )


def _strange(value: Any, mask: Any, spec: Spec) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Index and value of the visible cells that are infinite or NaN."""
    if spec.kind != "float" or _finite(value, spec.rank):
        return
    for index, row in nested.rows(value, spec.rank):
        if _finite(row, 1):
            continue
        hidden = mask if mask is None or not spec.rank else nested.at(mask, index)
        for j, cell in enumerate(row):
            if not _is_finite(cell) and not (hidden is not None and (hidden[j] if spec.rank else hidden)):
                yield ((*index, j) if spec.rank else ()), cell


def _finite(value: Any, rank: int) -> bool:
    """Whether a sum tells that all cells are finite (a sum that overflows does not)."""
    if isinstance(value, Packed):
        return value.finite
    try:
        if rank == 2:
            return math.isfinite(sum(map(sum, value)))
        if rank == 1:
            return math.isfinite(sum(value))
        return all(_finite(item, rank - 1) for item in value) if rank else math.isfinite(value)
    except (TypeError, ValueError, OverflowError):  # numbers that are no floats
        return False


def _is_finite(cell: Any) -> bool:
    return math.isfinite(cell) if isinstance(cell, float) else cell == cell and abs(cell) != math.inf
