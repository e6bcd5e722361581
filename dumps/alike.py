"""Which parts of a graph a picture may draw as one box.

A `Fold` is a set of nodes that is drawn as one box. `alike` finds siblings of equal structure (the
heads of an attention, the layers of a stack): the first is drawn in full, one box stands for the
others. `outer_scopes` and `everything` are for graphs that are too large to draw.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field

from graphattn.core.graph import Graph, Node, Ref, Scope
from graphattn.core.names import automatic
from graphattn.core.op import LEVELS
from graphattn.dumps.wording import axes_text, clean

COMPOSED = LEVELS[:2]
"""The levels of the ops that people call parts of a model: blocks, heads."""

MANY = 50
"""More inputs than these are one box where everything is folded."""


@dataclass(frozen=True)
class Fold:
    """Nodes that are drawn as one box, in the frame of the scope `parent`."""

    title: str
    note: str
    members: frozenset[str]
    parent: str | None = None
    glyph: str = ""
    like: str | None = None
    """The scope that is drawn in full and has the same structure."""
    count: int = field(default=1)


def members(graph: Graph) -> dict[str, list[str]]:
    """For each scope, the nodes in it and in the scopes inside it, in order."""
    found: dict[str, list[str]] = {name: [] for name in graph.scopes}
    for node in graph.nodes.values():
        for scope in ancestors(graph, node.scope):
            found[scope].append(node.name)
    return found


def ancestors(graph: Graph, scope: str | None) -> Iterator[str]:
    """The scope itself and those around it, inner first."""
    seen = set()
    while scope is not None and scope in graph.scopes and scope not in seen:
        seen.add(scope)
        yield scope
        scope = graph.scopes[scope].parent


def alike(graph: Graph, limit: int) -> list[Fold]:
    """Folds of what comes after the first of more than `limit` siblings of equal structure.

    Siblings are scopes of the same composite in the same scope, or composites that are not
    expanded and do not feed each other. They are left as they are where one box for them would be
    part of a cycle.
    """
    inside = members(graph)
    siblings: dict[Hashable, list[Scope | Node]] = {}
    for scope in graph.scopes.values():
        if scope.op is not None and inside[scope.name]:
            siblings.setdefault((scope.parent, scope.op.name), []).append(scope)
    for node in graph.nodes.values():
        if node.op.coarser(LEVELS[-1]) and node.op.level in COMPOSED:
            inside[node.name] = [node.name]
            siblings.setdefault((node.scope, node.op.name, "node"), []).append(node)
    folds: list[Fold] = []
    folded: set[str] = set()
    for group in siblings.values():
        if len(group) <= limit or not folded.isdisjoint(inside[group[0].name]):
            continue
        first = _structure(graph, group[0], inside[group[0].name])
        rest = [s for s in group[1:] if _structure(graph, s, inside[s.name]) == first]
        nodes = frozenset(name for sibling in rest for name in inside[sibling.name])
        chained = isinstance(group[0], Node) and _feed_each_other(graph, nodes | {group[0].name})
        if len(rest) >= limit and not chained and not _meets_itself(graph, nodes):
            folds.append(_rest(group[0], rest, nodes))
            folded |= nodes
    return folds


def kept(graph: Graph, level: str, others: Iterable[Fold] = ()) -> list[Fold]:
    """The blocks and heads that a level shows closed and that the graph has only open (attention that was
    recognised in a model, for one), each as one box; what is in `others` stays there."""
    inside = members(graph)
    taken = set(fold_of(others))
    folds = []
    for scope in graph.scopes.values():
        op, nodes = scope.op, frozenset(inside[scope.name])
        if op is None or op.level not in COMPOSED or op.coarser(level) or not nodes:
            continue
        if taken.isdisjoint(nodes) and not _meets_itself(graph, nodes):
            taken |= nodes
            note = axes_text(graph.spec(scope.outputs[0]))
            folds.append(Fold(title_of(scope), note, nodes, scope.parent, op.glyph))
    return folds


def _rest(first: Scope | Node, rest: list[Scope | Node], nodes: frozenset[str]) -> Fold:
    title = title_of(first)
    return Fold(
        title=_together(title, [title_of(scope) for scope in rest]),
        note=f"same structure as {title[:1].lower() + title[1:]}",
        members=nodes,
        parent=first.parent if isinstance(first, Scope) else first.scope,
        glyph=first.op.glyph if first.op else "",
        like=first.name,
        count=len(rest),
    )


def _together(first: str, titles: list[str]) -> str:
    """`Heads 1–7` for Head 1 to Head 7; `7 more like …` where the titles are not numbered so."""
    numbered = [re.fullmatch(r"(.*?)(\d{1,9})", title) for title in titles]
    stems = {match.group(1) for match in numbered if match}
    numbers = [int(match.group(2)) for match in numbered if match]
    if None in numbered or len(stems) != 1 or numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        return f"{len(titles)} more like {first}"
    stem = stems.pop().rstrip(" _-.") or "part"
    return f"{stem}s {numbers[0]}–{numbers[-1]}"


def title_of(scope: Scope | Node) -> str:
    """What a scope or a node is called: its title, else its name, or its op's title if that is automatic."""
    own = scope.name.rpartition(".")[2]
    title = clean(scope.title or "")
    return title or (scope.op.title if scope.op is not None and automatic(own, scope.op) else own)


