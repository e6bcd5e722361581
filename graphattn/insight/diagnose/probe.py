"""An input on which the usual mistakes of a graph can all be seen.

    found = probe(graph, feeds)
    found.feeds      what to run yours on
    found.unseen     the mistakes that no such input shows, as phrases

Inputs are drawn anew, parameters stay as they are. A mistake is seen where some result differs by more than
one part in 10⁶ of its largest cell. With one head, one token, symmetric weights or a bias of 0 some cannot be
seen at all: those are listed, since an agreement says nothing of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...core import nested
from ...core.errors import GraphError
from ...core.graph import Graph
from ...core.words import counted
from ..variants import Intended, Variant, evaluate, variants
from .classes import other_feeds

SEEN = 1e-6
USUAL = 1.5
"""The price up to which a mistake is a usual one."""
TRIES = 4


@dataclass(frozen=True)
class Probe:
    """See the module's docstring."""

    feeds: Mapping[str, Any]
    seen: list[str]
    unseen: list[str]

    def __str__(self) -> str:
        lines = [f"{counted(len(self.seen), 'usual mistake')} can be seen on these inputs"]
        if self.unseen:
            lines.append(f"{len(self.unseen)} cannot, on this or any other that was tried:")
            lines += [f"  this graph {phrase}" for phrase in self.unseen]
        return "\n".join(lines) + "\n"


def probe(graph: Graph, feeds: Mapping[str, Any]) -> Probe:
    """The best of a few draws of the inputs; `feeds` gives parameters, masks and indices, and the inputs to
    begin with. Raises a `GraphError` for feeds that do not fit."""
    fine = graph.at("op")
    best: Probe | None = None
    for fed in (feeds, *(other_feeds(fine, feeds, seed) for seed in range(-TRIES, 0))):
        intended = Intended(fine, fed)
        usual = [v for v in variants(intended, rest=False) if v.price <= USUAL]
        seen, unseen = [], []
        for variant in usual:
            visible = _visible(intended, variant)
            if visible is not None:
                (seen if visible else unseen).append(variant.phrase)
        if best is None or len(seen) > len(best.seen):
            best = Probe(fed, seen, unseen)
    assert best is not None
    return best


def _visible(intended: Intended, variant: Variant) -> bool | None:
    """Whether a variant shows in some result; None where it is no graph."""
    refs = [tensor.ref for tensor in intended.graph.outputs.values()]
    try:
        values = evaluate(intended, variant.rewrite, refs)
    except GraphError:
        return None
    return any(_differ(intended.values[ref], value) for ref, value in zip(refs, values, strict=True))


def _differ(a: Any, b: Any) -> bool:
    x, y = list(nested.flat(a)), list(nested.flat(b))
    if len(x) != len(y):
        return True
    size = max((abs(v) for v in x if abs(v) < 1e300), default=0.0)
    return any(
        p != q and not abs(p - q) <= SEEN * size and not (p != p and q != q) for p, q in zip(x, y, strict=True)
    )
