"""Heads as one tensor, or one by one: what holds them together on one side is cut for the other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from ..recording import Recorded, Recording
from .arrangements import Order, arrangements, row_by_row, swaps_last


@dataclass(frozen=True)
class Family:
    """Tensors of one shape whose names differ by one number, 0, 1, …: the heads of something."""

    name: str
    members: tuple[Recorded, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.members), *self.members[0].shape)

    @cached_property
    def size(self) -> int:
        return len(self.members) * self.members[0].size

    @cached_property
    def flat(self) -> list[float]:
        return [cell for member in self.members for cell in member.flat]


def families(recording: Recording) -> list[Family]:
    """The families of a recording, in order of their first members."""
    groups: dict[tuple[str, int], dict[int, Recorded]] = {}
    for name, tensor in recording.tensors.items():
        for place, number in enumerate(re.finditer(r"\d+", name)):
            pattern = f"{name[: number.start()]}*{name[number.end() :]}"
            groups.setdefault((pattern, place), {})[int(number[0])] = tensor
    made = []
    for (pattern, _), members in groups.items():
        count = len(members)
        if count > 1 and set(members) == set(range(count)):
            tensors = tuple(members[i] for i in range(count))
            if len({tensor.shape for tensor in tensors}) == 1:
                made.append(Family(pattern, tensors))
    return made


def stacked_parts(tensor: Recorded, family: Family) -> Iterator[tuple[Order, list[Recorded]]]:
    """The parts of a tensor that would be the members, in each order of its axes: the batch may stand before
    the heads, and the heads after the tokens. A matrix may have the rows of all of them."""
    count, shape = len(family.members), family.members[0].shape
    if len(shape) > 1:
        *lead, n, d = shape
        tensor = row_by_row(tensor, lead, count, n, d) or tensor
    for order, whole in arrangements(tensor, family.shape):
        if len(order) < sum(n != 1 for n in family.shape) or swaps_last(order):
            continue
        names = _indices(tensor, order)
        parts = [whole.part([i]) for i in range(count)]
        yield order, [replace(part, name=f"{tensor.name}{names % i}") for i, part in enumerate(parts)]


def _indices(tensor: Recorded, order: Order) -> str:
    """How a part is written, with %d for its number: attn[0, %d], or attn[:, %d] where heads come after
    tokens."""
    wide = [axis for axis, n in enumerate(tensor.shape) if n != 1]
    at = wide[order[0]] if order else 0
    return f"[{', '.join(['0' if n == 1 else ':' for n in tensor.shape[:at]] + ['%d'])}]"
