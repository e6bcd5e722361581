"""Two recordings whose tensors are matched, in the order in which a graph computes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from ...core.graph import Graph, Ref
from ...core.trace import Trace
from .alignment import Alignment, Pair
from .flow import flow_of
from .recording import Recording


class Matched:
    """What is compared. A `key` is a tensor's name in the graph that one of the two recordings is a
    trace of (in the reference, where neither is one)."""

    def __init__(self, reference: Recording, yours: Recording, alignment: Alignment) -> None:
        self.reference, self.yours, self.alignment = reference, yours, alignment
        self.trace: Trace | None = reference.trace
        """The trace of the reference; None where the reference is no trace."""
        self.side = reference if reference.trace is not None or yours.trace is None else yours
        """The recording that the graph is of."""
        self.graph: Graph | None = None if self.side.trace is None else self.side.trace.graph
        self.by_key: dict[str, list[Pair]] = {}
        for pair in alignment.pairs:
            self.by_key.setdefault(pair.key if self.side is reference else pair.other, []).append(pair)
        for ours, others in alignment.misfits:
            key = ours.name if self.side is reference else others.name
            self.by_key[key] = [Pair(ours.name, ours, others, "name", others.name)]
        self.misfits = frozenset(ours.name for ours, _ in alignment.misfits)
        self.flow = None if self.graph is None else flow_of(self.graph, self.by_key)

    @property
    def order(self) -> list[str]:
        return self.flow.order if self.flow is not None else list(self.by_key)

    @property
    def refs(self) -> Mapping[str, Ref]:
        """What each key is in the graph; {} without one."""
        return {} if self.flow is None else self.flow.refs

    def labels(self, key: str, shape: tuple[int, ...]) -> Sequence[tuple[str, ...] | None]:
        """The labels of each axis of a tensor; () where there are none, and of a part of a tensor."""
        if self._labelled is None or self.graph is None:
            return ()
        spec = self.graph.spec(self.refs[key])
        return () if spec.shape != shape else self._labelled.labels_of(spec)

    @cached_property
    def _labelled(self) -> Trace | None:
        """The trace that has labels."""
        traces = (self.reference.trace, self.yours.trace)
        return next((trace for trace in traces if trace is not None and trace.labels), None)

    def is_input(self, key: str) -> bool:
        """Whether a tensor is fed, not computed; unknown without a graph: then none is."""
        return key in self._fed

    @cached_property
    def _fed(self) -> frozenset[str]:
        """The tensors that are fed."""
        if self.graph is None:
            return frozenset()
        nodes = self.graph.nodes
        return frozenset(key for key, ref in self.refs.items() if nodes[ref.node].op.fed)

    def is_result(self, key: str) -> bool:
        """Whether a tensor is a result of the graph."""
        outputs = {} if self.graph is None else self.graph.outputs
        return self.refs.get(key) in {tensor.ref for tensor in outputs.values()}

    def called(self, key: str, pair: Pair) -> str:
        """What a tensor of the reference is called: as yours calls it, where that is the name of the result of
        the graph that it is; else by its own name."""
        outputs = {} if self.graph is None or self.side is not self.reference else self.graph.outputs
        result = outputs.get(pair.yours.name)
        same = result is not None and result.ref == self.refs.get(key) and pair.reference.name == key
        return pair.yours.name if same else pair.reference.name

    def kind(self, key: str) -> str:
        """float, bool or int."""
        return "float" if self.graph is None else self.graph.spec(self.refs[key]).kind
