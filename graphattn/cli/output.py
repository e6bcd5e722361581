"""Where results and messages go: stdout, stderr, files; and what they look like there.

A stream that cannot show a character shows its spelling instead: `√` becomes `sqrt`, what has no
spelling here becomes `\\uXXXX`, so that no locale and no code page ends a run.
"""

from __future__ import annotations

import codecs
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

SPELLED = {
    "·": ".", "×": "x", "√": "sqrt", "÷": "/", "−": "-", "–": "-", "—": "-", "→": "->", "←": "<-", "⇒": "=>",
    "Σ": "sum", "σ": "sigma", "μ": "mu", "γ": "gamma", "β": "beta", "ε": "eps", "ᵀ": "^T", "∞": "inf",
    "…": "...", "≤": "<=", "≥": ">=", "≠": "!=", "✓": "yes", "✗": "no", "⊗": "(x)", "⊕": "(+)", "½": "1/2",
    "²": "^2", "ₖ": "_k", "ⱼ": "_j", "ᵢ": "_i", "ˣ": "^x", "π": "pi",
    "│": "|", "└": "`", "“": "\"", "”": "\"", "’": "'",
    **{digit: str(value) for value, digit in enumerate("₀₁₂₃₄₅₆₇₈₉")},
}  # fmt: skip
PIPE_WIDTH = 100


def _spell(error: UnicodeError) -> tuple[str, int]:
    """For people: a spelling, or `?` for a symbol without one."""
    text, end = _unencodable(error)
    return "".join(SPELLED.get(char) or (_escape(char) if char.isalnum() else "?") for char in text), end


def _spell_exactly(error: UnicodeError) -> tuple[str, int]:
    """For programs: as JSON and our own text formats write it in quotes, so that it reads back."""
    text, end = _unencodable(error)
    return "".join(map(_escape, text)), end


def _unencodable(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return error.object[error.start : error.end], error.end


def _escape(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


codecs.register_error("graphattn.spell", _spell)
codecs.register_error("graphattn.exact", _spell_exactly)


def prepare_streams(errors: str = "graphattn.spell") -> None:
    """Let stdout and stderr spell what they cannot encode."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=errors)


def console() -> Console:
    """stdout as rich sees it: colour on a terminal only, and none where NO_COLOR is set."""
    from rich.console import Console

    terminal = sys.stdout.isatty()
    return Console(
        file=sys.stdout, highlight=False, markup=False, emoji=False, soft_wrap=True,
        width=None if terminal else PIPE_WIDTH,
    )  # fmt: skip


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Rows of texts as lines with their columns under each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) for row in rows)
    return "".join(f"{line.rstrip()}\n" for line in lines)


def message(text: str) -> None:
    """A remark beside the result."""
    print(text, file=sys.stderr)


def emit(text: str, path: str | None, exact: bool = False) -> None:
    """A result: into a file (whole or not at all) and said so, or to stdout. `exact`: it is to be
    read back by a program."""
    if path is None or path == "-":
        prepare_streams("graphattn.exact" if exact else "graphattn.spell")
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        return
    from graphattn.dumps.write import write_text

    wrote(write_text(path, text))


def wrote(path: str | Path) -> None:
    message(f"wrote {path}")


@contextmanager
def progress(what: str) -> Iterator[Callable[[str], None]]:
    """While something runs: after a second, a line on the terminal that says so; nothing elsewhere.

    Yields a function that takes the present state (`12 of 400`), which may be called often.
    """
    if not sys.stderr.isatty():
        yield lambda state: None
        return
    from rich.console import Console
    from rich.status import Status

    status = Status(what, console=Console(file=sys.stderr, highlight=False, markup=False, emoji=False))
    timer = threading.Timer(1.0, status.start)
    timer.daemon = True
    timer.start()

    def say(state: str) -> None:
        if timer.finished.is_set():
            status.update(f"{what}: {state}")

    try:
        yield say
    finally:
        timer.cancel()
        timer.join()
        status.stop()


def counted(total: int, say: Callable[[str], None]) -> Callable[[Any], None]:
    """A listener of a run that tells `say` how many of the steps are done."""
    done = 0

    def listen(step: Any) -> None:
        nonlocal done
        done += 1
        say(f"step {done:,} of {total:,}")

    return listen


OUTPUT = click.option("-o", "--output", metavar="FILE", help="Write into FILE instead of stdout.")
