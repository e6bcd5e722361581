"""A variant in the making: nodes of the intended graph replaced, added, or passed by; and what comes of it.

    draft = Draft(intended)
    draft.change(node, operands=…)          another record in its place, under its name
    ref = draft.add("transpose", [ref], near=node)
    draft.redirect(old, new)                whoever reads old reads new
    rewrite = draft.done()

A `Rewrite` is data: records by name, and where results went. `rewrite.graph()` is the variant as a graph of
its own; `evaluate.evaluate` computes it without building one; `merged` is two of them in one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ...core.errors import GraphError
from ...core.graph import Graph, Node, Ref
from ...core.op import Op, find
from ...passes.rebuild import Rebuild
from .intended import Intended

if TYPE_CHECKING:
    from .edit import Edit

NO_ATTRIBUTES: Mapping[str, Any] = MappingProxyType({})


class Draft:
    """See the module's docstring. Nothing is checked before the variant is evaluated or built."""

    def __init__(self, intended: Intended) -> None:
        self.intended = intended
        self.graph = intended.graph
        self.nodes: dict[str, Node] = {}
        self.went: dict[Ref, Ref] = {}
        self.open: list[tuple[str, str]] = []
        self.asked: set[str | Ref] = set()
        """The records and tensors of which was asked how they are now."""

    def node(self, name: str) -> Node:
        """The record of that name as it is now."""
        self.asked.add(name)
        return self.nodes.get(name) or self.intended.nodes[name]

    def now(self, ref: Ref) -> Ref:
        """What stands for a tensor as it is now."""
        self.asked.add(ref)
        return self.went.get(ref, ref)

    def change(
        self, node: Node, op: Op | None = None, operands: Sequence[Ref | None] | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        """Another op, other operands or attributes (those named) for a node."""
        now = self.node(node.name)
        given = now.attributes
        if op is not None and op is not now.op:
            given = MappingProxyType({k: given.get(k, v) for k, v in op.defaults.items()})
        if attributes is not None:
            given = MappingProxyType({**given, **attributes})
        read = now.operands if operands is None else tuple(operands)
        self.nodes[now.name] = Node(
            now.name, op or now.op, read, given, now.outputs, now.ports, now.title, now.scope
        )

    def operand(self, node: Node | str, slot: int, ref: Ref | None) -> None:
        """Another operand in one slot."""
        now = self.node(node if isinstance(node, str) else node.name)
        self._read(now, (*now.operands[:slot], ref, *now.operands[slot + 1 :]))

    def add(
        self, op: str | Op, operands: Sequence[Ref | None], attributes: Mapping[str, Any] = NO_ATTRIBUTES,
        *, near: Node, name: str = "",
    ) -> Ref:  # fmt: skip
        """One more node, in the scope of another; its first result."""
        op = find(op) if isinstance(op, str) else op
        base = f"{near.name}_{name or op.name}"
        full, count = base, 1
        while full in self.nodes or full in self.intended.nodes:
            count += 1
            full = f"{base}_{count}"
        whole = MappingProxyType({**op.defaults, **attributes})
        self.nodes[full] = Node(full, op, tuple(operands), whole, (), ("",), None, near.scope)
        return Ref(full)

    def redirect(self, old: Ref, new: Ref, apart_from: Collection[str] = ()) -> None:
        """Whoever reads one tensor reads another, results included, but for the nodes named."""
        for name, slot in self.intended.users.get(old, ()):
            if name not in apart_from and self.node(name).operands[slot : slot + 1] == (old,):
                self.operand(name, slot, new)
        for name, node in list(self.nodes.items()):
            added = old in node.operands and name not in self.intended.nodes
            if added and name not in apart_from and name != new.node:
                self._read(node, tuple([new if ref == old else ref for ref in node.operands]))
        self.went[old] = new

    def give(self, old: Ref, new: Ref) -> None:
        """A result is another tensor; who reads the one that it was goes on to do so."""
        self.went[old] = new

    def _read(self, node: Node, operands: tuple[Ref | None, ...]) -> None:
        """Other operands for a record. (`dataclasses.replace` takes three times as long.)"""
        self.nodes[node.name] = Node(
            node.name, node.op, operands, node.attributes, node.outputs, node.ports, node.title, node.scope
        )

    def solve_for(self, name: str, attribute: str) -> None:
        """Leave a number, or a mask, open: an attribute of a record."""
        self.open.append((name, attribute))

    def done(self, edits: Sequence[Edit] = ()) -> Rewrite:
        return Rewrite(self.nodes, self.went, tuple(self.open), frozenset(self.asked), tuple(edits))


@dataclass(frozen=True)
class Rewrite:
    """Records that take the place of others or are new, and what stands for tensors that are passed by."""

    nodes: Mapping[str, Node]
    went: Mapping[Ref, Ref]
    open: tuple[tuple[str, str], ...] = ()
    """(name of a record, its attribute) where a number is open (see `solve`), or a mask (see `seen`)."""
    asked: frozenset[str | Ref] = frozenset()
    """What the change depends on: the records and tensors of which it was asked how they are."""
    edits: tuple[Edit, ...] = ()
    """What it is made of, if it is made of edits of single nodes side by side."""

    @property
    def keeps(self) -> bool:
        """Whether it is known that no result of what it changes has another shape."""
        return bool(self.edits) and all(edit.keeps for edit in self.edits)

    def at(self, number: Any) -> Rewrite:
        """The same with the number, or the mask, that was open."""
        nodes = dict(self.nodes)
        for name, attribute in self.open:
            given = MappingProxyType({**nodes[name].attributes, attribute: number})
            nodes[name] = replace(nodes[name], attributes=given)
        return Rewrite(nodes, self.went)

    def now(self, ref: Ref) -> Ref:
        """What stands for a tensor of the intended graph."""
        for _ in range(len(self.went)):
            if ref not in self.went:
                break
            ref = self.went[ref]
        return ref

    def graph(self, intended: Graph) -> Graph:
        """The variant as a graph of its own: checked by the ops' own shape rules, without what nothing needs
        any more. Raises a `GraphError` where an op refuses, or where nodes need each other."""
        records = {**intended.nodes, **self.nodes}
        roots = [self.now(tensor.ref).node for tensor in intended.outputs.values()]
        alive = _needed(records, roots)
        before = _needed(intended.nodes, [tensor.ref.node for tensor in intended.outputs.values()])
        kept = {name for name in records if name in alive or (name in intended.nodes and name not in before)}
        fed = {name for name, node in intended.nodes.items() if node.op.fed}
        rebuild = Rebuild(intended)
        for name in in_order(records, kept | fed):
            rebuild.graph.adopt(_inferred(rebuild.graph, records[name], intended))
            for port in range(len(rebuild.graph.nodes[name].ports)):
                rebuild.redirect(Ref(name, port), Ref(name, port))
        for old in self.went:
            if self.now(old).node in rebuild.graph.nodes:
                rebuild.redirect(old, self.now(old))
                if old.node in intended.nodes and old.node not in rebuild.graph.nodes:
                    rebuild.graph.adopt_alias(intended.tensor_name(old), self.now(old))
        return rebuild.finish()


def _inferred(made: Graph, node: Node, intended: Graph) -> Node:
    """A record, checked by its op in the graph that is made so far; without the title of another op."""
    if any(ref is not None and ref.port >= len(made.nodes[ref.node].ports) for ref in node.operands):
        raise GraphError(f"node {node.name!r} would read an output that is not there")
    before = intended.nodes.get(node.name, node)
    title = node.title if node.op is before.op else None
    return made.infer(node.op, node.operands, node.attributes, node.name, title, node.scope)


def merged(first: Rewrite, second: Rewrite, intended: Graph) -> Rewrite | None:
    """Both changes in one, or None where they are at odds over one operand or attribute. Of two that both put
    something in the place of one tensor, that which is made of the tensor is made of the other."""
    second = _renamed(second, first.nodes.keys() & second.nodes.keys() - intended.nodes.keys())
    both = _Both(first, second)
    try:
        went = {
            ref: both.chosen(ref, first.went[ref], second.went[ref]) for ref in first.went if ref in second.went
        }
        shared = {
            name: _three_way(intended.nodes[name], first.nodes[name], second.nodes[name], both)
            for name in first.nodes if name in second.nodes
        }  # fmt: skip
    except GraphError:
        return None
    nodes = {name: both.moved(node, 1) for name, node in second.nodes.items() if name not in shared}
    nodes |= {name: both.moved(node, 0) for name, node in first.nodes.items() if name not in shared}
    return Rewrite({**nodes, **shared}, {**first.went, **second.went, **went})


class _Both:
    """Two changes at once, and what each of them reads of the other."""

    def __init__(self, *changes: Rewrite) -> None:
        self.changes = changes
        self.on_top: tuple[dict[Ref, Ref], dict[Ref, Ref]] = ({}, {})
        """What each reads of the other where both put something in the place of a tensor."""

    def chosen(self, old: Ref | None, x: Any, y: Any) -> Any:
        """What stands in the place of a tensor, for which the first has x and the second y. Raises a
        `GraphError` where they are at odds."""
        if x == y:
            return x
        if old in (x, y):
            return self._seen(x, 0) if y == old else self._seen(y, 1)
        for side, own, other in ((1, y, x), (0, x, y)):
            if own is not None and other is not None and _is_made_of(self.changes[side], own, old):
                if old in self.changes[side].went and old not in self.changes[1 - side].went:
                    # read there instead of the tensor, whatever becomes of that
                    return self._seen(other, 1 - side)
                self.on_top[side][old] = other  # pyright: ignore
                return own
        raise GraphError(f"both changes put something else in the place of {old}")

    def moved(self, node: Node, side: int) -> Node:
        """A record of one whose operands are what stands for them after the other."""
        read = tuple(None if ref is None else self._now(node, ref, side) for ref in node.operands)
        return node if read == node.operands else replace(node, operands=read)

    def _now(self, node: Node, ref: Ref, side: int) -> Ref:
        new = self.on_top[side].get(ref) or self._seen(ref, side)
        return ref if new.node == node.name else new

    def _seen(self, ref: Any, side: int) -> Any:
        """What stands for a tensor that one reads, after the other."""
        other = self.changes[1 - side]
        return ref if ref not in other.went or ref in self.on_top[1 - side] else other.now(ref)


def _is_made_of(change: Rewrite, new: Ref, old: Ref | None) -> bool:
    """Whether a change makes one tensor of another."""
    todo, seen = [new.node], set()
    while todo:
        name = todo.pop()
        if name in change.nodes and name not in seen:
            seen.add(name)
            if old in change.nodes[name].operands:
                return True
            todo += [ref.node for ref in change.nodes[name].operands if ref is not None]
    return False


def _renamed(change: Rewrite, names: Collection[str]) -> Rewrite:
    """The same with other names for nodes that it adds."""
    if not names:
        return change
    called = {name: f"{name}_too" for name in names}

    def at(ref: Ref) -> Ref:
        return Ref(called[ref.node], ref.port) if ref.node in called else ref

    nodes = {
        called.get(name, name): replace(
            node,
            name=called.get(name, name),
            operands=tuple([None if r is None else at(r) for r in node.operands]),
        )
        for name, node in change.nodes.items()
    }
    return Rewrite(nodes, {old: at(new) for old, new in change.went.items()})


def _three_way(base: Node, a: Node, b: Node, both: _Both) -> Node:
    """A record that both change. Raises a `GraphError` where they are at odds."""
    if a.op is not base.op and b.op is not base.op and a.op is not b.op:
        raise GraphError(f"both changes make another op of {base.name!r}")
    if not len(base.operands) == len(a.operands) == len(b.operands):
        raise GraphError(f"the changes give {base.name!r} more operands or fewer")
    operands = tuple(map(both.chosen, base.operands, a.operands, b.operands))
    attributes = dict(b.attributes if a.op is base.op else a.attributes)
    for key, value in a.attributes.items():
        old = base.attributes.get(key)
        if repr(value) != repr(old):
            if key in b.attributes and repr(b.attributes[key]) not in (repr(old), repr(value)):
                raise GraphError(f"both changes set {key} of {base.name!r}")
            attributes[key] = value
    op = a.op if a.op is not base.op else b.op
    return replace(base, op=op, operands=operands, attributes=MappingProxyType(attributes))


def _needed(records: Mapping[str, Node], roots: Sequence[str]) -> set[str]:
    """The nodes that the roots need, themselves included."""
    todo, needed = list(roots), set()
    while todo:
        name = todo.pop()
        if name not in needed:
            needed.add(name)
            todo += [ref.node for ref in records[name].operands if ref is not None]
    return needed


def in_order(records: Mapping[str, Node], wanted: Collection[str]) -> list[str]:
    """The wanted nodes with producers before consumers, otherwise as they stand. Raises a `GraphError` for a
    cycle: a node that would read what is computed from it."""
    done: dict[str, bool] = {}
    order: list[str] = []
    for start in records:
        if start not in wanted or start in done:
            continue
        stack = [start]
        while stack:
            name = stack[-1]
            if done.get(name):
                stack.pop()
                continue
            missing = [r.node for r in records[name].operands if r is not None and not done.get(r.node)]
            if missing and name in done:
                raise GraphError(f"node {name!r} would read what is computed from it")
            if missing:
                done[name] = False
                stack += missing
                if any(done.get(other) is False for other in missing):
                    raise GraphError(f"node {name!r} would read what is computed from it")
            else:
                done[name] = True
                order.append(name)
                stack.pop()
    return order
