"""Whole numbers that are given by how far a key is from a query, such as the buckets of relative positions, by
another rule: counted on one side alone, up to another distance, the diagonal with the other side, one key on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from ....core.graph import Node, Ref
from ..draft import Draft
from ..intended import Intended
from ..structure.groups import Group
from ..variant import Option, Variant, each

MOST = 32
"""The most distances at which it is tried to stop counting."""


def distances(intended: Intended, group: Group) -> Iterator[Variant]:
    yield from each("distances", _options, intended, group)


def _options(intended: Intended, node: Node) -> Iterator[Option]:
    spec = node.outputs[0]
    if node.operands or node.op.fed or len(node.ports) > 1 or spec.kind != "int" or spec.rank != 2:
        return
    rows = intended.values[Ref(node.name)]
    if len(rows) > 1 and any(row != rows[0] for row in rows):
        yield _option("with row 0 of {the} in the place of all", 1.4, [rows[0]] * len(rows))
    rule = _rule(rows)
    if rule is None:
        return
    tried = [rows]
    for told, price, other in _others(rule, len(rows)):
        n = range(len(rows))
        made = [[other(j - i) for j in n] for i in n]
        if made not in tried and all(x >= 0 for row in made for x in row):
            tried.append(made)
            yield _option(f"with {{the}} {told}", price, made)


def _option(words: str, price: float, rows: Sequence[Sequence[int]]) -> Option:
    return Option(words, words, price, partial(_put, value=tuple(map(tuple, rows))))


def _put(draft: Draft, node: Node, value: tuple[tuple[int, ...], ...]) -> None:
    draft.change(node, attributes={"value": value})


def _rule(rows: Sequence[Sequence[int]]) -> dict[int, int] | None:
    """The number for each distance j − i, where one decides."""
    n, rule = len(rows), dict[int, int]()
    if n < 3 or any(len(row) != n for row in rows):
        return None
    for i, row in enumerate(rows):
        for j, x in enumerate(row):
            if rule.setdefault(j - i, x) != x:
                return None
    return rule if len(set(rule.values())) > 1 else None


def _others(f: dict[int, int], n: int) -> Iterator[tuple[str, float, Callable[[int], int]]]:
    """(how it is told, price, the number for each distance)."""
    yield "the same after the diagonal as on it", 1.4, lambda k: f[min(k, 0)]
    yield "the same before the diagonal as on it", 1.4, lambda k: f[max(k, 0)]
    yield "the same on both sides, as before the diagonal", 1.4, lambda k: f[-abs(k)]
    yield "the same on both sides, as after the diagonal", 1.4, lambda k: f[abs(k)]
    yield "i − j, and 0 after the diagonal", 1.45, lambda k: max(-k, 0)
    yield "j − i, and 0 before the diagonal", 1.45, lambda k: max(k, 0)
    yield "|i − j|", 1.45, abs
    yield f"j − i + {n - 1}", 1.45, lambda k: k + n - 1
    yield f"i − j + {n - 1}", 1.45, lambda k: n - 1 - k
    if f[1] > 0:
        yield "counting the diagonal with what comes after it", 1.4, lambda k: f[k] if k else f[1] - 1
    if f[-1] > 0:
        yield "counting the diagonal with what comes before it", 1.45, lambda k: f[k] if k else f[-1] - 1
    yield "of the key after each", 1.45, lambda k: f[min(k + 1, n - 1)]
    yield "of the key before each", 1.45, lambda k: f[max(k - 1, 1 - n)]
    for most in range(1, min(n, MOST)):
        told = f"counted one by one on either side, up to {most}"
        yield told, 1.5, lambda k, m=most: _counted(f, k, m)
    for most in range(1, min(n - 1, MOST)):
        told = f"the same for all keys that are {most} or more away, on either side"
        yield told, 1.5, lambda k, m=most: f[max(-m, min(k, m))]


def _counted(f: dict[int, int], k: int, most: int) -> int:
    """The numbers of a side go on by one from where they begin."""
    side = (k > 0) - (k < 0)
    return f[0] if not side else f[side] - 1 + min(abs(k), most)
