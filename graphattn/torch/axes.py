"""Names of axes, from what a program does with them.

Every axis begins with a name of its own, and the shape rules of the ops say which axes are one: where a rule
would note that two names meet. What a few ops say of their axes then names all that are the same: the queries
and keys of an attention are tokens, with heads before them; a table of embeddings has rows of features.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import count
from typing import Any

from graphattn.passes.rebuild import Rebuild

from ..core.axes import Spec, noting
from ..core.graph import Graph, Node, Ref

MEETS = re.compile(r"axis '(a\d+)' meets axis '(a\d+)'")
STARTS = ("input", "parameter", "constant", "reshape")
"""Ops that take names of axes."""


class Axes:
    """Which axes of a graph are the same, and what they are called."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._same: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._specs: dict[Ref, Spec] = {}
        self._axes: dict[Ref, tuple[str, ...]] = {}
        fresh = (f"a{i}" for i in count())
        for node in graph.nodes.values():
            for port, spec in enumerate(self._ran(node)):
                axes = tuple(axis or next(fresh) for axis in spec.axes)
                self._axes[Ref(node.name, port)] = axes
                self._specs[Ref(node.name, port)] = replace(spec, axes=axes)

    def _ran(self, node: Node) -> list[Spec]:
        """The outputs of a node by its op's shape rule; axes that meet there are the same."""
        if node.op.name in STARTS[:3]:
            return [replace(spec, axes=(None,) * spec.rank) for spec in node.outputs]
        operands = [None if ref is None else self._specs[ref] for ref in node.operands]
        with noting() as notes:
            found: Any = node.op.shape(*operands, **node.attributes)
        for note in notes:
            for one, other in MEETS.findall(note):
                self._join(one, other)
        return list(found.values()) if isinstance(found, dict) else [found]

    def _find(self, axis: str) -> str:
        while axis in self._same:
            axis = self._same[axis]
        return axis

    def _join(self, one: str, other: str) -> None:
        one, other = self._find(one), self._find(other)
        if one != other:
            self._same[other] = one

    def call(self, ref: Ref | None, **names: str) -> None:
        """Name axes of a tensor, counted from the end: `last`, `second`, `third`, `fourth`. An axis that has a
        name keeps it."""
        if ref is None:
            return
        axes = self._axes[ref]
        for place, name in names.items():
            back = ("last", "second", "third", "fourth").index(place) + 1
            if back <= len(axes):
                self._names.setdefault(self._find(axes[-back]), name)

    def of(self, ref: Ref) -> tuple[str | None, ...]:
        """The names of a tensor's axes, None where nothing tells."""
        return tuple(self._names.get(self._find(axis)) for axis in self._axes[ref])


def with_axes(graph: Graph) -> Graph:
    """The graph with names for its axes, as far as its ops tell. No value changes."""
    axes = Axes(graph)
    for node in graph.nodes.values():
        _of_attention(axes, node)
    for node in graph.nodes.values():
        if node.op.name == "embedding":
            table, ids = node.operands
            axes.call(ids, last="token", second="batch")
            axes.call(table, last="feature", second="vocabulary")
    for node in graph.nodes.values():
        if node.op.name in ("layernorm", "rmsnorm"):
            axes.call(node.operands[0], last="feature", third="batch")
    rebuild = Rebuild(graph)
    for node in graph.nodes.values():
        operands = rebuild.operands(node)
        attributes = dict(node.attributes)
        if node.op.name in STARTS:
            wanted = axes.of(Ref(node.name))
            found = rebuild.graph.infer(node.op, operands, attributes, node.name).outputs[0].axes
            if any(wanted) and wanted != found:
                attributes["axes"] = wanted
        new = rebuild.graph.infer(node.op, operands, attributes, node.name, node.title, node.scope)
        rebuild.replace(node, new)
    return rebuild.finish()


def _of_attention(axes: Axes, node: Node) -> None:
    """Tokens, heads and texts of an attention: of the op, and of a softmax whose rows a product takes."""
    if node.op.name == "attention":
        q, k, v = node.operands[:3]
        for ref in (q, k, v):
            axes.call(ref, second="token", third="head", fourth="batch")
    elif node.op.name == "softmax" and _is_weights(axes.graph, node):
        axes.call(Ref(node.name), last="token", second="token", third="head", fourth="batch")


def _is_weights(graph: Graph, node: Node) -> bool:
    """Whether the rows of a softmax weigh what they are multiplied with."""
    users = (graph.nodes[name] for name in graph.dag.successors(node.name))
    return any(user.op.name == "matmul" and user.operands[0] == Ref(node.name) for user in users)
