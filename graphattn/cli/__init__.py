"""The command line: `graphattn NAME …`, where each NAME is a file in `commands/`.

Results go to stdout, messages to stderr. Exit status: 0 fine, 1 where a comparison found a
difference, 2 bad usage or bad input, told in one sentence without a traceback.
"""

from __future__ import annotations

import errno
import os
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from .. import __version__
from ..core.errors import GraphError, suggest
from ..core.words import tame
from . import commands
from .output import abandon_stdout, message, prepare_streams
from .with_files import take_files

GROUPS = (
    "See a computation",
    "Explain its numbers",
    "Compare with another implementation",
    "Take it elsewhere",
    "Look things up",
)
"""How `graphattn --help` groups the commands, by what one wants to do."""


CUT_SHORT = (errno.ENOSPC, errno.EFBIG, errno.EIO, getattr(errno, "EDQUOT", errno.ENOSPC))
"""What the system says where not all of an output could be written."""


class Commands(click.Group):
    """The group of all commands: loads them on use, and tells what went wrong in one sentence."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(commands.names())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return take_files(commands.module(cmd_name).command) if cmd_name in commands.names() else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands below their groups."""
        listed: dict[str, list[tuple[str, str]]] = {group: [] for group in GROUPS}
        for name in commands.names():
            module = commands.module(name)
            listed[module.GROUP].append((name, module.command.get_short_help_str(100)))
        longest = max(map(len, commands.names()))
        for group, rows in listed.items():
            if rows:
                with formatter.section(group):
                    formatter.write_dl([(name.ljust(longest), said) for name, said in rows])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        known = commands.names()
        if args and args[0] not in known and not args[0].startswith("-"):
            raise GraphError(
                f"there is no command {args[0]!r}; expected one of {', '.join(known)}" + suggest(args[0], known)
            )
        return super().resolve_command(ctx, args)

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        with _reader():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with _reader():
            return super().invoke(ctx)

    def main(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> Any:
        """Run a command line; always ends in SystemExit."""
        prepare_streams()
        warnings.showwarning = _warn
        args = list(sys.argv[1:] if args is None else args) or ["--help"]
        try:
            code = super().main(args, prog_name or "graphattn", **{**extra, "standalone_mode": False})
            sys.stdout.flush()
        except (BrokenPipeError, _Left):
            sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  (the exit flushes it)
            sys.exit(0)
        except (click.exceptions.Abort, KeyboardInterrupt):
            _tell("stopped")
            sys.exit(130)
        except Exception as error:
            sentence = _sentence(error)
            if sentence is None:
                raise
            if isinstance(error, OSError):
                abandon_stdout()
            _tell(sentence)
            sys.exit(2)
        sys.exit(code if isinstance(code, int) else 0)


def _warn(said: Warning | str, category: type[Warning], *where: Any) -> None:
    """Tell a warning in its sentence alone; those that are not for people (deprecations) are not told."""
    if category is UserWarning:
        message(f"warning: {options_in(str(said))}")


class _Left(Exception):
    """The reader has seen enough: `graphattn trace block | head`."""


@contextmanager
def _reader() -> Iterator[None]:
    """Hand a broken pipe past click, which would make exit status 1 of it."""
    try:
        yield
    except BrokenPipeError as error:
        raise _Left from error


def _sentence(error: Exception) -> str | None:
    """What to tell a person of an error; None for one that is a fault of ours."""
    if isinstance(error, click.NoSuchOption) and re.match(r"-[.\d]", error.option_name):
        return f"no such option {error.option_name!r}; expected negative numbers behind `--`, as in `-- -1 0`"
    if isinstance(error, click.UsageError):
        where = error.ctx.command_path if error.ctx else "graphattn"
        said = " ".join(error.format_message().split()).rstrip(".")
        return f"{said[:1].lower()}{said[1:]} (`{where} --help` tells more)"
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, GraphError):
        return options_in(str(error))
    if isinstance(error, OSError):
        reason = (error.strerror or str(error)).lower()
        if error.errno in CUT_SHORT and not error.filename:
            return f"the output is cut short: {reason}"
        return f"{error.filename}: {reason}" if error.filename else reason
    if isinstance(error, RecursionError):
        return "the input is nested too deep; expected a simpler one"
    if isinstance(error, MemoryError):
        return "there is not enough memory; expected smaller sizes"
    return None


SPOKEN = (
    (r"\ballow_nonfinite=True", "--allow-nonfinite"),
    (r"\bforce=True", "--force"),
    (r"^engine is (.*), or None", r"--engine is \1, or no --engine for ours"),
    (r"^(graph '.*' has no tensor (?:(?!;).)*)$", r"\1; `graphattn trace SOURCE --stats` lists those it has"),
    (r"^engine='onnxruntime' needs", "--engine onnxruntime needs"),
    (r"\bengine='onnxruntime' is faster, and progress=True .*", "--engine onnxruntime is faster"),
    (r"\bnames=\{'([^']*)': '([^']*)'\}, the name in the reference", r"--name \1=\2, the name in A"),
    (r"^names(: | holds )", r"--name\1"),
    (r"\bprecision='exact'", "--exact"),
    (r"\brun\(…, patch=\{'([^']*)': …\}\)", r"--patch \1=…"),
    (r"^(allow_nonfinite|atol|by|decimals|depth|digits|limit|masked_below|nan_equal|precision|rtol|width) is ",
     r"--\1 is "),
)  # fmt: skip
"""What a sentence calls an argument in Python, and the option that is meant on the command line."""


def options_in(sentence: str) -> str:
    """A sentence of the library as the command line says it: options instead of Python's arguments.

    >>> options_in("decimals is 30; expected an int from 0 to 17")
    '--decimals is 30; expected an int from 0 to 17'
    """
    for argument, option in SPOKEN:
        sentence = re.sub(argument, option, sentence)
    return re.sub(r"--\w+", lambda found: found[0].replace("_", "-"), sentence)


def _tell(sentence: str) -> None:
    """One sentence on one line of stderr, whatever newlines were in what it quotes."""
    print("graphattn: " + tame("\\n".join(sentence.splitlines())), file=sys.stderr)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message="%(prog)s %(version)s")
def main() -> None:
    """A microscope for attention: run it as a graph and see every number.

    \b
    graphattn demo                         a trained model at work, step by step
    graphattn trace block --n 3 --d 4      every tensor of an attention block
    graphattn render block -o block.svg    the same as a picture
    graphattn why block head0.weights 2 1  how that one number came about
    graphattn compare block mine.json      where your own numbers part from these
    graphattn diagnose block mine.json     which mistake gives your wrong result
    graphattn ops softmax                  all there is to know of one op
    """
