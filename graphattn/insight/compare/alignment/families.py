"""Heads as one tensor, or one by one: what holds them together on one side is cut for the other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ..recording import Recorded, Recording, folded


@dataclass(frozen=True)
class Family:
    """Tensors of one shape whose names differ by one number, 0, 1, …: the heads of something."""

    name: str
    members: tuple[Recorded, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.members), *self.members[0].shape)

    @property
    def size(self) -> int:
        return len(self.members) * self.members[0].size

    @cached_property
    def flat(self) -> list[float]:
        return [cell for member in self.members for cell in member.flat]


def families(recording: Recording) -> list[Family]:
    """The families of a recording, in order of their first members."""
    groups: dict[tuple[str, int], dict[int, Recorded]] = {}
    for name, tensor in recording.tensors.items():
        for place, found in enumerate(re.finditer(r"\d+", name)):
            pattern = f"{name[: found.start()]}*{name[found.end() :]}"
            groups.setdefault((pattern, place), {})[int(found[0])] = tensor
    made = []
    for (pattern, _), members in groups.items():
        count = len(members)
        if count > 1 and set(members) == set(range(count)):
            tensors = tuple(members[i] for i in range(count))
            if len({tensor.shape for tensor in tensors}) == 1:
                made.append(Family(pattern, tensors))
    return made


def stacked_parts(tensor: Recorded, family: Family) -> Iterator[list[Recorded]]:
    """The parts of a tensor that would be the members: along its first axis, or, where heads come
    after tokens, along its second."""
    count, *inner = family.shape
    shape = tensor.squeezed if len(tensor.squeezed) >= len(family.shape) else tensor.shape
    if shape == family.shape:
        whole = tensor.as_shape(shape)
        yield [
            folded(f"{tensor.name}{_index(tensor, shape, i)}", part.shape, part.flat)
            for i, part in ((i, whole.part([i])) for i in range(count))
        ]
    if len(shape) == 3 and list(shape) == [inner[0], count, inner[-1]]:
        yield [Recorded(f"{tensor.name}[:, {i}]", tuple(inner), tensor.rows[i::count]) for i in range(count)]


def _index(tensor: Recorded, shape: tuple[int, ...], i: int) -> str:
    zeros = [0] * (len(tensor.shape) - len(shape))
    return f"[{', '.join(map(str, [*zeros, i]))}]"
