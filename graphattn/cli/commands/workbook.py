"""`graphattn workbook`: a spreadsheet in which every computed cell is a live formula."""

from __future__ import annotations

from typing import Any

import click

from ...core.errors import GraphError
from ..output import progress, wrote
from ..source import LEVEL, need_unpatched, read_specimen, specimen_options

GROUP = "Take it elsewhere"


@click.command(short_help="Write a spreadsheet whose cells are live formulas.")
@specimen_options
@LEVEL
@click.option("-o", "--output", metavar="FILE", help="The workbook: a name that ends in .xlsx.")
def command(level: str | None, output: str | None, **options: Any) -> None:
    """Run SOURCE and write every tensor as a table of formulas: change a number, and all below follows."""
    if output is None or not output.lower().endswith(".xlsx"):
        raise GraphError(f"the workbook would go to {output or 'no file'}; expected -o FILE.xlsx")
    specimen = read_specimen(**options)
    from graphattn.dumps.workbook import check, workbook
    from graphattn.dumps.write import write_bytes

    with progress("evaluating") as say:
        if specimen.trace is not None and level is None:
            trace = specimen.trace
        else:
            need_unpatched(specimen.trace)
            check(specimen.graph.at(level or "op"))
            trace = specimen.run(level=level)
        say("writing")
        write_bytes(output, workbook(trace))
    wrote(output)
