"""2. By name: the same, an unambiguous ending, the same words in any order, or what a library calls it.

Numbers count from 0 or from 1, or the first has none: layer_norm and layer_norm_1 are norm1 and norm2. Where as
many tensors are called alike but for their numbers, they are matched in order; and a number alone is believed
only after the values were asked (`numbered`).

A tensor whose name is one of the reference's (an alias and an output are names too), but whose cells cannot be
arranged in its shape, is a misfit: it is matched with nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..recording import Recorded
from .alike import alike
from .choice import arranged, stacked
from .families import Family, stacked_parts
from .matching import Matching, grouped
from .names import dotted_endings, endings, meaning, numbers_of, unnumbered, words

Named = tuple[Recorded, Recorded]
"""A tensor of yours, and that of the reference whose name it has."""


def by_name(matching: Matching) -> None:
    named = _named(matching)
    if any(name not in matching.reference.tensors for name in matching.yours.tensors):
        named = _renumbered(matching, [pair for pair in named if not _by_number(matching, *pair)])
    _match(matching, named)
    for yours, reference in named:
        if yours.name in matching.used_yours or reference.name in matching.used_reference:
            continue
        if matching.reference.find(yours.name) is reference:
            matching.add_misfit(reference, yours)


def numbered(matching: Matching) -> None:
    """What is called alike by another name, its number too, though its value is another's."""
    _match(matching, list(_named(matching)))


def _match(matching: Matching, named: list[Named]) -> None:
    """Match what is named alike, what agrees first."""
    for sure in (True, False):  # what agrees tells in which order the axes of the rest stand
        for yours, reference in named:
            if yours.name in matching.used_yours or reference.name in matching.used_reference:
                continue
            fitting = arranged(matching, yours, reference)
            if fitting is None:
                continue
            order, (tensor,) = fitting.order, fitting.parts
            only = order == tuple(range(len(order))) and len(order) < 3
            if only or fitting.sure or not sure:
                matching.add(reference.name, reference, tensor, "name", order=None if only else order)
        _families_by_name(matching, sure)


def _by_number(matching: Matching, yours: Recorded, reference: Recorded) -> bool:
    """Whether only a number under another name says that two are the same, and their cells do not."""
    if matching.reference.find(yours.name) is reference or unnumbered(meaning(yours.name)) == meaning(
        yours.name
    ):
        return False
    fitting = arranged(matching, yours, reference)
    return fitting is not None and not alike(reference, fitting.parts[0], matching.near)


def _renumbered(matching: Matching, named: list[Named]) -> list[Named]:
    """What is named alike; where as many tensors of one shape differ in their numbers alone, and these are
    others on the two sides, in the order of these."""
    by_yours = {yours.name: (yours, reference) for yours, reference in named}
    for part in (lambda name: name, lambda name: name.rpartition(".")[2]):  # the whole name, its last part
        theirs, own = (
            grouped(
                tensors, lambda tensor, part=part: (unnumbered(meaning(part(tensor.name))), tensor.squeezed)
            )
            for tensors in (matching.open_yours(), matching.open_reference())
        )
        for key, yours in theirs.items():
            references = own.get(key, [])
            if key[0] and 1 < len(yours) == len(references):
                by_yours |= {pair[0].name: pair for pair in _in_order(matching, yours, references, by_yours)}
    return list(by_yours.values())


def _in_order(
    matching: Matching, yours: list[Recorded], references: list[Recorded], by_yours: Mapping[str, Named]
) -> list[Named]:
    """Tensors that differ in their numbers alone in the order of these; none where the numbers are the same, or
    where more agree by their names (as many, where a name is the same)."""
    numbers, others = ([numbers_of(tensor.name) for tensor in group] for group in (yours, references))
    if sorted(numbers) == sorted(others):
        return []
    if all(numbers):
        yours = sorted(yours, key=lambda tensor: numbers_of(tensor.name))
    called = [by_yours[tensor.name] for tensor in yours if tensor.name in by_yours]
    in_order = list(zip(yours, references))
    more = _agreeing(matching, in_order) - _agreeing(matching, called)
    exact = any(matching.reference.find(tensor.name) is reference for tensor, reference in called)
    return in_order if more > 0 or (more == 0 and not exact) else []


def _agreeing(matching: Matching, pairs: list[Named]) -> int:
    return sum(
        alike(reference, yours, matching.near) for yours, reference in pairs if yours.size == reference.size
    )


def _named(matching: Matching) -> list[Named]:
    """Each tensor of yours that has a name of the reference."""
    found = ((yours, _called(matching, yours.name)) for yours in matching.open_yours())
    return [
        (yours, reference)
        for yours, reference in found
        if reference is not None and matching.may_be(yours.name, reference.name)
    ]


def _called(matching: Matching, name: str) -> Recorded | None:
    """The tensor of the reference of that name, of its words, or of what it means."""
    reference = matching.reference.find(name) or matching.by_words.get(words(name))
    if reference is not None:
        return reference
    meant = (matching.by_meaning.get(meaning(ending)) for ending in dotted_endings(name))
    return next((tensor for tensor in meant if tensor is not None), None)


def _families_by_name(matching: Matching, sure: bool) -> None:
    """`weights` (h, n, n) is `head*.weights`."""
    if matching.done:
        return
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
            if chosen is not None and (chosen.sure or not sure):
                matching.add_family(family, chosen.parts, "name, stacked", yours.name, chosen.order)
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
