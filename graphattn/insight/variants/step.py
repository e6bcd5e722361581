"""Which variants of one step give what was observed of it, from the operands that were observed.

    explanations(graph, "head0.scaled", operands, observed, agrees, others={"X": …})

It takes the step alone: whatever went wrong before it is in its operands. `compare` asks this of the first
step whose inputs agree and whose result does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...core import nested
from ...core.errors import GraphError
from ...core.graph import Graph, Ref
from .clock import Clock
from .draft import Rewrite
from .evaluation import evaluate
from .generators import variants
from .intended import Intended
from .solve import CELLS, solved
from .variant import Variant

BAND = 0.5
"""How much dearer than the best an explanation may be."""


@dataclass(frozen=True)
class Explanation:
    """A variant of a step that gives what was observed."""

    phrase: str
    """Goes on from "yours is this graph …"."""
    name: str
    price: float
    variant: Variant


def explanations(
    graph: Graph,
    node: str,
    operands: Sequence[Any],
    observed: Any,
    agrees: Callable[[Any, Any], bool],
    others: Mapping[str, Any] | None = None,
    budget: float = 1.0,
) -> list[Explanation]:
    """The variants of the node `node` of `graph` that give `observed` from `operands`, the likeliest first; []
    where there is none, or the step itself gives it.

    operands: a nested list for each operand of the node, None for one that is left out. observed: a nested
    list for the result, or a tuple of them where there are several. agrees(value, observed) says whether two
    tensors are the same, to the precision of what was observed. others: other tensors that were recorded, by
    name, which may have been taken by mistake. budget: seconds.
    """
    given = _alone(graph, node, operands, others or {})
    if given is None:
        return []
    small, feeds, results = given
    wanted = observed if isinstance(observed, tuple) else (observed,)
    clock = Clock()
    found: list[Explanation] = []
    try:
        intended = Intended(small, feeds)
    except GraphError:
        return []
    if _fits(intended, results, wanted, agrees):
        return []
    for variant in _variants(intended, small, feeds, node):
        if clock.seconds > budget or (found and variant.price > found[0].price + BAND):
            break
        if variant.number is not None:
            variant = _solved(variant, results, wanted, agrees) or variant
        if _gives(variant, results, wanted, agrees):
            found.append(Explanation(variant.phrase, variant.name, variant.price, variant))
    return sorted(found, key=lambda e: e.price)


def _alone(
    graph: Graph, name: str, operands: Sequence[Any], others: Mapping[str, Any]
) -> tuple[Graph, dict[str, Any], list[str]] | None:
    """The node in a graph of its own, with its operands and the others as inputs; what to feed; its results."""
    node, small, feeds = graph.node(name), Graph("step"), {}
    refs: list[Any] = []
    for ref, value in zip(node.operands, operands, strict=True):
        if ref is None:
            refs.append(None)
            continue
        called = graph.tensor_name(ref)
        spec = graph.spec(ref)
        if called not in feeds:
            feeds[called] = value
            small.input(called, nested.shape_of(value, called), spec.axes, spec.kind)
        refs.append(Ref(called))
    for called, value in others.items():
        if called not in feeds and called != name and not called.startswith(f"{name}."):
            try:
                shape = nested.shape_of(value, called)
                small.input(called, shape, None, _kind(value))
            except GraphError:
                continue
            feeds[called] = value
    try:
        made = small.infer(node.op, tuple(refs), node.attributes, name, node.title)
        small.adopt(made)
    except GraphError:
        return None
    results = [made.tensor_name(port) for port in range(len(made.ports))]
    small.adopt_output("result", Ref(name))
    return small, feeds, results


def _kind(value: Any) -> str:
    first = next(nested.flat(value), 0.0)
    return "bool" if isinstance(first, bool) else "int" if isinstance(first, int) else "float"


def _variants(intended: Intended, small: Graph, feeds: Mapping[str, Any], node: str) -> list[Variant]:
    """Variants of the step, and of what it is made of, by price."""
    near = {node, *(ref.node for ref in intended.nodes[node].operands if ref is not None)}
    found = list(variants(intended, near))
    if intended.nodes[node].op.coarser("primitive"):
        fine = Intended(small.at("primitive"), feeds, coarse=small)
        inside = [name for name in fine.graph.nodes if name not in small.nodes]
        for variant in variants(fine, inside):
            variant.price += 0.3
            found.append(variant)
    return sorted(found, key=lambda variant: variant.price)


def _fits(
    intended: Intended, results: Sequence[str], wanted: Sequence[Any], agrees: Callable[[Any, Any], bool]
) -> bool:
    values = [intended.values[intended.graph.resolve(name)] for name in results]
    return all(agrees(value, theirs) for value, theirs in zip(values, wanted, strict=True))


def _solved(
    variant: Variant, results: Sequence[str], wanted: Sequence[Any], agrees: Callable[[Any, Any], bool]
) -> Variant | None:
    """A variant that leaves a number open with that which was observed, if any."""
    theirs = [cell for value in wanted for cell in nested.flat(value)]
    if len(theirs) <= CELLS:
        return None
    refs = [variant.intended.graph.resolve(name) for name in results]

    def cells(rewrite: Rewrite) -> list[float]:
        return [cell for value in evaluate(variant.intended, rewrite, refs) for cell in nested.flat(value)]

    def fits(rewrite: Rewrite) -> bool:
        return all(map(agrees, evaluate(variant.intended, rewrite, refs), wanted))

    return solved(variant, cells, theirs, fits)


def _gives(
    variant: Variant, results: Sequence[str], wanted: Sequence[Any], agrees: Callable[[Any, Any], bool]
) -> bool:
    intended = variant.intended
    try:
        refs = [intended.graph.resolve(name) for name in results]
        values = evaluate(intended, variant.rewrite, refs)
        return all(agrees(value, theirs) for value, theirs in zip(values, wanted, strict=True))
    except GraphError:
        return False
