"""A mask shows something else: one of the patterns that masks have, or any cells at all, which are found query
by query (see `seen`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from ....core.graph import Node, Ref
from ....core.nested import rows
from ..draft import Draft
from ..intended import Intended
from ..seen import MOST
from ..structure.groups import Group
from ..variant import Option, Variant, each
from .masks import numbers_and_mask

FEW = 4
"""How many keys, or tokens of a block, a pattern has at the most."""
Sees = Callable[[int, int], bool]


def patterns(intended: Intended, group: Group) -> Iterator[Variant]:
    yield from each("pattern", _patterns, intended, group)


def visible(intended: Intended, group: Group) -> Iterator[Variant]:
    yield from each("visible", _any, intended, group)


def _patterns(intended: Intended, node: Node) -> Iterator[Option]:
    spec = node.outputs[0]
    if len(node.ports) > 1 or node.op.fed or spec.kind != "bool" or spec.rank != 2 or intended.is_inside(node):
        return
    given = intended.values[Ref(node.name)]
    known = [given]
    for told, sees in _others(given):
        made = [[sees(i, j) for j in range(len(row))] for i, row in enumerate(given)]
        if made not in known:
            known.append(made)
            yield Option(told, f"with {{bare}} {told}", 1.5, lambda d, n, m=made: _put(d, n, m))


def _others(given: Sequence[Sequence[bool]]) -> Iterator[tuple[str, Sees]]:
    few = range(2, 1 + min(FEW, len(given) - 1))
    for count in few:
        yield f"showing the first {count} keys to all queries too", lambda i, j, c=count: given[i][j] or j < c
    for step in few:
        told = (
            f"showing, of the keys it should, every {'2nd' if step == 2 else f'{step}th'} back from the query"
        )
        yield told.replace("3th", "3rd"), lambda i, j, s=step: given[i][j] and not (i - j) % s
    for size in few:
        blocks = f"blocks of {size} tokens"
        yield f"in {blocks} that do not see each other", lambda i, j, s=size: given[i][j] and i // s == j // s
        yield (
            f"in {blocks} that see all of themselves and of those before",
            lambda i, j, s=size: j // s <= i // s,
        )
    for count in (1, *few):
        told = "key" if count == 1 else f"{count} keys"
        yield f"showing the first {told} besides", lambda i, j, c=count: given[i][j] or (j < c and j <= i)
        yield f"hiding the first {told} from others", lambda i, j, c=count: given[i][j] and (j >= c or j == i)
    yield "hiding only what comes after", lambda i, j: j <= i
    if len(given) == len(given[0]):
        yield "showing the same on the other side too", lambda i, j: given[i][j] or given[j][i]


def _put(draft: Draft, node: Node, value: Sequence[Sequence[bool]]) -> None:
    given = tuple(map(tuple, value))
    draft.redirect(Ref(node.name), draft.add("constant", [], {"value": given}, near=node, name="visible"))


def _any(intended: Intended, node: Node) -> Iterator[Option]:
    """In the place of whatever hides scores before a softmax."""
    if node.op.family != "softmax" or len(node.operands) != 1 or node.operands[0] is None:
        return
    x, spec = node.operands[0], node.outputs[0]
    if spec.rank < 2 or node.attributes.get("axis", -1) not in (-1, spec.rank - 1):
        return
    n_q, n_k = spec.shape[-2:]
    if not (1 < n_k <= MOST and n_q > 1):
        return
    given = [[cell > -math.inf for cell in row] for _, row in rows(intended.values[x], spec.rank)]
    if any(given[row] != given[row % n_q] for row in range(len(given))):
        return
    while (found := numbers_and_mask(intended, intended.nodes[x.node])) is not None:
        x = found[0]
    words = "with another mask before {bare}, by which {number}"
    yield Option("any", words, 1.9, lambda d, n: _hidden(d, n, x, given[:n_q]), shown=given[:n_q])


def _hidden(draft: Draft, node: Node, x: Ref, given: Sequence[Sequence[bool]]) -> None:
    see = draft.add("constant", [], {"value": tuple(map(tuple, given))}, near=node, name="visible")
    draft.operand(node, 0, draft.add("mask", [x, see], near=node, name="masked"))
    draft.solve_for(see.node, "value")
