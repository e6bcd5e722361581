"""4. By relation: the reference times a factor, transposed, …; and what follows from that by value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....core.errors import GraphError
from ....core.run import run
from ..masked_cells import is_masked
from ..reading import of_trace
from ..recording import Recorded
from ..relations import simple_relation
from .alike import alike
from .by_value import by_value
from .families import stacked_parts
from .matching import Matching, by_shape

SAMPLED = 1e-3
"""How near a few cells must be to a relation for all to be looked at."""


def by_relation(matching: Matching) -> None:
    """The reference but for a factor, a turn, …; and what the reference would be if it went on from there."""
    for _ in range(4):
        count = len(matching.pairs)
        _in_order(matching)
        _as_if(matching)
        if len(matching.pairs) == count:
            return


def _in_order(matching: Matching) -> None:
    """Each tensor that is left, with the next one of the reference that has its shape and fits."""
    order = {name: i for i, name in enumerate(matching.reference.tensors)}
    matched: dict[str, int] = {}
    for pair in matching.pairs:
        matched[pair.other] = min(order[pair.key], matched.get(pair.other, len(order)))
    left = by_shape(matching.open_reference())
    right = by_shape(p.reference for p in matching.pairs if p.how == "value" and p.reference.name == p.key)
    before = -1
    for yours in matching.yours.tensors.values():
        if yours.name in matching.used_yours:
            before = matched.get(yours.name, before)
            continue
        if any(yours is misfit for _, misfit in matching.misfits):
            continue
        same = sorted(left.get(yours.squeezed, ()), key=lambda m: order[m.name] < before)
        related = _next(matching, yours, same, right.get(yours.squeezed, ()))
        if related is not None:
            before = order[related.name]


def _next(
    matching: Matching, yours: Recorded, same: Sequence[Recorded], right: Sequence[Recorded]
) -> Recorded | None:
    """Match with the first of `same` that is left and related, with a family, or with what was `right` once."""
    for reference in same:
        if reference.name in matching.used_reference or not matching.may_be(yours.name, reference.name):
            continue
        if _related(reference, yours):
            matching.add(reference.name, reference, yours, "relation")
            return reference
    for family in matching.reference_families_of.get(yours.size, ()):
        if not matching.is_open(family, yours.name):
            continue
        for axes, parts in stacked_parts(yours, family):
            if all(map(_related, family.members, parts)):
                matching.add_family(family, parts, "relation, stacked", yours.name, axes)
                return family.members[0]
    for reference in right:  # once right, and then moved
        if matching.may_be(yours.name, reference.name) and _related(reference, yours):
            matching.add(reference.name, reference, yours, "relation")
            return reference
    return None


def _as_if(matching: Matching) -> None:
    """By value, against what the reference's steps give from those of your tensors that differ."""
    trace = matching.reference.trace
    if trace is None or not matching.open_yours():
        return
    patch: dict[str, Any] = {}
    for pair in matching.pairs:
        fits = pair.reference.shape == pair.yours.shape == matching.reference.tensors[pair.key].shape
        if (
            fits
            and trace.spec(pair.key).kind == "float"
            and not alike(pair.reference, pair.yours, matching.near)
        ):
            patch[pair.key] = pair.yours.nested()
    if not patch:
        return
    try:
        again = run(trace.graph, trace.feeds, level="block", patch=patch, allow_nonfinite=True)
    except GraphError:
        return
    as_if = Matching(of_trace(again), matching.yours, matching.near)
    as_if.used_reference, as_if.used_yours = set(matching.used_reference), set(matching.used_yours)
    by_value(as_if)
    for pair in as_if.pairs:
        reference = matching.reference.tensors[pair.key]
        if reference.shape == pair.yours.shape:
            matching.add(
                pair.key, reference, pair.yours, "value, as if the reference went on from yours", pair.other
            )
    for yours, reference in as_if.copies:
        if reference in matching.used_reference:
            matching.copies.append((yours, reference))
            matching.used_yours.add(yours)


def _related(reference: Recorded, yours: Recorded) -> bool:
    if reference.squeezed == yours.squeezed:
        yours = yours.as_shape(reference.shape)
    return _may_relate(reference, yours) and simple_relation(reference, yours) is not None


def _may_relate(a: Recorded, b: Recorded) -> bool:
    """Whether a few cells, and their mean square, leave room for a factor, an offset or another order."""
    if abs(a.spread - b.spread) <= SAMPLED * max(a.spread, b.spread):
        return True
    size = max(a.largest, b.largest)
    cells = [
        (x / size, y / size) for x, y in zip(a.flat[:: max(1, a.size // 7)], b.flat[:: max(1, a.size // 7)])
        if x and y and not is_masked(x) and not is_masked(y)
    ]  # fmt: skip
    limit = SAMPLED * (a.largest / size + b.largest / size)
    if len(cells) < 2:
        return True
    (x, y), *rest = cells
    return all(abs(p * y - q * x) <= limit * abs(x) for p, q in rest) or all(
        abs((q - p) - (y - x)) <= limit for p, q in rest
    )
