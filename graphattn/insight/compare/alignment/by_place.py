"""5. By place between tensors that are matched, where shapes leave one choice."""

from __future__ import annotations

from collections.abc import Mapping

from ..recording import Recorded
from .matching import Matching
from .names import MEANINGS, meaning, unnumbered


def by_place(matching: Matching) -> None:
    """What stands alone between the same neighbours; and the last of yours, for the last of the reference."""
    if not matching.pairs:
        return
    yours_at = {pair.other: pair.key for pair in matching.pairs}
    reference_runs = _runs(matching.reference.tensors, {pair.key: pair.key for pair in matching.pairs})
    misfits = {id(yours) for _, yours in matching.misfits}
    for ends, between in _runs(matching.yours.tensors, yours_at).items():
        other = reference_runs.get(ends, [])
        if [t.squeezed for t in between] == [t.squeezed for t in other]:
            for reference, yours in zip(other, between):
                if id(yours) not in misfits and _may_be(matching, yours, reference):
                    matching.add(reference.name, reference, yours, "place")
    reference, yours = (list(side.tensors.values())[-1] for side in (matching.reference, matching.yours))
    free = yours.name not in matching.used_yours and reference.name not in matching.used_reference
    if (
        free
        and matching.may_be(yours.name, reference.name)
        and reference.squeezed == yours.squeezed
        and id(yours) not in misfits
    ):
        matching.add(reference.name, reference, yours, "place")


def _may_be(matching: Matching, yours: Recorded, reference: Recorded) -> bool:
    """Whether the name of yours does not say that it is something else: by a word of other tensors of the
    reference, or one that libraries use."""
    said, own = unnumbered(meaning(yours.name)), meaning(reference.name)
    another = said & (matching.vocabulary | MEANINGS) and not said & own
    return matching.may_be(yours.name, reference.name) and not another


def _runs(
    tensors: Mapping[str, Recorded], matched: Mapping[str, str]
) -> dict[tuple[str | None, str | None], list[Recorded]]:
    """What stands between matched neighbours, by the names in the reference of these neighbours."""
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
