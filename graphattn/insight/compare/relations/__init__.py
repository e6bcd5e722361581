"""What two tensors of different numbers have to do with each other.

    relations(reference, yours, context) -> [Relation, …], the first that holds by the order below

A finder is a function of the two `Sides` that yields what holds between them (within the tolerance, and
beyond chance: see `chance`). To add one: write it in the file of its kind and enter it below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ....core.words import sizes
from ..recording import Recorded
from .dropped import dropout
from .each_line import line_factors, line_offsets
from .elsewhere import others
from .masked import masks
from .moved import permutation, reshape, same_numbers, shift, transpose
from .one_number import affine, factor, offset, sign
from .part import part
from .rounding import rounding
from .shares import not_shares, temperature
from .sides import Context, Relation, Sides
from .some_cells import localized

Finder = Callable[[Sides], Iterator[Relation]]
SAME_SHAPE: tuple[Finder, ...] = (
    rounding,
    masks,
    sign,
    factor,
    offset,
    dropout,
    others,
    temperature,
    transpose,
    permutation,
    shift,
    reshape,
    localized,
    line_factors,
    line_offsets,
    affine,
    same_numbers,
    not_shares,
)
"""The order of precedence, the simplest first: the first that holds is told, and no other."""
OTHER_SHAPE: tuple[Finder, ...] = (others, transpose, reshape, part, same_numbers)
"""The same for tensors of two shapes."""
INFINITE: tuple[Finder, ...] = (masks, localized)
"""The same where cells are infinite on one side alone: what is said of all cells does not hold."""
GOES_ON: tuple[Finder, ...] = (masks,)
"""After these the next is tried too: the cells that are visible may have changed as well."""
ALSO: dict[Finder, tuple[Finder, ...]] = {factor: (others,)}
"""What else to try where one holds: a factor may be a step that was left out."""
RELATED = 2e-5
"""The tolerance where tensors are matched by their relation."""


def relations(reference: Recorded, yours: Recorded, context: Context | None = None) -> list[Relation]:
    """What yours has to do with the reference (see the module's docstring); [] where nothing is found."""
    context = context or Context()
    if (
        not reference.size
        or not yours.size
        or (reference.shape == yours.shape and reference.rows == yours.rows and not reference.no_numbers)
    ):
        return []
    sides = Sides(reference, yours, context)
    named: list[Relation] = []
    if sides.bools and sides.same_shape:
        return list(masks(sides))
    finders = INFINITE if sides.infinite else SAME_SHAPE if sides.same_shape else OTHER_SHAPE
    for finder in finders:
        holding = list(finder(sides))
        named += holding
        if holding and finder not in GOES_ON:
            named += [relation for other in ALSO.get(finder, ()) for relation in other(sides)]
            break
    if not named and not sides.same_shape:
        shape = sizes(yours.shape)
        named.append(Relation("shape", f"of another shape, {shape}", {"shape": list(yours.shape)}))
    return named


def simple_relation(reference: Recorded, yours: Recorded) -> Relation | None:
    """A factor, an offset or a turn, for tensors that have no name in common."""
    sides = Sides(reference, yours, Context(tau=RELATED))
    if sides.same_shape and sides.hidden_reference == sides.hidden_yours:
        cells = sides.cells()
        for finder in (sign, factor, offset):
            for relation in finder(sides, cells):
                return relation
        for relation in permutation(sides):
            return relation
    for relation in transpose(sides):
        return relation
    return None
