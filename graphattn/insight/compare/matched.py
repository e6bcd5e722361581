"""Two recordings whose tensors are matched, in the order in which a graph computes them."""

from __future__ import annotations

from collections.abc import Mapping

from ...core.graph import Graph, Ref
from ...core.trace import Trace
from .alignment import Alignment, Pair
from .flow import Flow
from .recording import Recording


class Matched:
    """What is compared. A `key` is a tensor's name in the graph that one of the two recordings is a trace of (in
    mine, where neither is one)."""

    def __init__(self, mine: Recording, theirs: Recording, alignment: Alignment) -> None:
        self.mine, self.theirs, self.alignment = mine, theirs, alignment
        self.trace: Trace | None = mine.trace
        """The trace of mine; None where mine is no trace."""
        self.side = mine if mine.trace is not None or theirs.trace is None else theirs
        """The recording that the graph is of."""
        self.graph: Graph | None = None if self.side.trace is None else self.side.trace.graph
        self.by_key: dict[str, list[Pair]] = {}
        for pair in alignment.pairs:
            self.by_key.setdefault(pair.key if self.side is mine else pair.other, []).append(pair)
        for ours, others in alignment.misfits:
            key = ours.name if self.side is mine else others.name
            self.by_key[key] = [Pair(ours.name, ours, others, "name", others.name)]
        self.misfits = frozenset(ours.name for ours, _ in alignment.misfits)
        self.flow = None if self.graph is None else Flow(self.graph, self.by_key)

    @property
    def order(self) -> list[str]:
        return self.flow.order if self.flow is not None else list(self.by_key)

    @property
    def refs(self) -> Mapping[str, Ref]:
        """What each key is in the graph; {} without one."""
        return {} if self.flow is None else self.flow.refs
