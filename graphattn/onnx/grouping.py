"""The attention of a graph as scopes, so that heads, weights, masks and pictures know it.

The nodes of each attention that `patterns` finds move into one scope, `attention`, and are called by their
parts: scores, scaled, masked, weights, out. They stay the nodes that they are: every value is bit for bit
what it was. Two things are put right: k stands before it is turned, and what hides by a large negative
number hides by −∞, in place of −3.4e38, −65504, −1e9 or −1e4; the weights are the same 0 then. Where a
query would see nothing, and its weights would not be the same, the mask stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from graphattn.passes.rebuild import Rebuild

from ..core.axes import Spec
from ..core.errors import GraphError, Rejected
from ..core.graph import Graph, Node, Ref, Scope
from ..core.op import find as op_called
from ..core.packed import Packed
from .patterns import Attention, constant_of, find, hidden, told_scale, users_of

Known = Mapping[Ref, Any]
"""What is known before a run of a tensor: an array."""


@dataclass
class Plan:
    """How one attention is grouped: its scope, the name of each node there, and the masks that change."""

    made: Attention
    scope: str
    parent: str | None
    names: dict[str, str]
    hiding: dict[str, Ref | Any] = field(default_factory=dict)
    """For a node that hides: a condition of the graph (True = visible), or the floats to add."""
    told: list[str] = field(default_factory=list)
    mask: Ref | None = None
    bias: Ref | None = None
    k: str = ""


def grouped(graph: Graph, known: Known) -> tuple[Graph, list[str]]:
    """The graph with its attention in scopes, and sentences on what was done."""
    plans = _plans(graph, known)
    if not plans:
        return graph, []
    return _Grouping(graph, plans).graph(), _notes(plans)


def _notes(plans: list[Plan]) -> list[str]:
    notes = [f"attention was recognised {len(plans)} time{'s' if len(plans) > 1 else ''}: {_few(plans)}"]
    changed = [plan for plan in plans if plan.hiding]
    if changed:
        notes.append(
            f"what is hidden in {_few(changed)} is −∞ in place of a large negative number; weights are the same"
        )
    return notes + [told for plan in plans for told in plan.told]


def _few(plans: list[Plan]) -> str:
    names = [plan.scope for plan in plans]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _plans(graph: Graph, known: Known) -> list[Plan]:
    users = users_of(graph)
    plans: list[Plan] = []
    taken: set[str] = set()
    names: set[str] = set()
    for made in find(graph):
        if not taken.isdisjoint(made.parts) or (made.k is None and not _can_turn(graph, users, made)):
            continue
        parent = graph.nodes[made.softmax.name].scope
        plan = Plan(made, _free(graph, names, f"{parent}.attention" if parent else "attention"), parent, {})
        _masks(graph, known, plan)
        if not _fits(graph, plan):
            continue
        inside: set[str] = set()
        for name, part in made.parts.items():
            part = part.removesuffix("_where")
            count, free = 1, part
            while free in inside:
                count += 1
                free = f"{part}{count}"
            inside.add(free)
            plan.names[name] = f"{plan.scope}.{free}"
        plan.k = _free(graph, names, f"{plan.scope}_k")
        names |= {plan.scope, plan.k}
        taken |= made.parts.keys()
        plans.append(plan)
    return plans


def _free(graph: Graph, names: set[str], name: str) -> str:
    count, free = 1, name
    while free in names or not graph.is_free(free):
        count += 1
        free = f"{name}_{count}"
    return free


def _can_turn(graph: Graph, users: Any, made: Attention) -> bool:
    """Whether kᵀ is used here alone, so that it may be had by way of k."""
    return len(users.get(made.turned, ())) == 1


def _fits(graph: Graph, plan: Plan) -> bool:
    """Whether the op attention takes these operands, and gives what is computed here."""
    made = plan.made
    turned = graph.spec(made.turned)
    k = Spec((*turned.shape[:-2], turned.shape[-1], turned.shape[-2])) if made.k is None else graph.spec(made.k)
    specs = [graph.spec(made.q), k, graph.spec(made.v)]
    specs += [None if ref is None else graph.spec(ref) for ref in (plan.mask, plan.bias)]
    try:
        given = op_called("attention").shape(*specs, **_attributes(graph, made))
    except Rejected:
        return False
    return (given["out"].shape, given["weights"].shape) == (
        made.out.outputs[0].shape, graph.spec(made.weights).shape,
    )  # fmt: skip


def _attributes(graph: Graph, made: Attention) -> dict[str, Any]:
    scale = told_scale(made, graph.spec(made.q).shape[-1])
    return {**op_called("attention").defaults, "scale": scale, "empty": made.softmax.attributes["empty"]}


# ---------------------------------------------------------------- masks


def _masks(graph: Graph, known: Known, plan: Plan) -> None:
    """What each step of the scores hides, as far as that is known."""
    import numpy

    shape = plan.made.softmax.outputs[0].shape
    unseen = numpy.zeros((1,) * len(shape), bool)
    hiding: dict[str, Any] = {}
    for node, other in plan.made.masks:
        part = plan.made.parts[node.name]
        how, hides = _hiding(graph, known, node, other)
        if hides is None:
            if node.op.name == "add" and plan.bias is None:
                plan.bias = other
                plan.made.parts[node.name] = "biased"
            elif part == "masked":
                plan.mask = other
            continue
        unseen = unseen | hides
        hiding[node.name] = how
        plan.mask = how if isinstance(how, Ref) else other
    if hiding and bool(numpy.broadcast_to(unseen, shape).all(axis=-1).any()):
        plan.told.append(
            f"in {plan.scope} a query sees nothing, whose weights are even: its mask stays as the model has it"
        )
        return
    plan.hiding = hiding


def _hiding(graph: Graph, known: Known, node: Node, other: Ref) -> tuple[Any, Any]:
    """What a step hides by: a condition of the graph (True = visible), or floats to add; and which cells it
    hides, as an array. (None, None) where it hides nothing that is known."""
    import numpy

    if node.op.name == "where":
        scores_first = constant_of(graph, node.operands[2]) is not None
        if other not in known or not scores_first:
            return None, None
        return other, ~known[other]
    if other not in known or known[other].dtype.kind != "f":
        return None, None
    cells = known[other].astype(numpy.float64)
    hides = (cells <= -1e30) | numpy.isin(cells, [h for h in (-65504.0, -1e9, -1e4) if hidden(h)])
    if not hides.any():
        return None, None
    made = graph.nodes[other.node]
    if made.op.name == "where" and made.operands[0] in known:
        seen, gone = (constant_of(graph, ref) for ref in made.operands[1:])
        if seen == 0.0 and gone is not None and hidden(gone):
            return made.operands[0], hides
    return numpy.where(hides, -numpy.inf, cells), hides


# ---------------------------------------------------------------- the new graph


class _Grouping:
    """A graph rebuilt with its attention in scopes. The nodes of one stand together as far as may be: they
    wait until the last of them comes, or another node needs one."""

    def __init__(self, graph: Graph, plans: list[Plan]) -> None:
        self.old, self.plans = graph, plans
        self.rebuild = Rebuild(graph)
        self.new = self.rebuild.graph
        self.where = {name: plan for plan in plans for name in plan.names}
        self.turning = {plan.made.turned.node: plan for plan in plans if plan.made.k is None}
        self.waiting: dict[str, list[Node]] = {plan.scope: [] for plan in plans}
        self.home = {**self.where, **self.turning}

    def graph(self) -> Graph:
        left = {node.scope for node in self.old.nodes.values() if node.name not in self.where}
        parents = {scope.parent for scope in self.old.scopes.values()}
        emptied = {self.old.nodes[name].scope for name in self.where}
        for name in emptied - left - parents - {None}:
            assert name is not None
            self.rebuild.forget_scope(name)
        for plan in self.plans:
            self.new.adopt_scope(Scope(plan.scope, parent=plan.parent))
        for node in self.old.nodes.values():
            self._take(node)
        graph = self.rebuild.finish()
        for name, ref in self.old.aliases.items():
            graph.adopt_alias(name, self.rebuild.went(ref))
        named = set(self.old.aliases.values())
        for name in (*self.where, *self.turning):  # what had its ONNX name as its own keeps it as an alias
            if Ref(name) not in named and name not in graph.nodes:
                graph.adopt_alias(name, self.rebuild.went(Ref(name)))
        for plan in self.plans:
            self._scope(graph, plan)
        return graph

    def _take(self, node: Node) -> None:
        plan = self.where.get(node.name)
        needed = [self.home[ref.node] for ref in node.operands if ref is not None and ref.node in self.home]
        for other in needed:
            if other is not plan:
                self._flush(other)
        if plan is not None:
            self.waiting[plan.scope].append(node)
            if node is plan.made.out:
                self._flush(plan)
        elif node.name in self.turning:
            self._turn(node, self.turning[node.name])
        else:
            self.rebuild.keep(node)

    def _flush(self, plan: Plan) -> None:
        """The nodes of an attention that wait."""
        for node in self.waiting[plan.scope]:
            if node.op.name == "transpose" and node.name not in plan.names:
                self._keys(node, plan)
            else:
                self._move(node, plan)
        self.waiting[plan.scope].clear()

    def _move(self, node: Node, plan: Plan) -> None:
        """A node of an attention, into its scope."""
        name = plan.names[node.name]
        how = plan.hiding.get(node.name)
        if how is None:
            self.rebuild.replace(node, self._renamed(node, name, plan.scope))
            return
        scores = self._scores(node)
        mask = self.rebuild.went(how) if isinstance(how, Ref) else self._floats(how, f"{name}_by", plan)
        new = self.new.infer(op_called("mask"), (self.rebuild.went(scores), mask), {}, name, None, plan.scope)
        self.rebuild.replace(node, new)

    def _renamed(self, node: Node, name: str, scope: str | None) -> Node:
        return self.new.infer(node.op, self.rebuild.operands(node), node.attributes, name, node.title, scope)

    def _scores(self, node: Node) -> Ref:
        """The operand of a step that is the scores."""
        other = next(other for n, other in self.where[node.name].made.masks if n.name == node.name)
        operands = node.operands[1:2] if node.op.name == "where" else node.operands
        scores = [ref for ref in operands if ref is not None and ref != other]
        return scores[0]

    def _floats(self, cells: Any, name: str, plan: Plan) -> Ref:
        """A float mask as a constant."""
        value = Packed(cells.shape, cells.reshape(-1)) if cells.size >= 2**14 else cells.tolist()
        with self.new.within(self.new.scopes[plan.scope]):
            made = self.new.constant(value, name=name.removeprefix(f"{plan.scope}."))
        return made.ref

    def _turn(self, node: Node, plan: Plan) -> None:
        """k, of which kᵀ is the transpose: what was turned in one step with other axes is turned in two."""
        transpose, port = op_called("transpose"), plan.made.turned.port
        rank = len(node.outputs[port].shape)
        perm = (*range(rank - 2), rank - 1, rank - 2)
        if node.op.name == "transpose":
            given = node.attributes["perm"] or perm
            operands, perm = self.rebuild.operands(node), (*given[:-2], given[-1], given[-2])
        else:
            self.rebuild.keep(node)
            operands = (Ref(node.name, port),)
        self.new.adopt(self.new.infer(transpose, operands, {"perm": perm}, plan.k, None, plan.parent))
        keys = self.new.infer(transpose, (Ref(plan.k),), {"perm": None}, f"{plan.scope}.keys", None, plan.scope)
        self.waiting[plan.scope].insert(0, keys)

    def _keys(self, keys: Node, plan: Plan) -> None:
        self.new.adopt(keys)
        self.rebuild.redirect(plan.made.turned, Ref(keys.name))

    def _scope(self, graph: Graph, plan: Plan) -> None:
        """Say which attention a scope is."""
        made, went = plan.made, self.rebuild.went
        operands: list[Ref | None] = [
            went(made.q), Ref(plan.k) if made.k is None else went(made.k), went(made.v),
            None if plan.mask is None else went(plan.mask), None if plan.bias is None else went(plan.bias),
        ]  # fmt: skip
        while operands[-1] is None:
            operands.pop()
        attributes = _attributes(self.old, made)
        try:
            node = graph.infer(
                op_called("attention"), tuple(operands), attributes, plan.scope, "attention", plan.parent
            )
        except GraphError:  # it stays a plain group
            return
        outputs = (went(Ref(made.out.name)), went(made.weights))
        graph.adopt_scope(
            Scope(plan.scope, node.op, node.operands, node.attributes, outputs, node.ports, None, plan.parent)
        )


def known_refs(graph: Graph, known: Mapping[str, Any]) -> dict[Ref, Any]:
    """What is known by ONNX names, by the tensors of a graph."""
    return {
        graph.aliases[name] if name in graph.aliases else Ref(name): array
        for name, array in known.items()
        if (name in graph.aliases or name in graph.nodes) and hasattr(array, "dtype")
    }
