"""1. By the names that were given, {reference: yours}."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ....core.errors import GraphError
from ..recording import Recorded, sizes
from .families import stacked_parts
from .matching import Matching

PART = re.compile(r"^(.*?)\[\s*(\d+(?:\s*,\s*\d+)*)\s*\]$")
"""`attn[0, 1]`"""


def by_mapping(matching: Matching, names: Mapping[str, str]) -> None:
    for ours, other in names.items():
        if not isinstance(ours, str) or not isinstance(other, str):
            raise GraphError(f"names holds {ours!r}: {other!r}; expected names of tensors, reference: yours")
        yours, whole = _your_part(matching, other)
        family = next((f for f in matching.reference_families if f.name == ours), None)
        if family is not None:
            parts = next(stacked_parts(yours, family), None)
            if parts is None:
                raise GraphError(
                    f"names: {ours} is {sizes(family.shape)} and {other} is {sizes(yours.shape)};"
                    " expected the heads along its first axis"
                )
            matching.add_family(family, parts, "mapping", whole)
            continue
        reference = matching.reference.need(ours)
        if reference.size != yours.size:
            raise GraphError(
                f"names: {ours} is {sizes(reference.shape)} and {other} is {sizes(yours.shape)};"
                " expected as many cells"
            )
        matching.add(reference.name, reference, yours, "mapping", whole)


def _your_part(matching: Matching, name: str) -> tuple[Recorded, str]:
    part = PART.match(name)
    if part is None or matching.yours.find(name) is not None:
        found = matching.yours.need(name)
        return found, found.name
    whole = matching.yours.need(part[1])
    index = [int(i) for i in part[2].split(",")]
    if len(index) >= len(whole.shape) or any(i >= n for i, n in zip(index, whole.shape)):
        raise GraphError(
            f"names: {name!r} is no part of {sizes(whole.shape)}; expected an index of its first axes"
        )
    return whole.part(index), whole.name
