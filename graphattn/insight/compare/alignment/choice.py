"""In which order of its axes a tensor of yours is read, where several fit: the one in which it agrees, else
the one in which most of what was matched so far agrees, else the usual one."""

from __future__ import annotations

from ..recording import Recorded
from .alike import alike
from .arrangements import Order, arrangements, swaps_last
from .families import Family, stacked_parts
from .matching import Matching


def arranged(matching: Matching, yours: Recorded, reference: Recorded) -> tuple[Order, Recorded] | None:
    """Yours in the shape of the reference: in the order of axes in which they agree, else in that of what
    was matched before, else in the usual one. What was computed may not be transposed unasked, least of all
    a result."""
    shape, given = yours.squeezed, matching.is_input(reference.name)
    if shape == reference.squeezed and (len(set(shape)) == len(shape) or (len(shape) < 3 and not given)):
        return tuple(range(len(shape))), yours.as_shape(reference.shape)  # no other order fits
    choices = []
    for order, tensor in arrangements(yours, reference.shape):
        turned = swaps_last(order)
        if turned and not given and len(order) == 2 and (matching.is_output(reference.name) or choices):
            continue
        same = alike(reference, tensor, matching.near)
        if same:
            return order, tensor
        if not turned or given:
            choices.append((order, tensor))
    if given and choices and choices[0][0] == tuple(range(len(choices[0][0]))):
        return choices[0]
    return max(choices, key=lambda choice: matching.votes[choice[0]], default=None)


def stacked(matching: Matching, yours: Recorded, family: Family) -> tuple[Order, list[Recorded], bool] | None:
    """The parts of yours that are the members of a family, and whether they agree."""
    choices = []
    for order, parts in stacked_parts(yours, family):
        if all(alike(a, b, matching.near) for a, b in zip(family.members, parts)):
            return order, parts, True
        choices.append((order, parts))
    if not choices:
        return None
    batch_first = [choice for choice in choices if choice[0] == (1, 0, 2, 3)]
    order, parts = max(batch_first + choices, key=lambda choice: matching.votes[choice[0]])
    return order, parts, False
