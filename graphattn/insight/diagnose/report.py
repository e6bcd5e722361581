"""What a diagnosis says: as text, as Markdown, as data for programs.

`reveal` is how much is told: "none" whether something is wrong, "place" where too, "cause" all of it.
"""

from __future__ import annotations

import math
import textwrap
from typing import Any

from ...core import nested
from ...core.errors import GraphError
from ...core.words import counted, listed
from ..variants import spoken
from .cell import wrong_and_right
from .cut import plain
from .result import Diagnosis, Finding

REVEAL = ("none", "place", "cause")
MORE = 4
"""So many tensors are named in a sentence."""
WORDINGS = 2
"""The most other wordings that are listed: the plainest."""
SHOWN = 24
"""The most cells of inputs that are shown in full."""
WIDTH = 100


def check_reveal(reveal: str) -> None:
    if reveal not in REVEAL:
        raise GraphError(f"reveal is {reveal!r}; expected one of {', '.join(REVEAL)}")


def verdict_line(found: Diagnosis) -> str:
    """The verdict as a sentence."""
    seen = listed(found.observed, 5)
    match found.verdict:
        case "right":
            return f"right: yours is what this graph gives in {seen}, to {found.accuracy}"
        case "harmless":
            return f"harmless: something in {seen} differs, but the result is the same"
        case "mistake":
            supposed = f", to {found.accuracy}" if found.supposed else ""
            return f"mistake: {found.findings[0].exactly}{supposed}{_several(found)}"
        case "undecided":
            return f"undecided: {found.reason or f'what was observed in {seen} cannot tell'}"
    tried = "nothing that was tried" if found.finished else "nothing that was tried within the budget"
    return f"unexplained: {tried} explains all of {seen}"


def _several(found: Diagnosis) -> str:
    """What is said where there are several findings, or several mistakes in one."""
    count, at_once = len(found.findings), len(found.findings[0].variants)
    if count > 1:
        return f"; {count} mistakes {'at once' if found.together else 'would explain it'}"
    return f"; {at_once} mistakes at once" if at_once > 1 else ""


def text(found: Diagnosis, reveal: str = "cause", width: int | None = None) -> str:
    """The report as text that ends in a line end."""
    check_reveal(reveal)
    if reveal == "none":
        return _bare(found) + "\n"
    if reveal == "place":
        lines = [_bare(found)]
        lines += [f"  look at  {finding.place}" for finding in found.findings[:1]]
        return "\n".join(lines) + "\n"
    limit = width or WIDTH
    lines = _wrapped(verdict_line(found), "", limit)
    for place, finding in enumerate(found.findings):
        if place:
            lines += ["", *_wrapped(f"{_joint(found)}: {finding.sentence}", "", limit)]
        for what, said in rows(found, finding):
            lines += _wrapped(said, f"  {what:<9}", limit)
    for suspect in found.suspects:
        lines += _wrapped(f"this graph {plain(suspect)} would give it too", "  suspect  ", limit)
    if found.look_at:
        lines += _wrapped(
            f"record {found.look_at}: of the tensors between, it tells most", "  next     ", limit
        )
    lines += [line for note in found.notes for line in _wrapped(note, "  note     ", limit)]
    if found.comparison is not None:
        lines += ["", *found.comparison.text(width=width).rstrip("\n").split("\n")]
    if found.tried:
        lines.append(
            f"  {found.tried:,} variants of the graph tried" + ("" if found.finished else ", not all there are")
        )
    return "\n".join(lines) + "\n"


def _joint(found: Diagnosis) -> str:
    return "and" if found.together else "or"


def _bare(found: Diagnosis) -> str:
    return {
        "right": "right", "harmless": "right, but for what does not matter",
        "mistake": "wrong, by a mistake that has a name", "unexplained": "wrong",
    }.get(found.verdict, "undecided")  # fmt: skip


