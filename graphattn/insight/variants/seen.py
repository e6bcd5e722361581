"""Which keys each query sees, found from what was observed.

    seen(variant, first, fitting)    the variant with its mask, None where no mask does

A row of what is computed depends on one row of a mask, where nothing mixes the tokens after it. So all queries
are given the same keys, one set of them after the other, and each row that was observed tells which were its.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product

from ...core.words import listed
from .draft import Rewrite
from .variant import Variant

MOST = 6
"""The most keys of which all sets are tried."""
Row = Sequence[bool]


def seen(
    variant: Variant, first: Callable[[Rewrite], bool], fitting: Callable[[Rewrite], Sequence[bool]]
) -> Variant | None:
    """`fitting` says which rows are as they were observed, `first` whether the one looked at first is."""
    intended = variant.shown
    assert intended is not None

    def alike(keys: Row) -> Rewrite:
        return variant.rewrite.at((tuple(keys),) * len(intended))

    sets = list(product((True, False), repeat=len(intended[0])))
    if not any(first(alike(keys)) for keys in sets):
        return None
    rows: list[list[Row]] = [[] for _ in intended]
    for keys in sets:
        found = fitting(alike(keys))
        for query, sees in enumerate(rows):
            if not len(found) % len(rows) and all(found[query :: len(rows)] or [False]):
                sees.append(keys)
    if not all(rows):
        return None
    mask = tuple(
        tuple(min(sees, key=lambda keys: _apart(keys, own))) for sees, own in zip(rows, intended, strict=True)
    )
    return variant.at(mask, told(mask, intended))


def _apart(a: Row, b: Row) -> int:
    return sum(x != y for x, y in zip(a, b, strict=True))


def told(mask: Sequence[Row], intended: Sequence[Row]) -> str:
    """What a mask shows: by distance where that decides, else query by query, where it is not as intended."""
    cells = [(j - i, sees) for i, row in enumerate(mask) for j, sees in enumerate(row)]
    shown, hidden = ({away for away, sees in cells if sees is which} for which in (True, False))
    if len(mask) < 3 or not shown or shown & hidden:
        return "; ".join(_of_each(mask, intended))
    few, words = (shown, "the keys") if len(shown) <= len(hidden) else (hidden, "all keys but")
    keys = [f"i {'+' if away > 0 else '−'} {abs(away)}" if away else "i" for away in sorted(few)]
    return f"query i sees {words} {listed(keys, len(keys))}"


def _of_each(mask: Sequence[Row], intended: Sequence[Row]) -> Iterator[str]:
    for query, (row, own) in enumerate(zip(mask, intended, strict=True)):
        keys = [key for key, sees in enumerate(row) if sees]
        if tuple(row) != tuple(own):
            yield f"query {query} sees {listed(keys, len(keys)) if keys else 'nothing'}"
