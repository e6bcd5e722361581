"""Which change of the graph gives what yours recorded, from your own recorded inputs.

The steps between a tensor and its recorded inputs become a graph of their own, fed with what yours recorded;
the variants of `insight.variants` are tried on it, the likeliest first.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...core import nested
from ...core.errors import GraphError
from ...core.graph import Graph, Ref
from ..variants import Intended, Variant, evaluate, variants
from ..variants.clock import Clock
from .cell_classes import Rules, Tolerance, measure
from .recording import Recorded, rows_of
from .replay import Replay

SECONDS = 2.0
"""At most so long is looked for (seconds of work: see `Clock`)."""
STEPS = 24
"""A segment of more steps is not looked into."""
BAND = 0.5
"""How much dearer than the likeliest another explanation may be."""
INSIDE = 0.3
"""How much dearer a change is inside of a step."""
ROOM = 64.0
"""How many units of the precision, of the largest cell, an explanation may be off by."""


def explanations(replay: Replay, key: str) -> list[str]:
    """What to do to the graph so that it gives yours ("without the scale …"), the likeliest first."""
    flow = replay.flow
    names = [*flow.between(key), flow.refs[key].node]
    if len(names) > STEPS:
        return []
    clock = Clock()
    phrases: dict[str, float] = {}
    yours = replay.matched.by_key[key][0].yours
    for price, variant in _by_price(replay, names):
        if clock.seconds > SECONDS or (phrases and price > min(phrases.values()) + BAND):
            break
        try:
            (value,) = evaluate(variant.intended, variant.rewrite, [variant.intended.graph.resolve(key)])
        except GraphError:
            continue
        if _agrees(replay, key, value, yours):
            phrases.setdefault(variant.phrase, price)
    return list(phrases)


def _by_price(replay: Replay, names: list[str]) -> list[tuple[float, Variant]]:
    """The variants of a segment, and of what its steps are made of, the likeliest first."""
    try:
        segment, feeds = _segment(replay, names)
        intended = Intended(segment, feeds)
        priced = [(variant.price, variant) for variant in variants(intended, names)]
        if any(segment.nodes[name].op.coarser("primitive") for name in names):
            fine = Intended(segment.at("primitive"), feeds)
            inside = [name for name in fine.graph.nodes if name not in segment.nodes]
            priced += [(variant.price + INSIDE, variant) for variant in variants(fine, inside)]
    except GraphError:
        return []
    return sorted(priced, key=lambda pair: pair[0])


def _segment(replay: Replay, names: list[str]) -> tuple[Graph, dict[str, Any]]:
    """The steps alone, with what they are computed from as inputs; and what to feed them."""
    graph, small, feeds = replay.graph, Graph("segment"), {}
    for name in names:
        node = graph.nodes[name]
        for ref in node.operands:
            if ref is None or ref.node in small.nodes:
                continue
            source = graph.nodes[ref.node]
            if not source.operands and not source.op.fed:
                small.adopt(replace(source, scope=None))
                continue
            if len(source.ports) > 1:
                raise GraphError(f"{source.name} has several results")
            spec = graph.spec(ref)
            small.input(ref.node, spec.shape, spec.axes, spec.kind)
            feeds[ref.node] = replay.given(ref)
        small.adopt(replace(node, scope=None))
    small.adopt_output("result", Ref(names[-1]))
    return small, feeds


def _agrees(replay: Replay, key: str, value: Any, yours: Recorded) -> bool:
    shape = nested.shape_of(value)
    if shape != yours.shape:
        return False
    given = Recorded(key, shape, rows_of(value, len(shape)))
    tolerances = replay.tolerances
    shown = tolerances.prints.of(replay.matched.by_key[key][0])
    unit = ROOM * 2.0**-tolerances.precision.bits
    return measure(given, yours, Tolerance(unit, shown.half(given.spread)), Rules()).agrees