def rows(found: Diagnosis, finding: Finding) -> list[tuple[str, str]]:
    """What there is to say of a finding, line by line."""
    said: list[tuple[str, str]] = []
    for place, variant in enumerate(finding.variants):
        where = spoken(tuple(map(plain, variant.nodes)))
        said += [("where", where), *wrong_and_right(finding, place)]
    said += [("mend", told) for told in finding.mends]
    left = (
        "no difference is left" if not finding.error else f"the largest difference left is {finding.error:.1e}"
    )
    of = "" if len(finding.given) == len(found.observed) else f" of {listed(finding.given, MORE)}"
    of += ", from what was observed before it" if found.together else ""
    said.append(("match", f"every cell{of}, to {found.accuracy}; {left}"))
    said += [("the same", f"this graph {plain(words)}") for words in finding.equals[:WORDINGS]]
    if len(finding.equals) > WORDINGS:
        said.append(("", f"and {counted(len(finding.equals) - WORDINGS, 'more wording')} (equals)"))
    if finding.tells is not None:
        said.append(("tells", _telling(found.findings.index(finding), finding)))
    return said


def _telling(place: int, finding: Finding) -> str:
    """How to tell a finding from the first: the inputs that were found, where they are few numbers."""
    new = {name: value for name, value in (finding.tells or {}).items() if value is not finding.feeds.get(name)}
    told = f"run yours on `findings[{place}].tells`, inputs on which it differs from the first"
    if sum(1 for value in new.values() for _ in nested.flat(value)) > SHOWN:
        return f"{told}: other numbers for {listed(new, MORE)}, which --json writes in full"
    return f"{told}: " + "; ".join(f"{name} = {value}" for name, value in new.items())


def _wrapped(said: str, start: str, limit: int) -> list[str]:
    return textwrap.wrap(
        said, limit, initial_indent=start, subsequent_indent=" " * (len(start) or 2), break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def markdown(found: Diagnosis, reveal: str = "cause") -> str:
    """The same as Markdown."""
    check_reveal(reveal)
    if reveal != "cause":
        return text(found, reveal)
    lines = [f"**{_escaped(verdict_line(found))}**", ""]
    for place, finding in enumerate(found.findings):
        if place:
            lines += ["", f"{_joint(found).capitalize()}: {_escaped(finding.sentence)}", ""]
        lines += [f"- {what}: {_escaped(said)}" if what else f"- {said}" for what, said in rows(found, finding)]
    lines += [f"- suspect: {_escaped(plain(suspect))}" for suspect in found.suspects]
    lines += [f"- note: {_escaped(note)}" for note in found.notes]
    return "\n".join(lines).rstrip("\n") + "\n"


def _escaped(said: str) -> str:
    return said.replace("\\", "\\\\").replace("*", "\\*").replace("_", "\\_").replace("<", "&lt;")


def data(found: Diagnosis, reveal: str = "cause") -> dict[str, Any]:
    """The same as dicts and lists that JSON can hold."""
    check_reveal(reveal)
    told: dict[str, Any] = {"format": "graphattn diagnosis 1", "verdict": found.verdict}
    if reveal == "none":
        return told
    if reveal == "place":
        return told | {"where": list(found.findings[0].where) if found.findings else []}
    return told | {
        "observed": list(found.observed),
        "accuracy": found.accuracy,
        "findings": [_finding(finding) for finding in found.findings],
        "suspects": [plain(suspect) for suspect in found.suspects],
        "look at": found.look_at,
        "notes": found.notes,
        "tried": found.tried,
        "finished": found.finished,
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "sentence": finding.sentence,
        "name": finding.name,
        "where": list(finding.where),
        "error": finding.error if math.isfinite(finding.error) else None,
        "given": list(finding.given),
        "missed": list(finding.missed),
        "price": round(finding.price, 6),
        "equals": [plain(words) for words in finding.equals],
        "mend": finding.mends,
        "tells": None if finding.tells is None else {
            name: value for name, value in finding.tells.items() if value is not finding.feeds.get(name)
        },
        "graph": str(finding.graph),
    }  # fmt: skip
