"""Siblings mixed up: parts go to heads in another order, all heads take the first, a gathering step takes them
in another order, a step goes along the heads instead of the tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ....core.graph import Node, Ref
from ..draft import Draft
from ..intended import Intended
from ..structure.groups import Group, numbered, spoken
from ..variant import Variant, like, one, tensor, tensors, the
from .reading import FUSED

BLOCKS = ("in turn, not in blocks", "in blocks, not in turn")
"""How fewer tensors than readers are dealt out: k₀ k₁ k₀ k₁ for k₀ k₀ k₁ k₁."""
GROUPED = (
    "k.repeat_interleave(h // groups, dim=1) gives each key head to the queries of its own group, in blocks."
)
"""How to mend that."""
STEM = re.compile(r"([a-zA-Z]+)\*")


def heads(intended: Intended, group: Group) -> Iterator[Variant]:
    nodes = [intended.nodes[name] for name in group]
    if group in intended.kinds:
        yield from _read_across(intended, group, nodes)
        if all(_is_shared(intended, node) for node in nodes):
            yield from _handed_out(intended, group, nodes)
        return
    if len(nodes) > 1:
        yield from _dealt(intended, group, nodes)
        yield from _along(intended, group, nodes)
        yield from _averaged(intended, group, nodes)
        yield from _read_across(intended, group, nodes)
        yield from _in_turn(intended, group, nodes)
    yield from _handed_out(intended, group, nodes)
    for node in nodes if len(nodes) == 1 else ():
        yield from _gathered(intended, node)


def orders(refs: Sequence[Ref | None]) -> Iterator[tuple[str, list[Ref | None]]]:
    """Other orders in which the same tensors may be dealt out, by name."""
    count = len(refs)
    kinds = list(dict.fromkeys(refs))
    yield "in reverse order", list(reversed(refs))
    yield "all from the first", [refs[0]] * count
    if len(kinds) < count and count % len(kinds) == 0:
        yield BLOCKS[0], kinds * (count // len(kinds))
        yield BLOCKS[1], [kind for kind in kinds for _ in range(count // len(kinds))]
        if 1 < len(kinds) != count // len(kinds):
            last = len(kinds) - 1
            yield f"by i // {len(kinds)}", [kinds[min(i // len(kinds), last)] for i in range(count)]
            yield "one each, and the last for all that are left", [kinds[min(i, last)] for i in range(count)]
    if count == 3:
        yield "in the order 0, 2, 1", [refs[0], refs[2], refs[1]]
        yield "in the order 1, 0, 2", [refs[1], refs[0], refs[2]]
    if count > 2:
        yield "shifted by one", [*refs[1:], refs[0]]
        yield "shifted by one the other way", [refs[-1], *refs[:-1]]
        yield "all from the last", [refs[-1]] * count
    for rows in range(2, count // 2 + 1):
        if count % rows == 0 and rows * 2 <= count and len(kinds) == count:
            order = [i for r in range(rows) for i in range(r, count, rows)]
            yield f"in the order {', '.join(map(str, order))}", [refs[i] for i in order]


def _differ(new: Sequence[object], old: Sequence[object]) -> bool:
    return list(new) != list(old)


def _dealt(intended: Intended, group: Group, nodes: list[Node]) -> Iterator[Variant]:
    """What each node of the group takes in one slot goes to another of them."""
    for slot in range(min(len(node.operands) for node in nodes)):
        refs = [node.operands[slot] for node in nodes]
        if None in refs or len(set(refs)) < 2:
            continue
        if len({intended.shape(ref) for ref in refs if ref is not None}) > 1:
            continue
        called = nodes[0].op.operand_name(slot)
        series = _by_producer(intended, refs)
        ways = [dict(orders([refs[i] for i in places])) for places in series]
        for told in ways[0]:
            order = list(refs)
            for places, way in zip(series, ways, strict=True):
                for i, ref in zip(places, way.get(told, [refs[i] for i in places]), strict=True):
                    order[i] = ref
            if _differ(order, refs):
                step = the(intended, group)
                words, price = f"with {called} of {step} {told}", 1.1 if told in BLOCKS else 1.3
                about = group
                if len(set(order)) == len(series):  # one for all, or for the other of two, one behind the other
                    moved = tuple(n.name for n, new, old in zip(nodes, order, refs, strict=True) if new != old)
                    serial = len(moved) == 1 and intended.depends(group[-1], on=group[0])
                    about, everywhere = (moved, "") if serial else (group, ", in all of them")
                    words = f"with {tensors(intended, order)} as {called} of {the(intended, about)}{everywhere}"
                    price = 1.32  # where a composite is told otherwise, that is plainer
                mend = GROUPED if told in BLOCKS else ""
                yield Variant("dealt", words, price, about, one(intended, _deal(nodes, slot, order)), mend)


def _by_producer(intended: Intended, refs: Sequence[Ref | None]) -> list[list[int]]:
    """The places of the group whose tensors are parts of one tensor, or of one series of tensors."""
    series: dict[object, list[int]] = {}
    for place, ref in enumerate(refs):
        assert ref is not None
        several = len(intended.nodes[ref.node].ports) > 1
        series.setdefault(ref.node if several else "", []).append(place)
    return list(series.values())


def _deal(nodes: list[Node], slot: int, order: list[Ref | None]):
    def act(draft: Draft) -> None:
        for node, ref in zip(nodes, order, strict=True):
            draft.operand(node, slot, ref)

    return act


def _gathered(intended: Intended, node: Node) -> Iterator[Variant]:
    """A step that takes any number of tensors takes them in another order."""
    if len(node.op.operands) != 1 or not node.op.operands[0].variadic or len(node.operands) < 2:
        return
    for told, order in orders(node.operands):
        if _differ(order, node.operands):
            words = f"with what {the(intended, (node.name,))} takes {told}"

            def act(draft: Draft, order: list[Ref | None] = order) -> None:
                draft.change(node, operands=order)

            yield Variant("order", words, 1.2, (node.name,), one(intended, act))
    refs = [ref for ref in node.operands if ref is not None]
    if len({intended.shape(ref) for ref in refs}) == 1 and intended.spec(refs[0]).kind == "float":
        for told, divisor in (("sum", 1), ("mean", len(refs))):
            words = f"with the {told} of all in each place of {the(intended, (node.name,))}"
            mix = one(intended, lambda draft, by=divisor: _mixed(draft, node, refs, by))
            yield Variant("mixed", words, 1.6, (node.name,), mix)


def _mixed(draft: Draft, node: Node, refs: Sequence[Ref], divisor: int) -> None:
    draft.change(node, operands=[_sum(draft, node, refs, divisor)] * len(refs))


def _sum(draft: Draft, node: Node, refs: Sequence[Ref], divisor: int) -> Ref:
    """The sum of tensors, divided."""
    total = refs[0]
    for ref in refs[1:]:
        total = draft.add("add", [total, ref], near=node, name="sum")
    return draft.add("scale", [total], {"divide": divisor}, near=node, name="mean") if divisor > 1 else total


def _averaged(intended: Intended, group: Group, nodes: list[Node]) -> Iterator[Variant]:
    """Every sibling takes the mean of all: weights averaged over the heads before they meet the values."""
    first = nodes[0]
    if first.op.fed or first.op.moves or group != intended.siblings[first.name]:
        return
    if not _side_by_side(intended, nodes):
        return
    if first.outputs[0].rank < 2 or first.outputs[0].kind != "float":
        return

    def act(draft: Draft) -> None:
        refs = [Ref(node.name) for node in nodes]
        mean = _sum(draft, nodes[-1], refs, len(refs))
        for ref in refs:
            draft.redirect(ref, mean, apart_from=set(draft.nodes) - set(draft.graph.nodes))

    words = f"with the mean over {_parts(group)} in the place of {the(intended, group)}"
    yield Variant("mixed", words, 1.4, group, one(intended, act))


def _parts(group: Group) -> str:
    """What nodes side by side belong to, by the word before the number in which their names differ: heads,
    experts."""
    stem = STEM.search(spoken(group)) if numbered(group) else None
    return f"the {stem[1]}s" if stem else "all of them"


def _side_by_side(intended: Intended, nodes: list[Node]) -> bool:
    """Whether nodes give one tensor each, all alike, and none needs another."""
    if any(len(node.ports) > 1 or not like(node.outputs[0], nodes[0].outputs[0]) for node in nodes):
        return False
    return not any(a is not b and intended.depends(b.name, on=a.name) for a in nodes for b in nodes)


def _along(intended: Intended, group: Group, nodes: list[Node]) -> Iterator[Variant]:
    """A step with an axis goes along the siblings: what they take is stacked."""
    first = nodes[0]
    if "axis" not in first.op.defaults or len(first.ports) != 1 or len(first.operands) != 1:
        return
    refs = [node.operands[0] for node in nodes]
    if len(set(refs)) != len(refs) or not _side_by_side(intended, nodes):
        return
    shape = first.outputs[0].shape

    def act(draft: Draft) -> None:
        stacked = draft.add("stack", refs, {"axis": 0}, near=first, name="stacked")
        done = draft.add(first.op, [stacked], {**first.attributes, "axis": 0}, near=first, name="along")
        for place, node in enumerate(nodes):
            part = draft.add(
                "split",
                [done],
                {"parts": (place, 1, len(nodes) - 1 - place), "axis": 0},
                near=node,
                name="part",
            )
            own = draft.add("reshape", [Ref(part.node, 1)], {"shape": shape}, near=node, name="own")
            draft.redirect(Ref(node.name), own)

    words = f"with {the(intended, group)} along {_parts(group)}"
    yield Variant("axis", words, 1.2, group, one(intended, act))


def _handed_out(intended: Intended, group: Group, nodes: list[Node]) -> Iterator[Variant]:
    """The parts of a tensor go to those who read them in another order."""
    uses = [_uses(intended, node) for node in nodes]
    if any(len(use) < 2 for use in uses):
        return
    ways = [dict(orders([ref for _, _, ref in use])) for use in uses]
    for told in ways[0]:
        if all(told in way for way in ways) and any(
            _differ(way[told], [ref for _, _, ref in use]) for way, use in zip(ways, uses, strict=True)
        ):

            def act(draft: Draft, told: str = told) -> None:
                for way, use in zip(ways, uses, strict=True):
                    for (name, slot, _), ref in zip(use, way[told], strict=True):
                        draft.operand(name, slot, ref)

            words = f"with the parts of {the(intended, group)} handed out {told}"
            heads = ("d_k", nodes[0].outputs[0].shape[-1]) in intended.sizes
            price = 1.25 if heads or not nodes[0].operands else 1.1  # queries, keys and values
            yield Variant("dealt", words, price, group, one(intended, act))


def _is_shared(intended: Intended, node: Node) -> bool:
    """Whether a part of it goes to several: keys and values of grouped heads."""
    return len(_uses(intended, node)) > len(node.ports)


def _uses(intended: Intended, node: Node) -> list[tuple[str, int, Ref]]:
    """(who reads it, in which slot, part) of parts that are all alike, in the order of the graph."""
    if len(node.ports) < 2 or any(not like(spec, node.outputs[0]) for spec in node.outputs):
        return []
    refs = [Ref(node.name, port) for port in range(len(node.ports))]
    found = [(name, slot, ref) for ref in refs for name, slot in intended.users.get(ref, ())]
    return sorted(found, key=lambda use: (intended.order[use[0]], use[1]))


def _in_turn(intended: Intended, group: Group, nodes: list[Node]) -> Iterator[Variant]:
    """The features of several tensors side by side are dealt out in turn: as [d, 3] for [3, d]."""
    first = nodes[0].outputs[0]
    if (
        len(nodes) > 3
        or first.rank < 2
        or any(len(n.ports) > 1 or not like(n.outputs[0], first) for n in nodes)
    ):
        return
    own_names = {node.name for node in nodes}
    if any(ref is not None and ref.node in own_names for node in nodes for ref in node.operands):
        return
    yield _dealt_in_turn(intended, group, nodes)
    if len(nodes) == 2 and group == intended.siblings[group[0]]:  # gate and up may be fused in either order
        yield _dealt_in_turn(intended, group, nodes[::-1])


def _dealt_in_turn(intended: Intended, group: Group, nodes: list[Node]) -> Variant:
    first, count, width = nodes[0].outputs[0], len(nodes), nodes[0].outputs[0].shape[-1]

    def act(draft: Draft) -> None:
        refs = [Ref(node.name) for node in nodes]
        whole = draft.add("concat", refs, near=nodes[-1], name="side_by_side")
        wide = (*first.shape[:-1], width, count)
        cells = draft.add("reshape", [whole], {"shape": wide}, near=nodes[-1], name="cells")
        parts = draft.add("split", [cells], {"parts": count}, near=nodes[-1], name="in_turn")
        for place, ref in enumerate(refs):
            own = draft.add(
                "reshape", [Ref(parts.node, place)], {"shape": first.shape}, near=nodes[-1], name="own"
            )
            draft.redirect(ref, own, apart_from=(whole.node,))

    told = " and ".join(node.name for node in nodes) if count == 2 else spoken(group)
    words = f"with the features of {told} dealt out in turn, not in blocks"
    return Variant("fused", words, 1.35, group, one(intended, act), FUSED if count == 3 else "")


def _place(nodes: list[Node], ref: Ref) -> int:
    return next(place for place, node in enumerate(nodes) if node.name == ref.node)


def _read_across(intended: Intended, group: Group, nodes: list[Node]) -> Iterator[Variant]:
    """The parts of several tensors, one after another, are dealt out across: as [h, 3, d] for [3, h, d], or
    with more queries than keys as [groups, h / groups + 2, d]."""
    counts = [len(node.ports) for node in nodes]
    least = min(counts)
    if least < 2 or any(count % least for count in counts):
        return
    if any(not like(spec, nodes[0].outputs[0]) for node in nodes for spec in node.outputs):
        return
    right = [Ref(node.name, port) for node in nodes for port in range(len(node.ports))]
    order = sorted(range(len(right)), key=lambda i: right[i].port // (counts[_place(nodes, right[i])] // least))
    across = [right[order.index(i)] for i in range(len(right))]
    back = [right[i] for i in order]
    for told, wrong in (("across", across), ("across the other way", back)):
        if wrong == right:
            continue

        def act(draft: Draft, wrong: list[Ref] = wrong) -> None:
            for old, new in zip(right, wrong, strict=True):
                for name, slot in intended.users.get(old, ()):
                    draft.operand(name, slot, new)

        names = f"{tensor(intended, right[0])}, … of {spoken(group)}"
        words = f"with the parts {names} dealt out {told}: as if heads came before q, k and v"
        yield Variant("fused", words, 1.3, group, one(intended, act), FUSED)
