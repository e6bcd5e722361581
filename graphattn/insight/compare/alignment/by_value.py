"""3. By value, within what rounding explains many times over."""

from __future__ import annotations

from collections.abc import Sequence

from ..cell_classes import is_masked
from ..precision import recorded_precision
from ..recording import Recorded, Recording, folded
from .families import stacked_parts
from .matching import Matching
from .names import words

NEAR = 2e-3
TIGHT = 2e-6
"""What cells may differ by, of the largest, where tensors are matched by value: at most (for short formats,
8 of their units), and what is enough to prefer one tensor to others."""


def by_value(matching: Matching) -> None:
    by_size: dict[int, list[Recorded]] = {}
    for tensor in matching.mine.tensors.values():
        by_size.setdefault(tensor.size, []).append(tensor)
    order = {name: i for i, name in enumerate(matching.mine.tensors)}
    last = -1
    for theirs in matching.open_theirs():
        found = _same_value(matching, theirs, by_size.get(theirs.size, ()), order, last)
        if found is not None:
            if found.name in matching.used_mine:
                matching.copies.append((theirs.name, found.name))
                matching.used_theirs.add(theirs.name)
            else:
                matching.add(found.name, found, theirs, "value")
                last = order[found.name]
            continue
        if not _stacked_by_value(matching, theirs):
            _fused_by_value(matching, theirs)
    for mine in matching.open_mine():
        _their_family_by_value(matching, mine)
    for theirs in matching.open_theirs():
        _transposed_by_value(matching, theirs)


def _same_value(
    matching: Matching, theirs: Recorded, candidates: Sequence[Recorded], order: dict[str, int], last: int
) -> Recorded | None:
    same = [m for m in candidates if _shapes_fit(m, theirs) and alike(m.flat, theirs.flat, matching.near)]
    if not same:
        return None
    same = [m for m in same if alike(m.flat, theirs.flat, TIGHT)] or same
    fresh = [m for m in same if m.name not in matching.used_mine]
    if not fresh:
        return same[0]
    wanted = words(theirs.name)
    return min(
        fresh,
        key=lambda m: (
            m.squeezed != theirs.squeezed,
            -len(words(m.name) & wanted),
            order[m.name] < last,
            order[m.name],
        ),
    )


def _stacked_by_value(matching: Matching, theirs: Recorded) -> bool:
    if len(theirs.squeezed) < 3:
        return False
    seen: str | None = None
    for family in matching.mine_families:
        if family.size != theirs.size:
            continue
        for parts in stacked_parts(theirs, family):
            if all(alike(member.flat, part.flat, matching.near) for member, part in zip(family.members, parts)):
                if all(member.name not in matching.used_mine for member in family.members):
                    matching.add_family(family, parts, "value, stacked", theirs.name)
                    return True
                seen = family.name
    if seen is not None:
        matching.copies.append((theirs.name, seen))
        matching.used_theirs.add(theirs.name)
    return seen is not None


def _their_family_by_value(matching: Matching, mine: Recorded) -> None:
    for family in matching.their_families:
        if family.size != mine.size or any(m.name in matching.used_theirs for m in family.members):
            continue
        for parts in stacked_parts(mine, family):
            if all(alike(part.flat, member.flat, matching.near) for part, member in zip(parts, family.members)):
                for part, member in zip(parts, family.members):
                    matching.add(mine.name, part, member, "value, stacked")
                return


def _fused_by_value(matching: Matching, theirs: Recorded) -> bool:
    """Three tensors of mine side by side, or one below the other, in one of theirs."""
    shape = list(theirs.squeezed)
    cuts: list[list[Recorded]] = []
    if len(shape) == 2 and shape[1] % 3 == 0:
        width = shape[1] // 3
        cuts.append([theirs.columns(i * width, (i + 1) * width) for i in range(3)])
    if shape and shape[0] % 3 == 0 and len(shape) <= 2:
        cells = theirs.size // 3
        names = [f"{theirs.name}[{i * shape[0] // 3}:{(i + 1) * shape[0] // 3}]" for i in range(3)]
        cuts.append(
            [
                folded(name, (shape[0] // 3, *shape[1:]), theirs.flat[i * cells : (i + 1) * cells])
                for i, name in enumerate(names)
            ]
        )
    for parts in cuts:
        found: list[Recorded | None] = []
        for part in parts:
            same = (
                m
                for m in matching.open_mine()
                if m.size == part.size and m not in found and alike(m.flat, part.flat, matching.near)
            )
            found.append(next(same, None))
        if all(m is not None for m in found):
            for m, part in zip(found, parts):
                assert m is not None
                matching.add(m.name, m, part, "value, side by side", theirs.name)
            return True
    return False


def _transposed_by_value(matching: Matching, theirs: Recorded) -> None:
    """A tensor that was stored the other way round: weights (in, out) for (out, in)."""
    if len(theirs.squeezed) != 2 or min(theirs.squeezed) < 2:
        return
    turned = theirs.transposed()
    for mine in matching.open_mine():
        if mine.squeezed == turned.shape and alike(mine.flat, turned.flat, matching.near):
            matching.add(mine.name, mine, turned, "value, transposed", theirs.name)
            return


def _shapes_fit(mine: Recorded, theirs: Recorded) -> bool:
    """Whether one is the other but for axes of size 1 and splits of the last axis."""
    a = [n for n in mine.shape if n != 1]
    b = [n for n in theirs.shape if n != 1]
    return a == b or mine.size == theirs.size


def near_by_value(mine: Recording, theirs: Recording) -> float:
    """How near is near enough, for the precision of the two."""
    bits = min(recorded_precision(mine).bits, recorded_precision(theirs).bits)
    return max(NEAR, 8 * 2.0**-bits)


def alike(a: list[float], b: list[float], near: float = NEAR) -> bool:
    """Whether two flat tensors hold the same numbers, roughly; masked cells match masked cells, and at
    least one cell must be a number other than 0."""
    size = None
    some = False
    for x, y in zip(a, b):
        if x == y:
            some = some or (x != 0 and not is_masked(x))
            continue
        if is_masked(x) and is_masked(y):
            continue
        if x != x or y != y:
            return False
        if size is None:
            size = max((abs(v) for v in a if not is_masked(v) and v == v), default=0.0)
        if not abs(x - y) <= near * size:
            return False
        some = some or x != 0
    return some
