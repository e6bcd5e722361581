"""3. By value, within what rounding explains many times over."""

from __future__ import annotations

from collections.abc import Mapping

from ..recording import Recorded
from .alike import TIGHT, alike
from .arrangements import arrangements
from .families import stacked_parts
from .fused import fused_by_name, fused_by_value
from .matching import Matching
from .names import words


def by_value(matching: Matching) -> None:
    order = {name: i for i, name in enumerate(matching.reference.tensors)}
    for near in dict.fromkeys((TIGHT, matching.near)):  # what is nearly the same must not take another's place
        last = -1
        for yours in matching.open_yours():
            same = _same_value(matching, yours, order, last, near)
            if same is None:
                continue
            if same.name not in matching.used_reference:
                matching.add(same.name, same, yours, "value")
                last = order[same.name]
            elif near == TIGHT or matching.is_copy(yours, same):
                matching.copies.append((yours.name, same.name))
                matching.used_yours.add(yours.name)
    for yours in matching.open_yours():
        if not _stacked_by_value(matching, yours):
            fused_by_value(matching, yours)
    for yours in matching.open_yours():
        fused_by_name(matching, yours)
    for reference in matching.open_reference():
        _your_family_by_value(matching, reference)
    for yours in matching.open_yours():
        _rearranged_by_value(matching, yours)


def _same_value(
    matching: Matching, yours: Recorded, order: Mapping[str, int], last: int, near: float
) -> Recorded | None:
    if not yours.size:
        return None
    candidates = matching.first_cells.like(yours.rows[0][0], yours.size)
    same = [m for m in candidates if matching.may_be(yours.name, m.name) and alike(m, yours, near)]
    if not same:
        return None
    fresh = [m for m in same if m.name not in matching.used_reference]
    if not fresh:
        return same[0]
    wanted = words(yours.name)
    return min(
        fresh,
        key=lambda m: (
            m.squeezed != yours.squeezed,
            -len(words(m.name) & wanted),
            order[m.name] < last,
            order[m.name],
        ),
    )


def _stacked_by_value(matching: Matching, yours: Recorded) -> bool:
    if len(yours.squeezed) < 3:
        return False
    seen: str | None = None
    for family in matching.reference_families_of.get(yours.size, ()):
        if not matching.may_be(yours.name, *(member.name for member in family.members)):
            continue
        for order, parts in stacked_parts(yours, family):
            if all(alike(member, part, matching.near) for member, part in zip(family.members, parts)):
                if all(member.name not in matching.used_reference for member in family.members):
                    matching.add_family(family, parts, "value, stacked", yours.name, order)
                    return True
                seen = family.name
    if seen is not None:
        matching.copies.append((yours.name, seen))
        matching.used_yours.add(yours.name)
    return seen is not None


def _your_family_by_value(matching: Matching, reference: Recorded) -> None:
    for family in matching.your_families_of.get(reference.size, ()):
        if any(
            m.name in matching.used_yours or not matching.may_be(m.name, reference.name) for m in family.members
        ):
            continue
        for _, parts in stacked_parts(reference, family):
            if all(alike(part, member, matching.near) for part, member in zip(parts, family.members)):
                for part, member in zip(parts, family.members):
                    matching.add(reference.name, part, member, "value, stacked")
                return


def _rearranged_by_value(matching: Matching, yours: Recorded) -> None:
    """A tensor whose axes were stored in another order: weights (in, out) for (out, in), tokens before heads.
    Its first cell stays the first."""
    if not yours.size or len(yours.squeezed) < 2:
        return
    for reference in matching.first_cells.like(yours.rows[0][0], yours.size):
        if reference.name in matching.used_reference or not matching.may_be(yours.name, reference.name):
            continue
        for order, tensor in arrangements(yours, reference.shape):
            if order != tuple(sorted(order)) and alike(reference, tensor, matching.near):
                how = "value, transposed" if order == (1, 0) else "value"
                matching.add(
                    reference.name, reference, tensor, how, yours.name, None if order == (1, 0) else order
                )
                return
