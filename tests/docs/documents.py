"""The documents for people, their code blocks and links, and what the blocks print when they are run."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from graphattn import Graph
from graphattn.cli import main
from graphattn.core.op import OPS

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted(
    path for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")) if "_build" not in path.parts
)
BLOCK = re.compile(r"^```(?P<kind>[^\n`]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass
class Block:
    """A code block: what stands after the first fence, its text, where the text stands in the document."""

    kind: str
    text: str
    start: int
    end: int
    follows: bool
    """Whether nothing but blank lines stands between it and the block before."""


def blocks(document: str) -> list[Block]:
    found: list[Block] = []
    end = -1
    for match in BLOCK.finditer(document):
        follows = end >= 0 and not document[end : match.start()].strip()
        found.append(Block(match["kind"].strip(), match["text"], *match.span("text"), follows))
        end = match.end()
    return found


def fits(wanted: str, got: str) -> bool:
    """Whether `got` is `wanted`, where a line `...` in `wanted` stands for any lines."""
    parts = re.split(r"^\.\.\.\n?", wanted.rstrip("\n") + "\n", flags=re.MULTILINE)
    pattern = r"(?:.*\n)*".join(re.escape(part) for part in parts)
    return re.fullmatch(pattern, got.rstrip("\n") + "\n") is not None


@dataclass
class Printed:
    """What a part of a document shows, and what is printed now."""

    what: str
    shown: str
    now: str
    start: int
    end: int


def printed(document: str, name: str) -> Iterator[Printed]:
    """Run a document from top to bottom in the current folder, its Python in one namespace.

    A `python` block that is followed by a `text` block must print that; a `console` block holds
    `$ graphattn …` lines, each followed by what the command prints (nothing: not compared), on stderr where
    that is all.
    """
    names: dict[str, object] = {"__name__": "document"}
    Graph()  # fills the registry
    known = set(OPS)
    try:
        found = blocks(document)
        for block, after in zip(found, [*found[1:], None], strict=True):
            if block.kind == "python":
                out = io.StringIO()
                with contextlib.redirect_stdout(out):
                    exec(compile(block.text, name, "exec"), names)
                if after is not None and after.kind == "text" and after.follows:
                    yield Printed(block.text, after.text, out.getvalue(), after.start, after.end)
            elif block.kind == "console":
                for part in re.finditer(r"^\$ ([^\n]*(?:\\\n[^\n]*)*)\n((?:(?!\$ ).*\n)*)", block.text, re.M):
                    now = command(part[1].replace("\\\n", ""))
                    if part[2]:
                        at = block.start + part.start(2)
                        yield Printed(part[1], part[2], now, at, at + len(part[2]))
    finally:
        for op in set(OPS) - known:  # what the document registers
            del OPS[op]


def command(line: str) -> str:
    """What a command prints."""
    words = shlex.split(line)
    assert words[0] == "graphattn", line
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(words[1:])
        except SystemExit as left:
            code = left.code or 0
    assert code in (0, 1) or not out.getvalue(), err.getvalue()
    return out.getvalue() or err.getvalue()
