"""The order in which recorded tensors came about: what each was computed from, as far as it was recorded.

Between two recorded tensors there may be steps that nobody recorded (they were fused, or not asked
for); what stands nearest before or after them counts as the neighbour.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cached_property

from ...core.graph import Graph, Ref


def flow_of(graph: Graph, recorded: Iterable[str]) -> Flow:
    """The flow of these tensors, kept with the graph."""
    names = frozenset(recorded)
    return graph.kept(("flow", names), lambda: Flow(graph, names))


class Flow:
    """The recorded tensors of a graph, by the names of their nodes, with their recorded neighbours."""

    def __init__(self, graph: Graph, recorded: Collection[str]) -> None:
        self.graph = graph
        self.refs: dict[str, Ref] = {}
        """What each recorded tensor is in the graph, in order."""
        self.names: dict[Ref, str] = {}
        self.above: dict[Ref, frozenset[Ref]] = {}
        """For each output, the nearest recorded ones that it was computed from."""
        for node in graph.nodes.values():
            before: set[Ref] = set()
            for ref in node.operands:
                if ref is not None:
                    before |= {ref} if ref in self.names else self.above[ref]
            frozen = frozenset(before)
            for port, name in enumerate(node.tensor_names):
                ref = Ref(node.name, port)
                self.above[ref] = frozen
                if name in recorded:
                    self.refs[name], self.names[ref] = ref, name

    @cached_property
    def order(self) -> list[str]:
        """The recorded tensors as the graph computes them."""
        return list(self.refs)

    @cached_property
    def below(self) -> Mapping[Ref, set[Ref]]:
        """For each recorded output, the nearest recorded ones that were computed from it."""
        below: dict[Ref, set[Ref]] = {}
        for ref in self.names:
            for source in self.above[ref]:
                below.setdefault(source, set()).add(ref)
        return below

    @cached_property
    def _place(self) -> Mapping[str, int]:
        return {name: i for i, name in enumerate(self.order)}

    @cached_property
    def _node_place(self) -> Mapping[str, int]:
        return {name: i for i, name in enumerate(self.graph.nodes)}

    @cached_property
    def computed(self) -> frozenset[Ref]:
        """What the graph computes: not what is fed to it or made without any input, nor that, merely moved; but
        a result that is not fed is, whatever makes it."""
        computed: set[Ref] = set()
        for node in self.graph.nodes.values():
            if node.operands and (not node.op.moves or any(ref in computed for ref in node.operands)):
                computed |= {Ref(node.name, port) for port in range(len(node.ports))}
        results = {tensor.ref for tensor in self.graph.outputs.values()}
        return frozenset(computed | {ref for ref in results if self.graph.nodes[ref.node].operands})

    def inputs(self, name: str) -> list[str]:
        """The nearest recorded tensors that this one was computed from, in order."""
        return self._in_order(self.above[self.refs[name]])

    def results(self, name: str) -> list[str]:
        """The nearest recorded tensors that were computed from this one."""
        return self._in_order(self.below.get(self.refs[name], ()))

    def _in_order(self, refs: Iterable[Ref]) -> list[str]:
        return sorted((self.names[ref] for ref in refs), key=self._place.__getitem__)

    def between(self, name: str) -> list[str]:
        """The steps between a tensor and its recorded inputs, which were not recorded, in order."""
        nodes = [node for node in self._unrecorded(name) if self.graph.nodes[node].operands]
        return sorted(nodes, key=self._node_place.__getitem__)

    def unseen(self, name: str) -> list[str]:
        """What is fed, weights and what has a default aside, and goes into a tensor, and was not recorded, in
        order."""
        inputs = self._unrecorded(name) & self.graph.inputs.keys()
        fed = [node for node in inputs if self.graph.nodes[node].op.drawn is None]
        return sorted(fed, key=self._node_place.__getitem__)

    def _unrecorded(self, name: str) -> set[str]:
        """The nodes between a tensor and its recorded inputs."""
        todo = [ref for ref in self.graph.node(self.refs[name].node).operands if ref is not None]
        seen: set[Ref] = set()
        while todo:
            ref = todo.pop()
            if ref in seen or ref in self.names:
                continue
            seen.add(ref)
            todo += [other for other in self.graph.nodes[ref.node].operands if other is not None]
        return {ref.node for ref in seen}

    def harmless(self, differs: Mapping[str, bool], vouches: Callable[[str, str], bool]) -> set[str]:
        """The tensors that differ though every recorded tensor after them agrees, and vouches for them, or is
        harmless itself. What the graph gives as a result is never harmless."""
        results = {tensor.ref for tensor in self.graph.outputs.values()}
        harmless: set[str] = set()
        for name in reversed(self.order):
            if not differs.get(name) or self.refs[name] in results:
                continue
            after = self.results(name)
            agree = (other in harmless or (not differs[other] and vouches(other, name)) for other in after)
            if after and all(agree):
                harmless.add(name)
        return harmless
