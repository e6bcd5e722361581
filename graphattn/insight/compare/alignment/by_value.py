"""3. By value, within what rounding explains many times over."""

from __future__ import annotations

from collections.abc import Sequence

from ..recording import Recorded, folded
from .alike import TIGHT, alike
from .families import stacked_parts
from .matching import Matching
from .names import words


def by_value(matching: Matching) -> None:
    by_size: dict[int, list[Recorded]] = {}
    for tensor in matching.reference.tensors.values():
        by_size.setdefault(tensor.size, []).append(tensor)
    order = {name: i for i, name in enumerate(matching.reference.tensors)}
    last = -1
    for yours in matching.open_yours():
        found = _same_value(matching, yours, by_size.get(yours.size, ()), order, last)
        if found is not None:
            if found.name in matching.used_reference:
                matching.copies.append((yours.name, found.name))
                matching.used_yours.add(yours.name)
            else:
                matching.add(found.name, found, yours, "value")
                last = order[found.name]
            continue
        if not _stacked_by_value(matching, yours):
            _fused_by_value(matching, yours)
    for reference in matching.open_reference():
        _your_family_by_value(matching, reference)
    for yours in matching.open_yours():
        _transposed_by_value(matching, yours)


def _same_value(
    matching: Matching, yours: Recorded, candidates: Sequence[Recorded], order: dict[str, int], last: int
) -> Recorded | None:
    same = [m for m in candidates if _shapes_fit(m, yours) and alike(m.flat, yours.flat, matching.near)]
    if not same:
        return None
    same = [m for m in same if alike(m.flat, yours.flat, TIGHT)] or same
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
    for family in matching.reference_families:
        if family.size != yours.size:
            continue
        for order, parts in stacked_parts(yours, family):
            if all(alike(member.flat, part.flat, matching.near) for member, part in zip(family.members, parts)):
                if all(member.name not in matching.used_reference for member in family.members):
                    matching.add_family(family, parts, "value, stacked", yours.name, order)
                    return True
                seen = family.name
    if seen is not None:
        matching.copies.append((yours.name, seen))
        matching.used_yours.add(yours.name)
    return seen is not None


def _your_family_by_value(matching: Matching, reference: Recorded) -> None:
    for family in matching.your_families:
        if family.size != reference.size or any(m.name in matching.used_yours for m in family.members):
            continue
        for _, parts in stacked_parts(reference, family):
            if all(alike(part.flat, member.flat, matching.near) for part, member in zip(parts, family.members)):
                for part, member in zip(parts, family.members):
                    matching.add(reference.name, part, member, "value, stacked")
                return


def _fused_by_value(matching: Matching, yours: Recorded) -> bool:
    """Three tensors of the reference side by side, or one below the other, in one of yours."""
    shape = list(yours.squeezed)
    cuts: list[list[Recorded]] = []
    if len(shape) == 2 and shape[1] % 3 == 0:
        width = shape[1] // 3
        cuts.append([yours.columns(i * width, (i + 1) * width) for i in range(3)])
    if shape and shape[0] % 3 == 0 and len(shape) <= 2:
        cells = yours.size // 3
        names = [f"{yours.name}[{i * shape[0] // 3}:{(i + 1) * shape[0] // 3}]" for i in range(3)]
        cuts.append(
            [
                folded(name, (shape[0] // 3, *shape[1:]), yours.flat[i * cells : (i + 1) * cells])
                for i, name in enumerate(names)
            ]
        )
    for parts in cuts:
        found: list[Recorded | None] = []
        for part in parts:
            same = (
                m
                for m in matching.open_reference()
                if m.size == part.size and m not in found and alike(m.flat, part.flat, matching.near)
            )
            found.append(next(same, None))
        if all(m is not None for m in found):
            for m, part in zip(found, parts):
                assert m is not None
                matching.add(m.name, m, part, "value, side by side", yours.name)
            return True
    return False


def _transposed_by_value(matching: Matching, yours: Recorded) -> None:
    """A tensor that was stored the other way round: weights (in, out) for (out, in)."""
    if len(yours.squeezed) != 2 or min(yours.squeezed) < 2:
        return
    turned = yours.transposed()
    for reference in matching.open_reference():
        if reference.squeezed == turned.shape and alike(reference.flat, turned.flat, matching.near):
            matching.add(reference.name, reference, turned, "value, transposed", yours.name)
            return


def _shapes_fit(reference: Recorded, yours: Recorded) -> bool:
    """Whether one is the other but for axes of size 1 and splits of the last axis."""
    a = [n for n in reference.shape if n != 1]
    b = [n for n in yours.shape if n != 1]
    return a == b or reference.size == yours.size
