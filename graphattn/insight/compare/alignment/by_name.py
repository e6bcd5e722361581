"""2. By name: the same, an unambiguous ending, or the same words in any order."""

from __future__ import annotations

from .by_value import alike
from .families import stacked_parts
from .matching import Matching
from .names import endings, unique_by_words, words


def by_name(matching: Matching) -> None:
    by_words = unique_by_words(matching.reference)
    for yours in matching.open_yours():
        reference = matching.reference.find(yours.name) or by_words.get(words(yours.name))
        if reference is None or reference.name in matching.used_reference:
            continue
        if (
            reference.squeezed == yours.squeezed
            or (reference.size == yours.size and 1 in reference.shape)
            or (reference.size == yours.size and alike(reference.flat, yours.flat, matching.near))
        ):
            matching.add(reference.name, reference, yours, "name")
        elif yours.name == reference.name or reference.name.endswith(f".{yours.name}"):
            matching.misfits.append((reference, yours))
    _families_by_name(matching)


def _families_by_name(matching: Matching) -> None:
    """`weights` (h, n, n) is `head*.weights`."""
    for yours in matching.open_yours():
        wanted = words(yours.name)
        for family in matching.reference_families:
            if any(member.name in matching.used_reference for member in family.members):
                continue
            if wanted - {"head"} in endings(family.name):
                parts = next(stacked_parts(yours, family), None)
                if parts is not None:
                    matching.add_family(family, parts, "name, stacked", yours.name)
                    break
    for reference in matching.open_reference():
        for family in matching.your_families:
            if any(member.name in matching.used_yours for member in family.members):
                continue
            fits = endings(family.name) & endings(reference.name)
            if fits and next(stacked_parts(reference, family), None) is not None:
                matching.add_your_family(reference, family, "name, stacked")
                break
