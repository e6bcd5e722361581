"""5. By place between tensors that are matched, where shapes leave one choice."""

from __future__ import annotations

from collections.abc import Mapping

from ..recording import Recorded
from .matching import Matching


def by_place(matching: Matching) -> None:
    """What stands alone between the same neighbours; and the last of theirs, for the last of mine."""
    if not matching.pairs:
        return
    theirs_at = {pair.other: pair.key for pair in matching.pairs}
    mine_runs = _runs(matching.mine.tensors, {pair.key: pair.key for pair in matching.pairs})
    misfits = {id(theirs) for _, theirs in matching.misfits}
    for ends, between in _runs(matching.theirs.tensors, theirs_at).items():
        other = mine_runs.get(ends, [])
        if [t.squeezed for t in between] == [t.squeezed for t in other]:
            for mine, theirs in zip(other, between):
                if id(theirs) not in misfits:
                    matching.add(mine.name, mine, theirs, "place")
    mine, theirs = (list(side.tensors.values())[-1] for side in (matching.mine, matching.theirs))
    free = theirs.name not in matching.used_theirs and mine.name not in matching.used_mine
    if free and mine.squeezed == theirs.squeezed and id(theirs) not in misfits:
        matching.add(mine.name, mine, theirs, "place")


def _runs(
    tensors: Mapping[str, Recorded], matched: Mapping[str, str]
) -> dict[tuple[str | None, str | None], list[Recorded]]:
    """What stands between matched neighbours, by the names in mine of these neighbours."""
    runs: dict[tuple[str | None, str | None], list[Recorded]] = {}
    before: str | None = None
    run: list[Recorded] = []
    for name, tensor in [*tensors.items(), (None, None)]:
        if tensor is not None and name not in matched:
            run.append(tensor)
            continue
        after = None if name is None else matched[name]
        if run:
            runs[before, after] = run
        before, run = after, []
    return runs
