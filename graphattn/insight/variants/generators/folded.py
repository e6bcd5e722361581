"""Heads are folded into the batch, and the one axis is read in the wrong order: a mask is tiled where it should
be repeated, results are laid out as (heads, batch) and read as (batch, heads).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ....core.graph import Node, Ref
from ..draft import Draft
from ..intended import Intended
from ..structure.groups import Group, numbered
from ..variant import Variant, like, one, tensor, the

Place = Callable[[int, int], tuple[int, int]]
"""(sequence, head) to that from which it is taken."""


def folded(intended: Intended, group: Group) -> Iterator[Variant]:
    nodes = [intended.nodes[name] for name in group]
    if len(nodes) > 1 and numbered(group):
        yield from _shared(intended, group, nodes)
    if len(nodes) == 1 and len(nodes[0].operands) > 1:
        yield from _gathered(intended, nodes[0])


def _shared(intended: Intended, group: Group, nodes: Sequence[Node]) -> Iterator[Variant]:
    """What all heads of a sequence share goes to other sequences: b·h + i counts modulo the batch."""
    shape, heads = nodes[0].outputs[0].shape, len(nodes)
    for slot in range(min(len(node.operands) for node in nodes)):
        (ref, *others) = {node.operands[slot] for node in nodes}
        if others or ref is None or len(shape) < 3 or len(intended.spec(ref).shape) < 3:
            continue
        size = shape[0]
        if size < 2 or intended.spec(ref).shape[0] != size or any(n.outputs[0].shape != shape for n in nodes):
            continue

        def act(draft: Draft, slot: int = slot, ref: Ref = ref, size: int = size) -> None:
            for head, node in enumerate(nodes):
                parts = [(ref, (b * heads + head) % size) for b in range(size)]
                draft.operand(node, slot, _picked(draft, node, parts, size))

        words = f"with {tensor(intended, ref)} tiled, not repeated, over the heads in {the(intended, group)}"
        yield Variant("folded", words, 1.35, group, one(intended, act))


def _gathered(intended: Intended, node: Node) -> Iterator[Variant]:
    """What is gathered of all heads was laid out the other way."""
    refs = [ref for ref in node.operands if ref is not None]
    first = intended.spec(refs[0])
    if len(set(refs)) < len(node.operands) or first.rank < 3 or first.shape[0] < 2:
        return
    if not node.op.moves or any(not like(intended.spec(ref), first) for ref in refs):
        return
    size, heads = first.shape[0], len(refs)
    ways: tuple[tuple[str, Place], ...] = (
        (
            "laid out as (heads, batch), read as (batch, heads)",
            lambda b, i: ((b * heads + i) % size, (b * heads + i) // size),
        ),
        ("laid out as (batch, heads), read as (heads, batch)", lambda b, i: divmod(i * size + b, heads)),
    )
    for told, place in ways:

        def act(draft: Draft, place: Place = place) -> None:
            operands = []
            for head in range(heads):
                places = [place(b, head) for b in range(size)]
                operands.append(_picked(draft, node, [(refs[i], b) for b, i in places], size))
            draft.change(node, operands=operands)

        yield Variant(
            "folded", f"with what {the(intended, (node.name,))} takes {told}", 1.35, (node.name,),
            one(intended, act),
        )  # fmt: skip


def _picked(draft: Draft, node: Node, parts: Sequence[tuple[Ref, int]], size: int) -> Ref:
    """A tensor whose sequences are those of others: (tensor, sequence)."""
    if len({ref for ref, _ in parts}) == 1 and [b for _, b in parts] == list(range(size)):
        return parts[0][0]
    picked = []
    for ref, b in parts:
        cut = draft.add("split", [ref], {"parts": size, "axis": 0}, near=node, name="sequences")
        picked.append(Ref(cut.node, b))
    return draft.add("concat", picked, {"axis": 0}, near=node, name="picked")
