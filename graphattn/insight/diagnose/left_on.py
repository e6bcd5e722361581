"""Dropout that was left on: cells of one tensor are 0, all others larger by 1 / (1 − p).

Which cells is chance, so no variant of the graph has them; they are read off what was observed. Where a tensor
goes to the result cell by cell, by additions alone, the result less what it is when the tensor is 0 is what the
tensor adds, times one number or times 0. The variant then multiplies by these, and has to give all that was
observed like any other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

from ...core import nested
from ...core.errors import GraphError
from ...core.graph import Node, Ref
from ..compare.relations.chance import claimed
from ..variants import Draft, Variant, evaluate
from ..variants.variant import one, the
from .judge import alike
from .levels import Level
from .search import Hit, Search

LEAST = 1.001
"""The least factor that is told from 1."""
PRICE = 1.5
MEND = "Switch dropout off before you compare: model.eval(), or p = 0."


def left_on(search: Search, level: Level) -> list[Hit]:
    """The tensor behind which a dropout explains what was observed, if there is one: looked at whatever the
    budget, for it takes next to none."""
    judge = level.judge
    if alike(judge.rows[judge.key], judge.observed[judge.key].rows):
        for node in _added_up(level):
            factors = _factors(level, node)
            hit = None if factors is None else search.look(level, (_variant(level, node, factors),))
            if hit is not None:
                return [hit]
    return []


def _added_up(level: Level) -> Iterator[Node]:
    """The first tensor that differs, what it is the sum of, what these are the sums of."""
    intended, key = level.intended, level.judge.refs[level.judge.key]
    todo = [key]
    for ref in todo:
        node = intended.nodes[ref.node]
        if len(node.ports) == 1 and node.op.drawn != "inside":
            yield node
        if node.op.family == "add":
            added = (r for r in node.operands if r is not None and intended.shape(r) == intended.shape(key))
            todo += [other for other in added if other not in todo]


def _variant(level: Level, node: Node, factors: list[float]) -> Variant:
    cells = iter(factors)
    value = nested.build(level.intended.spec(Ref(node.name)).shape, lambda *_: next(cells))
    words = f"with dropout (p = {1 - 1 / max(factors):.3g}) left on behind {the(level.intended, (node.name,))}"
    make = one(level.intended, partial(_multiplied, node=node, value=value))
    variant = Variant("dropout", words, PRICE, (node.name,), make, sentence=MEND)
    variant.intended = level.intended
    return variant


def _multiplied(draft: Draft, node: Node, value: object) -> None:
    kept = draft.add("constant", [], {"value": value}, near=node, name="kept")
    made = draft.add("multiply", [Ref(node.name), kept], near=node, name="dropped")
    draft.redirect(Ref(node.name), made, apart_from=(made.node,))


def _factors(level: Level, node: Node) -> list[float] | None:
    """By what each cell of a tensor was multiplied, 0 or one number; None where that was not observed."""
    judge, intended = level.judge, level.intended
    draft = Draft(intended)
    none = nested.build(intended.spec(Ref(node.name)).shape, lambda *_: 0.0)
    _multiplied(draft, node, none)
    try:
        (without,) = evaluate(intended, draft.done(), [judge.refs[judge.key]])
    except GraphError:
        return None
    own, rows = nested.flat(judge.values[judge.key]), judge.observed[judge.key].rows
    theirs = [cell for row in rows for cell in row]
    room = [most for row, most in zip(rows, judge.loose[judge.key], strict=True) for _ in row]
    cells = [(a - w, b - w, r) for a, b, w, r in zip(own, theirs, nested.flat(without), room, strict=True)]
    return _told(cells) if all(math.isfinite(x) and math.isfinite(y) for x, y, _ in cells) else None


def _told(cells: list[tuple[float, float, float]]) -> list[float] | None:
    """The factor of each cell, from what it adds, what it was observed to add, and how far off that may be."""
    seen = [(x, y, r) for x, y, r in cells if abs(x) > 2 * r]
    kept = [(x, y, r) for x, y, r in seen if abs(y) > r]
    if not 0 < len(kept) < len(seen):
        return None
    mean = sum(x * y for x, y, _ in kept) / sum(x * x for x, _, _ in kept)
    shares = [round(1 - 1 / mean, digits) for digits in (2, 3)] if mean > LEAST else []
    near = max(r / abs(x) for x, _, r in kept)
    for factor in (*(1 / (1 - p) for p in shares if 0 < p < 1), *[mean] * bool(shares)):
        if all(abs(y - factor * x) <= (1 + factor) * r for x, y, r in kept):
            fits = claimed(len(kept) - 1, min(near, 0.1), 2.0)
            return [0.0 if abs(y) <= r else factor for _, y, r in cells] if fits else None
    return None
