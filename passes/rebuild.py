"""How a pass makes its new graph: node by node, keeping, replacing or leaving out.

A pass walks the old graph in canonical order and calls `keep`, `become` or neither for each node;
`finish` carries over scopes, aliases and outputs as far as what they stand for is still there.
"""

from __future__ import annotations

from dataclasses import replace

from graphattn.core.graph import Graph, Node, Ref
from graphattn.core.names import owners


class Rebuild:
    """A new graph in the making, and where each output of the old one went."""

    def __init__(self, old: Graph) -> None:
        self.old = old
        self.graph = Graph(old.name, old.title)
        self.graph.notes = old.notes
        self._went: dict[Ref, Ref] = {}
        self._forgotten: set[str] = set()
        for scope in old.scopes.values():
            self.graph.adopt_scope(scope)

    def operands(self, node: Node) -> tuple[Ref | None, ...]:
        """The operands of an old node, in the new graph."""
        return tuple(None if ref is None else self._went[ref] for ref in node.operands)

    def went(self, ref: Ref) -> Ref:
        """Where an output of the old graph is in the new one."""
        return self._went[ref]

    def keep(self, node: Node) -> None:
        """Take an old node over, with its operands where they went."""
        self.graph.adopt(node, self.operands(node))
        for port in range(len(node.ports)):
            self._went[Ref(node.name, port)] = Ref(node.name, port)

    def replace(self, node: Node, new: Node) -> None:
        """Put another node in the place of an old one, with as many outputs."""
        self.graph.adopt(new)
        for port in range(len(node.ports)):
            self._went[Ref(node.name, port)] = Ref(new.name, port)

    def become(self, node: Node, refs: tuple[Ref, ...]) -> None:
        """Let other outputs stand for those of an old node; its tensor names become aliases."""
        for port, ref in enumerate(refs):
            self._went[Ref(node.name, port)] = ref
            self.graph.adopt_alias(node.tensor_name(port), ref)

    def redirect(self, old: Ref, new: Ref) -> None:
        """Say where an output of the old graph went."""
        self._went[old] = new

    def forget_scope(self, name: str) -> None:
        """Leave a scope out of the new graph, with the aliases that came with it."""
        self.graph.forget_scope(name)
        self._forgotten.add(name)

    def finish(self) -> Graph:
        """The new graph, complete."""
        for name, ref in self.old.aliases.items():
            inside = not self._forgotten.isdisjoint([name, *owners(name)])
            if ref in self._went and not inside:
                self.graph.adopt_alias(name, self._went[ref])
        for name, tensor in self.old.outputs.items():
            if tensor.ref in self._went:
                self.graph.adopt_output(name, self._went[tensor.ref])
        for scope in self.old.scopes.values():
            if scope.name in self._forgotten:
                continue
            if all(ref is None or ref in self._went for ref in (*scope.operands, *scope.outputs)):
                moved = replace(
                    scope,
                    operands=tuple(None if r is None else self._went[r] for r in scope.operands),
                    outputs=tuple(self._went[r] for r in scope.outputs),
                )
            else:  # part of it is gone: what is left is a plain group
                moved = replace(scope, op=None, operands=(), outputs=(), ports=())
            self.graph.adopt_scope(moved)
        return self.graph
