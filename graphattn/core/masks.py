"""How hidden cells travel through an op.

A `masked` rule gets `run` (the op's own function on whole tensors), the masks of the operands
(nested bools, True = hidden; None = nothing hidden), their values, their specs and the
attributes. It returns the mask of the result, a tuple of masks where there are several results,
or None where nothing is hidden. Which cells are hidden is never guessed from a weight of 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from . import nested
from .axes import Spec, broadcast


def united(run: Callable[..., Any], masks: Sequence[Any], values: Sequence[Any], *specs: Spec, **_: Any) -> Any:
    """A cell is hidden where one of the operands' cells is (elementwise ops)."""
    hidden = [(mask, spec.shape) for mask, spec in zip(masks, specs, strict=True) if mask is not None]
    if not hidden:
        return None
    shape = broadcast(*specs)[0]
    either = nested.lift(lambda *cells: any(cells), [0] * (len(hidden) + 1), [s for _, s in hidden] + [shape])
    return either(*(mask for mask, _ in hidden), nested.full(shape, False))


def moved(run: Callable[..., Any], masks: Sequence[Any], values: Sequence[Any], *specs: Spec, **_: Any) -> Any:
    """Hidden cells move as the numbers do: the op's own function is run on the masks.

    Operands that are not numbers (conditions, indices) keep their values.
    """
    if all(mask is None for mask in masks):
        return None
    return run(
        *(
            value if spec.kind != "float" else mask if mask is not None else nested.full(spec.shape, False)
            for mask, value, spec in zip(masks, values, specs, strict=True)
        )
    )


def touched(
    run: Callable[..., Any], masks: Sequence[Any], values: Sequence[Any], *specs: Spec, **_: Any
) -> Any:
    """A cell is hidden where a hidden cell went into it: NaN goes wherever those do.

    For ops that add and multiply floats, and have an expansion for other number types.
    """
    if all(mask is None for mask in masks):
        return None
    marked = []
    for mask, spec in zip(masks, specs, strict=True):
        mark = nested.lift(lambda hidden: math.nan if hidden else 0.0, [0], [spec.shape])
        marked.append(mark(nested.full(spec.shape, False) if mask is None else mask))
    result = run(*marked)
    return nested.lift(lambda cell: cell != cell, [0], [nested.shape_of(result)])(result)


def first(run: Callable[..., Any], masks: Sequence[Any], values: Sequence[Any], *specs: Spec, **_: Any) -> Any:
    """The hidden cells of the first operand stay hidden."""
    return masks[0]
