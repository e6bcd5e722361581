"""Parts of a graph that have a name and take parameters alike: attention and attention to a memory, layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....core.graph import Ref
from .groups import Group

if TYPE_CHECKING:
    from ..intended import Intended


@dataclass(frozen=True)
class Part:
    """A part of a graph that has a name, and the parameters that it takes, by step within it and slot."""

    name: str
    uses: Mapping[tuple[str, int], Ref]

    @property
    def nodes(self) -> Group:
        return tuple(dict.fromkeys(f"{self.name}.{step}" for step, _ in self.uses))


def parts_of(intended: Intended) -> Mapping[str, Sequence[Sequence[Part]]]:
    """By the first step of each: parts that take parameters of the same shapes in the same steps."""
    nodes = intended.nodes
    found: dict[object, list[Part]] = {}
    for scope in intended.graph.scopes:
        uses = {
            (name.removeprefix(f"{scope}."), slot): ref
            for name, node in nodes.items() if name.startswith(f"{scope}.")
            for slot, ref in enumerate(node.operands)
            if ref is not None and nodes[ref.node].op.fed and nodes[ref.node].op.drawn == "inside"
        }  # fmt: skip
        if len({step for step, _ in uses}) > 1:  # of one step `operands` takes those of another
            key = tuple((use, intended.shape(ref)) for use, ref in uses.items())
            found.setdefault(key, []).append(Part(scope, uses))
    parts: dict[str, list[Sequence[Part]]] = {}
    for alike in found.values():
        for part in alike if len(alike) > 1 else ():
            parts.setdefault(part.nodes[0], []).append(alike)
    return parts
