"""A walk down from one thing to all that it leads to, of any depth: it makes no call for each level."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def postorder(root: T, children: Callable[[T], Sequence[T]]) -> list[T]:
    """All that is reached from the root, each once and after its children, the first child and all below it
    before the second.

    >>> postorder(12, lambda n: [k for k in (2, 3) if n % k == 0 and n > k])
    [2, 3, 12]
    """
    order: list[T] = []
    done: set[T] = set()
    stack = [(root, False)]
    while stack:
        now, left = stack.pop()
        if left:
            order.append(now)
        elif now not in done:
            done.add(now)
            stack.append((now, True))
            stack += [(child, False) for child in reversed(children(now))]
    return order