def _structure(graph: Graph, scope: Scope | Node, names: list[str]) -> Hashable:
    """Everything that two siblings must share, with names and operands seen from inside."""
    own = set(names)
    slots: dict[Ref, int] = {}
    for slot, ref in enumerate(scope.operands):
        if ref is not None:
            slots.setdefault(ref, slot)
    start = len(scope.name) + 1

    def seen(ref: Ref | None) -> Hashable:
        if ref is None:
            return None
        if ref.node in own:
            return ref.node[start:], ref.port
        return slots.get(ref, graph.nodes[ref.node].op.name)

    return tuple(
        (
            node.name[start:], node.op.name, tuple(sorted(node.attributes.items())), node.outputs,
            tuple(map(seen, node.operands)),
        )
        for node in map(graph.nodes.__getitem__, names)
    )  # fmt: skip


def _meets_itself(graph: Graph, nodes: frozenset[str]) -> bool:
    """Whether a path leaves the nodes and comes back: one box for them would be in a cycle."""
    return bool((graph.ancestors(*nodes) & graph.descendants(*nodes)) - nodes)


def _feed_each_other(graph: Graph, nodes: frozenset[str]) -> bool:
    """Whether one of the nodes is computed from another."""
    after = {reader for node in nodes for reader in graph.dag.successors(node)}
    return not nodes.isdisjoint(graph.descendants(*after))


def outer_scopes(graph: Graph) -> list[Fold]:
    """Each outermost scope as one box."""
    inside = members(graph)
    folds = []
    for scope in graph.scopes.values():
        if scope.parent is None and inside[scope.name]:
            nodes = frozenset(inside[scope.name])
            glyph = scope.op.glyph if scope.op else ""
            folds.append(Fold(title_of(scope), _counted(graph, nodes), nodes, None, glyph))
    return folds


def everything(graph: Graph) -> list[Fold]:
    """All that is computed as one box, and the inputs as another where they are many."""
    fed = frozenset(node.name for node in graph.nodes.values() if node.op.fed)
    computed = frozenset(graph.nodes) - fed
    folds = [Fold(graph.title or graph.name, _counted(graph, computed), computed)] if computed else []
    if len(fed) > MANY:
        folds.insert(0, Fold(f"{len(fed):,} inputs", "", fed))
    return folds


def _counted(graph: Graph, nodes: Iterable[str]) -> str:
    """`12 operations: 7 matmul, 3 add, 2 more`."""
    kinds = Counter(graph.nodes[name].op.title for name in nodes)
    shown = sorted(kinds.items(), key=lambda item: (-item[1], item[0]))[:3]
    left = sum(kinds.values()) - sum(count for _, count in shown)
    told = [f"{count:,} {title}" for title, count in shown] + ([f"{left:,} more"] if left else [])
    return f"{sum(kinds.values()):,} operations: {', '.join(told)}"


def fold_of(folds: Iterable[Fold]) -> dict[str, Fold]:
    """The fold that each folded node belongs to."""
    return {name: fold for fold in folds for name in fold.members}
