"""Where results and messages go: stdout, stderr, files; and what they look like there.

A stream that cannot show a character shows its spelling instead: `√` becomes `sqrt`, what has no
spelling here becomes `?` or `\\uXXXX`, so that no locale and no code page ends a run.
"""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import BufferedWriter, RawIOBase, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..core.errors import GraphError
from ..core.words import tame
from ..progress import counted as counted
from ..progress import progress as progress

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    Paint = Callable[[list[str]], Iterator[Text]]

SPELLED = {
    "·": ".", "×": "x", "√": "sqrt", "÷": "/", "−": "-", "–": "-", "—": "-", "→": "->", "←": "<-", "⇒": "=>",
    "Σ": "sum", "σ": "sigma", "μ": "mu", "γ": "gamma", "β": "beta", "ε": "eps", "ᵀ": "^T", "∞": "inf",
    "…": "...", "≤": "<=", "≥": ">=", "≠": "!=", "✓": "yes", "✗": "no", "⊗": "(x)", "⊕": "(+)", "½": "1/2",
    "²": "^2", "ₖ": "_k", "ⱼ": "_j", "ᵢ": "_i", "ˣ": "^x", "π": "pi",
    "█": "#", "▓": "*", "▒": "+", "░": ":", "│": "|", "└": "`", "“": "\"", "”": "\"", "’": "'",
    **{digit: str(value) for value, digit in enumerate("₀₁₂₃₄₅₆₇₈₉")},
}  # fmt: skip
PIPE_WIDTH = 100


def _spell(error: UnicodeError) -> tuple[str, int]:
    """A spelling; without one, `?` for a symbol and `\\uXXXX`, as JSON writes it, for a letter."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(SPELLED.get(char) or (_escape(char) if char.isalnum() else "?") for char in text), error.end


def _escape(char: str) -> str:
    units = char.encode("utf-16-be")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


codecs.register_error("graphattn.spell", _spell)


def prepare_streams() -> None:
    """Let stdout and stderr spell what they cannot encode; one that is closed takes what it is given."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the shell: `>&-`
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  (open to the end)
        stream = getattr(sys, name)
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="graphattn.spell")
            if isinstance(stream.buffer, RawIOBase):  # PYTHONUNBUFFERED: what a full disk cuts off is lost
                setattr(sys, name, _whole(stream))


def _whole(stream: TextIOWrapper) -> TextIOWrapper:
    """The stream, with each line written whole or an `OSError`."""
    return TextIOWrapper(
        BufferedWriter(stream.detach()),  # pyright: ignore[reportArgumentType]
        encoding=stream.encoding, errors="graphattn.spell", line_buffering=True,
    )  # fmt: skip


def abandon_stdout() -> None:
    """Leave what could not be written, so that no flush at the exit tries again."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def console() -> Console:
    """stdout as rich sees it: colour on a terminal only, and none where NO_COLOR is set."""
    from rich.console import Console

    class Piped(Console):
        def on_broken_pipe(self) -> None:
            raise  # rich would exit with 1

    terminal = sys.stdout.isatty()
    return Piped(
        file=sys.stdout, highlight=False, markup=False, emoji=False, soft_wrap=True,
        width=None if terminal else PIPE_WIDTH,
    )  # fmt: skip


def terminal_width() -> int:
    """How many places a line has: those of the terminal, 100 where there is none; COLUMNS is obeyed."""
    if not sys.stdout.isatty() and "COLUMNS" not in os.environ:
        return PIPE_WIDTH
    asked = os.environ.get("COLUMNS", "")
    if asked.isdecimal() and int(asked):
        return max(int(asked), 40)
    try:  # of stdout as it is now: shutil asks the one that Python began with
        return max(os.get_terminal_size(sys.stdout.fileno()).columns or PIPE_WIDTH, 40)
    except (OSError, ValueError, AttributeError):
        return PIPE_WIDTH


def fitting_width(output: str | None = None) -> int | None:
    """The places of a line that what is printed is fitted into: those of the terminal, or COLUMNS; None in a
    pipe or a file `output`, where text stays as it is."""
    if output is not None or not (sys.stdout.isatty() or "COLUMNS" in os.environ):
        return None
    return terminal_width()


def message(text: str) -> None:
    """A remark beside the result."""
    print(tame(text), file=sys.stderr)


def emit(text: str | bytes, path: str | None, exact: bool = False, painted: Paint | None = None) -> None:
    """A result: into a file (whole or not at all) and said so, or to stdout. What is `exact` is for
    programs to read back: away from a terminal it is UTF-8 whatever the locale. On a terminal that has
    colours, each line is `painted`."""
    if isinstance(text, bytes):
        _emit_bytes(text, path)
        return
    if path is None or path == "-":
        if exact and isinstance(sys.stdout, TextIOWrapper) and not sys.stdout.isatty():
            sys.stdout.reconfigure(encoding="utf-8", newline="\n")
        if painted is None or not _coloured(text, painted):
            sys.stdout.write(text if text.endswith("\n") else text + "\n")
        return
    from graphattn.dumps.write import write_text

    wrote(write_text(path, text))


def _coloured(text: str, painted: Paint) -> bool:
    """Print the lines in their colours, where stdout is a terminal that has some; whether it was done."""
    if not sys.stdout.isatty():
        return False
    out = console()
    if out.color_system is None:
        return False
    for line in painted(text.rstrip("\n").split("\n")):
        out.print(line)
    return True


def _emit_bytes(data: bytes, path: str | None) -> None:
    if path is None:
        raise GraphError("this form is not text; expected -o FILE")
    from graphattn.dumps.write import write_bytes

    wrote(write_bytes(path, data))


def wrote(path: str | Path) -> None:
    message(f"wrote {path}")


OUTPUT = click.option("-o", "--output", metavar="FILE", help="Write into FILE instead of stdout.")
FORCE = click.option("-f", "--force", is_flag=True, help="Write over files that are there already.")
