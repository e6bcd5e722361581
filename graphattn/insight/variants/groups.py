"""Nodes that play one role: the same step in every head, in every layer.

Two nodes are of one role where their names differ in a number alone (head0.scaled, head1.scaled), or where
they compute the same thing of the same things but for which parameter, which part (the three projections).
A group is the names of its nodes, in the order of the graph.
"""

from __future__ import annotations

import re
from itertools import combinations

from ...core.graph import Graph, Node, Ref

Group = tuple[str, ...]
NUMBER = re.compile(r"\d+")


def groups_of(graph: Graph) -> list[Group]:
    """Every role with two nodes or more, then each node by itself."""
    keys: dict[object, list[str]] = {}
    kinds = _kinds(graph)
    for node in graph.nodes.values():
        call = (node.op.name, tuple((spec.shape, spec.kind) for spec in node.outputs))
        keys.setdefault(("alike", kinds[node.name]), []).append(node.name)
        for pattern in _patterns(node.name):
            keys.setdefault((*call, pattern), []).append(node.name)
    roles = dict.fromkeys(tuple(names) for names in keys.values() if len(names) > 1)
    for names in [names for names in roles if len(names) == 3]:  # two of q, k and v
        roles.update(dict.fromkeys(combinations(names, 2)))
    return [*sorted(roles, key=len, reverse=True), *((name,) for name in graph.nodes)]


def _patterns(name: str) -> list[str]:
    """The name with all its numbers open, and with each of them open."""
    places = list(NUMBER.finditer(name))
    if not places:
        return []
    patterns = {NUMBER.sub("*", name)}
    for place in places if len(places) < 5 else ():
        patterns.add(f"{name[: place.start()]}*{name[place.end() :]}")
    return sorted(patterns)


def _kinds(graph: Graph) -> dict[str, int]:
    """A number for each node that two nodes share if they compute the same of the same, which parameter,
    constant or part aside."""
    numbers: dict[object, int] = {}
    kinds: dict[str, int] = {}
    for node in graph.nodes.values():
        key = _key(node, kinds)
        kinds[node.name] = numbers.setdefault(key, len(numbers))
    return kinds


def _key(node: Node, kinds: dict[str, int]) -> object:
    shapes = tuple((spec.shape, spec.kind) for spec in node.outputs)
    if node.op.fed and node.op.drawn != "inside":
        return node.name
    if not node.operands:  # one parameter, one constant, one mask is like another
        return node.op.name, shapes
    operands = tuple(None if ref is None else kinds[ref.node] for ref in node.operands)
    return node.op.name, shapes, operands, repr(sorted(node.attributes.items()))


def spoken(names: tuple[str, ...] | list[str]) -> str:
    """The names of a group as one: head*.scaled, or a list of them."""
    if len(names) == 1:
        return names[0]
    patterns = {NUMBER.sub("*", name) for name in names}
    if len(patterns) == 1:
        (pattern,) = patterns
        return _closed(pattern, names)
    found = [spoken([n for n in names if NUMBER.sub("*", n) == p]) for p in dict.fromkeys(map(_open, names))]
    if len(found) > 4:
        return f"{', '.join(found[:3])} and {len(found) - 3} more"
    return f"{', '.join(found[:-1])} and {found[-1]}"


def _open(name: str) -> str:
    return NUMBER.sub("*", name)


def _closed(pattern: str, names: tuple[str, ...] | list[str]) -> str:
    """The pattern with those numbers put back that all names share."""
    numbers = [NUMBER.findall(name) for name in names]
    shared = iter([column[0] if len(set(column)) == 1 else "*" for column in zip(*numbers, strict=True)])
    return re.sub(r"\*", lambda _: next(shared), pattern)


def tensor_names(graph: Graph, refs: list[Ref] | tuple[Ref, ...]) -> list[str]:
    """The names of tensors, each once."""
    return list(dict.fromkeys(graph.tensor_name(ref) for ref in refs))
