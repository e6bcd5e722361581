"""What is computed below a set of changed nodes: the same for every variant that changes these, as long as
their results keep their shapes. Planned once, so that a search pays for the arithmetic alone.

    tail = tail_of(intended, {"scaled"}, [out], row=2)
    tail.heads              which of the changed nodes it reads: {name: whether one row of it will do}
    tail.fill(values)       adds the results of its nodes to those of the heads

A composite in which nothing is changed is one step: its kernel gives the bits of what it is made of.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import Any, NamedTuple

from ....core.errors import GraphError
from ....core.graph import Ref
from ....core.interpreter import FAILURES, padded
from ..intended import Call, Intended
from ..structure.rows import carry, row_of
from ..structure.wholes import owners

Result = tuple[Ref, bool]
"""A tensor, or (True) one row of it."""
Values = dict[Result, Any]


class Unit(NamedTuple):
    """A node, or a composite that is computed as a whole."""

    name: str
    place: int
    call: Call
    operands: Sequence[Ref | None]
    results: tuple[Ref, ...]


class Step(NamedTuple):
    """A unit with what it is called on, as far as that is known before (`given`)."""

    function: Callable[..., Any]
    results: tuple[Result, ...]
    given: list[Any]
    open: tuple[tuple[int, Result, int], ...]
    """What is computed below the change: (slot, which result, the rank of the tensor of which one row is cut; 0
    = all of it)."""
    linear: bool
    """Whether its results are linear in all that is open at once, while the rest stands still."""
    known: tuple[tuple[int, Ref, int], ...]
    """What is given: (slot, tensor, the rank of the tensor of which one row is cut; 0 = all of it)."""


@dataclass(frozen=True, eq=False)
class Tail:
    """See the module's docstring."""

    dirty: int
    """All that lies below the change, as bits by place in the order."""
    heads: dict[str, bool]
    """Which of the changed nodes are asked for: whether one row will do."""
    read: list[str]
    """Those that the steps read; they are the first of all, in this order."""
    steps: list[Step]
    wanted: list[Result]
    row: int | None

    @cached_property
    def _spans(self) -> list[tuple[Result, int, int]]:
        """(result, the step that makes it, the last that reads it), for all that steps need of others."""
        born = {result: place for place, step in enumerate(self.steps) for result in step.results}
        last = {result: place for place, step in enumerate(self.steps) for _, result, _ in step.open}
        last.update(dict.fromkeys(self.wanted, len(self.steps)))
        return [(result, born.get(result, -1), until) for result, until in sorted(last.items())]

    def waist(self, place: int) -> tuple[Result, ...]:
        """The results that a step and all that follow need of what comes before."""
        return tuple([result for result, since, until in self._spans if since < place <= until])

    @cached_property
    def gates(self) -> list[tuple[Result, ...]]:
        """The waists that are worth a look: before the first step, and where several tensors have become one;
        () for all other steps."""
        waists = list(map(self.waist, range(len(self.steps))))
        return [
            waist if not place or (len(waist) == 1 < len(waists[place - 1])) else ()
            for place, waist in enumerate(waists)
        ]

    def fill(
        self, values: Values, known: Callable[[tuple[Result, ...], Values], bool] | None = None,
        start: int = 0, end: int | None = None,
    ) -> bool:  # fmt: skip
        """Computes the steps from `start` to before `end` that another tail has not (those between the layers
        of a model are in many), unless it is `known` what comes of the values at a gate: then False. Raises a
        `GraphError` for numbers that an op cannot take."""
        gates = None if known is None else self.gates[start:end]
        return fill(values, self.steps[start:end], self.row, gates, known)


def fill(
    values: Values, steps: Sequence[Step], row: int | None, gates: Sequence[tuple[Result, ...]] | None = None,
    known: Callable[[tuple[Result, ...], Values], bool] | None = None,
) -> bool:  # fmt: skip
    """Adds the results of steps to values (see `Tail.fill`)."""
    try:
        for (function, results, given, open_, _, _), gate in zip(steps, gates or repeat(())):
            if results[0] in values:
                continue
            if gate and known is not None and known(gate, values):
                return False
            operands = given[:]
            for slot, result, rank in open_:
                value = values[result]
                operands[slot] = row_of(value, row, rank) if rank else value  # pyright: ignore
            made = function(*operands)
            if len(results) == 1:
                values[results[0]] = made
            else:
                values.update(zip(results, made))
    except GraphError:
        raise
    except FAILURES as error:
        raise GraphError(str(error)) from error
    return True


def tail_of(intended: Intended, changed: frozenset[str], refs: tuple[Ref, ...], row: int | None) -> Tail:
    """The nodes between those of the intended graph that are changed and the tensors that are asked for."""
    key = (changed, refs, row)
    found = intended.tails.get(key)
    if found is None:
        found = intended.tails[key] = _planned(intended, changed, refs, row)
    return found


