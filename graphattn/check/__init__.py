"""check(file, contract): a learner's file, graded function by function, with the mistake named.

    report = check("model.py")                     the first seed: seven functions on lists
    report = check("solution.py", "scalar")        the second seed: Value and SelfAttention
    report = check("answer.py", "course.py")       a contract of one's own (`contract.load`)
    print(report)
    report.right                                   whether every function is

Each function is called in a process of its own, with limits of time and memory, on the cases of the contract;
its results are compared with the reference within 1e-6. Where they differ, `diagnose` names the mistake. The
report tells no more than `reveal` allows:

    none     which functions are right
    place    and which call fails, what it gave, and where that is wrong
    cause    and what was expected, and the mistake (the default)

The file is executed, so grade what you would run. Raises a `GraphError` where there is no such file or
contract.
"""

from __future__ import annotations

import os

from ..core.errors import GraphError, suggest
from .contract import Contract, load
from .grade import graded
from .process import Limits
from .report import REVEALS, Report


def check(
    file: str | os.PathLike[str],
    contract: str | os.PathLike[str] | Contract = "model",
    *,
    reveal: str = "cause",
    seconds: float = 10.0,
    megabytes: int = 1024,
) -> Report:
    """Grade a file (see the module's docstring). seconds, megabytes: what one function may take."""
    if reveal not in REVEALS:
        raise GraphError(
            f"reveal is {reveal!r}; expected one of {', '.join(REVEALS)}{suggest(reveal, REVEALS)}"
        )
    name = os.fspath(file)
    if not os.path.isfile(name):
        raise GraphError(f"there is no file {name!r}; expected a Python file to grade")
    if not isinstance(contract, Contract):
        contract = load(contract)
    limits = Limits(seconds, megabytes)
    grades = [graded(name, function, limits, reveal == "cause") for function in contract.functions]
    return Report(name, contract.name, reveal, grades)
