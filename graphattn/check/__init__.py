"""check(file, contract): a learner's file, graded function by function, with the mistake named.

    report = check("model.py")                     the first seed: seven functions on lists
    report = check("solution.py", "scalar")        the second seed: Value and SelfAttention
    report = check("answer.py", "course.py")       a contract of one's own (`contract.load`)
    report = check("worksheet-7.xlsx")             a worksheet that was filled in (`sheet`)
    print(report)
    report.right                                   whether every function is

Each function is called in a process of its own, with limits of time and memory, on the cases of the contract;
its results are compared with the reference within 1e-6. Where they differ, `diagnose` names the mistake, that
of the function itself: what it calls and is wrong too is replaced by what is right. The report tells no more
than `reveal` allows:

    none     which functions are right
    place    and which call fails, what it gave, and where that is wrong
    cause    and what was expected, and the mistake (the default)

A Python file is executed, so grade what you would run; a worksheet is only read. Raises a `GraphError`
where there is no such file or contract.
"""

from __future__ import annotations

import os
from dataclasses import replace

from ..core.errors import GraphError, suggest
from .contract import Contract, load
from .grade import Grade, graded
from .process import Limits
from .report import REVEALS, Report
from .sheet import ENDING, graded_sheet
from .sheet_report import SheetReport

PYTHON = (".py", "")
"""The endings of what is executed."""


def check(
    file: str | os.PathLike[str],
    contract: str | os.PathLike[str] | Contract = "model",
    *,
    reveal: str = "cause",
    seconds: float = 10.0,
    megabytes: int = 1024,
) -> Report | SheetReport:
    """Grade a file (see the module's docstring). seconds, megabytes: what one function may take. The contract
    of a worksheet is the sheet as it was handed out, where the one that came back is not to be trusted."""
    if reveal not in REVEALS:
        raise GraphError(
            f"reveal is {reveal!r}; expected one of {', '.join(REVEALS)}{suggest(reveal, REVEALS)}"
        )
    name = os.fspath(file)
    if not os.path.isfile(name):
        raise GraphError(f"there is no file {name!r}; expected a Python file or a worksheet to grade")
    if name.lower().endswith(ENDING):
        reference = None if contract == "model" else _reference(contract)
        return graded_sheet(name, reference, reveal)
    if os.path.splitext(name)[1].lower() not in PYTHON:
        raise GraphError(f"{name!r} is no Python; expected a .py file or a worksheet ({ENDING}) to grade")
    if not isinstance(contract, Contract):
        contract = load(contract)
    limits = Limits(seconds, megabytes)
    grades: list[Grade] = []
    for function in contract.functions:
        if grades and not grades[-1].loaded:  # the file itself does not run
            grades.append(replace(grades[-1], name=function.name, cases=len(function.cases)))
            continue
        wrongs = [grade.name for grade in grades if not grade.right]
        grades.append(graded(name, function, limits, reveal == "cause", wrongs))
    return Report(name, contract.name, reveal, grades)


def _reference(contract: str | os.PathLike[str] | Contract) -> str:
    """The sheet that a worksheet is graded against."""
    if not isinstance(contract, Contract):
        path = os.fspath(contract)
        if path.lower().endswith(ENDING) and os.path.isfile(path):
            return path
        raise GraphError(f"a worksheet is not graded against {path!r}; expected the sheet that was handed out")
    raise GraphError("a worksheet is not graded against functions; expected the sheet that was handed out")
