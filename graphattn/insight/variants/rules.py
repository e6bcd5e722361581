"""Gradient rules as roles: what stands in one place of the rule of every node of an op.

Who gets a rule wrong gets it wrong for all nodes of its op. `rules` says of which rule, for which node and in
which place of it a backward node comes (`Differentiated.rules`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ...core.graph import Graph, Ref
from .groups import Group

if TYPE_CHECKING:
    from ...passes.gradient import Rule
    from .intended import Intended

Rules = Mapping[str, "Rule"]


def rule_kinds(graph: Graph, rules: Rules) -> dict[Group, str]:
    """Groups of backward nodes, and what a sentence calls them: one place of a rule in all nodes of the op, in
    those with operands of the same shapes; and every step of one op through which what arrives goes, or which
    only computes again what is needed besides."""
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
    kinds: dict[Group, str] = {}
    for key, names in keys.items():
        op, title = rules[names[0]].op.title, graph.nodes[names[0]].op.title
        leaves = {name.rpartition(".")[2] for name in names}
        called = "every" if isinstance(key[1], str) else "the" if len(leaves) == 1 else "a"
        leaf = leaves.pop() if called == "the" else title
        words = f"{called} {title}" + (f" {leaf}" if leaf != title else "")
        if len(names) > 1:
            kinds.setdefault(tuple(names), f"{words} in the gradient of {op}")
    return kinds


def _forward(graph: Graph, rule: Rule) -> set[str]:
    """A node that was differentiated, and those that its operands come from."""
    return {rule.node, *(ref.node for ref in graph.nodes[rule.node].operands if ref is not None)}


def related(intended: Intended, rule: Rule, other: Ref) -> Iterator[tuple[tuple[object, ...], str]]:
    """How a tensor stands to a backward node: the same for all nodes of the op. (key, how it is told)."""
    forward = intended.graph.nodes[rule.node]
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
        for ref in intended.graph.nodes[name].operands:
            there = None if ref is None else intended.rules.get(ref.node)
            own = there is not None and there.node == rule.node
            if ref is not None and not own and ref.node not in forward:
                known = found.setdefault(rule.node, [])
                if ref not in known:
                    known.append(ref)
    return found
