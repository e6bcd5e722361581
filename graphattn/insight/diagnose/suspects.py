"""What cannot be told: the usual mistakes that would give as well what was observed, and the one tensor between
that would tell most.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core import nested
from ...core.errors import GraphError
from ...core.graph import Ref
from ..compare.recording import rows_of
from ..variants import Intended, Rewrite, Variant, evaluate
from ..variants.clock import Clock
from .classes import same
from .judge import NOTHING, within
from .levels import Level

USUAL = 1.2
"""The price up to which a mistake is a usual one."""
MOST = 12
"""The most suspects that are named."""


def as_well(level: Level) -> tuple[list[Variant], int]:
    """The usual mistakes that give what was observed as exactly as the graph itself, and how many there are
    that full precision would show."""
    judge, found, count = level.judge, [], 0
    for variant in level.variants():
        if variant.price > USUAL:
            break
        try:
            values = evaluate(level.intended, variant.rewrite, judge.refs)
        except GraphError:
            continue
        if all(_alike(a, b) for a, b in zip(values, judge.values, strict=True)):
            continue
        count += 1
        rows = [rows_of(value, rank) for value, rank in zip(values, judge.ranks, strict=True)]
        cells = zip(rows, judge.observed, judge.strict, strict=True)
        if all(within(r, o.rows, room) for r, o, room in cells):
            found.append(variant)
    return found, count


def _alike(a: Any, b: Any) -> bool:
    return same(list(nested.flat(a)), list(nested.flat(b)))


Suspects = list[tuple[Level, Variant]]


def giving_nan(levels: Sequence[Level], budget: float) -> tuple[Suspects, Suspects]:
    """Mistakes that give nothing but NaN, and those that give some: the usual ones, or where none of these
    does, the likeliest of all others."""
    whole: Suspects = []
    some: Suspects = []
    clock = Clock()
    for level in levels:
        for variant in level.variants():
            seldom = variant.price > USUAL and (whole or some)
            if seldom or len(whole) >= MOST or clock.seconds > budget:
                break
            try:
                values = evaluate(level.intended, variant.rewrite, level.judge.refs)
            except GraphError:
                continue
            cells = [cell != cell for value in values for cell in nested.flat(value)]
            if any(cells):
                (whole if all(cells) else some).append((level, variant))
    return whole, some[:MOST]


def most_telling(level: Level, rewrites: Sequence[Rewrite]) -> str | None:
    """The tensor whose values differ most from one of these changes to another; the first of several."""
    intended = level.intended
    refs = _between(level)
    shown: list[set[int]] = [set() for _ in refs]
    for rewrite in (NOTHING, *rewrites):
        for place, ref in enumerate(refs):
            try:
                (value,) = evaluate(intended, rewrite, [ref])
            except GraphError:
                continue
            shown[place].add(hash(tuple(f"{cell:.6g}" for cell in nested.flat(value))))
    most = max(map(len, shown), default=0)
    if most < 2:
        return None
    return intended.graph.tensor_name(refs[[len(values) for values in shown].index(most)])


def halfway(level: Level) -> str | None:
    """The tensor that has as many steps before it as after it."""
    intended, refs = level.intended, _between(level)
    steps = [name for name, node in intended.nodes.items() if node.operands]
    before = [sum(intended.depends(ref.node, on=name) for name in steps) for ref in refs]
    if not refs:
        return None
    best = min(range(len(refs)), key=lambda place: abs(2 * before[place] - len(steps)))
    return intended.graph.tensor_name(refs[best])


def _between(level: Level) -> list[Ref]:
    """The tensors of numbers that are computed and were not observed."""
    intended: Intended = level.intended
    seen = {ref.node for ref in level.judge.refs}
    return [
        Ref(name, port)
        for name, node in intended.nodes.items()
        if node.operands and name not in seen
        for port, spec in enumerate(node.outputs)
        if spec.kind == "float"
    ]
