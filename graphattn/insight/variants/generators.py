"""All generators, and every variant of a graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .added import added, factors
from .attributes import attributes
from .constants import constants
from .declared import declared
from .heads import heads
from .intended import Intended
from .masks import masks
from .move import move
from .operands import operands
from .reading import reading
from .repeat import repeat
from .sibling import sibling
from .skip import skip
from .swap import swap
from .variant import Generator, Variant

GENERATORS: tuple[Generator, ...] = (
    skip, attributes, declared, masks, operands, heads, swap, reading, move, sibling, constants,
    repeat, added, factors,
)  # fmt: skip
"""Everything that can be done to the nodes of a role, the likeliest first."""

LATE: tuple[Generator, ...] = (repeat, added, factors)
"""Those whose variants are all unlikely."""
UNLIKELY = 0.6
"""What it costs to believe that one of several alike was got wrong alone."""


def variants(
    intended: Intended, nodes: Iterable[str] | None = None, generators: Iterable[Generator] = GENERATORS,
    rest: bool | None = None,
) -> Iterator[Variant]:  # fmt: skip
    """Every variant of the graph, or those about the nodes alone that are named. What is done to one of
    several nodes of a role costs more than what is done to them all. `rest` asks for one part: True for what
    costs at least `UNLIKELY` more than the likeliest, False for all else."""
    chosen = None if nodes is None else set(nodes)
    for group in intended.groups:
        if chosen is not None and not chosen.issuperset(group):
            continue
        alone = len(group) == 1 and len(intended.siblings[group[0]]) > 1
        for generator in generators:
            if rest is not None and rest != (alone or generator in LATE):
                continue
            for variant in generator(intended, group):
                variant.intended = intended
                if alone:
                    variant.price += UNLIKELY
                yield variant
