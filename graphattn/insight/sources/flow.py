"""Parts of tensors, carried forward through the ops that are linear in them.

A tensor that is linear in what wrote it is the sum of parts, one for each source: `{source: tensor}`. An op
with `Op.linear` carries parts on: it is called with the parts of one source in a group of operands, and with
everything else as it was recorded. An op without it that is made of smaller ones (a norm, a mask) is looked
into: what is nonlinear in it (the deviation of a norm) stands still as recorded. A product of two tensors
that both have parts gives parts by pairs of sources; a third factor is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from ...core import nested
from ...core.axes import Spec
from ...core.errors import GraphError, Rejected
from ...core.interpreter import Composite, function_of, padded
from ...core.numbers import FLOAT
from ...core.op import Op


@dataclass(frozen=True, order=True)
class Source:
    """What wrote a part: a tensor, the token whose row of it (where parts are told apart by token), and the
    heads and other composites that carried it on the way, where they were asked for."""

    name: str
    token: int | None = None
    via: tuple[str, ...] = ()


Key = tuple[Source, ...]
"""One source, or two: what wrote the one factor of a product, and what wrote the other."""
Parts = Mapping[Key, Any]


@dataclass(frozen=True)
class Call:
    """One evaluated op: its operands as the rules of the op take them (None where left out), their recorded
    values, and what a source is called that stands in a slot."""

    op: Op
    attributes: Mapping[str, Any]
    specs: tuple[Spec | None, ...]
    values: tuple[Any, ...]
    names: Callable[[int], str]


def carried(call: Call, parts: Sequence[Parts | None], outputs: Sequence[Spec]) -> list[Parts] | None:
    """The parts of each result, from those of the operands; None where nothing is linear in them."""
    groups = live_groups(call.op, call.specs, call.attributes, [part is not None for part in parts])
    if groups:
        return _through_groups(call, parts, groups, outputs)
    if not looked_into(call.op):
        return None
    return _inside(call, parts)


def looked_into(op: Op) -> bool:
    """Whether what an op is made of may tell in what it is linear. Functions of single cells (silu, gelu)
    are gates: they stand still, though x · σ(x) could be read as linear in x."""
    return not op.linear and op.expand is not None and op.family != "function"


def live_groups(
    op: Op, specs: Sequence[Spec | None], attributes: Mapping[str, Any], live: Sequence[bool]
) -> list[tuple[int, ...]]:
    """The groups of operands in which the op is linear that have parts in one of their slots."""
    return [
        group
        for group in op.linear_groups(specs, attributes)
        if any(slot < len(live) and live[slot] for slot in group)
    ]


def _through_groups(
    call: Call, parts: Sequence[Parts | None], groups: Sequence[tuple[int, ...]], outputs: Sequence[Spec]
) -> list[Parts]:
    if len(groups) == 1:
        return _linear(call, groups[0], parts, outputs)
    first, second = groups[0], groups[1]
    if len(groups) > 2 or set(first) & set(second):
        raise GraphError(f"{call.op.name} is a product of more than two tensors with sources; expected two")
    for group in (first, second):
        for slot in group:
            if any(len(key) > 1 for key in parts[slot] or ()):
                raise GraphError(
                    f"{call.names(slot)} is a product already, and {call.op.name} is a third factor;"
                    " expected a cell that is a product of two"
                )
    found: list[dict[Key, Any]] = [{} for _ in outputs]
    for key, values in _by_key(call, first, parts).items():
        held = list(call.values)
        for slot in first:
            held[slot] = values.get(slot) or _nothing(call, slot)
        inner = replace(call, values=tuple(held))
        for total, more in zip(found, _linear(inner, second, parts, outputs), strict=True):
            total.update({(*key, *other): value for other, value in more.items()})
    return list(found)


def _by_key(call: Call, group: Sequence[int], parts: Sequence[Parts | None]) -> dict[Key, dict[int, Any]]:
    """For each source: its part in each slot of a group. A slot without parts is a source itself."""
    found: dict[Key, dict[int, Any]] = {}
    for slot in group:
        if slot >= len(call.values) or call.values[slot] is None:
            continue
        own = parts[slot]
        if own is None:
            own = {(Source(call.names(slot)),): call.values[slot]}
        for key, value in own.items():
            found.setdefault(key, {})[slot] = value
    return found


def _nothing(call: Call, slot: int) -> Any:
    """What an operand is without any part: left out where it can be, else zeros."""
    known = call.op.operands[slot] if slot < len(call.op.operands) else call.op.operands[-1]
    if not (known.required or known.variadic):
        return None
    spec = call.specs[slot]
    return None if spec is None else nested.full(spec.shape, 0.0)


def _linear(
    call: Call, group: Sequence[int], parts: Sequence[Parts | None], outputs: Sequence[Spec]
) -> list[Parts]:
    """The parts of the results, where one group of operands has parts."""
    batches: dict[frozenset[int], list[tuple[Key, dict[int, Any]]]] = {}
    for key, values in _by_key(call, group, parts).items():
        batches.setdefault(frozenset(values), []).append((key, values))
    found: list[dict[Key, Any]] = [{} for _ in outputs]
    for slots, batch in batches.items():
        held = [
            value if slot not in group or slot in slots else _nothing(call, slot)
            for slot, value in enumerate(call.values)
        ]
        for (key, _), results in zip(batch, _evaluated(call, held, sorted(slots), batch, outputs), strict=True):
            for total, result in zip(found, results, strict=True):
                total[key] = result
    return list(found)


def _evaluated(
    call: Call, held: list[Any], slots: Sequence[int], batch: Sequence[tuple[Key, dict[int, Any]]],
    outputs: Sequence[Spec],
) -> list[list[Any]]:  # fmt: skip
    """The results of the op for each of a batch of sources: all of them in one call, stacked along a new
    leading axis, where the op takes that; else one after the other."""
    specs = [spec if held[slot] is not None else None for slot, spec in enumerate(call.specs)]
    if len(batch) > 1:
        rank = max(spec.rank for slot in slots if (spec := specs[slot]) is not None)
        stacked, tall = list(held), list(specs)
        for slot in slots:
            spec = specs[slot]
            assert spec is not None
            deeper = rank - spec.rank
            tall[slot] = Spec((len(batch), *(1,) * deeper, *spec.shape), kind=spec.kind)
            stacked[slot] = [_wrapped(values[slot], deeper) for _, values in batch]
        try:
            shapes = _shapes(call.op, tall, call.attributes)
        except Rejected:
            shapes = None
        if shapes == [(len(batch), *spec.shape) for spec in outputs]:
            function = function_of(call.op, tall, call.attributes)
            results = _several(function(*stacked), len(outputs))
            return [list(of_key) for of_key in zip(*results, strict=True)]
    function = function_of(call.op, specs, call.attributes)
    found = []
    for _, values in batch:
        operands = [values.get(slot, value) for slot, value in enumerate(held)]
        found.append(_several(function(*operands), len(outputs)))
    return found


def _wrapped(value: Any, times: int) -> Any:
    for _ in range(times):
        value = [value]
    return value


def _several(result: Any, count: int) -> list[Any]:
    return [result] if count == 1 else list(result)


def _shapes(op: Op, specs: Sequence[Spec | None], attributes: Mapping[str, Any]) -> list[tuple[int, ...]]:
    found = op.shape(*specs, **attributes)
    return [spec.shape for spec in (found.values() if isinstance(found, dict) else [found])]


# ---------------------------------------------------------------- looking into an op


def _inside(call: Call, parts: Sequence[Parts | None]) -> list[Parts] | None:
    """The parts of the results of an op that is made of smaller ones."""
    composite = _composite(call.op, _bare(call.specs), _frozen(call.attributes))
    plan = composite.plan
    live = live_places(composite, [part is not None for part in parts])
    if not all(place in live for place in composite.results):
        return None
    values = composite.values(call.values)
    outside = {place: slot for slot, place in enumerate(composite.operands) if place is not None}
    known: dict[int, Parts] = {
        place: part
        for place, part in zip(composite.operands, parts, strict=False)
        if place is not None and part is not None
    }

    def named(place: int, name: str) -> str:
        return call.names(outside[place]) if place in outside else f"{call.op.name} {name}"

    wanted = _needed(composite, live)
    for step in plan.steps:
        if step.start not in wanted or step.start in known:
            continue
        places = padded(step.node.op, step.operands)
        names = [
            None
            if place is None or ref is None
            else named(place, plan.graph.tensor_name(ref).removeprefix("composite."))
            for place, ref in zip(places, padded(step.node.op, step.node.operands), strict=True)
        ]
        inner = Call(
            step.node.op, step.node.attributes, step.specs,
            tuple(None if place is None else values[place] for place in places),
            lambda slot, names=names: names[slot] or "",
        )  # fmt: skip
        found = carried(inner, [known.get(p) if p in live else None for p in places], step.node.outputs)
        if found is not None:
            known.update(zip(step.places, found, strict=True))
    return [known[place] for place in composite.results]


def live_places(composite: Composite, live: Sequence[bool]) -> set[int]:
    """The places of a composite's plan whose values are linear in the operands that are live."""
    operands = zip(composite.operands, live, strict=False)
    found = {place for place, is_live in operands if is_live and place is not None}
    for step in composite.plan.steps:
        if not step.node.op.fed and carries(step.node.op, step.specs, step.node.attributes, [
            place in found for place in padded(step.node.op, step.operands)
        ]):  # fmt: skip
            found.update(step.places)
    return found


