"""`graphattn export`: a graph as a program of its own, in C or Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ...core.errors import GraphError
from ..output import progress, wrote
from ..source import LEVEL, read_specimen, specimen_options

GROUP = "Take it elsewhere"


@click.command(short_help="Write a graph as a C or Python program.")
@specimen_options
@click.argument("file", metavar="FILE")
@LEVEL
def command(file: str, level: str | None, **options: Any) -> None:
    """Write SOURCE into FILE: .c is plain C99, .py imports nothing but math. Level op or primitive.

    Compiled with -DGRAPHATTN_MAIN, the C file is a program that runs the feeds and prints every tensor.
    """
    ending = Path(file).suffix.lower()
    if ending not in (".c", ".py"):
        raise GraphError(f"{file} has no known ending; expected FILE.c or FILE.py")
    specimen = read_specimen(**options)
    from graphattn.dumps.c_source import c_source
    from graphattn.dumps.python_source import python_source
    from graphattn.dumps.write import write_text

    with progress("writing"):
        if ending == ".c":
            text = c_source(specimen.graph, specimen.feeds, level or "op")
        else:
            text = python_source(specimen.graph, level or "op")
        write_text(file, text)
    wrote(file)
