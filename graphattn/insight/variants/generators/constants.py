"""A number that an op brings in itself is another one: the fill, the eps, the base, an n for an n − 1."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ....core.graph import Node
from ..draft import Draft
from ..intended import Intended
from ..structure.groups import Group
from ..variant import Option, Variant, each

FILLS = (math.inf, -1e9, 0.0, 1e9, -10000.0, -1.0, 1e-9, -1e-9, 1.0, -1e6, -1000.0, -100.0, -10.0)


def constants(intended: Intended, group: Group) -> Iterator[Variant]:
    yield from each("constant", _options, intended, group)


def _options(intended: Intended, node: Node) -> Iterator[Option]:
    if node.operands or "value" not in node.attributes:
        return
    value = node.attributes["value"]
    if isinstance(value, (bool, tuple)):
        return
    number = float(value)
    seen = {number}
    for other, told, price in _others(intended, number):
        if other not in seen and not math.isnan(other):
            seen.add(other)
            words = f"with {told or format(other, 'g')} instead of {value} as {{bare}}"
            yield Option(other, words, price, lambda d, n, v=other: _set(d, n, v))


def _set(draft: Draft, node: Node, value: float) -> None:
    draft.change(node, attributes={"value": value})


def _others(intended: Intended, number: float) -> Iterator[tuple[float, str, float]]:
    if math.isinf(number):
        yield from ((fill, "", 1.0) for fill in FILLS)
        return
    if 0 <= number < 0.05:
        yield from ((eps, "", 1.0) for eps in (1e-5, 1e-6, 1e-12, 1e-3, 1e-8, 0.0))
    if number >= 2:
        for name, size in intended.sizes:
            yield float(size), "" if name == "size" else f"{name} = {size}", 1.1
            yield 1 / size, f"1/{name} = 1/{size}", 1.4
    size = next((name for name, size in intended.sizes if size == number and name != "size"), "")
    for other, sign in ((number + 1, "+"), (number - 1, "−")):
        yield other, f"{size} {sign} 1 = {other:g}" if size else "", 1.1
    yield from ((other, "", 1.2) for other in (0.0, 1.0, -number, 2 * number, number / 2))
    if number >= 100:
        yield from ((float(base), "", 1.2) for base in (10, 100, 1000, 10000, 100000, 500000, 1000000))
    if number > 0:
        for other in (1 / number, math.sqrt(number), number * number, math.pi, number * 10, number / 10):
            yield other, "", 1.5
