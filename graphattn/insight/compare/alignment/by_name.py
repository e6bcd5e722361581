"""2. By name: the same, an unambiguous ending, the same words in any order, or what a library calls it.

A tensor whose name is one of the reference's (an alias and an output are names too), but whose cells cannot be
arranged in its shape, is a misfit: it is matched with nothing else.
"""

from __future__ import annotations

from ..recording import Recorded
from .alike import alike
from .choice import arranged, stacked
from .families import stacked_parts
from .matching import Matching
from .names import dotted_endings, endings, meaning, unique_by_words, words


def by_name(matching: Matching) -> None:
    named = list(_named(matching))
    for sure in (True, False):  # what agrees tells in which order the axes of the rest stand
        for yours, reference in named:
            if yours.name in matching.used_yours or reference.name in matching.used_reference:
                continue
            fitting = arranged(matching, yours, reference)
            if fitting is not None and (alike(reference.flat, fitting[1].flat, matching.near) or not sure):
                matching.add(reference.name, reference, fitting[1], "name", order=fitting[0])
        _families_by_name(matching, sure)
    for yours, reference in named:
        exact = matching.reference.find(yours.name) is reference
        if exact and yours.name not in matching.used_yours and reference.name not in matching.used_reference:
            matching.add_misfit(reference, yours)


def _named(matching: Matching) -> list[tuple[Recorded, Recorded]]:
    """Each tensor of yours that has a name of the reference."""
    by_words = unique_by_words(matching.reference)
    by_meaning = unique_by_words(matching.reference, meaning)
    named = []
    for yours in matching.open_yours():
        reference = matching.reference.find(yours.name) or by_words.get(words(yours.name))
        for ending in dotted_endings(yours.name):
            reference = reference or by_meaning.get(meaning(ending))
        if reference is not None:
            named.append((yours, reference))
    return named


def _families_by_name(matching: Matching, sure: bool) -> None:
    """`weights` (h, n, n) is `head*.weights`."""
    for yours in matching.open_yours():
        wanted = meaning(yours.name) - {"head"}
        for family in matching.reference_families:
            if any(member.name in matching.used_reference for member in family.members):
                continue
            if words(yours.name) - {"head"} in endings(family.name) or (
                wanted and wanted in {meaning(ending) - {"head"} for ending in dotted_endings(family.name)}
            ):
                chosen = stacked(matching, yours, family)
                if chosen is None:
                    continue
                order, parts, same = chosen
                if same or not sure:
                    matching.add_family(family, parts, "name, stacked", yours.name, order)
                    break
    for reference in matching.open_reference():
        for family in matching.your_families:
            if any(member.name in matching.used_yours for member in family.members):
                continue
            if endings(family.name) & endings(reference.name):
                parts = next((parts for _, parts in stacked_parts(reference, family)), None)
                if parts is not None:
                    matching.add_your_family(reference, parts, family, "name, stacked")
                    break
