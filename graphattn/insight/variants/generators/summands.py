"""A sum keeps one of its terms: of several paths by which a gradient comes back, all but one are dropped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ....core.graph import Node, Ref
from ....core.words import listed
from ..draft import Draft
from ..intended import Intended
from ..structure.groups import Group
from ..variant import Option, Variant, each, like, tensor

MOST = 8
"""The most terms of a sum that is taken apart."""


def summands(intended: Intended, group: Group) -> Iterator[Variant]:
    yield from each("path", _options, intended, group)


def _options(intended: Intended, node: Node) -> Iterator[Option]:
    terms = _added(intended, node)
    if 2 < len(terms) <= MOST:
        for place, ref in enumerate(terms):
            words = f"with {tensor(intended, ref)} alone as {{the}}, without {_others(intended, terms, place)}"
            yield Option(place, words, 1.05, lambda d, n, r=ref: d.redirect(Ref(n.name), r))
    pairs = _products(intended, node)
    if 1 < len(pairs) <= MOST:
        terms = [a for a, _ in pairs]
        for place, ref in enumerate(terms):
            words = f"with {tensor(intended, ref)} alone in {{the}}, without {_others(intended, terms, place)}"
            yield Option(place, words, 1.05, lambda d, n, p=pairs[place]: d.change(n, operands=p))
        for place, ref in enumerate(terms if len(terms) > 2 else ()):
            words = f"without {tensor(intended, ref)} in {{the}}"
            yield Option(("without", place), words, 1.05, lambda d, n, p=place: _without(d, n, pairs, p))


def _others(intended: Intended, terms: Sequence[Ref], place: int) -> str:
    return listed([tensor(intended, ref) for ref in (*terms[:place], *terms[place + 1 :])], 4)


def _added(intended: Intended, node: Node) -> list[Ref]:
    """The terms of a sum of sums, at its last addition."""
    if node.op.name != "add" or any(intended.nodes[n].op is node.op for n in _readers(intended, node)):
        return []
    terms: list[Ref] = []
    todo = [Ref(node.name)]
    while todo:
        ref = todo.pop()
        maker = intended.nodes[ref.node]
        own = maker is node or len(_readers(intended, maker)) == 1
        parts = [r for r in maker.operands if r is not None]
        if maker.op is node.op and own and all(like(intended.spec(r), node.outputs[0]) for r in parts):
            todo += reversed(parts)
        else:
            terms.append(ref)
    return terms


def _readers(intended: Intended, node: Node) -> list[str]:
    return [name for name, _ in intended.users.get(Ref(node.name), ())]


def _products(intended: Intended, node: Node) -> list[tuple[Ref, Ref]]:
    """The factors of a sum of matrix products that is done as one: [a, b] · [c; d] = a c + b d."""
    if node.op.name != "matmul":
        return []
    left, right = (intended.nodes[ref.node] for ref in node.operands if ref is not None)
    if left.op.name != "concat" or right.op is not left.op or len(left.operands) != len(right.operands):
        return []
    pairs = [
        (a, b) for a, b in zip(left.operands, right.operands, strict=True) if a is not None and b is not None
    ]
    fit = all(intended.spec(a).shape[-1:] == intended.spec(b).shape[-2:-1] for a, b in pairs)
    return pairs if fit and intended.nodes[left.name].outputs[0].rank > 1 else []


def _without(draft: Draft, node: Node, pairs: Sequence[tuple[Ref, Ref]], place: int) -> None:
    kept = [pair for i, pair in enumerate(pairs) if i != place]
    left = draft.add("concat", [a for a, _ in kept], {"axis": -1}, near=node, name="left")
    right = draft.add("concat", [b for _, b in kept], {"axis": -2}, near=node, name="right")
    draft.change(node, operands=[left, right])
