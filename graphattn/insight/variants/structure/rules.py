"""Gradient rules as roles: what stands in one place of the rule of every node of an op.

Who gets a rule wrong gets it wrong for all nodes of its op. The tape of a graph with derivatives says of which
rule, for which node and in which place of it a backward node comes, and what each rule hands on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ....core.graph import Graph, Ref
from ....core.op import Op
from ....passes.gradient import Rule, Tape
from .groups import Group, spoken

if TYPE_CHECKING:
    from ..intended import Intended

ALL = ""
"""In the place of a slot: what is handed to any."""


def tape_kinds(graph: Graph, tape: Tape | None) -> dict[Group, str]:
    """Groups of backward nodes, and what a sentence calls them: what the rules of an op hand to one of its
    operands, or to all; the steps of rules; what several paths lead to; all gradients."""
    if tape is None:
        return {}
    keys: dict[tuple[str, object], list[str]] = {}
    for ref, (node, slot) in tape.handed.items():
        if ref.node in graph.nodes:
            op = tape.source.nodes[node].op
            keys.setdefault((op.name, slot), []).append(ref.node)
            keys.setdefault((op.name, ALL), []).append(ref.node)
    kinds = {
        tuple(dict.fromkeys(names)): _handed_to(tape, names[0], None if slot == ALL else slot)
        for (_, slot), names in keys.items()
    }
    kinds |= {shared(tape): "every cotangent of several paths", gradients(tape): "every gradient"}
    return {group: told for group, told in {**rule_kinds(graph, tape), **kinds}.items() if len(group) > 1}


def _handed_to(tape: Tape, name: str, slot: object) -> str:
    node, _ = next(place for ref, place in tape.handed.items() if ref.node == name)
    op = tape.source.nodes[node].op
    to = "on" if not isinstance(slot, int) else f"to {op.operand_name(slot)}"
    return f"what is handed {to} in the gradient of {op.title}"


def handed_by(intended: Intended, group: Group) -> list[Ref]:
    """What rules of one op hand on, where a group of nodes is what they hand to one operand, or to all."""
    tape = intended.tape
    found = [] if tape is None else [ref for ref in tape.handed if ref.node in group]
    if tape is None or {ref.node for ref in found} != set(group):
        return []
    ops = {tape.source.nodes[tape.handed[ref][0]].op.name for ref in found}
    return found if len(ops) == 1 else []


def rule_of(op: Op) -> str:
    """What the gradient of an op is, as its own file says it; "" where that is no formula."""
    said = (op.gradient.__doc__ or "").strip().partition("\n")[0] if op.gradient else ""
    return f"The gradient of {op.title}: {said}" if "=" in said else ""


def told_of(intended: Intended, group: Group) -> str:
    """How a sentence calls what rules hand on: of every node of an op, or of some."""
    tape = intended.tape
    assert tape is not None
    refs = handed_by(intended, group)
    if len(refs) == 1 and refs[0] in tape.tensors:
        return f"the gradient of {tape.source.tensor_name(tape.tensors[refs[0]])}"
    places = [tape.handed[ref] for ref in refs]
    op = tape.source.nodes[places[0][0]].op
    slots = {slot for _, slot in places}
    to = f"to {op.operand_name(slots.pop())}" if len(slots) == 1 else "on"
    nodes = list(dict.fromkeys(node for node, _ in places))
    every = {node for node, _ in tape.handed.values() if tape.source.nodes[node].op is op}
    if len(every) == len(nodes):
        return f"what is handed {to} in the gradient of {op.title}"
    return f"what is handed {to} in the gradient of the {op.title} {spoken(nodes)}"


def shared(tape: Tape) -> Group:
    """The cotangents at which more than one path arrives."""
    return tuple(ref.node for ref, arrived in tape.arrived.items() if len(arrived) > 1)


def gradients(tape: Tape) -> Group:
    """The cotangents that were asked for."""
    return tuple(dict.fromkeys(ref.node for ref in tape.gradients))


def rule_kinds(graph: Graph, tape: Tape) -> dict[Group, str]:
    """One place of a rule in all nodes of the op, in those with operands of the same shapes, in those that read
    one tensor; and every step of one op through which what arrives goes, or which only computes again what is
    needed besides."""
    rules = tape.rules
    keys: dict[tuple[Any, ...], list[str]] = {}
    flows: set[str] = set()
    for name in graph.nodes:  # in order
        if name not in rules:
            continue
        node, rule = graph.nodes[name], rules[name]
        read = {ref.node for ref in node.operands if ref is not None}
        own = {other for other in read if other in rules and rules[other].node == rule.node}
        if own & flows or not read <= {*own, *_forward(graph, rule)}:
            flows.add(name)
        shapes = tuple(None if ref is None else graph.spec(ref).shape for ref in node.operands)
        keys.setdefault((rule.op.name, rule.place), []).append(name)
        keys.setdefault((rule.op.name, rule.place, shapes), []).append(name)
        keys.setdefault((rule.op.name, node.op.name, name in flows), []).append(name)
        of = graph.nodes[rule.node].operands[0]
        keys.setdefault((rule.op.name, rule.place, of), []).append(name)
    kinds: dict[Group, str] = {}
    for key, names in keys.items():
        op, title = rules[names[0]].op.title, graph.nodes[names[0]].op.title
        leaves = {name.rpartition(".")[2] for name in names}
        called = "every" if isinstance(key[1], str) else "the" if len(leaves) == 1 else "a"
        leaf = leaves.pop() if called == "the" else title
        words = f"{called} {title}" + (f" {leaf}" if leaf != title else "")
        if len(names) > 1:
            of = tuple(dict.fromkeys(rules[name].node for name in names))
            where = spoken(of) if isinstance(key[-1], Ref) else op
            kinds.setdefault(tuple(names), f"{words} in the gradient of {where}")
    return kinds


def _forward(graph: Graph, rule: Rule) -> set[str]:
    """A node that was differentiated, and those that its operands come from."""
    return {rule.node, *(ref.node for ref in graph.nodes[rule.node].operands if ref is not None)}


def own(intended: Intended, name: str) -> set[Ref]:
    """The results and operands of the node whose gradient rule has a backward node as a step."""
    rule = intended.rules.get(name)
    if rule is None:
        return set()
    forward = intended.nodes[rule.node]
    return {*(Ref(forward.name, port) for port in range(len(forward.ports))), *filter(None, forward.operands)}


def related(intended: Intended, rule: Rule, other: Ref) -> Iterator[tuple[tuple[object, ...], str]]:
    """How a tensor stands to a backward node: the same for all nodes of the op. (key, how it is told)."""
    forward = intended.nodes[rule.node]
    if other.node == rule.node:
        yield ("result", other.port), "y"
    for slot, ref in enumerate(forward.operands):
        if ref == other:
            yield ("operand", slot), rule.op.operand_name(slot)
    there = intended.rules.get(other.node)
    if there is not None and there.node == rule.node:
        yield ("place", there.place, other.port), other.node.rpartition(".")[2]
    if other in intended.incoming.get(rule.node, ()):
        yield ("incoming", intended.incoming[rule.node].index(other)), "dy"


def incoming(intended: Intended) -> dict[str, list[Ref]]:
    """For each node with a rule, the cotangents that arrive: what its rule reads and neither computes nor
    finds in the graph that was differentiated."""
    found: dict[str, list[Ref]] = {}
    for name, rule in intended.rules.items():
        forward = _forward(intended.graph, rule)
        for ref in intended.nodes[name].operands:
            there = None if ref is None else intended.rules.get(ref.node)
            own = there is not None and there.node == rule.node
            if ref is not None and not own and ref.node not in forward:
                known = found.setdefault(rule.node, [])
                if ref not in known:
                    known.append(ref)
    return found
