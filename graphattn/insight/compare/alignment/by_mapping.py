"""1. By the names that were given, {reference: yours}."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ....core.errors import GraphError
from ....core.words import listed, sizes, typed
from ..recording import Recorded, Recording
from .choice import arranged, stacked
from .families import Family
from .matching import Matching

PART = re.compile(r"^(.*?)\[\s*(\d+(?:\s*,\s*\d+)*)\s*\]$")
"""`attn[0, 1]`"""


def read_names(names: Any) -> dict[str, str]:
    """The names that were given, {reference: yours}."""
    if not isinstance(names, (Mapping, type(None))):
        raise GraphError(f"names is {typed(names)}; expected a dict of names, reference: yours")
    for ours, other in (names or {}).items():
        if not isinstance(ours, str) or not isinstance(other, str):
            raise GraphError(f"names holds {ours!r}: {other!r}; expected names of tensors, reference: yours")
    return dict(names or {})


def by_mapping(matching: Matching, names: Mapping[str, str]) -> None:
    for ours, other in names.items():
        yours, whole = part_of(matching.yours, other)
        family = _family(matching, ours)
        if family is not None:
            chosen = stacked(matching, yours, family)
            if chosen is None:
                raise GraphError(
                    f"names: {ours} is {sizes(family.shape)} and {other} is {sizes(yours.shape)};"
                    " expected one part for each head"
                )
            matching.add_family(family, chosen.parts, "mapping", whole, chosen.order)
            continue
        reference = matching.reference.need(ours)
        if reference.size != yours.size:
            raise GraphError(
                f"names: {ours} is {sizes(reference.shape)} and {other} is {sizes(yours.shape)};"
                " expected as many cells"
            )
        chosen = arranged(matching, yours, reference)
        order, fitting = (None, yours) if chosen is None else (chosen.order, chosen.parts[0])
        matching.add(reference.name, reference, fitting, "mapping", whole, order)


def _family(matching: Matching, name: str) -> Family | None:
    """The family of that name, or of the only one that ends in it: `head*.weights`."""
    if "*" not in name:
        return None
    families = matching.reference_families
    ending = [f for f in families if f.name == name] or [f for f in families if f.name.endswith(f".{name}")]
    if len(ending) == 1:
        return ending[0]
    known = [f.name for f in ending or families]
    raise GraphError(
        f"names: {name!r} is {'the ending of several' if ending else 'no family of tensors'};"
        f" expected one of {listed(known)}"
    )


def part_of(yours: Recording, name: str) -> tuple[Recorded, str]:
    """The tensor of that name, or the part of one (`attn[0, 1]`); and the name of the whole."""
    part = PART.match(name)
    if part is None or yours.find(name) is not None:
        tensor = yours.need(name)
        return tensor, tensor.name
    whole = yours.need(part[1])
    index = [int(i) for i in part[2].split(",")]
    if len(index) >= len(whole.shape) or any(i >= n for i, n in zip(index, whole.shape)):
        raise GraphError(
            f"names: {name!r} is no part of {sizes(whole.shape)}; expected an index of its first axes"
        )
    return whole.part(index), whole.name
