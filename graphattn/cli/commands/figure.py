"""`graphattn figure`: draw tensors of a run as labelled heat maps."""

from __future__ import annotations

from typing import Any

import click

from ...core.errors import GraphError
from ..output import counted, progress, wrote
from ..source import ENGINE, LEVEL, need_unpatched, read_specimen, specimen_options

GROUP = "See a computation"


@click.command(short_help="Draw tensors of a run as heat maps.")
@specimen_options
@ENGINE
@click.argument("tensors", metavar="TENSOR...", nargs=-1)
@LEVEL
@click.option("--theme", metavar="THEME", default="light", help="light, dark or print (no colours).  [light]")
@click.option("-o", "--output", metavar="FILE", help="The picture: a name that ends in .svg, .png or .pdf.")
def command(tensors: tuple[str, ...], level: str | None, theme: str, output: str | None, **source: Any) -> None:
    """Run SOURCE and draw each TENSOR (a name, its ending, or a pattern like '*.weights') as a heat
    map: labelled, masked cells hatched, heads side by side, layers and heads in a grid."""
    if not tensors:
        raise GraphError(
            "there is no tensor to draw; expected names or patterns behind SOURCE, like '*.weights'"
        )
    if output is None:
        raise GraphError("there is no file to draw into; expected -o FILE.svg, FILE.png or FILE.pdf")
    from graphattn.dumps.figure import figure, suffix_of

    suffix_of(output)
    specimen = read_specimen(**source)
    with progress("evaluating") as say:
        if specimen.trace is not None and level is None:
            trace = specimen.trace
        else:
            need_unpatched(specimen.trace)
            listener = counted(len(specimen.graph.at(level or "op")), say)
            trace = specimen.run(level=level, listeners=[listener])
        say("drawing")
        figure(trace, tensors, theme).save(output)
    wrote(output)
