"""`graphattn view`: a run as one page to walk through, in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ...core.errors import GraphError
from ..output import counted, message, progress, wrote
from ..source import ENGINE, need_unpatched, read_specimen, specimen_options

GROUP = "See a computation"


@click.command(short_help="Write a page to walk through a run, cell by cell.")
@specimen_options
@ENGINE
@click.option("-o", "--output", metavar="FILE", help="The page, an .html file.  [SOURCE.html, if that is free]")
@click.option("--reference", metavar="TRACE", help="A saved run of the same graph to hold it against.")
@click.option(
    "--theme", metavar="THEME", default="auto", help="auto (the reader's system), light or dark.  [auto]"
)
@click.option("--open", "at_once", is_flag=True, help="Open it in the browser at once.")
def command(output: str | None, reference: str | None, theme: str, at_once: bool, **source: Any) -> None:
    """Write a run of SOURCE as one HTML file: its block diagram, in which any box opens in place, the
    numbers of each tensor, and how each came about. It opens from disk and sends nothing."""
    target = _target(output, source["source"])
    specimen = read_specimen(**source)

    with progress("evaluating") as say:
        if specimen.trace is not None:
            trace = specimen.trace
        else:
            need_unpatched(specimen.trace)
            listener = counted(len(specimen.graph.at("op")), say)
            trace = specimen.run(listeners=[listener])
        other = None
        if reference is not None:
            from graphattn.dumps.load import load_trace

            other = load_trace(reference)
        say("writing the page")
        path = trace.page(target, reference=other, theme=theme)
    wrote(path)
    if at_once:
        import webbrowser

        if not webbrowser.open(path.resolve().as_uri()):
            message("there is no browser to open it in")


def _target(output: str | None, source: str) -> Path:
    """The file to write: one that is asked for, or a free name of the source's own."""
    if output is not None:
        if Path(output).suffix.lower() not in (".html", ".htm"):
            raise GraphError(f"{output!r} is no name of a page; expected one that ends in .html")
        return Path(output)
    path = Path(f"{Path(source).stem}.html")
    if path.exists():
        raise GraphError(f"{str(path)!r} is there already; expected -o FILE.html")
    return path
