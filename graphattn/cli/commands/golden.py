"""`graphattn golden`: the inputs and every intermediate of a run, as files for another language's tests."""

from __future__ import annotations

import shlex
import sys
from typing import Any

import click

from ...core.errors import GraphError
from ..output import progress, wrote
from ..source import LEVEL, need_unpatched, read_specimen, specimen_options

GROUP = "Take it elsewhere"


@click.command(short_help="Write every intermediate for another language's tests.")
@specimen_options
@LEVEL
@click.option(
    "--format", "form", default="json", metavar="FORMAT",
    help="json, csv, npz, safetensors, c, rust, js or python.  [json]",
)  # fmt: skip
@click.option("-o", "--output", metavar="FOLDER", help="A new folder, or one that was written so.")
def command(level: str | None, form: str, output: str | None, **options: Any) -> None:
    """Run SOURCE and write what went in, what came out and all between, every digit of it."""
    if output is None:
        raise GraphError("there is no folder to write into; expected -o FOLDER")
    specimen = read_specimen(**options)
    from graphattn.dumps.golden import golden

    with progress("evaluating") as say:
        if specimen.trace is not None and level is None:
            trace = specimen.trace
        else:
            need_unpatched(specimen.trace)
            trace = specimen.run(level=level)
        say("writing")
        golden(trace, output, form, command=f"graphattn {shlex.join(sys.argv[1:])}")
    wrote(output)
