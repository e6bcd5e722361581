"""4. By relation: what is mine times a factor, transposed, …; and what follows such a tensor by value again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....core.errors import GraphError
from ....core.trace import run
from ..recording import Recorded, of_trace
from ..relations import simple_relation
from .by_value import alike, by_value
from .families import stacked_parts
from .matching import Matching


def by_relation(matching: Matching) -> None:
    """What is mine but for a factor, a turn, …; and what mine would be if it went on from there."""
    for _ in range(4):
        count = len(matching.pairs)
        _in_order(matching)
        _as_if(matching)
        if len(matching.pairs) == count:
            return


def _in_order(matching: Matching) -> None:
    """Each tensor that is left, with the next one of mine that has its shape and fits."""
    order = {name: i for i, name in enumerate(matching.mine.tensors)}
    matched: dict[str, int] = {}
    for pair in matching.pairs:
        matched[pair.other] = min(order[pair.key], matched.get(pair.other, len(order)))
    before = -1
    for theirs in matching.theirs.tensors.values():
        if theirs.name in matching.used_theirs:
            before = matched.get(theirs.name, before)
            continue
        if any(theirs is misfit for _, misfit in matching.misfits):
            continue
        found = _next(matching, theirs, order, before)
        if found is not None:
            before = order[found.name]


def _next(
    matching: Matching,
    theirs: Recorded,
    order: Mapping[str, int],
    before: int,
) -> Recorded | None:
    """Match with what comes after a place in mine, else with what comes before it."""
    same = [m for m in matching.open_mine() if m.squeezed == theirs.squeezed]
    for mine in sorted(same, key=lambda m: order[m.name] < before):
        if _related(mine, theirs):
            matching.add(mine.name, mine, theirs, "relation")
            return mine
    for family in matching.mine_families:
        if family.size != theirs.size or any(m.name in matching.used_mine for m in family.members):
            continue
        for parts in stacked_parts(theirs, family):
            if all(map(_related, family.members, parts)):
                matching.add_family(family, parts, "relation, stacked", theirs.name)
                return family.members[0]
    for pair in [p for p in matching.pairs if p.how == "value" and p.mine.squeezed == theirs.squeezed]:
        if pair.mine.name == pair.key and _related(pair.mine, theirs):  # once right, and then moved
            matching.add(pair.key, pair.mine, theirs, "relation")
            return pair.mine
    return None


def _as_if(matching: Matching) -> None:
    """By value, against what mine's steps give from those of theirs's tensors that differ."""
    trace = matching.mine.trace
    if trace is None or not matching.open_theirs():
        return
    patch: dict[str, Any] = {}
    for pair in matching.pairs:
        fits = pair.mine.shape == pair.theirs.shape == matching.mine.tensors[pair.key].shape
        if (
            fits
            and trace.spec(pair.key).kind == "float"
            and not alike(pair.mine.flat, pair.theirs.flat, matching.near)
        ):
            patch[pair.key] = pair.theirs.nested()
    if not patch:
        return
    feeds = {name: trace[name] for name in trace.graph.inputs if name in trace}
    try:
        again = run(trace.graph, feeds, level="block", patch=patch, allow_nonfinite=True)
    except GraphError:
        return
    as_if = Matching(of_trace(again), matching.theirs, matching.near)
    as_if.used_mine, as_if.used_theirs = set(matching.used_mine), set(matching.used_theirs)
    by_value(as_if)
    for pair in as_if.pairs:
        mine = matching.mine.tensors[pair.key]
        if mine.shape == pair.theirs.shape:
            matching.add(pair.key, mine, pair.theirs, "value, as if mine went on from theirs", pair.other)
    for theirs, mine in as_if.copies:
        if mine in matching.used_mine:
            matching.copies.append((theirs, mine))
            matching.used_theirs.add(theirs)


def _related(mine: Recorded, theirs: Recorded) -> bool:
    if mine.squeezed == theirs.squeezed:
        theirs = theirs.as_shape(mine.shape)
    return simple_relation(mine, theirs) is not None
