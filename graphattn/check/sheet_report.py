"""A graded worksheet as text and as data. No more is told than `reveal` allows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..core.words import number
from .grade import Grade

TOLD = 8
"""Of how many wrong squares of a step each is told."""


@dataclass(frozen=True)
class Mark:
    """A square: where it stands, its mark ("" where it is empty), what it holds and what belongs there."""

    name: str
    tensor: str
    mark: str
    gave: Any
    expected: float


class SheetReport:
    """A graded worksheet: `text`, `data`, `right` and `score` as a file's report has them; `marks` say more."""

    contract = "worksheet"

    def __init__(
        self, file: str, title: str, reveal: str, marks: Sequence[Mark], hints: Mapping[str, str]
    ) -> None:
        self.file, self.title, self.reveal, self.marks = file, title, reveal, marks
        self.hints = hints
        """By tensor, what went wrong with all of it."""

    @property
    def right(self) -> bool:
        """Whether every square is right."""
        return all(mark.mark == "right" for mark in self.marks)

    @property
    def credit(self) -> int:
        """The squares that are right or follow from an earlier slip."""
        return sum(mark.mark in ("right", "follows") for mark in self.marks)

    @property
    def score(self) -> str:
        """The credit: 38 of 53."""
        return f"{self.credit} of {len(self.marks)}"

    @property
    def grades(self) -> list[Grade]:
        """A grade for each tensor: whether it has all its credit."""
        return [
            Grade(name, all(m.mark in ("right", "follows") for m in marks), _count(marks, "right"), len(marks))
            for name, marks in self._steps()
        ]

    def _steps(self) -> Iterator[tuple[str, list[Mark]]]:
        for name in dict.fromkeys(mark.tensor for mark in self.marks):
            yield name, [mark for mark in self.marks if mark.tensor == name]

    def text(self) -> str:
        """A line for each step; below it, what `reveal` allows."""
        counts = [f"{_count(self.marks, m)} {told}" for m, told in TOLD_AS.items() if _count(self.marks, m)]
        lines = [f"{self.file}: {self.score} squares have credit ({', '.join(counts)})", self.title, ""]
        for name, marks in self._steps():
            lines.append(f"{_verdict(marks):<8}{name}   {_count(marks, 'right')} of {len(marks)} right")
            lines += [f"        {line}" for line in self._details(name, marks)]
        return "\n".join(lines)

    def _details(self, name: str, marks: Sequence[Mark]) -> Iterator[str]:
        wrong = [mark for mark in marks if mark.mark in ("check", "number?")]
        if self.reveal == "none" or not wrong:
            return
        for mark in wrong[:TOLD]:
            line = f"{mark.name} gave {_shown(mark.gave)}"
            if mark.mark == "number?":
                line += ", which is no number"
            yield f"{line}; expected {number(mark.expected)}" if self.reveal == "cause" else line
        if len(wrong) > TOLD:
            yield f"and {len(wrong) - TOLD} more"
        if self.reveal == "cause" and name in self.hints:
            yield self.hints[name]

    def data(self) -> dict[str, Any]:
        """The same as JSON can hold it."""
        steps = []
        for name, marks in self._steps():
            entry: dict[str, Any] = {"name": name, "right": _verdict(marks) == "right", "squares": len(marks)}
            entry |= {m or "empty": _count(marks, m) for m in TOLD_AS}
            if self.reveal != "none":
                entry["wrong"] = [self._entry(m) for m in marks if m.mark in ("check", "number?")]
            if self.reveal == "cause":
                entry["mistake"] = self.hints.get(name, "")
            steps.append(entry)
        return {
            "file": self.file, "contract": self.contract, "right": self.right, "credit": self.credit,
            "squares": len(self.marks), "steps": steps,
        }  # fmt: skip

    def _entry(self, mark: Mark) -> dict[str, Any]:
        gave = mark.gave if isinstance(mark.gave, (int, float)) else str(mark.gave)
        told: dict[str, Any] = {"square": mark.name, "mark": mark.mark, "gave": gave}
        return {**told, "expected": mark.expected} if self.reveal == "cause" else told

    def __str__(self) -> str:
        return self.text()


TOLD_AS = {
    "right": "right", "follows": "following from an earlier slip", "check": "wrong", "number?": "not numbers",
    "": "empty",
}  # fmt: skip


def _count(marks: Sequence[Mark], mark: str) -> int:
    return sum(m.mark == mark for m in marks)


def _verdict(marks: Sequence[Mark]) -> str:
    kinds = {mark.mark for mark in marks}
    if kinds == {"right"}:
        return "right"
    if kinds <= {"right", "follows"}:
        return "follows"
    return "empty" if kinds == {""} else "wrong"


def _shown(value: Any) -> str:
    return number(value) if isinstance(value, (int, float)) else repr(str(value)[:40])
