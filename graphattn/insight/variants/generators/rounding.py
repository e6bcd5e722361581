"""A table that depends on nothing that is fed is held in too short a float: cosines in bfloat16."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ....core import nested
from ....core.graph import Node, Ref
from ....core.rounded import FORMATS, Format
from ..draft import Draft
from ..intended import Intended
from ..structure.groups import Group
from ..variant import Option, Variant, each


def rounding(intended: Intended, group: Group) -> Iterator[Variant]:
    yield from each("rounding", _options, intended, group)


def _options(intended: Intended, node: Node) -> Iterator[Option]:
    tables = [spec for spec in node.outputs if spec.kind == "float" and spec.rank]
    if len(tables) < len(node.ports) or (node.op.moves and node.operands) or not intended.is_known(node.name):
        return
    refs = [Ref(node.name, port) for port in range(len(node.ports))]
    values = [nested.lists(intended.values[ref]) for ref in refs]
    for name, fmt in FORMATS.items():
        rounded = [_rounded(value, fmt) for value in values]
        if rounded != values:
            words = f"with {{the}} rounded to {name}"
            yield Option(name, words, 1.4, lambda d, n, made=rounded: _instead(d, n, made))


def _instead(draft: Draft, node: Node, values: list[Any]) -> None:
    for port, value in enumerate(values):
        table = draft.add("constant", [], {"value": nested.tuples(value)}, near=node, name="rounded")
        draft.redirect(Ref(node.name, port), table)


def _rounded(value: Any, fmt: Format) -> Any:
    return [_rounded(v, fmt) for v in value] if isinstance(value, list) else fmt.round(value)
