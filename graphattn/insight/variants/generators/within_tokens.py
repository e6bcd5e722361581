"""Heads and tokens are not exchanged: within each token its heads attend to each other, as where
`transpose(1, 2)` is forgotten before attention. What the first head does is done with a token for a head.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....core.graph import Node, Ref
from ..draft import Draft
from ..intended import Intended
from ..structure.groups import Group
from ..variant import Variant, like, one, the, through

MEND = "Heads go before tokens: x.view(b, n, h, d_k).transpose(1, 2), so that the last two axes are (n, d_k)."
BACK = ", their results then reshaped from (heads, tokens, features)"


def within_tokens(intended: Intended, group: Group) -> Iterator[Variant]:
    """For steps that put heads side by side."""
    found = [made for name in group if (made := first_head(intended, intended.nodes[name])) is not None]
    if len(found) < len(group):
        return
    hiding = [step for _, chain in found for step in chain if hidden_by(intended, step)]
    makers = [intended.nodes[ref.node] for step in hiding for ref in hidden_by(intended, step)]
    ways = [True] * all(not maker.operands and not maker.op.fed for maker in makers)
    ways += [False] * (bool(hiding) and all(through(intended, step) for step in hiding))
    for masked in ways:  # a mask of tokens fits no heads, but one that knows its size does
        for back in (False, True):

            def act(draft: Draft, back: bool = back, masked: bool = masked) -> None:
                for name, (cuts, chain) in zip(group, found, strict=True):
                    _redone(draft, draft.graph.nodes[name], cuts, chain, back, masked)

            told = ", without a mask" * (not masked) + BACK * back
            words = (
                f"with heads that attend to each other within each token before {the(intended, group)}{told}"
            )
            yield Variant("within tokens", words, 1.3, group, one(intended, act), MEND)


def hidden_by(intended: Intended, step: Node) -> list[Ref]:
    """The masks that a step takes."""
    return [ref for ref in step.operands if ref is not None and intended.spec(ref).kind == "bool"]


def first_head(intended: Intended, node: Node) -> tuple[dict[Ref, Ref], list[Node]] | None:
    """What the first head's result is made of: (its parts of what is cut into heads, each with what is cut; the
    steps from there on in order). None where it is no such head."""
    heads = len(node.operands)
    first = node.operands[0] if heads > 1 and node.op.name == "concat" else None
    if first is None:
        return None
    if not all(ref and like(intended.spec(ref), intended.spec(first)) for ref in node.operands):
        return None
    if node.outputs[0].shape[-1] != heads * intended.spec(first).shape[-1]:
        return None
    cuts: dict[Ref, Ref] = {}
    names: set[str] = set()
    todo = [first]
    while todo:
        ref = todo.pop()
        maker = intended.nodes[ref.node]
        if len(maker.ports) == heads and len(maker.operands) == 1 and maker.operands[0] is not None:
            cuts[ref] = maker.operands[0]
        elif maker.operands and maker.name not in names:
            names.add(maker.name)
            masks = hidden_by(intended, maker)
            todo += [r for r in maker.operands if r is not None and r not in masks]
        elif maker.op.fed and maker.op.drawn != "inside" and maker.outputs[0].kind == "float":
            return None
    tokens = {intended.spec(ref).shape[:-1] for ref in cuts}
    if len(cuts) < 2 or len(tokens) > 1:
        return None
    if any(not any(intended.depends(name, on=ref.node) for ref in cuts) for name in names):
        return None
    return cuts, [intended.nodes[name] for name in sorted(names, key=intended.order.__getitem__)]


def _redone(
    draft: Draft, node: Node, cuts: dict[Ref, Ref], chain: list[Node], back: bool, masked: bool
) -> None:
    intended, heads = draft.intended, len(node.operands)
    *lead, tokens, _ = node.outputs[0].shape
    went: dict[Ref, Ref] = {}
    for part, whole in cuts.items():
        shape = (*lead, tokens, heads, intended.spec(part).shape[-1])
        went[part] = draft.add("reshape", [whole], {"shape": shape}, near=node, name="by_token")
    for step in chain:
        if not masked and hidden_by(intended, step):
            x = step.operands[through(intended, step)[0]]
            assert x is not None
            went[Ref(step.name)] = went.get(x, x)
            continue
        for ref in step.operands:
            maker = None if ref is None else draft.graph.nodes[ref.node]
            if ref is not None and maker is not None and not maker.operands and not maker.op.fed:
                sized = {k: heads if v == tokens and type(v) is int else v for k, v in maker.attributes.items()}
                went[ref] = draft.add(maker.op, [], sized, near=node, name="of_heads")
        operands = [None if ref is None else went.get(ref, ref) for ref in step.operands]
        made = draft.add(step.op, operands, step.attributes, near=node, name="within")
        went |= {Ref(step.name, port): Ref(made.node, port) for port in range(len(step.ports))}
    assert node.operands[0] is not None
    out = went[node.operands[0]]
    if back:
        axes = tuple(range(len(lead)))
        turn = (*axes, len(lead) + 1, len(lead), len(lead) + 2)
        out = draft.add("transpose", [out], {"perm": turn}, near=node, name="by_head")
    joined = draft.add("reshape", [out], {"shape": node.outputs[0].shape}, near=node, name="joined")
    draft.redirect(Ref(node.name), joined)
