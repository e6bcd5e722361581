"""What is matched so far: the state that all ways of matching share."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from ..recording import Recorded, Recording
from .families import Family, families, stacked_parts


@dataclass(frozen=True)
class Pair:
    """A tensor of mine and what is the same of theirs, in one shape. `key` is the name of the whole
    tensor of mine; `how` says by what they were matched."""

    key: str
    mine: Recorded
    theirs: Recorded
    how: str
    other: str = ""
    """The name of the whole tensor of theirs."""


@dataclass
class Alignment:
    """What was matched, and what was not. `copies` are tensors of theirs with the values of one that is
    matched already; `misfits` have the name of one of mine but no shape that fits: (mine, theirs)."""

    pairs: list[Pair] = field(default_factory=list)
    mine_left: list[str] = field(default_factory=list)
    theirs_left: list[str] = field(default_factory=list)
    copies: list[tuple[str, str]] = field(default_factory=list)
    misfits: list[tuple[Recorded, Recorded]] = field(default_factory=list)


class Matching:
    """Two recordings, and which tensor of one was matched with which of the other."""

    def __init__(self, mine: Recording, theirs: Recording, near: float) -> None:
        self.near = near
        self.mine = mine
        self.theirs = theirs
        self.pairs: list[Pair] = []
        self.used_mine: set[str] = set()
        self.used_theirs: set[str] = set()
        self.misfits: list[tuple[Recorded, Recorded]] = []
        self.copies: list[tuple[str, str]] = []

    @cached_property
    def mine_families(self) -> list[Family]:
        return families(self.mine)

    @cached_property
    def their_families(self) -> list[Family]:
        return families(self.theirs)

    def open_theirs(self) -> list[Recorded]:
        return [t for name, t in self.theirs.tensors.items() if name not in self.used_theirs]

    def open_mine(self) -> list[Recorded]:
        return [t for name, t in self.mine.tensors.items() if name not in self.used_mine]

    def add(self, key: str, mine: Recorded, theirs: Recorded, how: str, whole: str | None = None) -> None:
        if theirs.shape != mine.shape:
            theirs = theirs.as_shape(mine.shape)
        whole = theirs.name if whole is None else whole
        self.pairs.append(Pair(key, mine, theirs, how, whole))
        self.used_mine.add(key)
        self.used_theirs.add(whole)

    def add_family(self, family: Family, parts: list[Recorded], how: str, whole: str) -> None:
        """The members of a family of mine, with the parts of one tensor of theirs."""
        for member, part in zip(family.members, parts, strict=True):
            self.add(member.name, member, part, how, whole)

    def add_their_family(self, tensor: Recorded, family: Family, how: str) -> None:
        """One tensor of mine that holds what theirs has one by one."""
        index = next(stacked_parts(tensor, family))
        for part, member in zip(index, family.members, strict=True):
            self.add(tensor.name, part, member, how)

    def result(self) -> Alignment:
        return Alignment(
            self.pairs,
            [t.name for t in self.open_mine()],
            [t.name for t in self.open_theirs()],
            self.copies,
            [(m, t) for m, t in self.misfits if t.name not in self.used_theirs],
        )
