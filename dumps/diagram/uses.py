"""Where each output of a graph is used, and what is drawn in another's box for that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from graphattn.core.graph import Graph, Node, Ref
from graphattn.dumps.alike import Fold, fold_of


class Use(NamedTuple):
    """A place where an output of a node is used: by a node, in a slot, or as a result (slot −1)."""

    port: int
    by: str
    slot: int


class Uses:
    """The uses of every node, and where each node is drawn."""

    def __init__(self, graph: Graph, folds: list[Fold]) -> None:
        self.graph = graph
        self.fold = fold_of(folds)
        """The fold that each folded node belongs to."""
        self.of = _uses(graph)

    def absorbed(self, node: Node) -> bool:
        """Whether a node is drawn in the box of the one node that uses it."""
        if node.op.drawn != "inside":
            return False
        users = self.of[node.name]
        if len(users) == 1:
            return users[0].slot >= 0
        return bool(users) and self.one_fold(users)

    def copied(self, node: Node) -> bool:
        """Whether a node is drawn once beside each node that uses it."""
        return node.op.drawn == "beside" and bool(self.of[node.name])

    def one_fold(self, users: list[Use]) -> bool:
        """Whether all users are in the same fold."""
        folds = {id(self.fold[use.by]) if use.slot >= 0 and use.by in self.fold else None for use in users}
        return len(folds) == 1 and None not in folds

    def reached(self, node: Node) -> Iterator[tuple[Ref, tuple[str, int]]]:
        """The outputs that arrows into a node come from, through what is drawn inside it, each with
        the use (node and slot) that it goes to."""
        stack = [(ref, (node.name, slot)) for slot, ref in enumerate(node.operands) if ref is not None][::-1]
        while stack:
            ref, use = stack.pop()
            source = self.graph.nodes[ref.node]
            if self.absorbed(source):
                inner = [(r, (source.name, slot)) for slot, r in enumerate(source.operands) if r is not None]
                stack += reversed(inner)
            else:
                yield ref, use


def _uses(graph: Graph) -> dict[str, list[Use]]:
    uses: dict[str, list[Use]] = {name: [] for name in graph.nodes}
    for node in graph.nodes.values():
        for slot, ref in enumerate(node.operands):
            if ref is not None:
                uses[ref.node].append(Use(ref.port, node.name, slot))
    for name, tensor in graph.outputs.items():
        uses[tensor.ref.node].append(Use(tensor.ref.port, name, -1))
    return uses
