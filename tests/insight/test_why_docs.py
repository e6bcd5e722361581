"""docs/why.md is kept true: its commands and its Python print exactly what it shows.

`pytest --rewrite-golden` writes the outputs anew.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest

from graphattn.cli import main

PAGE = Path(__file__).resolve().parents[2] / "docs" / "why.md"
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$(?:\n\n^```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)


def console(text: str) -> str:
    """A console block with what its command prints now."""
    command = text.partition("\n")[0]
    words = shlex.split(command.removeprefix("$ "))
    assert words[0] == "graphattn"
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        main(words[1:])
    return f"```console\n{command}\n{out.getvalue()}```"


def python(text: str) -> str:
    """A Python block, and what it prints now."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(text, PAGE.name, "exec"), {})
    return f"```python\n{text}```\n\n```text\n{out.getvalue()}```"


def test_outputs_are_real(request: pytest.FixtureRequest) -> None:
    shown = PAGE.read_text(encoding="utf-8")
    now = BLOCK.sub(lambda block: (console if block[1] == "console" else python)(block[2]), shown)
    if request.config.getoption("--rewrite-golden"):
        PAGE.write_text(now, encoding="utf-8", newline="\n")
    assert now == shown
    assert shown.count("$ graphattn") == 5 and shown.count("```python") == 1


def test_lines_fit_a_terminal() -> None:
    for block in BLOCK.finditer(PAGE.read_text(encoding="utf-8")):
        for line in (block[3] or block[2]).splitlines()[block[1] == "console" :]:
            assert len(line) <= 80 or block[1] == "python", line
