"""One cell at the place of a mistake: how it is computed, and how it would have been computed with the mistake.

The cell is the one that differs most, of the first tensor below the change that both graphs have, or of the
first result where results alone are another.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

from ...core import nested
from ...core.errors import GraphError
from ...core.run import run
from ...core.trace import Trace
from ..why.formula import joined
from .result import Finding


def wrong_and_right(finding: Finding, place: int = 0) -> list[tuple[str, str]]:
    """("right", how the intended graph computes the cell), ("yours", how the graph with the mistake does); of
    several mistakes of the one at that place, with all others in both graphs."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            right = run(finding.without(place), finding.feeds, allow_nonfinite=True)
            wrong = run(finding.graph, finding.feeds, allow_nonfinite=True)
        found = _cell(right, wrong)
        if found is None:
            return []
        name, index = found
        return [("right", _line(right, name, index)), ("yours", _line(wrong, name, index))]
    except GraphError:
        return []


def _cell(right: Trace, wrong: Trace) -> tuple[str, tuple[int, ...]] | None:
    for name in (*right.names, *right.graph.outputs):
        spec = right.spec(name)
        if spec.kind != "float" or name not in wrong or wrong.spec(name).shape != spec.shape:
            continue
        index = _farthest(right[name], wrong[name], spec.shape)
        if index is not None:
            return name, index
    return None


def _farthest(a: Any, b: Any, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    best, place = 0.0, None
    for index, x, y in zip(nested.indices(shape), nested.flat(a), nested.flat(b), strict=True):
        alike = x == y or (x != x and y != y)
        apart = 0.0 if alike else abs(x - y) if math.isfinite(x) and math.isfinite(y) else 1e-300
        if apart > best:
            best, place = apart, index
    return place


def _line(trace: Trace, name: str, index: tuple[int, ...]) -> str:
    """`name[i, j] = formula = numbers = value`, what is said of it last."""
    line = trace.why(name, *index).lines(parts=False)[0]
    _, told, note = next(line.rows)
    return joined(told) + (f" ({joined(note)})" if note else "")
