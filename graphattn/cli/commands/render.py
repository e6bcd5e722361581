"""`graphattn render`: draw a graph as SVG, PNG, PDF or DOT."""

from __future__ import annotations

from typing import Any

import click

from ...core.errors import GraphError
from ..output import progress, wrote
from ..source import LEVEL, graph_options, read_graph

GROUP = "See a computation"


@click.command(short_help="Draw a graph as a block diagram.")
@graph_options
@LEVEL
@click.option("--theme", metavar="THEME", default="light", help="light, dark or print (no colours).  [light]")
@click.option("-o", "--output", metavar="FILE", help="The picture: FILE.svg, FILE.png, FILE.pdf or FILE.dot.")
def command(level: str | None, theme: str, output: str | None, **source: Any) -> None:
    """Draw SOURCE as a block diagram: clusters by scope, names and shapes on the edges."""
    if output is None:
        raise GraphError("there is no file to draw into; expected -o FILE.svg, FILE.png or FILE.dot")
    graph = read_graph(**source)
    from graphattn.dumps.picture import render

    with progress("drawing"):
        render(graph, output, level=level or "op", theme=theme)
    wrote(output)