def _planned(intended: Intended, changed: frozenset[str], refs: tuple[Ref, ...], row: int | None) -> Tail:
    way = (changed, refs)
    if way not in intended.tails:
        intended.tails[way] = _units(intended, changed, refs)
    units, made_by = intended.tails[way]
    single = dict.fromkeys(made_by.values(), row is not None)
    if row is not None:
        for ref in refs:
            if ref in made_by and ref.node not in changed and ref in intended.specs:
                single[made_by[ref]] = single[made_by[ref]] and intended.spec(ref).rank > 1
        for unit in reversed(units):
            carry(single, unit.name, unit.call, map(made_by.get, unit.operands))  # pyright: ignore
    steps = [_step(intended, unit, made_by, single, row) for unit in units]
    wanted = [(ref, single[made_by[ref]]) for ref in refs if ref in made_by]
    own = {unit.name for unit in units}
    reads = dict.fromkeys([ref.node for step in steps for _, (ref, _), _ in step.open])
    read = [name for name in reads if name in single and name not in own]
    heads = {name: single[name] for name in (*read, *single) if name not in own}
    return Tail(intended.all_below(changed), heads, read, steps, wanted, row)


def _units(
    intended: Intended, changed: Collection[str], refs: Iterable[Ref]
) -> tuple[list[Unit], dict[Ref, str]]:
    """What is computed below the change, in order; and which unit, or which changed node, makes each tensor."""
    order, dirty = intended.order, intended.all_below(changed)
    touched = owners(intended.graph, changed)
    units: dict[str, Unit] = {}
    made_by: dict[Ref, str] = {}
    stack = list(refs)
    while stack:
        ref = stack.pop()
        if ref in made_by:
            continue
        if ref.node in changed or ref.node not in order:
            made_by[ref] = ref.node
        elif dirty >> order[ref.node] & 1:
            unit = next(unit for unit in _makers(intended, ref) if unit.name not in touched)
            made_by[ref] = unit.name
            if unit.name not in units:
                units[unit.name] = unit
                stack += [operand for operand in unit.operands if operand is not None]
    return sorted(units.values(), key=lambda unit: unit.place), made_by


def _makers(intended: Intended, ref: Ref) -> list[Unit]:
    """The composites whose result a tensor is, the outermost first, then the node that makes it."""
    if ref not in intended.units:
        intended.units[ref] = list(_every_maker(intended, ref))
    return intended.units[ref]


def _every_maker(intended: Intended, ref: Ref) -> Iterator[Unit]:
    for scope in intended.wholes.get(ref, ()):
        assert scope.op is not None
        call = intended.call(scope.op, intended.graph.operand_specs(scope.operands), scope.attributes)
        place = min(intended.order[result.node] for result in scope.outputs)
        yield Unit(scope.name, place, call, scope.operands, scope.outputs)
    node = intended.nodes[ref.node]
    results = tuple(Ref(node.name, port) for port in range(len(node.ports)))
    yield Unit(node.name, intended.order[node.name], intended.call_of(node.name), node.operands, results)


def _step(
    intended: Intended, unit: Unit, made_by: Mapping[Ref, str], single: Mapping[str, bool], row: int | None
) -> Step:
    flags = tuple(None if ref is None or ref not in made_by else single[made_by[ref]] for ref in unit.operands)
    key = (unit.name, row, single[unit.name], flags)
    if key in intended.tails:
        return intended.tails[key]
    call, own = unit.call, single[unit.name]
    local, function = (False,) * len(flags), call.function
    if own and call.by_row is not None:
        local, function = call.by_row[0], call.by_row[1].function
    open_: list[tuple[int, Result, int]] = []
    known: list[tuple[int, Ref, int]] = []
    for slot, (ref, here, flag) in enumerate(zip(unit.operands, local, flags, strict=True)):
        if ref is not None and flag is not None:
            open_.append((slot, (ref, flag), intended.spec(ref).rank if here and not flag else 0))
        elif ref is not None:
            known.append((slot, ref, intended.spec(ref).rank if here else 0))
    given = given_from(intended.values, known, [None] * len(flags), row)
    results = tuple((ref, own) for ref in unit.results)
    groups = call.op.linear_groups(padded(call.op, call.operands), call.attributes)
    linear = any(all(slot in group for slot, _, _ in open_) for group in groups)
    step = intended.tails[key] = Step(function, results, given, tuple(open_), linear, tuple(known))
    return step


def given_from(
    values: Mapping[Ref, Any], known: Iterable[tuple[int, Ref, int]], given: list[Any], row: int | None
) -> list[Any]:
    """What a step is given, with what is `known` of it from these values (see `Step`)."""
    for slot, ref, rank in known:
        given[slot] = row_of(values[ref], row, rank) if rank else values[ref]  # pyright: ignore
    return given
