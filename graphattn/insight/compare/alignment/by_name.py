"""2. By name: the same, an unambiguous ending, or the same words in any order."""

from __future__ import annotations

from .by_value import alike
from .families import stacked_parts
from .matching import Matching
from .names import endings, unique_by_words, words


def by_name(matching: Matching) -> None:
    by_words = unique_by_words(matching.mine)
    for theirs in matching.open_theirs():
        mine = matching.mine.find(theirs.name) or by_words.get(words(theirs.name))
        if mine is None or mine.name in matching.used_mine:
            continue
        if (
            mine.squeezed == theirs.squeezed
            or (mine.size == theirs.size and 1 in mine.shape)
            or (mine.size == theirs.size and alike(mine.flat, theirs.flat, matching.near))
        ):
            matching.add(mine.name, mine, theirs, "name")
        elif theirs.name == mine.name or mine.name.endswith(f".{theirs.name}"):
            matching.misfits.append((mine, theirs))
    _families_by_name(matching)


def _families_by_name(matching: Matching) -> None:
    """`weights` (h, n, n) is `head*.weights`."""
    for theirs in matching.open_theirs():
        wanted = words(theirs.name)
        for family in matching.mine_families:
            if any(member.name in matching.used_mine for member in family.members):
                continue
            if wanted - {"head"} in endings(family.name):
                parts = next(stacked_parts(theirs, family), None)
                if parts is not None:
                    matching.add_family(family, parts, "name, stacked", theirs.name)
                    break
    for mine in matching.open_mine():
        for family in matching.their_families:
            if any(member.name in matching.used_theirs for member in family.members):
                continue
            fits = endings(family.name) & endings(mine.name)
            if fits and next(stacked_parts(mine, family), None) is not None:
                matching.add_their_family(mine, family, "name, stacked")
                break
