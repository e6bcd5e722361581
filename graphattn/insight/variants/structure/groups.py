"""Nodes that play one role: the same step in every head, in every layer.

Two nodes are of one role where their names differ in a number alone (head0.scaled, head1.scaled), or where
they compute the same thing of the same things but for which parameter, which part (the three projections).
Wider than a role is a kind: every linear, the eps of every layernorm, for who got the function itself wrong.
A group is the names of its nodes, in the order of the graph.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import combinations

from ....core.graph import Graph, Node, Ref
from ....core.op import LEVELS

Group = tuple[str, ...]
NUMBER = re.compile(r"\d+")


def roles_of(graph: Graph) -> list[Group]:
    """Every role with two nodes or more."""
    keys: dict[object, list[str]] = {}
    kinds = _kinds(graph)
    for node in graph.nodes.values():
        call = (node.op.name, tuple((spec.shape, spec.kind) for spec in node.outputs))
        if node.op.name == "constant" and node.outputs[0].rank < 2:  # one number is no role of another
            alike = node.name.rpartition(".")[2], repr(node.attributes)
        else:
            alike = kinds[node.name]
        keys.setdefault(("alike", alike), []).append(node.name)
        for pattern in _patterns(node.name):
            keys.setdefault((*call, pattern), []).append(node.name)
    roles = dict.fromkeys(tuple(names) for names in keys.values() if len(names) > 1)
    for names in [names for names in roles if len(names) == 3]:  # two of q, k and v
        roles.update(dict.fromkeys(combinations(names, 2)))
    return sorted(roles, key=len, reverse=True)


def kinds_of(graph: Graph) -> dict[Group, str]:
    """Every kind with two nodes or more, and how a sentence calls it: the nodes of one op, those that take
    operands of the same shapes, and what stands in one place inside every composite of an op."""
    keys: dict[object, list[str]] = {}
    everywhere: dict[object, list[str]] = {}
    """In whichever part of the graph: the norm after the last layer too."""
    called: dict[object, str] = {}
    for node in graph.nodes.values():
        owner, inner, where = _owner(graph, node)
        if not node.operands and owner is None:
            continue
        title = node.op.title if owner is None else f"{node.op.title} {inner} of every {owner}"
        key = (where, owner, node.op.name, inner if owner else "")
        shapes = tuple(None if ref is None else graph.spec(ref).shape for ref in node.operands)
        keys.setdefault(key, []).append(node.name)
        everywhere.setdefault(key[1:], []).append(node.name)
        if owner is not None:  # the mean and the variance of every LayerNorm
            every = (owner, node.op.name)
            keys.setdefault(every, []).append(node.name)
            called[every] = f"every {node.op.title} of every {owner}"
        called[key] = called[key[1:]] = f"the {title}" if owner else f"every {title}"
        if owner is not None:
            keys.setdefault((*key, shapes), []).append(node.name)
        else:
            keys.setdefault((*key, shapes, repr(sorted(node.attributes.items()))), []).append(node.name)
            given = tuple(
                graph.spec(ref).shape for ref in node.operands if ref and graph.nodes[ref.node].op.fed
            )
            if given and len(given) < len(shapes):  # norms of queries and of keys, of so many heads each
                sized = (*key, "parameters", given)
                keys.setdefault(sized, []).append(node.name)
                called[sized] = f"every {title} with parameters of {given[0][-1] if given[0] else 1}"
        if owner is None and node.op.moves:  # transposed before attention, and back after it
            keys.setdefault((*key, repr(sorted(node.attributes.items()))), []).append(node.name)
        if len(node.ports) > 1 and len({spec.shape for spec in node.outputs}) == 1:  # cuts into heads
            keys.setdefault((*key, node.outputs[0].shape), []).append(node.name)
    kinds: dict[Group, str] = {}
    for key, names in (*keys.items(), *everywhere.items()):
        if len(names) > 1:
            kinds.setdefault(tuple(names), called.get(key, ""))
    return kinds


def _owner(graph: Graph, node: Node) -> tuple[str | None, str, str]:
    """The title of the op that a node is inside of, its name there, and the part of the graph, numbers open."""
    owner, outer, scope = None, node.scope, node.scope
    while scope is not None:
        record = graph.scopes[scope]
        if record.op is None:
            break
        if LEVELS.index(record.op.level) >= LEVELS.index("op"):
            owner, outer = record.op.title, scope
        scope = record.parent
    inner = node.name.removeprefix(f"{outer}.") if owner else ""
    return owner, inner, NUMBER.sub("*", scope or "")


def inside(graph: Graph, node: Node) -> tuple[str, str, str] | None:
    """(title, name) of the op of level "op" that a node is a step of, and what the step is called there; None
    for one that stands by itself."""
    found, scope = None, node.scope
    while scope is not None:
        record = graph.scopes[scope]
        if record.op is None or LEVELS.index(record.op.level) < LEVELS.index("op"):
            break
        if record.op.level == "op":
            found = record.op.title, scope, node.name.removeprefix(f"{scope}.")
        scope = record.parent
    return found


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


def numbered(names: Iterable[str]) -> bool:
    """Whether names differ in their numbers alone: one step in every head, in every layer."""
    return len({NUMBER.sub("*", name) for name in names}) == 1


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
