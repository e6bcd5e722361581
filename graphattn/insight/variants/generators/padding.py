"""Rows of padding are set to 0: before a step or after it, besides being hidden as keys or instead."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ....core.axes import Spec
from ....core.graph import Node, Ref
from ..draft import Draft
from ..intended import Intended
from ..structure.groups import Group
from ..variant import Option, Variant, each
from .masks import as_numbers, changing, filled


def padding(intended: Intended, group: Group) -> Iterator[Variant]:
    yield from each("padding", _options, intended, group)


def _options(intended: Intended, node: Node) -> Iterator[Option]:
    """Rows of which a mask of keys says that they are no tokens are set to 0, besides or instead."""
    spec = node.outputs[0]
    if len(node.ports) > 1 or spec.kind != "float" or spec.rank < 2 or node.op.drawn == "inside":
        return
    if intended.is_inside(node):
        return
    for number, see in enumerate([*intended.alike.get((spec.shape[:-1], "bool"), ()), *_keys(intended, spec)]):
        if intended.depends(see.node, on=node.name):
            continue
        words = "with the rows that {new} hides set to 0 in {the}"
        yield Option(number, words, 1.3, _zeroing(see, spec, alone=False), see)
        words = f"{words}, not hidden as keys"
        yield Option((number, "alone"), words, 1.35, _zeroing(see, spec, alone=True), see)
    yield from _before(intended, node)


def _keys(intended: Intended, spec: Spec) -> list[Ref]:
    """Masks of keys, (…, 1, n), that fit the rows of a tensor of a stream."""
    if spec.shape not in intended.stream_shapes:
        return []
    return [
        ref
        for (shape, kind), refs in intended.alike.items()
        if kind == "bool" and shape[-1:] == spec.shape[-2:-1] and shape != spec.shape[:-1]
        and [n for n in shape if n > 1] == [n for n in spec.shape[:-1] if n > 1]
        for ref in refs
    ]  # fmt: skip


def _before(intended: Intended, node: Node) -> Iterator[Option]:
    """The same of what a step takes, where others take it as it is."""
    for slot, ref in enumerate(node.operands):
        if ref is None or len(intended.users[ref]) < 2 or intended.nodes[ref.node].op.drawn == "inside":
            continue
        spec = intended.spec(ref)
        shown = intended.alike.get((spec.shape[:-1], "bool"), ()) if spec.kind == "float" else ()
        for number, see in enumerate(shown):
            words = f"with the rows that {{new}} hides set to 0 in {{{slot}}} for {{the}} alone"
            yield Option((number, "before", slot), words, 1.3, _taking(slot, see, spec), see)


def _taking(slot: int, see: Ref, spec: Spec) -> Callable[[Draft, Node], None]:
    def apply(draft: Draft, node: Node) -> None:
        ref = draft.node(node.name).operands[slot]
        assert ref is not None
        draft.operand(node, slot, _times(draft, node, ref, see, spec))

    return apply


def _zeroing(see: Ref, spec: Spec, alone: bool) -> Callable[[Draft, Node], None]:
    return lambda draft, node: _zeroed(draft, node, see, spec, alone)


def _zeroed(draft: Draft, node: Node, see: Ref, spec: Spec, alone: bool) -> None:
    if alone and draft.now(see) == see:
        changing(see.port, filled(True))(draft, draft.graph.nodes[see.node])
    ref = Ref(node.name)
    made = _times(draft, node, ref, see, spec)
    draft.redirect(ref, made, apart_from=(made.node,))


def _times(draft: Draft, near: Node, ref: Ref, see: Ref, spec: Spec) -> Ref:
    """A tensor (as `spec` says) whose rows that a mask hides are 0."""
    column = draft.add("reshape", [see], {"shape": (*spec.shape[:-1], 1)}, near=near, name="as_column")
    return draft.add("multiply", [ref, as_numbers(draft, near, column)], near=near, name="zeroed")
