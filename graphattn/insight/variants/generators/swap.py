"""Two tensors take each other's place: queries for keys, one projection for another, memory for stream."""

from __future__ import annotations

from collections.abc import Iterator

from ....core.graph import Ref
from ..draft import Draft
from ..intended import Intended
from ..structure.groups import Group, numbered, spoken
from ..variant import LAYER, Variant, like, maker, one, tensor, the

MOST = 8


def swap(intended: Intended, group: Group) -> Iterator[Variant]:
    """Pairs of a role; and, for a group of several, each with the other of its name in all of them."""
    if 1 < len(group) <= MOST:
        two_of_many = len(group) > 2 and numbered(group)
        for place, a in enumerate(group):
            for b in group[place + 1 :]:
                for variant in (*_pair(intended, (a,), (b,)), *_parameters(intended, a, b)):
                    variant.later = LAYER * two_of_many
                    yield variant
    yield from _series(intended, group)


def crossed(intended: Intended, group: Group) -> Iterator[Variant]:
    """Of three steps of one op in a row, what the first is made of and what both others are."""
    for these in zip(group, group[1:], group[2:], strict=False) if group in intended.kinds else ():
        nodes = [intended.nodes[name] for name in these]
        a, b, c = (node.operands[0] if node.operands else None for node in nodes)
        if a is None or b is None or a == b or b != c or not like(intended.spec(a), intended.spec(b)):
            continue
        if any(intended.depends(ref.node, on=name) for ref in (a, b) for name in these):
            continue

        def act(draft: Draft, these: Group = these, order: tuple[Ref, ...] = (b, a, a)) -> None:
            for name, ref in zip(these, order, strict=True):
                draft.operand(name, 0, ref)

        told = tensor(intended, b), the(intended, these[:1]), tensor(intended, a), spoken(these[1:])
        yield Variant("swap", "with {} for {}, {} for {}".format(*told), 1.2, these, one(intended, act))


def _parameters(intended: Intended, a: str, b: str) -> Iterator[Variant]:
    """Two steps with each other's parameters, where they have several."""
    one_way, back = intended.nodes[a], intended.nodes[b]
    if back not in intended.peers(one_way):
        return
    pairs = enumerate(zip(one_way.operands, back.operands, strict=True))
    slots = [s for s, refs in pairs if all(ref and intended.nodes[ref.node].op.fed for ref in refs)]
    if len(slots) < 2:
        return

    def act(draft: Draft) -> None:
        for node, other in ((one_way, back), (back, one_way)):
            for slot in slots:
                draft.operand(node, slot, other.operands[slot])

    words = f"with the parameters of {a} and {b} in each other's place"
    yield Variant("swap", words, 1.2, (a, b), one(intended, act))


def _series(intended: Intended, group: Group) -> Iterator[Variant]:
    """Each node of a role with its neighbour in another role: all queries with all keys."""
    first = intended.nodes[group[0]]
    last = intended.nodes[group[-1]]
    for other in intended.groups_of[len(group)]:
        a, b = intended.nodes[other[0]], intended.nodes[other[-1]]
        if a.op is not first.op or other[0] in group or intended.order[a.name] <= intended.order[first.name]:
            continue
        if a.outputs and like(a.outputs[0], first.outputs[0]) and b.op is last.op:
            yield from _pair(intended, group, other)


def _pair(intended: Intended, these: Group, those: Group) -> Iterator[Variant]:
    nodes = intended.nodes
    pairs = [(nodes[a], nodes[b]) for a, b in zip(these, those, strict=True)]
    if any(len(a.ports) != len(b.ports) or not like(a.outputs[0], b.outputs[0]) for a, b in pairs):
        return
    if any(intended.depends(b.name, on=a.name) or intended.depends(a.name, on=b.name) for a, b in pairs):
        return  # what stands between them would be left out

    def act(draft: Draft) -> None:
        for a, b in pairs:
            both_ways(draft, [(Ref(a.name, port), Ref(b.name, port)) for port in range(len(a.ports))])

    def words() -> str:
        return f"with {the(intended, these)} and {spoken(those)} in each other's place"

    laid_out = all(a.op.moves and b.op.moves for a, b in pairs)
    of_one = laid_out and all(maker(intended, Ref(a.name)) == maker(intended, Ref(b.name)) for a, b in pairs)
    price = 1.3 if of_one else 1.11  # of two parts it is plainer that the parts are exchanged
    yield Variant("swap", words, price, (*these, *those), one(intended, act))


def both_ways(draft: Draft, pairs: list[tuple[Ref, Ref]]) -> None:
    users = draft.intended.users
    for a, b in pairs:
        for old, new in ((a, b), (b, a)):
            for name, slot in users.get(old, ()):
                draft.operand(name, slot, new)
