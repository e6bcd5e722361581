"""All generators, and every variant of a graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from ..intended import Intended
from ..structure.groups import Group, numbered
from ..variant import LAYER, Generator, Variant
from .added import added, factors, tables
from .angles import angles
from .attributes import attributes
from .axes import axes
from .cache import cache
from .constants import constants
from .declared import declared
from .derivatives import derivatives
from .distances import distances
from .engine import engine
from .folded import folded
from .full_width import full_width
from .handed import handed
from .head_count import head_count
from .head_tables import head_tables
from .heads import heads
from .indices import indices
from .layout import layout
from .mask_numbers import mask_numbers
from .masks import masks
from .move import move
from .numbers import numbers
from .on_scalars import on_scalars
from .operands import operands
from .padding import padding
from .places import places
from .pooling import pooling
from .reading import reading
from .repeat import repeat
from .residual import residual
from .returned import returned
from .rounding import rounding
from .shared import shared
from .shift import shift
from .sibling import sibling
from .skip import skip
from .slots import slots
from .stages import stages
from .summands import summands
from .swap import crossed, swap
from .terms import terms
from .visible import patterns, visible
from .within_tokens import within_tokens

GENERATORS: tuple[Generator, ...] = (
    engine, on_scalars, handed, derivatives, skip, attributes, declared, masks, mask_numbers, operands,
    summands, heads, folded, full_width, within_tokens, head_count, stages, axes, swap, crossed, reading, move,
    sibling, constants, indices, rounding, angles, head_tables, cache, padding, pooling, tables, layout,
    repeat, residual, added, factors, shift, slots, terms, places, distances, patterns, returned,
    shared,
)  # fmt: skip
"""Everything that can be done to the nodes of a role, the likeliest first."""

WIDE: tuple[Generator, ...] = (
    engine, on_scalars, handed, derivatives, skip, attributes, declared, masks, operands, heads, full_width,
    reading, move, sibling, constants, head_tables, terms, crossed,
)  # fmt: skip
"""What is done to kinds, which are wider than a role."""

LATE: tuple[Generator, ...] = (
    layout, places, distances, patterns, repeat, residual, added, factors, shift, slots,
)  # fmt: skip
"""Those whose variants are all unlikely."""
NUMBERS: tuple[Generator, ...] = (numbers, visible)
"""What leaves a number, or a mask, open: tried last, for each takes several evaluations."""
UNLIKELY = 0.6
"""What it costs to believe that one of several alike was got wrong alone."""
ODD = 1.4
"""What is declared as dear as this is another function altogether, which no one of several alike has alone."""
WIDER = 0.05
"""What it costs to believe that all of an op were got wrong."""


def variants(
    intended: Intended, nodes: Iterable[str] | None = None, generators: Iterable[Generator] = GENERATORS,
    rest: bool | None = None, thorough: bool = True,
) -> Iterator[Variant]:  # fmt: skip
    """Every variant of the graph, or those about the nodes alone that are named. What is done to one of
    several nodes of a role costs more than what is done to them all. `rest` asks for one part: True for what
    costs at least `UNLIKELY` more than the likeliest, False for all else. Not `thorough` leaves out what is
    unlikely twice."""
    chosen = None if nodes is None else set(nodes)
    for group in intended.groups:
        if chosen is not None and not chosen.issuperset(group):
            continue
        siblings = intended.siblings[group[0]]
        alone = len(group) == 1 and _is_parallel(intended, siblings)
        less = UNLIKELY if alone else UNLIKELY / 2 if (len(group), len(siblings)) == (2, 3) else 0.0
        later = 0.0 if less else _later(intended, group)
        wide = WIDER * (group in intended.kinds)
        for generator in generators:
            if wide and generator not in WIDE:
                continue
            if rest is not None and rest != (alone or generator in LATE):
                continue
            if alone and generator in LATE and not thorough:
                continue
            for variant in generator(intended, group):
                if alone and generator is declared and variant.price >= ODD:
                    continue
                variant.intended = intended
                variant.price += wide + less
                variant.later += later
                yield variant


def _later(intended: Intended, group: Group) -> float:
    """By how much a group is looked at later: one layer after all of them, and one of several heads, in one
    layer or in all, as late as one head of the only layer."""
    own = set(group)
    found = {role for name in group for role in intended.roles_of(name) if not own.issuperset(role)}
    roles = [role for role in found if numbered(role)]
    return UNLIKELY if any(_is_parallel(intended, role) for role in roles) else LAYER * bool(roles)


def _is_parallel(intended: Intended, group: Group) -> bool:
    """Whether a role is several nodes side by side (heads), not one after the other (layers): these are rather
    got wrong all alike."""
    return len(group) > 1 and not any(intended.depends(b, on=a) for a, b in pairwise(group))
