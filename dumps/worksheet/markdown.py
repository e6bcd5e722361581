"""A worksheet as Markdown: a table for each box, blank or filled in."""

from __future__ import annotations

from collections.abc import Iterator

from graphattn.dumps.worksheet.sheet import Box, Sheet, Square

SPECIAL = "\\`*_[]<>|#~"


def markdown(sheet: Sheet, solution: bool = False) -> str:
    """The sheet as Markdown; with `solution`, its squares are filled in."""
    lines = [f"# {_plain(sheet.title)}{': solution' if solution else ''}", "", _plain(sheet.subtitle), ""]
    shown: set[str] = set()
    for step in sheet.steps:
        lines += [f"## {step.number}. {_plain(step.title)}", ""]
        lines += [line for hint in step.hint for line in (_plain(hint), "")]
        if step.worked:
            lines += [f"Done for you: {_plain(step.worked)}", ""]
        given = [box for box in (step.left, step.above, *step.beside) if box is not None and not box.source]
        for box in (*(b for b in given if b.name not in shown), *step.parts, step.result):
            lines += [*_table(box, solution), ""]
        shown |= {box.name for box in given}
    lines += ["## Check yourself", ""]
    lines += [f"- {_plain(told)}: {value}" for told, value in sheet.checks]
    lines += ["", _plain(sheet.question), ""]
    lines += [line for note in sheet.notes for line in (_plain(note), "")]
    lines += [_plain(sheet.footer), ""]
    return "\n".join(lines)


def _table(box: Box, solution: bool) -> Iterator[str]:
    """A box with its name in the corner."""
    columns = box.size[1]
    labels = [_plain(label) for label in box.columns] or [" "] * columns
    yield f"| **{_plain(box.name)}** | {' | '.join(labels)} |"
    yield "| ---: |" + " :---: |" * columns
    for i, row in enumerate(box.squares):
        label = _plain(box.rows[i]) if box.rows else " "
        yield f"| {label} | {' | '.join(_square(square, solution) for square in row)} |"


def _square(square: Square, solution: bool) -> str:
    if square.kind == "blank":
        return f"**{square.text}**" if solution else "____"
    return square.text or " "


def _plain(text: str) -> str:
    """Text in which nothing is markup."""
    return "".join(f"\\{letter}" if letter in SPECIAL else letter for letter in " ".join(text.split()))
