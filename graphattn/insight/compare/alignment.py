"""Which tensor of theirs is which of mine: by a given mapping, by name, by value, by place.

    align(mine, theirs, names=None, by="name") -> Alignment

In turn, each tensor of theirs that is not placed yet is looked for

1. in `names`, {mine: theirs}; theirs may be a part, `attn[0, 1]`, and mine a family, `head*.weights`;
2. by name: the same, an unambiguous ending, or the same words in any order (`weights.h0` is `head0.weights`);
3. by value, within what rounding explains many times over: so names may differ and steps be fused, split
   or reordered;
4. by relation: what is left and is mine times a factor, transposed, …; and what follows such a tensor by
   value again, against a run of mine that goes on from it;
5. by its place between tensors that are matched, where shapes leave one choice.

Heads are taken out of what holds them together: a family of tensors whose names differ by one number is
also one tensor (h, n, m); columns of three projections side by side are cut. Leading axes of size 1 do not
count, nor does a shape that lists the same cells in the same order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ...core.errors import GraphError
from ...core.trace import run
from .cell_classes import is_masked
from .precision import recorded_precision
from .recording import Recorded, Recording, folded, of_trace

BY = ("name", "value")
NEAR = 2e-3
TIGHT = 2e-6
"""What cells may differ by, of the largest, where tensors are matched by value: at most (for short formats,
8 of their units), and what is enough to prefer one tensor to others."""
PART = re.compile(r"^(.*?)\[\s*(\d+(?:\s*,\s*\d+)*)\s*\]$")
WORDS = re.compile(r"[A-Za-z]+|\d+")
SAME_WORD = {"h": "head", "heads": "head", "attn": "attention", "l": "layer", "layers": "layer"}
DROPPED = {"part", "of", "output"}


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


def align(
    mine: Recording, theirs: Recording, names: Mapping[str, str] | None = None, by: str = "name"
) -> Alignment:
    """The alignment of two recordings (see the module's docstring)."""
    if by not in BY:
        raise GraphError(f"by is {by!r}; expected 'name' or 'value'")
    aligner = _Aligner(mine, theirs, near_by_value(mine, theirs))
    aligner.by_mapping(names or {})
    if by == "name":
        aligner.by_name()
    aligner.by_value()
    aligner.by_relation()
    aligner.by_place()
    return aligner.result()


def near_by_value(mine: Recording, theirs: Recording) -> float:
    """How near is near enough, for the precision of the two."""
    bits = min(recorded_precision(mine).bits, recorded_precision(theirs).bits)
    return max(NEAR, 8 * 2.0**-bits)


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


def words(name: str) -> frozenset[str]:
    """The words and numbers of a name, however it joins them."""
    found: list[str] = [word.lower() for word in WORDS.findall(name)]
    found = [SAME_WORD.get(word, word) for word in found]
    return frozenset(word for word in found if word not in DROPPED)


def alike(a: list[float], b: list[float], near: float = NEAR) -> bool:
    """Whether two flat tensors hold the same numbers, roughly; masked cells match masked cells, and at
    least one cell must be a number other than 0."""
    size = None
    some = False
    for x, y in zip(a, b):
        if x == y:
            some = some or (x != 0 and not is_masked(x))
            continue
        if is_masked(x) and is_masked(y):
            continue
        if x != x or y != y:
            return False
        if size is None:
            size = max((abs(v) for v in a if not is_masked(v) and v == v), default=0.0)
        if not abs(x - y) <= near * size:
            return False
        some = some or x != 0
    return some


class _Aligner:
    def __init__(self, mine: Recording, theirs: Recording, near: float) -> None:
        self.near = near
        self.mine = mine
        self.theirs = theirs
        self.pairs: list[Pair] = []
        self.used_mine: set[str] = set()
        self.used_theirs: set[str] = set()
        self.misfits: list[tuple[Recorded, Recorded]] = []
        self.copies: list[tuple[str, str]] = []

    # ------------------------------------------------------------ what all ways share

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
        index = next(self.stacked_parts(tensor, family))
        for part, member in zip(index, family.members, strict=True):
            self.add(tensor.name, part, member, how)

    @staticmethod
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
            yield [
                Recorded(f"{tensor.name}[:, {i}]", tuple(inner), tensor.rows[i::count]) for i in range(count)
            ]

    # ------------------------------------------------------------ 1. by mapping

    def by_mapping(self, names: Mapping[str, str]) -> None:
        for ours, other in names.items():
            if not isinstance(ours, str) or not isinstance(other, str):
                raise GraphError(f"names holds {ours!r}: {other!r}; expected names of tensors, mine: theirs")
            theirs, whole = self._their_part(other)
            family = next((f for f in self.mine_families if f.name == ours), None)
            if family is not None:
                parts = next(self.stacked_parts(theirs, family), None)
                if parts is None:
                    raise GraphError(
                        f"names: {ours} is {_shape(family.shape)} and {other} is {_shape(theirs.shape)};"
                        " expected the heads along its first axis"
                    )
                self.add_family(family, parts, "mapping", whole)
                continue
            mine = self.mine.need(ours)
            if mine.size != theirs.size:
                raise GraphError(
                    f"names: {ours} is {_shape(mine.shape)} and {other} is {_shape(theirs.shape)};"
                    " expected as many cells"
                )
            self.add(mine.name, mine, theirs, "mapping", whole)

    def _their_part(self, name: str) -> tuple[Recorded, str]:
        part = PART.match(name)
        if part is None or self.theirs.find(name) is not None:
            found = self.theirs.need(name)
            return found, found.name
        whole = self.theirs.need(part[1])
        index = [int(i) for i in part[2].split(",")]
        if len(index) >= len(whole.shape) or any(i >= n for i, n in zip(index, whole.shape)):
            raise GraphError(
                f"names: {name!r} is no part of {_shape(whole.shape)}; expected an index of its first axes"
            )
        return whole.part(index), whole.name

    # ------------------------------------------------------------ 2. by name

    def by_name(self) -> None:
        by_words = _unique_by_words(self.mine)
        for theirs in self.open_theirs():
            mine = self.mine.find(theirs.name) or by_words.get(words(theirs.name))
            if mine is None or mine.name in self.used_mine:
                continue
            if (
                mine.squeezed == theirs.squeezed
                or (mine.size == theirs.size and 1 in mine.shape)
                or (mine.size == theirs.size and alike(mine.flat, theirs.flat, self.near))
            ):
                self.add(mine.name, mine, theirs, "name")
            elif theirs.name == mine.name or mine.name.endswith(f".{theirs.name}"):
                self.misfits.append((mine, theirs))
        self._families_by_name()

    def _families_by_name(self) -> None:
        """`weights` (h, n, n) is `head*.weights`."""
        for theirs in self.open_theirs():
            wanted = words(theirs.name)
            for family in self.mine_families:
                if any(member.name in self.used_mine for member in family.members):
                    continue
                if wanted - {"head"} in _endings(family.name):
                    parts = next(self.stacked_parts(theirs, family), None)
                    if parts is not None:
                        self.add_family(family, parts, "name, stacked", theirs.name)
                        break
        for mine in self.open_mine():
            for family in self.their_families:
                if any(member.name in self.used_theirs for member in family.members):
                    continue
                fits = _endings(family.name) & _endings(mine.name)
                if fits and next(self.stacked_parts(mine, family), None) is not None:
                    self.add_their_family(mine, family, "name, stacked")
                    break

    # ------------------------------------------------------------ 3. by value

    def by_value(self) -> None:
        by_size: dict[int, list[Recorded]] = {}
        for tensor in self.mine.tensors.values():
            by_size.setdefault(tensor.size, []).append(tensor)
        order = {name: i for i, name in enumerate(self.mine.tensors)}
        last = -1
        for theirs in self.open_theirs():
            found = self._same_value(theirs, by_size.get(theirs.size, ()), order, last)
            if found is not None:
                if found.name in self.used_mine:
                    self.copies.append((theirs.name, found.name))
                    self.used_theirs.add(theirs.name)
                else:
                    self.add(found.name, found, theirs, "value")
                    last = order[found.name]
                continue
            if not self._stacked_by_value(theirs):
                self._fused_by_value(theirs)
        for mine in self.open_mine():
            self._their_family_by_value(mine)
        for theirs in self.open_theirs():
            self._transposed_by_value(theirs)

    def _same_value(
        self, theirs: Recorded, candidates: list[Recorded] | tuple[()], order: dict[str, int], last: int
    ) -> Recorded | None:
        same = [m for m in candidates if _shapes_fit(m, theirs) and alike(m.flat, theirs.flat, self.near)]
        if not same:
            return None
        same = [m for m in same if alike(m.flat, theirs.flat, TIGHT)] or same
        fresh = [m for m in same if m.name not in self.used_mine]
        if not fresh:
            return same[0]
        wanted = words(theirs.name)
        return min(
            fresh,
            key=lambda m: (
                m.squeezed != theirs.squeezed,
                -len(words(m.name) & wanted),
                order[m.name] < last,
                order[m.name],
            ),
        )

    def _stacked_by_value(self, theirs: Recorded) -> bool:
        if len(theirs.squeezed) < 3:
            return False
        seen: str | None = None
        for family in self.mine_families:
            if family.size != theirs.size:
                continue
            for parts in self.stacked_parts(theirs, family):
                if all(alike(member.flat, part.flat, self.near) for member, part in zip(family.members, parts)):
                    if all(member.name not in self.used_mine for member in family.members):
                        self.add_family(family, parts, "value, stacked", theirs.name)
                        return True
                    seen = family.name
        if seen is not None:
            self.copies.append((theirs.name, seen))
            self.used_theirs.add(theirs.name)
        return seen is not None

    def _their_family_by_value(self, mine: Recorded) -> None:
        for family in self.their_families:
            if family.size != mine.size or any(m.name in self.used_theirs for m in family.members):
                continue
            for parts in self.stacked_parts(mine, family):
                if all(alike(part.flat, member.flat, self.near) for part, member in zip(parts, family.members)):
                    for part, member in zip(parts, family.members):
                        self.add(mine.name, part, member, "value, stacked")
                    return

    def _fused_by_value(self, theirs: Recorded) -> bool:
        """Three tensors of mine side by side, or one below the other, in one of theirs."""
        shape = list(theirs.squeezed)
        cuts: list[list[Recorded]] = []
        if len(shape) == 2 and shape[1] % 3 == 0:
            width = shape[1] // 3
            cuts.append([theirs.columns(i * width, (i + 1) * width) for i in range(3)])
        if shape and shape[0] % 3 == 0 and len(shape) <= 2:
            cells = theirs.size // 3
            names = [f"{theirs.name}[{i * shape[0] // 3}:{(i + 1) * shape[0] // 3}]" for i in range(3)]
            cuts.append(
                [
                    folded(name, (shape[0] // 3, *shape[1:]), theirs.flat[i * cells : (i + 1) * cells])
                    for i, name in enumerate(names)
                ]
            )
        for parts in cuts:
            found: list[Recorded | None] = []
            for part in parts:
                same = (
                    m
                    for m in self.open_mine()
                    if m.size == part.size and m not in found and alike(m.flat, part.flat, self.near)
                )
                found.append(next(same, None))
            if all(m is not None for m in found):
                for m, part in zip(found, parts):
                    assert m is not None
                    self.add(m.name, m, part, "value, side by side", theirs.name)
                return True
        return False

    def _transposed_by_value(self, theirs: Recorded) -> None:
        """A tensor that was stored the other way round: weights (in, out) for (out, in)."""
        if len(theirs.squeezed) != 2 or min(theirs.squeezed) < 2:
            return
        turned = theirs.transposed()
        for mine in self.open_mine():
            if mine.squeezed == turned.shape and alike(mine.flat, turned.flat, self.near):
                self.add(mine.name, mine, turned, "value, transposed", theirs.name)
                return

    # ------------------------------------------------------------ 4. by relation

    def by_relation(self) -> None:
        """What is mine but for a factor, a turn, …; and what mine would be if it went on from there."""
        for _ in range(4):
            count = len(self.pairs)
            self._in_order(_related)
            self._as_if()
            if len(self.pairs) == count:
                return

    def _in_order(self, fits: Callable[[Recorded, Recorded], bool]) -> None:
        """Each tensor that is left, with the next one of mine that has its shape and fits."""
        order = {name: i for i, name in enumerate(self.mine.tensors)}
        matched: dict[str, int] = {}
        for pair in self.pairs:
            matched[pair.other] = min(order[pair.key], matched.get(pair.other, len(order)))
        before = -1
        for theirs in self.theirs.tensors.values():
            if theirs.name in self.used_theirs:
                before = matched.get(theirs.name, before)
                continue
            if any(theirs is misfit for _, misfit in self.misfits):
                continue
            found = self._next(theirs, order, before, fits)
            if found is not None:
                before = order[found.name]

    def _next(
        self,
        theirs: Recorded,
        order: Mapping[str, int],
        before: int,
        fits: Callable[[Recorded, Recorded], bool],
    ) -> Recorded | None:
        """Match with what comes after a place in mine, else with what comes before it."""
        same = [m for m in self.open_mine() if m.squeezed == theirs.squeezed]
        for mine in sorted(same, key=lambda m: order[m.name] < before):
            if fits(mine, theirs):
                self.add(mine.name, mine, theirs, "relation")
                return mine
        for family in self.mine_families:
            if family.size != theirs.size or any(m.name in self.used_mine for m in family.members):
                continue
            for parts in self.stacked_parts(theirs, family):
                if all(map(fits, family.members, parts)):
                    self.add_family(family, parts, "relation, stacked", theirs.name)
                    return family.members[0]
        for pair in [p for p in self.pairs if p.how == "value" and p.mine.squeezed == theirs.squeezed]:
            if pair.mine.name == pair.key and fits(pair.mine, theirs):  # once right, and then moved
                self.add(pair.key, pair.mine, theirs, "relation")
                return pair.mine
        return None

    def _as_if(self) -> None:
        """By value, against what mine's steps give from those of theirs's tensors that differ."""
        trace = self.mine.trace
        if trace is None or not self.open_theirs():
            return
        patch: dict[str, Any] = {}
        for pair in self.pairs:
            fits = pair.mine.shape == pair.theirs.shape == self.mine.tensors[pair.key].shape
            if (
                fits
                and trace.spec(pair.key).kind == "float"
                and not alike(pair.mine.flat, pair.theirs.flat, self.near)
            ):
                patch[pair.key] = pair.theirs.nested()
        if not patch:
            return
        feeds = {name: trace[name] for name in trace.graph.inputs if name in trace}
        try:
            again = run(trace.graph, feeds, level="block", patch=patch, allow_nonfinite=True)
        except GraphError:
            return
        as_if = _Aligner(of_trace(again), self.theirs, self.near)
        as_if.used_mine, as_if.used_theirs = set(self.used_mine), set(self.used_theirs)
        as_if.by_value()
        for pair in as_if.pairs:
            mine = self.mine.tensors[pair.key]
            if mine.shape == pair.theirs.shape:
                self.add(pair.key, mine, pair.theirs, "value, as if mine went on from theirs", pair.other)
        for theirs, mine in as_if.copies:
            if mine in self.used_mine:
                self.copies.append((theirs, mine))
                self.used_theirs.add(theirs)

    # ------------------------------------------------------------ 5. by place

    def by_place(self) -> None:
        """What stands alone between the same neighbours; and the last of theirs, for the last of mine."""
        if not self.pairs:
            return
        theirs_at = {pair.other: pair.key for pair in self.pairs}
        mine_runs = _runs(self.mine.tensors, {pair.key: pair.key for pair in self.pairs})
        misfits = {id(theirs) for _, theirs in self.misfits}
        for ends, between in _runs(self.theirs.tensors, theirs_at).items():
            other = mine_runs.get(ends, [])
            if [t.squeezed for t in between] == [t.squeezed for t in other]:
                for mine, theirs in zip(other, between):
                    if id(theirs) not in misfits:
                        self.add(mine.name, mine, theirs, "place")
        mine, theirs = (list(side.tensors.values())[-1] for side in (self.mine, self.theirs))
        free = theirs.name not in self.used_theirs and mine.name not in self.used_mine
        if free and mine.squeezed == theirs.squeezed and id(theirs) not in misfits:
            self.add(mine.name, mine, theirs, "place")

    # ------------------------------------------------------------

    def result(self) -> Alignment:
        return Alignment(
            self.pairs,
            [t.name for t in self.open_mine()],
            [t.name for t in self.open_theirs()],
            self.copies,
            [(m, t) for m, t in self.misfits if t.name not in self.used_theirs],
        )


def _endings(name: str) -> set[frozenset[str]]:
    """The words of each dotted ending of a name, heads aside."""
    parts = name.split(".")
    found = {words(".".join(parts[start:])) - {"head"} for start in range(len(parts))}
    return {ending for ending in found if ending}


def _related(mine: Recorded, theirs: Recorded) -> bool:
    from .relations import simple_relation

    if mine.squeezed == theirs.squeezed:
        theirs = theirs.as_shape(mine.shape)
    return simple_relation(mine, theirs) is not None


def _runs(
    tensors: Mapping[str, Recorded], matched: Mapping[str, str]
) -> dict[tuple[str | None, str | None], list[Recorded]]:
    """What stands between matched neighbours, by the names in mine of these neighbours."""
    runs: dict[tuple[str | None, str | None], list[Recorded]] = {}
    before: str | None = None
    run: list[Recorded] = []
    for name, tensor in [*tensors.items(), (None, None)]:
        if tensor is not None and name not in matched:
            run.append(tensor)
            continue
        after = None if name is None else matched[name]
        if run:
            runs[before, after] = run
        before, run = after, []
    return runs


def _index(tensor: Recorded, shape: tuple[int, ...], i: int) -> str:
    zeros = [0] * (len(tensor.shape) - len(shape))
    return f"[{', '.join(map(str, [*zeros, i]))}]"


def _shapes_fit(mine: Recorded, theirs: Recorded) -> bool:
    """Whether one is the other but for axes of size 1 and splits of the last axis."""
    a = [n for n in mine.shape if n != 1]
    b = [n for n in theirs.shape if n != 1]
    return a == b or mine.size == theirs.size


def _shape(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape)) or "a scalar"


def _unique_by_words(recording: Recording) -> dict[frozenset[str], Recorded]:
    """Each tensor by the words of its name, and of each ending of its name, where no other has them."""
    found: dict[frozenset[str], Recorded | None] = {}
    names = dict(recording.tensors.items())
    if recording.trace is not None:
        graph = recording.trace.graph
        for alias, ref in (*graph.aliases.items(), *((n, t.ref) for n, t in graph.outputs.items())):
            tensor = recording.tensors.get(graph.tensor_name(ref))
            if tensor is not None:
                names.setdefault(alias, tensor)
    for name, tensor in names.items():
        parts = name.split(".")
        for key in {words(".".join(parts[start:])) for start in range(len(parts))}:
            if key and found.setdefault(key, tensor) is not tensor:
                found[key] = None
    exact = {words(name): tensor for name, tensor in recording.tensors.items()}
    return {
        key: tensor
        for key, tensor in {**found, **{k: t for k, t in exact.items() if k}}.items()
        if tensor is not None
    }
