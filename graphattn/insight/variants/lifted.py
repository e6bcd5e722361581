"""Changes inside the ops of a graph, as changes of the graph itself: an op in which something changes is
replaced by its steps, all others stay as they are. So it stands beside a change of another op.

    lift = Lift(fine, coarse)       `fine` is `coarse` with every op in steps
    lift(variant)                   a variant of `fine` as one of `coarse`
    lift.lowered(rewrite)           a change of `coarse` as one of `fine`, to stand beside one of the same op
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from ...core.errors import GraphError
from ...core.graph import Node, Ref
from .draft import Rewrite
from .evaluation.planted import only_reads
from .intended import Intended
from .structure.wholes import scopes_around, scopes_of
from .variant import Variant


class Lift:
    """See the module's docstring."""

    def __init__(self, fine: Intended, coarse: Intended) -> None:
        self.fine, self.coarse = fine, coarse
        self.owner = {name: self._owner(name) for name in fine.nodes}
        """Which node of the coarse graph each node is, or is a step of."""
        self.steps: dict[str, list[str]] = {}
        self.outer: dict[Ref, Ref] = {}
        """What the results of ops are called in the coarse graph."""
        for name, owner in self.owner.items():
            self.steps.setdefault(owner, []).append(name)
        for name in coarse.nodes:
            for port, ref in enumerate(self._results(name)):
                self.outer.setdefault(ref, Ref(name, port))

    def _owner(self, name: str) -> str:
        around = (name, *scopes_around(self.fine.graph, name))
        return next(owner for owner in around if owner in self.coarse.nodes)

    def _results(self, name: str) -> tuple[Ref, ...]:
        """What a node of the coarse graph gives, in the fine one."""
        if name in self.fine.nodes:
            return tuple(Ref(name, port) for port in range(len(self.fine.nodes[name].ports)))
        return self.fine.graph.scopes[name].outputs

    def __call__(self, variant: Variant) -> Variant:
        """The variant, about the ops inside of which it is."""
        nodes = tuple(dict.fromkeys(self.owner[name] for name in variant.nodes))
        found = replace(variant, nodes=nodes, make=lambda: self.rewrite(variant.rewrite))
        found.intended = self.coarse
        return found

    def rewrite(self, rewrite: Rewrite) -> Rewrite:
        """The same change. Raises a `GraphError` where it takes a tensor away from some that read it, and not
        from others, and the ops do not tell these apart."""
        opened, given = self._opened(rewrite)
        nodes = {name: self._read(node, given) for name, node in given.items()}
        went: dict[Ref, Ref] = {}
        for name in sorted(opened):
            for port, ref in enumerate(self._results(name)):
                went[Ref(name, port)] = self._at(rewrite.now(ref), given)
        for ref in rewrite.went:
            self._need_alike(ref, rewrite, given)
            if ref in self.outer:
                went.setdefault(self.outer[ref], self._at(rewrite.now(ref), given))
        whole = Rewrite({}, went)
        for ref in went:
            for user, _ in self.coarse.users.get(ref, ()):
                if user not in opened and user not in given:
                    node = self.coarse.nodes[user]
                    read = tuple(None if r is None else whole.now(r) for r in node.operands)
                    nodes[user] = replace(node, operands=read)
        return Rewrite(nodes, went)

    def lowered(self, rewrite: Rewrite) -> Rewrite:
        """A change of the coarse graph as one of the fine graph. Raises a `GraphError` where it is no graph."""
        graph = rewrite.graph(self.coarse.graph).at("primitive")
        nodes = {name: node for name, node in graph.nodes.items() if self.fine.nodes.get(name) != node}
        went: dict[Ref, Ref] = {}
        for name in self.coarse.nodes:
            for port, old in enumerate(self._results(name)):
                new = rewrite.now(Ref(name, port))
                if new.node in graph.scopes and new.node not in graph.nodes:
                    new = graph.scopes[new.node].outputs[new.port]
                if new != old and new.node in graph.nodes:
                    went[old] = new
        return Rewrite(nodes, went)

    def _opened(self, rewrite: Rewrite) -> tuple[set[str], dict[str, Node]]:
        """The ops that have to be in steps, and the records of their steps and of what else is changed."""
        fine, owner = self.fine, self.owner
        own = {n: node for n, node in rewrite.nodes.items() if not only_reads(fine, rewrite, node)}
        moved = {ref for ref in rewrite.went if ref not in self.outer}
        opened = {owner[name] for name in (*own, *(ref.node for ref in moved)) if name in owner}
        opened -= fine.nodes.keys()
        while True:
            steps = [step for name in sorted(opened) for step in self.steps[name]]
            given = {step: rewrite.nodes.get(step) or fine.nodes[step] for step in steps} | own
            read = {ref for node in given.values() for ref in node.operands if ref is not None}
            read.update(rewrite.now(ref) for ref in rewrite.went)
            hidden = {owner[ref.node] for ref in read if ref.node not in given and ref not in self.outer}
            if hidden <= opened:
                return opened, given
            opened |= hidden

    def _at(self, ref: Ref, given: Mapping[str, Node]) -> Ref:
        return ref if ref.node in given else self.outer[ref]

    def _read(self, node: Node, given: Mapping[str, Node]) -> Node:
        """A record in the coarse graph."""
        around = scopes_of(self.fine.graph, node.scope) if node.scope in self.fine.graph.scopes else ()
        scope = next((name for name in around if name in self.coarse.graph.scopes), None)
        read = tuple(None if ref is None else self._at(ref, given) for ref in node.operands)
        return replace(node, operands=read, scope=scope)

    def _need_alike(self, ref: Ref, rewrite: Rewrite, given: Collection[str]) -> None:
        for user, _ in self.fine.users.get(ref, ()):
            if user not in given and user not in rewrite.nodes:
                raise GraphError(f"{user!r} still reads {ref.node!r}, which others do not")
