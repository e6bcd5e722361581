"""Attention as exporters write it, found in a graph.

    q ─ × c ───────────┐
    k ─ (turned) ─ × c ┴ matmul ─ × or ÷ c ─ + mask, or where ─ softmax ─ (where NaN: 0) ┐
    v ──────────────────────────────────────────────────────────────────────────────────┴ matmul

Factors may stand on either side of the product, or on both (⁴√d_k twice); k is turned by one transpose, or by
reshapes around one; there may be any number of summands. `find` looks at every softmax along the last axis.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod

from ..core.graph import Graph, Node, Ref

Users = Mapping[Ref, list[tuple[Node, int]]]


@dataclass
class Attention:
    """The nodes of one attention, each with the part that it plays, from its inputs to its output."""

    softmax: Node
    product: Node
    """scores = q kᵀ"""
    out: Node
    q: Ref
    turned: Ref
    """kᵀ, before any factor."""
    v: Ref
    weights: Ref
    parts: dict[str, str] = field(default_factory=dict)
    """The part of each node, by its name."""
    masks: list[tuple[Node, Ref]] = field(default_factory=list)
    """Nodes that hide or add, and what they take for it: a float that is added, or a condition."""
    factor: float = 1.0
    """All factors together."""
    k: Ref | None = None
    """k itself, where a tensor of the graph is that."""


def find(graph: Graph) -> list[Attention]:
    """Every attention, in the order of the graph."""
    users = users_of(graph)
    found = (of_softmax(graph, users, node) for node in graph.nodes.values() if node.op.name == "softmax")
    return [attention for attention in found if attention is not None]


def users_of(graph: Graph) -> Users:
    """For each output, the nodes that take it, and as which operand."""
    users: dict[Ref, list[tuple[Node, int]]] = {}
    for node in graph.nodes.values():
        for slot, ref in enumerate(node.operands):
            if ref is not None:
                users.setdefault(ref, []).append((node, slot))
    return users


def of_softmax(graph: Graph, users: Users, softmax: Node) -> Attention | None:
    """The attention around one softmax; None where there is none."""
    rank = len(softmax.outputs[0].shape)
    if rank < 2 or softmax.attributes["axis"] not in (-1, rank - 1):
        return None
    before = _before(graph, softmax)
    after = _after(graph, users, softmax)
    if before is None or after is None:
        return None
    product, steps, factor, masks = before
    weights, guards, out = after
    left, right = product.operands[0], product.operands[1]
    assert left is not None and right is not None and out.operands[1] is not None
    q, q_steps, q_factor = _unscaled(graph, users, left)
    turned, k_steps, k_factor = _unscaled(graph, users, right)
    made = Attention(softmax, product, out, q, turned, out.operands[1], weights)
    made.factor, made.masks = factor * q_factor * k_factor, masks
    made.parts = {
        **dict.fromkeys(q_steps, "q_scaled"), **dict.fromkeys(k_steps, "keys_scaled"), product.name: "scores",
        **steps, softmax.name: "softmax" if guards else "weights", **guards, out.name: "out",
    }  # fmt: skip
    _turning(graph, users, made)
    return made


# ---------------------------------------------------------------- before the softmax


def _before(graph: Graph, softmax: Node) -> tuple[Node, dict[str, str], float, list[tuple[Node, Ref]]] | None:
    """The product that the scores come from, and the steps from there, the last first."""
    steps: list[tuple[str, str]] = []
    masks: list[tuple[Node, Ref]] = []
    factor, ref = 1.0, softmax.operands[0]
    while ref is not None and len(steps) < 8:
        node = graph.nodes[ref.node]
        if node.op.name == "matmul":
            return node, dict(reversed(steps)), factor, masks
        if node.outputs[0].shape != softmax.outputs[0].shape:
            return None
        taken = _step(graph, node)
        if taken is None:
            return None
        ref, part, other = taken
        if part == "scaled":
            factor *= _factor(graph, node) or 1.0
        elif other is not None:
            masks.append((node, other))
        steps.append((node.name, part))
    return None


def _step(graph: Graph, node: Node) -> tuple[Ref | None, str, Ref | None] | None:
    """(the scores that go on, the part of the node, what hides or is added) of a step."""
    operands = node.operands
    if _factor(graph, node) is not None:
        return _scaled_operand(graph, node), "scaled", None
    if node.op.name == "mask":
        return operands[0], "masked", operands[1]
    if node.op.name == "add":
        own = [ref for ref in operands if ref is not None and _leads_to_product(graph, ref, node)]
        if len(own) == 1 and own[0] is not None:
            other = operands[1] if own[0] == operands[0] else operands[0]
            return own[0], "masked", other
    if node.op.name == "where" and operands[0] is not None:
        for kept, gone in ((1, 2), (2, 1)):
            hides, scores = constant_of(graph, operands[gone]), operands[kept]
            if hides is not None and hidden(hides) and scores is not None and kept == 1:
                return scores, "masked", operands[0]
            if hides is not None and hidden(hides) and scores is not None:
                return scores, "masked_where", operands[0]
    return None


def _leads_to_product(graph: Graph, ref: Ref, last: Node) -> bool:
    """Whether scores come this way: a product, with nothing but steps of an attention after it."""
    for _ in range(8):
        node = graph.nodes[ref.node]
        if node.outputs[ref.port].shape != last.outputs[0].shape:
            return False
        if node.op.name == "matmul":
            return True
        if _factor(graph, node) is not None:
            before = _scaled_operand(graph, node)
        elif node.op.name == "mask":
            before = node.operands[0]
        elif node.op.name == "add":
            before = next(
                (o for o in node.operands if o is not None and _same_shape_and_computed(graph, o, last)), None
            )
        elif node.op.name == "where":
            before = next(
                (o for o in node.operands[1:] if o is not None and _same_shape_and_computed(graph, o, last)),
                None,
            )
        else:
            return False
        if before is None:
            return False
        ref = before
    return False


def _same_shape_and_computed(graph: Graph, ref: Ref, last: Node) -> bool:
    node = graph.nodes[ref.node]
    return node.outputs[ref.port].shape == last.outputs[0].shape and bool(node.operands)


def hidden(value: float) -> bool:
    """Whether a score of this size hides: −∞, the smallest floats of any type, −1e9, −1e4."""
    return value <= -1e30 or value in (-65504.0, -1e9, -1e4)


def constant_of(graph: Graph, ref: Ref | None) -> float | None:
    """The number of a constant of one cell; None for any other tensor."""
    if ref is None:
        return None
    node = graph.nodes[ref.node]
    if node.op.name != "constant" or prod(node.outputs[0].shape) != 1:
        return None
    value = node.attributes["value"]
    while isinstance(value, (list, tuple)):
        value = value[0]
    return float(value) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else None


def _factor(graph: Graph, node: Node) -> float | None:
    """By what a node multiplies; None where it does not multiply by one number."""
    if node.op.name == "multiply":
        numbers = [constant_of(graph, ref) for ref in node.operands]
        return next((n for n in numbers if n is not None and n > 0), None)
    if node.op.name == "divide":
        by = constant_of(graph, node.operands[1])
        return 1.0 / by if by is not None and by > 0 else None
    if node.op.name == "scale":
        root, divisor, factor = (node.attributes[name] for name in ("sqrt", "divide", "multiply"))
        by = float(factor) if factor is not None else 1 / (root**0.5 if divisor is None else float(divisor))
        return by if by > 0 else None
    return None


def _scaled_operand(graph: Graph, node: Node) -> Ref | None:
    if node.op.name in ("divide", "scale") or constant_of(graph, node.operands[1]) is not None:
        return node.operands[0]
    return node.operands[1]


# ---------------------------------------------------------------- after it


def _after(graph: Graph, users: Users, softmax: Node) -> tuple[Ref, dict[str, str], Node] | None:
    """The weights, the steps that make NaN to 0, and the product with v."""
    ref, guards = Ref(softmax.name), {}
    guard = _guard(graph, users, ref)
    if guard is not None:
        ref, guards = guard
    products = [node for node, slot in users.get(ref, ()) if node.op.name == "matmul" and slot == 0]
    return (ref, guards, products[0]) if len(products) == 1 else None


def _guard(graph: Graph, users: Users, ref: Ref) -> tuple[Ref, dict[str, str]] | None:
    """where(isnan(w), 0, w), where isnan(w) is not(w == w)."""
    for node, slot in users.get(ref, ()):
        if node.op.name != "where" or slot != 2 or constant_of(graph, node.operands[1]) != 0.0:
            continue
        condition = node.operands[0]
        inner = graph.nodes[condition.node] if condition is not None else None
        names = {}
        while inner is not None and inner.op.name in ("logical_not", "equal") and len(names) < 2:
            names[inner.name] = "is_nan" if not names else "is_number"
            before = inner.operands[0]
            inner = graph.nodes[before.node] if before is not None else None
        if inner is not None and inner.name == ref.node and len(names) == 2:
            return Ref(node.name), {**dict(reversed(list(names.items()))), node.name: "weights"}
    return None


# ---------------------------------------------------------------- q and k


def _unscaled(graph: Graph, users: Users, ref: Ref) -> tuple[Ref, list[str], float]:
    """What is multiplied before the product, by which nodes, and by how much."""
    steps: list[str] = []
    factor = 1.0
    while True:
        node = graph.nodes[ref.node]
        by = _factor(graph, node)
        before = _scaled_operand(graph, node) if by is not None else None
        if by is None or before is None or len(users.get(ref, ())) != 1 or len(steps) > 3:
            return ref, steps[::-1], factor
        if graph.spec(before).shape != graph.spec(ref).shape:
            return ref, steps[::-1], factor
        steps.append(node.name)
        factor, ref = factor * by, before


def _turning(graph: Graph, users: Users, made: Attention) -> None:
    """How k became kᵀ: by a transpose, or by one between reshapes that only merge leading axes."""
    node = graph.nodes[made.turned.node]
    if len(users.get(made.turned, ())) != 1:
        return
    shape = graph.spec(made.turned).shape
    if node.op.name == "transpose" and node.operands[0] is not None and _swaps_last(node):
        made.parts = {node.name: "keys", **made.parts}
        made.k = node.operands[0]
        return
    if node.op.name != "reshape" or node.operands[0] is None:
        return
    turn = graph.nodes[node.operands[0].node]
    if turn.op.name != "transpose" or turn.operands[0] is None or not _swaps_last(turn):
        return
    flat = graph.nodes[turn.operands[0].node]
    alone = all(len(users.get(Ref(name), ())) == 1 for name in (turn.name, flat.name))
    if flat.op.name != "reshape" or flat.operands[0] is None or not alone:
        return
    before = graph.spec(flat.operands[0]).shape
    merged = (prod(shape[:-2]), shape[-1], shape[-2])
    if before == (*shape[:-2], shape[-1], shape[-2]) and flat.outputs[0].shape == merged:
        made.parts = {flat.name: "keys_flat", turn.name: "keys_turned", node.name: "keys", **made.parts}
        made.k = flat.operands[0]


def _swaps_last(node: Node) -> bool:
    """Whether a transpose exchanges the last two axes, and nothing else."""
    rank = len(node.outputs[0].shape)
    perm = node.attributes["perm"]
    return perm is None or tuple(perm) == (*range(rank - 2), rank - 1, rank - 2)


def told_scale(made: Attention, d_k: int) -> float | None:
    """The factor of an attention; None where it is 1/√d_k, but for the rounding of short floats."""
    return None if math.isclose(made.factor * math.sqrt(d_k), 1.0, rel_tol=2e-3) else made.factor


def nodes_between(made: Attention) -> Iterator[str]:
    """The nodes of an attention, in no order."""
    yield from made.parts
