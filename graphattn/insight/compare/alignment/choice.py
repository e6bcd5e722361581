"""In which order of its axes a tensor of yours is read, where several fit: the one in which it agrees, or is by
far the nearest; of those that are as near, the one in which most of what was matched so far agrees; else the
usual one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ..recording import Recorded
from .alike import RELATED, TIGHT, alike, apart
from .arrangements import Layout, Order, arrangements, layout, row_by_row, swaps_last
from .families import Family, stacked_parts
from .matching import Matching

CLEAR = 2.0
"""An order in which a tensor is so many times as near as in another is the better one."""


class Choice(NamedTuple):
    """Yours, or its parts, in one order of its axes. `sure`: whether the numbers say that it is that order."""

    order: Order
    layout: Layout
    parts: list[Recorded]
    sure: bool = False


def arranged(matching: Matching, yours: Recorded, reference: Recorded) -> Choice | None:
    """Yours in the shape of the reference, as the one part. What was computed may not be transposed unasked,
    least of all a result."""
    shape, given = yours.squeezed, matching.is_input(reference.name)
    if shape == reference.squeezed and (len(set(shape)) == len(shape) or (len(shape) < 3 and not given)):
        usual_order = tuple(range(len(shape)))  # no other fits
        return Choice(usual_order, (False, usual_order), [yours.as_shape(reference.shape)])
    choices: list[Choice] = []
    for order, tensor in (*arrangements(yours, reference.shape), *_by_head(yours, reference.shape)):
        turned = swaps_last(order) and not given
        if turned and len(order) == 2 and (matching.is_output(reference.name) or choices):
            continue
        if alike(reference, tensor, TIGHT):
            return Choice(order, layout(order, reference), [tensor], sure=True)
        if not turned or alike(reference, tensor, matching.near):
            choices.append(Choice(order, layout(order, reference), [tensor]))

    def usual(choices: Sequence[Choice]) -> Choice:
        first = choices[0]
        if given and first.order == tuple(range(len(first.order))):
            return first
        return max(choices, key=lambda choice: matching.votes[choice.layout])

    return _likeliest(matching, [reference], choices, usual)


def _by_head(yours: Recorded, shape: tuple[int, ...]) -> Iterator[tuple[Order, Recorded]]:
    """A matrix of the rows of every head in the shape (…, n, h · d), in each order of its axes."""
    if len(yours.squeezed) == 2 and len(shape) > 1 and yours.squeezed[-1]:
        *lead, n, width = shape
        d = yours.squeezed[-1]
        whole = row_by_row(yours, lead, width // d, n, d)
        if whole is not None and width % d == 0:
            yield from arrangements(whole, shape)


def stacked(matching: Matching, yours: Recorded, family: Family) -> Choice | None:
    """The parts of yours that are the members of a family."""
    choices: list[Choice] = []
    for order, parts in stacked_parts(yours, family):
        if all(alike(a, b, TIGHT) for a, b in zip(family.members, parts)):
            return Choice(order, (True, order), parts, sure=True)
        choices.append(Choice(order, (True, order), parts))

    def usual(choices: Sequence[Choice]) -> Choice:
        batch_first = [choice for choice in choices if choice.order == (1, 0, 2, 3)]
        return max([*batch_first, *choices], key=lambda choice: matching.votes[choice.layout])

    return _likeliest(matching, family.members, choices, usual)


def _likeliest(
    matching: Matching,
    references: Sequence[Recorded],
    choices: Sequence[Choice],
    usual: Callable[[Sequence[Choice]], Choice],
) -> Choice | None:
    """Of several orders the one in which the numbers are near, `usual` where they are in none."""
    if not choices:
        return None
    far = [math.hypot(*map(apart, references, choice.parts)) for choice in choices]
    nearest = min(far)
    if nearest > RELATED * math.sqrt(len(references)):
        return usual(choices)
    near = [i for i, away in enumerate(far) if away <= CLEAR * nearest]
    best = max(near, key=lambda i: (matching.votes[choices[i].layout], -far[i]))
    return choices[best]._replace(sure=True)
