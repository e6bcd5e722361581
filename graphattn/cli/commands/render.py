"""`graphattn render`: draw a graph as SVG, PNG, PDF or DOT."""

from __future__ import annotations

from typing import Any

import click

from ...core.errors import GraphError
from ..output import progress, wrote
from ..source import ENGINE, LEVEL, is_program, need_unpatched, read_graph, read_specimen, specimen_options

GROUP = "See a computation"
RUN = ("seed", "feed_files", "labels", "patches", "allow_nonfinite")
"""Options of a run, not of a graph."""


@click.command(short_help="Draw a graph as a block diagram.")
@specimen_options
@ENGINE
@LEVEL
@click.option("--theme", metavar="THEME", default="light", help="light, dark or print (no colours).  [light]")
@click.option("--values", is_flag=True, help="Run it too, and draw every tensor in its box.")
@click.option("-o", "--output", metavar="FILE", help="The picture: FILE.svg, FILE.png, FILE.pdf or FILE.dot.")
def command(level: str | None, theme: str, values: bool, output: str | None, **source: Any) -> None:
    """Draw SOURCE as a block diagram: clusters by scope, names and shapes on the edges, and with
    --values the numbers of a run in the boxes."""
    if output is None:
        raise GraphError("there is no file to draw into; expected -o FILE.svg, FILE.png or FILE.dot")
    feeding = {option: source.pop(option) for option in RUN}
    is_model = is_program(source["source"])  # whose feeds say how large it is
    if not values and any(
        given not in (None, ())
        for option, given in feeding.items()
        if not (is_model and option == "feed_files")
    ):
        raise GraphError(
            "--seed, --feeds, --allow-nonfinite, --labels and --patch are for a run;"
            " expected --values beside them"
        )
    from graphattn.dumps.picture import render

    trace = None
    with progress("drawing") as say:
        if values:
            specimen = read_specimen(**source, **feeding)
            graph, trace = specimen.graph, specimen.trace
            if trace is None or level is not None:
                need_unpatched(trace)
                say("evaluating")
                trace = specimen.run(level=level)
        else:
            graph = read_graph(**source, feed_files=feeding["feed_files"])
        say("drawing")
        render(graph, output, level=level or "op", theme=theme, trace=trace)
    wrote(output)
