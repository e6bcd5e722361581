"""What a reader of a trace has taken in so far: the same for text, JSON and folders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from graphattn.core.errors import GraphError
from graphattn.core.graph import Graph, Node
from graphattn.core.numbers import Numbers
from graphattn.core.trace import Trace
from graphattn.dumps.literals import shortened


class Recording:
    """Steps and tensors of a trace, as they are read; `restore` makes the trace of them."""

    def __init__(self, graph: Graph, numbers: Numbers) -> None:
        self.graph = graph
        self.numbers = numbers
        self.order = {name: position for position, name in enumerate(graph.nodes)}
        self.last = -1
        self.evaluated: list[str] = []
        self.patched: list[str] = []
        self.values: dict[str, Any] = {}
        self.masks: dict[str, Any] = {}
        self.warnings: dict[str, list[str]] = {}

    def step(self, name: str, warnings: Iterable[str] = (), patched: Iterable[str] = ()) -> Node:
        """Take in that a step was evaluated; its node. Raises where it is none, or not in the graph's order."""
        if name not in self.order:
            raise GraphError(f"{shortened(name)} is not a step of the graph")
        if self.order[name] <= self.last:
            raise GraphError(f"step {shortened(name)} comes twice or too late; expected the order of the graph")
        self.last = self.order[name]
        self.evaluated.append(name)
        self.warnings[name] = list(warnings)
        self.patched += patched
        return self.graph.nodes[name]

    def tensor(self, name: str, value: Any, mask: Any) -> None:
        """Take in a tensor; None stands for a value that was not kept, and for no hidden cells."""
        if value is not None:
            self.values[name] = value
        if mask is not None:
            self.masks[name] = mask

    def restore(self, labels: Mapping[str, Sequence[str]]) -> Trace:
        """The trace. Raises a `GraphError` where a tensor does not fit its graph."""
        return Trace.restore(
            self.graph, self.values, labels, self.patched, self.numbers, self.evaluated, self.masks,
            self.warnings,
        )  # fmt: skip
