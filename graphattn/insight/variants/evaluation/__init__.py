"""What a variant computes: only what lies below its changes, and of that, if asked, only what one row needs.

    evaluate(intended, rewrite, [ref], row=2)  →  [the row 2 of that tensor, as a tensor of one row]

Changed and new nodes are computed on demand from the results that are asked for, so that a node may read a
tensor that comes later in the intended order; one that would read what is computed from it is refused. What
lies between and below them is planned once for all variants that change the same nodes (`tail`), unless a
change gives its results another shape: then shapes are inferred again below it (`node_by_node`). Raises a
`GraphError` for a variant that is no graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....core.graph import Ref
from ..draft import Rewrite
from ..intended import Intended
from .node_by_node import Disturb, NodeByNode
from .planned import Planned
from .sieve import Sieve


def evaluate(
    intended: Intended, rewrite: Rewrite, wanted: Sequence[Ref], row: int | None = None,
    disturb: Disturb | None = None,
) -> list[Any]:  # fmt: skip
    """The values of tensors of the variant, by their refs in the intended graph. With `row`, that row alone of
    each tensor of rank 2 or more (as a tensor with one row). `disturb` is applied to every result, and then
    everything is computed again."""
    refs = tuple(map(rewrite.now, wanted))
    if disturb is None:
        planned = Planned(intended, rewrite.nodes, refs, row)
        if planned.prepare():
            planned.run()
            return planned.results()
    return NodeByNode(intended, rewrite.nodes, disturb).values(refs, row)


def sifted(intended: Intended, rewrite: Rewrite, wanted: Ref, row: int | None, sieve: Sieve) -> Any:
    """The value of one tensor of the variant, as of `evaluate`; None where a sieve refuses it before. A sieve
    knows that tensor alone: what a change puts in its place, or below results of another shape, is computed."""
    refs = (rewrite.now(wanted),)
    planned = Planned(intended, rewrite.nodes, refs, row)
    sieve.way.clear()
    sifting = sieve if refs == (wanted,) else None
    if sifting is not None and not sieve.reaches(planned.tail) and rewrite.keeps:
        return None
    if not planned.prepare():
        return NodeByNode(intended, rewrite.nodes).values(refs, row)[0]
    return planned.results()[0] if planned.run(sifting) else None


def reaches(intended: Intended, rewrite: Rewrite, wanted: Ref, row: int | None, sieve: Sieve) -> bool:
    """Whether a variant may move a tensor as far as a sieve asks, whatever the numbers in it."""
    refs = (rewrite.now(wanted),)
    planned = Planned(intended, rewrite.nodes, refs, row)
    if refs != (wanted,) or not planned.prepare():
        return True
    return sieve.reaches(planned.tail)
