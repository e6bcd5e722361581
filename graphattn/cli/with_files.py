"""`--with FILE.py`, which every command has: a Python file that is executed first.

It may register ops of its own, so that a graph or a trace that uses them can be read.
"""

from __future__ import annotations

from pathlib import Path

import click


def take_files(command: click.Command) -> click.Command:
    """The command, with the option."""
    if not any(parameter.name == "with" for parameter in command.params):
        command.params.append(
            click.Option(
                ["--with"],
                metavar="FILE.py",
                multiple=True,
                expose_value=False,
                is_eager=True,
                callback=_execute,
                help="Execute a Python file first, which may register ops of its own. May be repeated.",
            )
        )
    return command


def _execute(ctx: click.Context, parameter: click.Parameter, files: tuple[str, ...]) -> None:
    if files and not ctx.resilient_parsing:
        from ..core.graph import Graph
        from .source import execute

        Graph()  # fills the registry
        for file in files:
            execute(Path(file))
