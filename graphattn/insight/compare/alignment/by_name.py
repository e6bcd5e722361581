"""2. By name: the same, an unambiguous ending, the same words in any order, or what a library calls it.

A tensor whose name is one of the reference's (an alias and an output are names too), but whose cells cannot be
arranged in its shape, is a misfit: it is matched with nothing else.
"""

from __future__ import annotations

from ..recording import Recorded
from .alike import alike
from .choice import arranged, stacked
from .families import Family, stacked_parts
from .matching import Matching
from .names import dotted_endings, endings, meaning, unique_by_words, words


def by_name(matching: Matching) -> None:
    named = list(_named(matching))
    for sure in (True, False):  # what agrees tells in which order the axes of the rest stand
        for yours, reference in named:
            if yours.name in matching.used_yours or reference.name in matching.used_reference:
                continue
            fitting = arranged(matching, yours, reference)
            if fitting is None:
                continue
            order, tensor = fitting
            only = order == tuple(range(len(order))) and len(order) < 3
            if only or not sure or alike(reference, tensor, matching.near):
                matching.add(reference.name, reference, tensor, "name", order=None if only else order)
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
        if reference is not None and matching.may_be(yours.name, reference.name):
            named.append((yours, reference))
    return named


def _families_by_name(matching: Matching, sure: bool) -> None:
    """`weights` (h, n, n) is `head*.weights`."""
    by_ending: dict[frozenset[str], list[Family]] = {}
    for family in matching.reference_families:
        called = {meaning(ending) - {"head"} for ending in dotted_endings(family.name)}
        for key in endings(family.name) | called - {frozenset()}:
            by_ending.setdefault(key, []).append(family)
    for yours in matching.open_yours():
        wanted = (words(yours.name) - {"head"}, meaning(yours.name) - {"head"})
        for family in [family for key in dict.fromkeys(wanted) for family in by_ending.get(key, ())]:
            if family.size != yours.size or not matching.is_open(family, yours.name):
                continue
            chosen = stacked(matching, yours, family)
            if chosen is not None and (chosen[2] or not sure):
                matching.add_family(family, chosen[1], "name, stacked", yours.name, chosen[0])
                break
    for reference in matching.open_reference() if matching.your_families else ():
        for family in matching.your_families_of.get(reference.size, ()):
            if not endings(family.name) & endings(reference.name) or any(
                member.name in matching.used_yours or not matching.may_be(member.name, reference.name)
                for member in family.members
            ):
                continue
            parts = next((parts for _, parts in stacked_parts(reference, family)), None)
            if parts is not None:
                matching.add_your_family(reference, parts, family, "name, stacked")
                break
