"""All parameters of one part of a graph in another that takes as many of the same shapes: cross-attention with
the weights of self-attention, the feed-forward of one layer with those of another.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ..draft import Draft
from ..intended import Intended
from ..structure.groups import Group
from ..structure.parts import Part
from ..variant import Variant, one

NEAR = 2
"""So many parts before one, and after it, are tried."""


def shared(intended: Intended, group: Group) -> Iterator[Variant]:
    """For the first step of a part that takes parameters."""
    for alike in intended.parts.get(group[0], ()) if len(group) == 1 else ():
        place = next(i for i, part in enumerate(alike) if part.nodes[0] == group[0])
        own = alike[place]
        for other in alike[max(0, place - NEAR) : place + NEAR + 1]:
            if all(ref != other.uses[use] for use, ref in own.uses.items()):
                words = f"with the parameters of {other.name} in {own.name} too"
                yield Variant("shared", words, 1.3, own.nodes, one(intended, partial(_take, own, other)))


def _take(own: Part, other: Part, draft: Draft) -> None:
    for (step, slot), ref in other.uses.items():
        draft.operand(f"{own.name}.{step}", slot, ref)
