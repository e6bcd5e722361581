"""One function, graded: every case within the tolerance, or the first that fails and why."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..core import nested
from ..core.errors import GraphError
from ..core.words import sizes
from ..insight.diagnose import diagnose
from .contract import TOLERANCE, Case, Function
from .process import Limits, called

SECONDS = 10.0
"""How long the mistake behind one wrong result is looked for."""


@dataclass(frozen=True)
class Grade:
    """A function. `case` is the first call that fails, `gave` its result (None where it raised), `problem` the
    sentence on it, which holds no number of the reference; `expected` and `mistake` tell more."""

    name: str
    right: bool
    passed: int
    cases: int
    case: Case | None = None
    gave: Any = None
    problem: str = ""
    expected: Any = None
    mistake: str = ""
    note: str = ""


def graded(file: str, function: Function, limits: Limits, diagnosed: bool = True) -> Grade:
    """Call a function of a file on its cases, and judge what it gives."""
    outcome = called(file, function, limits)
    total = len(function.cases)
    if outcome.failure:
        return Grade(function.name, False, 0, total, problem=outcome.failure)
    wrong: list[tuple[Case, Any, str]] = []
    note = ""
    for case, result in zip(function.cases, outcome.results, strict=True):
        problem = result.get("error") or _problem(case, result["value"])
        note = note or result.get("note", "")
        if problem:
            wrong.append((case, result.get("value"), problem))
    if not wrong:
        return Grade(function.name, True, total, total, note=note)
    case, gave, problem = wrong[0]
    mistake = ""
    if diagnosed:
        for tried, result, _ in wrong[:3]:
            mistake = mistake or _mistake(tried, result)
    return Grade(function.name, False, total - len(wrong), total, case, gave, problem, case.want, mistake, note)


def _problem(case: Case, gave: Any) -> str:
    """What is wrong with a result; '' where nothing is."""
    if case.judge is not None:
        return case.judge(gave) or ""
    wants = case.want if isinstance(case.want, tuple) else (case.want,)
    gives = gave if isinstance(gave, tuple) else (gave,)
    if len(wants) != len(gives):
        count = "one result" if len(gives) == 1 else f"{len(gives)} results"
        return f"it gives {count}; expected {len(wants)}"
    for number, (want, give) in enumerate(zip(wants, gives, strict=True)):
        which = f"result {number}: " if len(wants) > 1 else ""
        problem = apart(want, give, which)
        if problem:
            return problem
    return ""


def apart(want: Any, give: Any, which: str = "") -> str:
    """How nested lists differ from what they must be, without a number of those; '' where they do not."""
    shape = _shape(want)
    try:
        own = nested.shape_of(give, "it")
    except GraphError:
        return f"{which}it gives rows of different lengths; expected {sizes(shape)}"
    if own != shape:
        return f"{which}it gives {sizes(own)}; expected {sizes(shape)}"
    bad = [index for index, a, b in _pairs(want, give) if not _close(a, b)]
    if not bad:
        return ""
    cells = "cell" if len(bad) == 1 else "cells"
    size = max(math.prod(shape), 1)
    are = "is" if len(bad) == 1 else "are"
    return f"{which}{len(bad)} of {size} {cells} {are} wrong, the first at {list(bad[0])}"


def _shape(value: Any) -> tuple[int, ...]:
    return nested.shape_of(value, "it")


def _pairs(want: Any, give: Any, index: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Any, Any]]:
    if isinstance(want, list):
        for i, (a, b) in enumerate(zip(want, give, strict=True)):
            yield from _pairs(a, b, (*index, i))
    else:
        yield index, want, give


def _close(want: Any, give: Any) -> bool:
    if isinstance(want, bool):
        return give in (want, int(want)) and not isinstance(give, float)
    if isinstance(give, bool):
        return False
    if want == give:
        return True
    return math.isfinite(give) and math.isfinite(want) and abs(give - want) <= TOLERANCE * max(1.0, abs(want))


def _mistake(case: Case, gave: Any) -> str:
    """The mistake that explains a wrong result, as a sentence; '' where none is found."""
    if case.graph is None or gave is None:
        return ""
    graph, feeds = case.graph()
    results = gave if isinstance(gave, tuple) else (gave,)
    observed = dict(zip(graph.outputs, results))
    try:
        specs = {name: graph.spec(graph.resolve(name)) for name in observed}
        if any(nested.shape_of(value, name) != specs[name].shape for name, value in observed.items()):
            return ""
        found = diagnose(graph, feeds, observed, budget=SECONDS)
    except GraphError:
        return ""
    return found.findings[0].sentence if found.findings and found.verdict == "mistake" else ""
