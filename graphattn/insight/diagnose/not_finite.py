"""Where the intended graph itself gives NaN or +∞ of what it is fed: what is NaN by right says nothing of a
mistake, and a mistake that makes NaN of anything would fit.

−∞ is what hides cells, and is not looked for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ...core import nested
from ...core.graph import Graph, Ref
from ...core.words import listed
from .levels import Level


def not_finite(level: Level) -> str:
    """What the graph itself, which is not cut, gives that is not finite, of what was observed; "" if all is
    finite."""
    told = []
    for name, cells in _observed(level):
        bad = [cell for cell in cells if _is_bad(cell)]
        if bad:
            kind = "NaN" if any(cell != cell for cell in bad) else "∞"
            told.append(f"{kind} in {len(bad)} of {len(cells)} cells of {name}")
    return f"this graph itself gives {listed(told)} on these inputs{_origin(level)}" if told else ""


def nothing_else(level: Level) -> bool:
    """Whether no cell of what was observed is finite by right."""
    return all(_is_bad(cell) for _, cells in _observed(level) for cell in cells)


def _observed(level: Level) -> Iterator[tuple[str, list[Any]]]:
    """What the graph gives of each observed tensor."""
    for tensor in level.observed:
        ref = level.intended.graph.resolve(tensor.name)
        yield tensor.name, list(nested.flat(level.intended.values[ref]))


def _origin(level: Level) -> str:
    """The first cell that is not finite."""
    graph: Graph = level.intended.graph
    for node in graph.nodes.values():
        for port, spec in enumerate(node.outputs):
            ref = Ref(node.name, port)
            value = level.intended.values[ref]
            for index, cell in zip(nested.indices(spec.shape), nested.flat(value), strict=True):
                if _is_bad(cell):
                    where = f"{graph.tensor_name(ref)}{list(index) or ''}"
                    return f", which are not finite in {where}" if node.op.fed else f", first in {where}"
    return ""


def _is_bad(cell: Any) -> bool:
    return cell != cell or cell == math.inf
