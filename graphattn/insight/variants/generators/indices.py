"""Whole numbers are others: positions count from 1, or from 0 where they should count from 2; lengths are one
too long; a table of positions is read from its other end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ....core import nested
from ....core.graph import Node, Ref
from ..draft import Draft
from ..intended import Intended
from ..structure.groups import Group
from ..variant import Option, Variant, each

STEPS = (1, -1, 2, -2)
STARTS = (0, 1, 2)
"""What a token at the start or the end is, or padding."""


def indices(intended: Intended, group: Group) -> Iterator[Variant]:
    yield from each("index", _options, intended, group)


def _options(intended: Intended, node: Node) -> Iterator[Option]:
    if len(node.ports) != 1 or node.outputs[0].kind != "int" or (node.op.moves and node.operands):
        return
    known = list(nested.flat(intended.values[Ref(node.name)]))
    least = min(known, default=0)
    for step in dict.fromkeys((*STEPS, *((-least,) if least and not node.op.fed else ()))):
        told = f"{abs(step)} more" if step > 0 else f"{-step} less"
        words = f"with {told} in each place of {{the}}"
        if step == -least and not node.op.fed:
            words = "with {the} counted from 0"
        price = (1.3 if node.op.fed else 1.2) + 0.1 * (abs(step) > 1)
        yield Option(step, words, price, _adding(step))
    if node.op.fed and node.outputs[0].rank and node.outputs[0].shape[-1] > 1:
        last = node.outputs[0].shape[-1] - 1
        for told, at in (
            ("those of the place before each, the first repeated", ("...,:1", "...,:-1")),
            ("those of the place after each, the last repeated", ("...,1:", f"...,{last}:")),
            ("those of the place before each, the last at the first", (f"...,{last}:", "...,:-1")),
            ("those of the place after each, the first at the last", ("...,1:", "...,:1")),
            ("in reverse order", ("..., ::-1",)),
        ):
            yield Option(told, f"with {{the}} {told}", 1.35, _cut(at))
        for start in STARTS:
            for told, before in (("before", True), ("after", False)):
                words = f"with those of the place {told} each as {{the}}, and {start} where there is none"
                yield Option((start, before), words, 1.35, _with_start(start, before))
    if not node.operands and not node.op.fed and len(set(known)) > 1:
        words = "with {the} in reverse order"
        yield Option("reverse", words, 1.5, _reversed)


def _adding(step: int) -> Callable[[Draft, Node], None]:
    def apply(draft: Draft, node: Node) -> None:
        number = draft.add("constant", [], {"value": (step,)}, near=node, name="step")
        made = draft.add("add", [Ref(node.name), number], near=node, name="moved")
        draft.redirect(Ref(node.name), made, apart_from=(made.node,))

    return apply


def _cut(at: Sequence[str]) -> Callable[[Draft, Node], None]:
    """Pieces of the whole numbers, one after another."""

    def apply(draft: Draft, node: Node) -> None:
        before = set(draft.nodes)
        pieces = [draft.add("slice", [Ref(node.name)], {"at": a}, near=node, name="piece") for a in at]
        made = pieces[0]
        if len(pieces) > 1:
            made = draft.add("concat", pieces, {"axis": -1}, near=node, name="moved")
        draft.redirect(Ref(node.name), made, apart_from=set(draft.nodes) - before)

    return apply


def _with_start(start: int, before: bool) -> Callable[[Draft, Node], None]:
    def apply(draft: Draft, node: Node) -> None:
        at = "...,:-1" if before else "...,1:"
        kept = draft.add("slice", [Ref(node.name)], {"at": at}, near=node, name="kept")
        room = {"before": int(before), "after": int(not before), "axis": -1, "value": start}
        made = draft.add("pad", [kept], room, near=node, name="moved")
        draft.redirect(Ref(node.name), made, apart_from=(kept.node, made.node))

    return apply


def _reversed(draft: Draft, node: Node) -> None:
    made = draft.add("slice", [Ref(node.name)], {"at": "..., ::-1"}, near=node, name="reversed")
    draft.redirect(Ref(node.name), made, apart_from=(made.node,))
