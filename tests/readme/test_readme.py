"""README is kept true: its Python blocks run, its commands print what it shows, its links lead somewhere.

A ```python block that is followed by a ```text block must print exactly that; a ```console block
holds `$ command` lines, each followed by what the command prints. A line `...` stands for any
number of lines.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


def fits(wanted: str, got: str) -> bool:
    """Whether `got` is `wanted`, where a line `...` in `wanted` stands for any lines."""
    parts = re.split(r"^\.\.\.\n?", wanted.rstrip("\n") + "\n", flags=re.MULTILINE)
    pattern = r"(?:.*\n)*".join(re.escape(part) for part in parts)
    return re.fullmatch(pattern, got.rstrip("\n") + "\n") is not None


def test_fits_can_tell_a_difference() -> None:
    assert fits("a\n...\nc\n", "a\nb\nb\nc\n")
    assert not fits("a\n...\nc\n", "a\nb\n")
    assert not fits("a\nb\n", "a\nc\n")


def test_python_blocks_print_what_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    ran = 0
    for (kind, text), (next_kind, next_text) in zip(BLOCKS, [*BLOCKS[1:], ("", "")], strict=True):
        if kind != "python":
            continue
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(text, "README.md", "exec"), names)
        ran += 1
        if next_kind == "text":
            assert fits(next_text, out.getvalue()), (
                f"README shows\n{next_text}\nbut it prints\n{out.getvalue()}"
            )
    assert ran


def _commands() -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for kind, text in BLOCKS:
        if kind == "console":
            for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                command, _, output = part.partition("\n")
                found.append((command, output))
    return found


@pytest.mark.parametrize(("command", "output"), _commands())
def test_commands_print_what_is_shown(command: str, output: str, tmp_path: Path) -> None:
    words = shlex.split(command)
    assert words[0] == "graphattn"
    env = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
    run = subprocess.run(
        [sys.executable, "-m", "graphattn", *words[1:]],
        cwd=tmp_path, env=env, capture_output=True, text=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    if output:
        assert fits(output, run.stdout), f"README shows\n{output}\nbut it prints\n{run.stdout}"


def test_the_first_line_with_demo_is_the_whole_command() -> None:
    line = next(line for line in README.splitlines() if "graphattn demo" in line)
    assert line.strip().startswith("python3 -m venv") and line.rstrip().endswith("graphattn demo")


def test_links_and_pictures_lead_to_files() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)|<img[^>]*src=\"([^\"]+)\"|srcset=\"([^\"]+)\"", README):
        path = next(filter(None, target))
        if not path.startswith("http"):
            assert (ROOT / path).exists(), f"README links to {path}, which is not there"
