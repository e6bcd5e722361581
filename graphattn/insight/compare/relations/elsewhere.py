"""Another tensor of the same run, or its transpose: a step that was left out, or operands swapped."""

from __future__ import annotations

from collections.abc import Iterator

from ..masked_cells import is_masked
from .chance import claimed, finite, informative, row_near, size_of
from .sides import Relation, Sides


def others(sides: Sides) -> Iterator[Relation]:
    """Another tensor of the reference, or its transpose: a step that was left out, or operands swapped."""
    b = sides.yours
    for turn in (False, True):
        for other in sides.context.others:
            if other.size != b.size or other is sides.reference:
                continue
            if turn:
                if len(other.squeezed) != 2 or min(other.squeezed) < 2:
                    continue
                other = other.transposed()
            if other.squeezed != b.squeezed:
                continue
            limit = sides.tau * size_of([x for x in other.flat if finite(x) and not is_masked(x)])
            if not row_near(other.flat, b.flat, limit) or row_near(other.flat, sides.reference.flat, limit):
                continue
            if claimed(informative([other.flat], limit), sides.chance, 3.0):
                name = other.name.removesuffix("ᵀ") if turn else other.name
                text = f"the reference's {name}" + (" transposed" if turn else "")
                if (
                    sides.same_shape
                    and not turn
                    and any(other is operand for operand in sides.context.operands)
                ):
                    text += ", one of its inputs, as if this step were skipped"
                yield Relation("other tensor", text, {"of": name, "transposed": turn})
                return
