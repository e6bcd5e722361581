"""A graph made of nothing but what has an ONNX operator.

An op says with its `onnx` rule how it is written. What has no rule, or whose rule has no operator for a
call, is expanded, until all has one: `lowered` is the graph at the level of ONNX. An op that has neither
is refused by its name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from math import prod
from typing import Any

from graphattn.passes.zoom import DEPTH_LIMIT, expand_all

from ...core import nested
from ...core.errors import GraphError
from ...core.graph import Graph, Node, Ref
from ...core.interpreter import blamed, function_of, padded
from ...core.limits import most_cells, need_cells
from ...core.op import Handing, find
from ...core.packed import Packed
from ...core.words import shown
from .operators import Fragment, Operators, Target, Value

How = bool | Callable[..., Any]


def lowered(graph: Graph, target: Target, closed: Collection[str] = ()) -> Graph:
    """The graph with every node expanded that has no operator of its own, but those that stay `closed`."""
    seen: set[str] = set(closed)
    for _ in range(DEPTH_LIMIT):
        opened: dict[str, How] = {}
        for node in graph.nodes.values():
            if node.name not in seen:
                seen.add(node.name)
                how = _opened(graph, node, target)
                if how:
                    opened[node.name] = how
        if not opened:
            return graph
        graph = expand_all(graph, lambda node, opened=opened: opened.get(node.name, False))
        seen -= set(opened)
    raise GraphError(f"graph {graph.name!r} has composites in each other without end; expected an end to that")


def _opened(graph: Graph, node: Node, target: Target) -> How:
    """Whether a node is expanded, or by what."""
    op = node.op
    if op.fed or (not node.operands and op.kernel is not None):
        return False
    if isinstance(op.onnx, str):
        kind = next((graph.spec(ref).kind for ref in node.operands if ref is not None), "float")
        direct = op.expand is None or Operators(target, node.name).has(op.onnx, kind)
        return not direct
    written = None if op.onnx is None else ask(graph, node, target)[1]
    if callable(written):
        return Handing(op, written, 1) if op.hands_on else written
    if written is None and op.expand is None:
        raise GraphError(
            f"{op.name} {node.name!r} has no ONNX operator and no expansion; expected an op with one of them"
            " (see docs/add-an-op.md)"
        )
    return written is None


def ask(
    graph: Graph, node: Node, target: Target, names: Callable[[Ref], str] | None = None
) -> tuple[Fragment, Any]:
    """What the rule of a node writes, and what it returns."""
    names = names or graph.tensor_name
    given = [
        None if ref is None else Value(names(ref), graph.spec(ref).kind, graph.spec(ref))
        for ref in padded(node.op, node.operands)
    ]
    refs = {id(value): ref for value, ref in zip(given, node.operands)}
    o = Operators(target, node.name, lambda x, axis: always_visible(graph, refs.get(id(x)), axis))
    if isinstance(node.op.onnx, str):
        return o.fragment, o.add(node.op.onnx, *given)
    found = node.op.told("onnx", node.name, o, *given, **node.attributes)
    results = found if isinstance(found, tuple) else (found,)
    written = len(results) == len(node.outputs) and all(isinstance(result, Value) for result in results)
    if not (found is None or callable(found) or written):
        count = len(node.outputs)
        expected = "what an operator gives" if count == 1 else f"a tuple of {count} that operators give"
        raise GraphError(
            f"{node.op.name} {node.name!r}: its onnx rule gives {shown(found)}; expected {expected}, None or"
            " an expansion"
        )
    return o.fragment, found


# ---------------------------------------------------------------- what a softmax may be spared


def always_visible(graph: Graph, ref: Ref | None, axis: int) -> bool:
    """Whether every line of a tensor along an axis has a cell that no mask can hide: all masks on the way
    to what was computed of finite numbers are constants, which together leave one."""
    if ref is None:
        return False
    shape = graph.spec(ref).shape
    masks: list[Ref] = []
    if not shape or not shape[axis] or not _only_masked(graph, ref, masks, shape):
        return False
    told = graph.kept("always visible", dict)  # masks of many heads are equal
    key = (
        tuple((graph.nodes[m.node].op, tuple(graph.nodes[m.node].attributes.items())) for m in masks),
        shape,
        axis,
    )
    if key not in told:
        told[key] = _leave_some(graph, masks, shape, axis)
    return told[key]


def _leave_some(graph: Graph, masks: Collection[Ref], shape: tuple[int, ...], axis: int) -> bool:
    """Whether masks together leave a cell in every line along an axis of this shape."""
    if not masks:
        return True
    flat = []
    for mask in masks:
        stretch = function_of(find("broadcast"), [graph.spec(mask)], {"shape": shape})
        flat.append(list(nested.flat(stretch(known(graph.nodes[mask.node])))))
    seen = [all(cells) for cells in zip(*flat, strict=True)]
    inner = prod(shape[axis + 1 :])
    block = inner * shape[axis]
    return all(
        any(seen[start + i : start + block : inner])
        for start in range(0, len(seen), block)
        for i in range(inner)
    )


def _only_masked(graph: Graph, ref: Ref, masks: list[Ref], shape: tuple[int, ...]) -> bool:
    """Whether what hides cells of a tensor are constants, which are added to `masks`."""
    todo, seen = [ref], set()
    while todo:
        ref = todo.pop()
        if ref in seen:
            continue
        seen.add(ref)
        node = graph.nodes[ref.node]
        given = [operand for operand in node.operands if operand is not None]
        if node.op.fed or (not node.operands and not _finite(known(node))):
            return False
        if node.op.family == "mask":
            for operand in given:
                mask = graph.nodes[operand.node]
                if graph.spec(operand).kind != "bool":
                    todo.append(operand)
                elif mask.operands or mask.op.fed or not _stretches(graph.spec(operand).shape, shape):
                    return False
                else:
                    masks.append(operand)
        elif node.op.moves or (node.op.masked is not None and node.op.linear):
            todo += given
        elif node.operands and node.op.masked is not None and _may_hide(node):
            return False
    return True


def _may_hide(node: Node) -> bool:
    """Whether a function may give −∞ of itself, as the logarithm does."""
    return node.op.range is None or node.op.range[0] == -math.inf


def _stretches(small: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Whether a shape broadcasts to another."""
    return len(small) <= len(shape) and all(size in (1, other) for size, other in zip(small[::-1], shape[::-1]))


def known(node: Node) -> Any:
    """The value of a node without operands, or those of several outputs. Raises a `GraphError` where it has
    too many cells."""
    need_cells(f"{node.op.name} {node.name!r}", node.outputs, most_cells())
    try:
        return function_of(node.op, [], node.attributes)()
    except Exception as error:
        raise blamed(node, error) from error


def _finite(value: Any) -> bool:
    if isinstance(value, Packed):
        return value.finite
    return all(isinstance(cell, (bool, int)) or abs(cell) < float("inf") for cell in nested.flat(value))
