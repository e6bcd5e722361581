"""Batch and tokens are taken for each other: inputs come with their first two axes exchanged, results too;
positions are those of the sequence in the batch."""

from __future__ import annotations

from collections.abc import Iterator

from ....core.graph import Node, Ref
from ..draft import Draft
from ..intended import Intended
from ..structure.groups import Group, spoken
from ..variant import Option, Variant, each, one


def axes(intended: Intended, group: Group) -> Iterator[Variant]:
    yield from each("axes", _by_sequence, intended, group)
    if all(_is_batch(intended.nodes[name]) for name in group):
        yield from _exchanged(intended, group)
        lead = intended.nodes[group[0]].outputs[0].shape[:2]
        given = [n for n in intended.nodes.values() if _is_batch(n) and n.outputs[0].kind == "float"]
        batches = tuple(node.name for node in given if node.outputs[0].shape[:2] == lead)
        if len(batches) > 1 and group == batches[:1]:
            yield from _exchanged(intended, batches)


def _by_sequence(intended: Intended, node: Node) -> Iterator[Option]:
    """Positions, or whatever else every sequence takes by token, taken by the number of the sequence."""
    made = node.outputs[0] if len(node.ports) == 1 else None
    for slot, ref in enumerate(node.operands):
        if made is None or made.rank != 3 or ref is None or node.op.family != "add":
            continue
        spec, size = intended.spec(ref), made.shape[0]
        if spec.rank == 2 and spec.shape == made.shape[1:] and 1 < size <= spec.shape[0]:
            words = f"with {{{slot}}} by sequence, not by token, in {{the}}"
            yield Option((slot, "by sequence"), words, 1.3, lambda d, n, s=slot, b=size: _rows(d, n, s, b))


def _rows(draft: Draft, node: Node, slot: int, size: int) -> None:
    ref = draft.node(node.name).operands[slot]
    first = draft.add("slice", [ref], {"at": f"0:{size}"}, near=node, name="of_the_batch")
    width = node.outputs[0].shape[-1]
    rows = draft.add("reshape", [first], {"shape": (size, 1, width)}, near=node, name="a_row_each")
    draft.operand(node, slot, rows)


def _is_batch(node: Node) -> bool:
    return node.op.fed and node.op.drawn != "inside" and node.outputs[0].rank == 3


def _exchanged(intended: Intended, group: Group) -> Iterator[Variant]:
    """The first two axes of inputs, and of all that has them: in between they are taken for each other."""
    nodes = [intended.nodes[name] for name in group]
    (lead, *others) = {node.outputs[0].shape[:2] for node in nodes}
    if others or lead[0] < 2:
        return
    words = f"with the first two axes of {spoken(group)} exchanged: batch for tokens"
    turn = {"perm": (1, 0, 2)}

    def act(draft: Draft) -> None:
        for node in nodes:
            turned = draft.add("transpose", [Ref(node.name)], turn, near=node, name="turned")
            draft.redirect(Ref(node.name), turned, apart_from=(turned.node,))
            del draft.went[Ref(node.name)]
        for node in intended.nodes.values():
            for port, spec in enumerate(node.outputs):
                if not node.op.fed and spec.rank == 3 and spec.shape[:2] == lead:
                    ref = Ref(node.name, port)
                    draft.went[ref] = draft.add("transpose", [ref], turn, near=node, name="back")

    yield Variant("axes", words, 1.3, group, one(intended, act), throughout=True)
