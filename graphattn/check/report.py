"""A graded file as text, as data, and several as a table. No more is told than `reveal` allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..core.words import aligned, tame, wrapped
from .grade import Grade

REVEALS = ("none", "place", "cause")
ARGUMENT, RESULT = 28, 94
"""The most letters that are shown of each."""
WIDTH = 105
"""Places of a line below a function."""


@dataclass(frozen=True)
class Report:
    """The grades of one file (see the module's docstring)."""

    file: str
    contract: str
    reveal: str
    grades: Sequence[Grade]

    @property
    def right(self) -> bool:
        """Whether every function is right."""
        return all(grade.right for grade in self.grades)

    @property
    def score(self) -> str:
        """4 of 7."""
        return f"{sum(grade.right for grade in self.grades)} of {len(self.grades)}"

    def text(self) -> str:
        """A line for each function; below one that is wrong, what `reveal` allows."""
        lines = [f"{self.file}: {self.score} functions are right (contract {self.contract})", ""]
        grades = self.grades
        if self.reveal != "none" and grades and not grades[0].loaded:
            lines += ["the file does not run", *(f"       {line}" for line in grades[0].problem.splitlines())]
            grades = ()
        for grade in grades:
            lines.append(f"{'right' if grade.right else 'wrong':<7}{grade.name}")
            lines += [f"       {part}" for line in self._details(grade) for part in wrapped(line, WIDTH, "  ")]
        return tame("\n".join(lines))

    def _details(self, grade: Grade) -> list[str]:
        if self.reveal == "none":
            return []
        lines = [f"note: {grade.note}"] if grade.note else []
        if grade.right:
            return lines
        if grade.case is not None:
            lines.append(f"{grade.name}({_written(grade.case)})")
        lines += grade.problem.splitlines()
        if grade.gave is not None:
            lines.append(f"gave      {_short(grade.gave, RESULT)}")
        if self.reveal == "cause":
            if grade.expected is not None:
                lines.append(f"expected  {_short(grade.expected, RESULT)}")
            if grade.mistake:
                lines.append(grade.mistake)
        return lines

    def data(self) -> dict[str, Any]:
        """The same as JSON can hold it."""
        return {
            "file": self.file,
            "contract": self.contract,
            "right": self.right,
            "functions": [self._entry(grade) for grade in self.grades],
        }

    def _entry(self, grade: Grade) -> dict[str, Any]:
        entry: dict[str, Any] = {"name": grade.name, "right": grade.right}
        if self.reveal == "none":
            return entry
        entry |= {"passed": grade.passed, "cases": grade.cases, "problem": grade.problem, "note": grade.note}
        if grade.case is not None:
            entry |= {"call": f"{grade.name}({_written(grade.case)})", "gave": grade.gave}
        if self.reveal == "cause" and not grade.right:
            entry |= {"expected": grade.expected, "mistake": grade.mistake}
        return entry

    def __str__(self) -> str:
        return self.text()


def table(reports: Sequence[Report]) -> str:
    """Several files: a line each, a column for each function."""
    names = list(dict.fromkeys(grade.name for report in reports for grade in report.grades))
    rows = [["file", "right", *names]]
    for report in reports:
        marks = {grade.name: "right" if grade.right else "wrong" for grade in report.grades}
        rows.append([report.file, report.score, *(marks.get(name, "") for name in names)])
    return tame("\n".join(aligned(rows)))


def _written(case: Any) -> str:
    """The arguments of a call."""
    given = [_short(arg, ARGUMENT) for arg in case.args]
    return ", ".join(given + [f"{name}={_short(value, ARGUMENT)}" for name, value in case.kwargs.items()])


def _short(value: Any, most: int) -> str:
    text = _rounded(value)
    return text if len(text) <= most else f"{text[: most - 2]} …"


def _rounded(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        inner = ", ".join(map(_rounded, value))
        return f"({inner})" if isinstance(value, tuple) else f"[{inner}]"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
