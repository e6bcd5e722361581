"""One function, graded: every case within the tolerance, or the first that fails and why."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..core import nested
from ..core.errors import GraphError
from ..core.words import joined, sizes
from ..insight.diagnose import diagnose
from .contract import TOLERANCE, Case, Function
from .process import Limits, Outcome, called

SECONDS = 10.0
"""How long the mistake behind one wrong result is looked for."""


@dataclass(frozen=True)
class Grade:
    """A function. `case` is the first call that fails, `gave` its result (None where it raised), `problem` the
    sentence on it, which holds no number of the reference; `expected` and `mistake` tell more. loaded: whether
    the file itself ran."""

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
    loaded: bool = True


Wrong = list[tuple[Case, Any, str]]
"""The cases that fail, each with its result and the problem."""


def graded(
    file: str, function: Function, limits: Limits, diagnosed: bool = True, wrongs: Sequence[str] = ()
) -> Grade:
    """Call a function of a file on its cases, and judge what it gives. wrongs: other functions of the file that
    are wrong; its own mistake is looked for with the right ones in their place."""
    outcome = called(file, function, limits)
    total = len(function.cases)
    if outcome.failure:
        return Grade(function.name, False, 0, total, problem=outcome.failure, loaded=outcome.loaded)
    wrong = _wrong(function, outcome)
    note = next(filter(None, (result.get("note", "") for result in outcome.results)), "")
    if not wrong:
        return Grade(function.name, True, total, total, note=note or _about(function, outcome))
    case, gave, problem = wrong[0]
    mistake = _cause(file, function, limits, wrong, wrongs) if diagnosed else ""
    return Grade(function.name, False, total - len(wrong), total, case, gave, problem, case.want, mistake, note)


def _wrong(function: Function, outcome: Outcome) -> Wrong:
    found: Wrong = []
    for case, result in zip(function.cases, outcome.results, strict=True):
        problem = result.get("error") or _problem(case, result["value"])
        if problem:
            found.append((case, result.get("value"), problem))
    return found


def _about(function: Function, outcome: Outcome) -> str:
    """Of a function of which a property alone is asked: that, and whether its results are the intended ones."""
    if not function.about:
        return ""
    found = _mistake(function.cases[0], outcome.results[0]["value"], right="right")
    if found == "right":
        return function.about.format("")
    return function.about.format("not ") + (f": {found}" if found else "")


def _cause(file: str, function: Function, limits: Limits, wrong: Wrong, wrongs: Sequence[str]) -> str:
    """The mistake in a function itself, as a sentence: where it calls others that are wrong, with the right
    ones in their place."""
    told = ""
    if wrongs and function.module:
        outcome = called(file, function, limits, wrongs)
        again = [] if outcome.failure else _wrong(function, outcome)
        if outcome.used and not any("error" in result for result in outcome.results):
            used = f"with the right {joined(outcome.used)}, which it calls"
            if not again:
                return f"{used}, it is right"
            wrong, told = again, f"{used}: "
    for case, gave, _ in wrong[:3]:
        if mistake := _mistake(case, gave):
            return told + mistake
    return told + hint if (hint := wrong[0][0].hint) else ""


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
    pairs = list(_pairs(want, give))
    bad = [index for index, a, b in pairs if not _close(a, b)]
    if not bad:
        return ""
    if all(isinstance(a, bool) and isinstance(b, float) and b in (0.0, 1.0) for _, a, b in pairs):
        return f"{which}it gives floats, which a mask adds; expected bools, or 0 and 1 as ints"
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


def _mistake(case: Case, gave: Any, right: str = "") -> str:
    """The mistake that explains a wrong result, as a sentence; '' where none is found, `right` where there is
    none."""
    if case.graph is None or gave is None:
        return ""
    graph, feeds = case.graph()
    gave = gave if case.seen is None else case.seen(gave)
    results = gave if isinstance(gave, tuple) else (gave,)
    observed = dict(zip(graph.outputs, results))
    try:
        specs = {name: graph.spec(graph.resolve(name)) for name in observed}
        if any(nested.shape_of(value, name) != specs[name].shape for name, value in observed.items()):
            return ""
        found = diagnose(graph, feeds, observed, budget=SECONDS)
    except GraphError:
        return ""
    if found.verdict == "right":
        return right
    return found.findings[0].sentence if found.findings and found.verdict == "mistake" else ""