def _needed(composite: Composite, live: set[int]) -> set[int]:
    """The first places of the steps that the results need parts of."""
    todo, found = list(composite.results), set()
    by_place = {place: step for step in composite.plan.steps for place in step.places}
    while todo:
        step = by_place[todo.pop()]
        if step.start in found:
            continue
        found.add(step.start)
        places = padded(step.node.op, step.operands)
        groups = live_groups(step.node.op, step.specs, step.node.attributes, [p in live for p in places])
        slots = [s for group in groups for s in group] if groups else range(len(places))
        todo += [p for slot in slots if slot < len(places) and (p := places[slot]) is not None and p in live]
    return found


def carries(op: Op, specs: Sequence[Spec | None], attributes: Mapping[str, Any], live: Sequence[bool]) -> bool:
    """Whether parts of these operands become parts of the results."""
    if not any(live):
        return False
    if live_groups(op, specs, attributes, live):
        return True
    if not looked_into(op):
        return False
    return _carries_inside(op, _bare(specs), _frozen(attributes), tuple(live))


Bare = tuple[tuple[tuple[int, ...], str] | None, ...]
"""Shapes and kinds of operands."""


def _bare(specs: Sequence[Spec | None]) -> Bare:
    return tuple((s.shape, s.kind) if s is not None else None for s in specs)


def _frozen(attributes: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(attributes.items(), key=lambda item: item[0]))


@lru_cache(maxsize=256)
def _composite(op: Op, specs: Bare, attributes: tuple[tuple[str, Any], ...]) -> Composite:
    """What an op is made of, kept for the next call of the same shape."""
    plain = [None if spec is None else Spec(spec[0], kind=spec[1]) for spec in specs]
    return Composite(op, plain, dict(attributes), FLOAT)


@lru_cache(maxsize=4096)
def _carries_inside(
    op: Op, specs: Bare, attributes: tuple[tuple[str, Any], ...], live: tuple[bool, ...]
) -> bool:
    composite = _composite(op, specs, attributes)
    return set(composite.results) <= live_places(composite, live)
