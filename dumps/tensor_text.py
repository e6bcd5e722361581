"""Single tensors as text, beside each other where there is room.

scores   token 3 × token 3              weights   token 3 × token 3
          the      cat      sat                   the      cat      sat
the    1.2500   0.5000  -0.2500         the    1.0000        ·        ·
...                                     ...
"""

from __future__ import annotations

from collections.abc import Iterable

from graphattn.core.trace import Step, Trace
from graphattn.core.words import left, width
from graphattn.dumps.rows import StepRow, TensorRow, shape_text, step_rows
from graphattn.dumps.table import Pretty, table
from graphattn.dumps.trace_text import form_of, step_text, told

WIDTH = 100
GAP = " " * 4


class Shown(str):
    """A text that an interactive session shows as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def tensor_text(
    trace: Trace, names: str | Iterable[str], decimals: int = 4, limit: int = 12, width: int = WIDTH
) -> Shown:
    """The tables of some tensors, by name or pattern (`*.weights`): in order of evaluation, as many side by
    side as go into `width` places. decimals, limit: as in `trace_text`."""
    form = form_of("pretty", decimals, limit)
    assert isinstance(form, Pretty)
    blocks = [
        _block(tensor, row, form, trace)
        for row in step_rows(trace, names)
        for tensor in row.tensors
        if tensor.value is not None
    ]
    lines: list[str] = []
    while blocks:
        count = 1
        while count < len(blocks) and _across(blocks[: count + 1]) <= width:
            count += 1
        lines += [*([""] if lines else []), *_beside(blocks[:count])]
        blocks = blocks[count:]
    return Shown("\n".join(lines) + "\n")


def one_step(step: Step) -> str:
    """A step as it stands in the whole dump."""
    (row,) = (row for row in step_rows(step.trace, step.names) if row.name == step.name)
    return step_text(row, step.trace)


def _block(tensor: TensorRow, row: StepRow, form: Pretty, trace: Trace) -> list[str]:
    head = f"{tensor.name}   {shape_text([tensor.spec])}"
    return [head, *table(tensor, form, trace.numbers), *told(tensor, row, form, trace.numbers)]


def _across(blocks: list[list[str]]) -> int:
    return sum(max(map(width, block)) for block in blocks) + len(GAP) * (len(blocks) - 1)


def _beside(blocks: list[list[str]]) -> list[str]:
    height = max(map(len, blocks))
    places = [max(map(width, block)) for block in blocks]
    filled = [[*block, *[""] * (height - len(block))] for block in blocks]
    return [GAP.join(map(left, row, places)).rstrip() for row in zip(*filled, strict=True)]
