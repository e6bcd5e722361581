"""Rows of padding are set to 0: before a step or after it, besides being hidden as keys or instead."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...core.graph import Node, Ref
from .draft import Draft
from .groups import Group
from .intended import Intended
from .masks import as_numbers, changing, filled
from .variant import Option, Variant, each


def padding(intended: Intended, group: Group) -> Iterator[Variant]:
    yield from each("padding", _options, intended, group)


def _options(intended: Intended, node: Node) -> Iterator[Option]:
    """Rows of which a mask of keys says that they are no tokens are set to 0, besides or instead."""
    spec = node.outputs[0]
    if len(node.ports) > 1 or spec.kind != "float" or spec.rank < 2 or node.op.drawn == "inside":
        return
    if intended.is_inside(node):
        return
    for number, see in enumerate(intended.alike.get((spec.shape[:-1], "bool"), ())):
        if intended.depends(see.node, on=node.name):
            continue
        words = "with the rows that {new} hides set to 0 in {the}"
        yield Option(number, words, 1.3, _zeroing(see, alone=False), see)
        words = f"{words}, not hidden as keys"
        yield Option((number, "alone"), words, 1.35, _zeroing(see, alone=True), see)


def _zeroing(see: Ref, alone: bool) -> Callable[[Draft, Node], None]:
    return lambda draft, node: _zeroed(draft, node, see, alone)


def _zeroed(draft: Draft, node: Node, see: Ref, alone: bool) -> None:
    if alone and see not in draft.went:
        changing(see.port, filled(True))(draft, draft.graph.nodes[see.node])
    shape = (*node.outputs[0].shape[:-1], 1)
    column = draft.add("reshape", [see], {"shape": shape}, near=node, name="as_column")
    ref = Ref(node.name)
    made = draft.add("multiply", [ref, as_numbers(draft, node, column)], near=node, name="zeroed")
    draft.redirect(ref, made, apart_from=(made.node,))
