"""A number is another one, whichever: a constant, an attribute, a factor. It is solved for (see `solve`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from ....core.graph import Node, Ref
from ..draft import Draft
from ..intended import Intended
from ..structure.groups import Group
from ..variant import Option, Variant, each, noted, through
from .added import may_be_scaled

FINITE = -3.0
"""Where the search for a number begins that is no infinity."""


def numbers(intended: Intended, group: Group) -> Iterator[Variant]:
    yield from each("number", _options, intended, group)


def _options(intended: Intended, node: Node) -> Iterator[Option]:
    if node.op.name == "scale":
        words = f"with · {{number}} instead of {noted(intended, node)} in {{bare}}"
        yield Option("factor", words, 1.85, _factor, number=_factor_of(node))
        return
    for name, value in node.attributes.items() if not node.op.fed else ():
        start = _number(value)
        if start is None or "float" not in node.op.parameters[name].annotation:
            continue
        words = f"with {name}={{number}} instead of {value} in {{the}}"
        if name == "value":
            words = f"with {{number}} instead of {value} as {{bare}}"
        yield Option(name, words, 1.85, _attribute(name, start), number=start)
    if node.outputs[0].rank and may_be_scaled(intended, node):
        yield Option("times", "with {the} times {number}", 1.95, _times, number=1.0)
    for slot in through(intended, node) if node.op.family == "add" else ():
        if len(intended.users[node.operands[slot]]) > 1:  # pyright: ignore  (what goes through is there)
            words = f"with {{{slot}}} times {{number}} in {{the}} alone"
            yield Option(("operand", slot), words, 1.95, _operand(slot), number=1.0)
    if intended.is_inside(node) and node.operands and node.outputs[0].kind == "float":
        yield Option("plus", "with {number} added to {the}", 2.0, _plus, number=0.0)


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else FINITE if number < 0 else None


def _attribute(name: str, start: float) -> Callable[[Draft, Node], None]:
    def apply(draft: Draft, node: Node) -> None:
        draft.change(node, attributes={name: start})
        draft.solve_for(node.name, name)

    return apply


def _factor_of(node: Node) -> float:
    """What a scale multiplies by."""
    given = node.attributes
    if given["multiply"] is not None:
        return float(given["multiply"])
    return 1 / (float(given["divide"]) if given["sqrt"] is None else math.sqrt(float(given["sqrt"])))


def _factor(draft: Draft, node: Node) -> None:
    draft.change(node, attributes={"sqrt": None, "divide": None, "multiply": _factor_of(node)})
    draft.solve_for(node.name, "multiply")


def _operand(slot: int) -> Callable[[Draft, Node], None]:
    def apply(draft: Draft, node: Node) -> None:
        ref = draft.node(node.name).operands[slot]
        made = draft.add("scale", [ref], {"multiply": 1.0}, near=node, name="times")
        draft.operand(node, slot, made)
        draft.solve_for(made.node, "multiply")

    return apply


def _plus(draft: Draft, node: Node) -> None:
    ref = Ref(node.name)
    number = draft.add("constant", [], {"value": 0.0}, near=node, name="number")
    made = draft.add("add", [ref, number], near=node, name="plus")
    draft.redirect(ref, made, apart_from=(made.node,))
    draft.solve_for(number.node, "value")


def _times(draft: Draft, node: Node) -> None:
    ref = Ref(node.name)
    made = draft.add("scale", [ref], {"multiply": 1.0}, near=node, name="times")
    draft.redirect(ref, made, apart_from=(made.node,))
    draft.solve_for(made.node, "multiply")
