"""Other rows are taken together: a mean without the first or last of them, the mean of all in place of one."""

from __future__ import annotations

from collections.abc import Iterator

from ....core.graph import Node, Ref
from ..draft import Draft
from ..intended import Intended
from ..structure.groups import Group
from ..variant import Option, Variant, each

KINDS = {"reduce_mean": "mean", "reduce_max": "maximum", "reduce_sum": "sum"}


def pooling(intended: Intended, group: Group) -> Iterator[Variant]:
    yield from each("pooling", _options, intended, group)


def _options(intended: Intended, node: Node) -> Iterator[Option]:
    ref = node.operands[0] if len(node.operands) == 1 else None
    if ref is None or len(node.ports) > 1 or intended.spec(ref).kind != "float" or intended.is_inside(node):
        return
    given, made = intended.spec(ref).shape, node.outputs[0].shape
    if node.op.name in KINDS and isinstance(node.attributes["axis"], int):
        axis = node.attributes["axis"] % len(given)
        for told, at in (("first", "1:"), ("last", ":-1")) if given[axis] > 2 else ():
            words = f"with {{the}} over all but the {told}"
            at = ", ".join([*[":"] * axis, at])
            yield Option(told, words, 1.3, lambda d, n, a=at: _of_part(d, n, a))
    elif node.op.moves and len(given) > 1 and made == (*given[:-2], 1, given[-1]) != given:
        last = f"..., {given[-2] - 1}:{given[-2]}, :"
        yield Option("last row", "with the last row of {0} as {the}", 1.2, lambda d, n: _row(d, n, last))
        for name, told in KINDS.items():
            words = f"with the {told} of all rows of {{0}} as {{the}}"
            yield Option(name, words, 1.25, lambda d, n, o=name: _all(d, n, o))
        words = "with the mean of all rows but the first of {0} as {the}"
        yield Option("others", words, 1.3, _others)


def _of_part(draft: Draft, node: Node, at: str) -> None:
    ref = draft.node(node.name).operands[0]
    draft.operand(node, 0, draft.add("slice", [ref], {"at": at}, near=node, name="part"))


def _row(draft: Draft, node: Node, at: str) -> None:
    made = draft.add("slice", draft.node(node.name).operands, {"at": at}, near=node, name="last")
    draft.redirect(Ref(node.name), made)


def _all(draft: Draft, node: Node, op: str) -> None:
    made = draft.add(op, draft.node(node.name).operands, {"axis": -2}, near=node, name="pooled")
    draft.redirect(Ref(node.name), made)


def _others(draft: Draft, node: Node) -> None:
    _of_part(draft, node, "..., 1:, :")
    _all(draft, node, "reduce_mean")
