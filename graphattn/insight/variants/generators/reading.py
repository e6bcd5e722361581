"""Numbers are read in another order: reshaped where they should be transposed, cut interleaved instead of
in blocks, gathered by heads instead of tokens.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from ....core.graph import Node, Ref
from ..draft import Draft
from ..intended import Intended
from ..structure.groups import Group, spoken
from ..variant import Option, Variant, each, like, one, the

HEADS = "Into heads: x.view(b, n, h, d_k).transpose(1, 2). Back: x.transpose(1, 2).reshape(b, n, h * d_k)."
FUSED = "A fused projection is x.view(b, n, 3, h, d_k): all queries, all keys, all values, heads inside each."
"""How to mend what is cut or joined in another order."""


def reading(intended: Intended, group: Group) -> Iterator[Variant]:
    yield from each("reading", _options, intended, group)
    yield from _there_and_back(intended, group)


def _there_and_back(intended: Intended, group: Group) -> Iterator[Variant]:
    """Cut into heads and put together again, both by a reshape."""
    nodes = [intended.nodes[name] for name in group]
    if any(len(node.ports) < 2 or node.outputs[0].rank < 2 for node in nodes):
        return
    below = [
        node for node in intended.nodes.values()
        if all(intended.depends(node.name, on=name) for name in group) and _gathers(intended, node, nodes)
    ]  # fmt: skip
    steps = [*nodes, *below]
    tables = [{option.key: option.apply for option in _options(intended, node)} for node in steps]
    if not below or not all("blocks" in table for table in tables):
        return

    def act(draft: Draft) -> None:
        for node, table in zip(steps, tables, strict=True):
            table["blocks"](draft, node)

    words = (
        f"with {the(intended, group)} and {spoken(tuple(n.name for n in below))} reshaped, without transposes"
    )
    yield Variant("reading", words, 1.25, tuple(node.name for node in steps), one(intended, act), HEADS)


def _gathers(intended: Intended, node: Node, cut: list[Node]) -> bool:
    """Whether a step puts side by side as many tensors, and such, as others cut."""
    refs = [ref for ref in node.operands if ref is not None]
    part = cut[0].outputs[0]
    return node.op.moves and len(refs) == max(len(n.ports) for n in cut) and all(
        like(intended.spec(ref), part) for ref in refs
    )  # fmt: skip


def _options(intended: Intended, node: Node) -> Iterator[Option]:
    if not node.op.moves:
        return
    refs = [ref for ref in node.operands if ref is not None]
    if len(node.ports) > 1 and len(refs) == 1:
        yield from _cut(intended, node)
    elif len(refs) > 1 and len(set(map(intended.shape, refs))) == 1:
        yield from _gathered(intended, node)
    elif len(refs) == 1 and len(node.ports) == 1:
        yield from _moved(intended, node)


def _moved(intended: Intended, node: Node) -> Iterator[Option]:
    """A step that only moves numbers: the same shape, filled in another order."""
    (ref,) = node.operands[:1]
    assert ref is not None
    given, made = intended.spec(ref), node.outputs[0]
    if given.size != made.size or given.kind != made.kind or made.rank < 2:
        return
    words = "with the cells reshaped where {the} moves them"
    yield Option("reshaped", words, 1.2, lambda d, n: _through(d, n, made.shape, None))
    turned = (*made.shape[:-2], made.shape[-1], made.shape[-2])
    words = "with the cells of {the} filled column by column"
    yield Option("columns", words, 1.5, lambda d, n: _through(d, n, turned, None, turn=True))


def _through(draft: Draft, node: Node, shape: tuple[int, ...], perm: object, turn: bool = False) -> None:
    now = draft.node(node.name)
    ref = draft.add("reshape", now.operands[:1], {"shape": shape}, near=now)
    if turn:
        ref = draft.add("transpose", [ref], {"perm": perm}, near=now)
    draft.redirect(Ref(node.name), ref, apart_from=(ref.node,))


def _cut(intended: Intended, node: Node) -> Iterator[Option]:
    """A tensor (…, n, h·d) cut into h parts (…, n, d)."""
    part, count = node.outputs[0], len(node.ports)
    (ref,) = node.operands[:1]
    assert ref is not None
    whole = intended.spec(ref)
    if any(not like(spec, part) for spec in node.outputs):
        yield from _laid_out(node)
        return
    if part.rank < 2:
        return
    if whole.shape[-1] == part.shape[-1] * count:
        lead = part.shape[:-1]
        mend = HEADS if ("d_k", part.shape[-1]) in intended.sizes else ""
        words = "with {the} reshaped to (heads, tokens, features) where it should be cut into columns"
        by_head = (*lead[:-1], count, *part.shape[-2:])
        yield Option("blocks", words, 1.2, lambda d, n: _pieces(d, n, by_head, -3, part.shape), mend=mend)
        if part.rank > 2:
            words = words.replace("(heads, ", "(heads, batch, ")
            whole_blocks = (count, *part.shape)
            yield Option(
                "all blocks", words, 1.25, lambda d, n: _pieces(d, n, whole_blocks, 0, part.shape), mend=mend
            )
        wide = (*lead, part.shape[-1], count)
        words = "with {the} cut into interleaved columns"
        yield Option("interleaved", words, 1.3, lambda d, n: _pieces(d, n, wide, -1, part.shape), mend=mend)
        for own in {size for name, size in intended.sizes if name == "d_k"}:
            if own < part.shape[-1] and part.shape[-1] % own == 0:
                across = (*lead, part.shape[-1] // own, count, own)
                words = f"with {{the}} read as (heads, {count}, d_k), not as ({count}, heads, d_k)"
                yield Option(
                    own, words, 1.25, lambda d, n, s=across: _pieces(d, n, s, -2, part.shape), mend=FUSED
                )


def _laid_out(node: Node) -> Iterator[Option]:
    """Parts of several sizes that lie in another order."""
    sizes = node.attributes.get("parts")
    if not isinstance(sizes, tuple) or len(sizes) > 3:
        return
    for order in permutations(range(len(sizes))):
        if order != tuple(range(len(sizes))):
            words = f"with the parts of {{the}} laid out in the order {', '.join(map(str, order))}"
            yield Option(("laid out", order), words, 1.2, lambda d, n, o=order: _lay(d, n, o))


def _lay(draft: Draft, node: Node, order: tuple[int, ...]) -> None:
    now = draft.node(node.name)
    sizes = tuple(now.attributes["parts"][part] for part in order)
    cut = draft.add(now.op, now.operands, {**now.attributes, "parts": sizes}, near=now, name="laid_out")
    for place, part in enumerate(order):
        draft.redirect(Ref(node.name, part), Ref(cut.node, place))


def _pieces(draft: Draft, node: Node, shape: tuple[int, ...], axis: int, part: tuple[int, ...]) -> None:
    now = draft.node(node.name)
    whole = draft.add("reshape", now.operands[:1], {"shape": shape}, near=now)
    pieces = draft.add("split", [whole], {"parts": len(node.ports), "axis": axis}, near=now)
    for port in range(len(node.ports)):
        own = draft.add("reshape", [Ref(pieces.node, port)], {"shape": part}, near=now, name=f"piece{port}")
        draft.redirect(Ref(node.name, port), own)


def _gathered(intended: Intended, node: Node) -> Iterator[Option]:
    """h tensors (…, n, d) side by side: (…, n, h·d)."""
    (first,) = node.operands[:1]
    assert first is not None
    part, made = intended.spec(first), node.outputs[0]
    if part.rank < 2 or made.size != part.size * len(node.operands):
        return
    words = "with what {the} gathers reshaped from (heads, tokens, features), not put side by side"
    yield Option("blocks", words, 1.2, lambda d, n: _stacked(d, n, -3, made.shape), mend=HEADS)
    if part.rank > 2:
        words = words.replace("(heads, ", "(heads, batch, ")
        yield Option("all blocks", words, 1.25, lambda d, n: _stacked(d, n, 0, made.shape), mend=HEADS)
    words = "with what {the} gathers interleaved"
    yield Option("interleaved", words, 1.3, lambda d, n: _stacked(d, n, -1, made.shape), mend=HEADS)


def _stacked(draft: Draft, node: Node, axis: int, shape: tuple[int, ...]) -> None:
    now = draft.node(node.name)
    stacked = draft.add("stack", now.operands, {"axis": axis}, near=now)
    draft.redirect(Ref(node.name), draft.add("reshape", [stacked], {"shape": shape}, near=now))
