"""`graphattn demo`: a trained model at work, explained step by step, and its files for a closer look."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...core.errors import GraphError
from ..output import FORCE, console, counted, progress

if TYPE_CHECKING:
    from ...core.specimen import Specimen
    from ...core.trace import Trace

GROUP = "See a computation"
FOLDER = "graphattn-demo"
STARTS = {
    "heads.svg": re.compile(rb'<\?xml [^>]*\?>\s*<svg role="img" aria-label="'),
    "model.svg": re.compile(rb'<\?xml [^>]*\?>\s*<svg role="img" aria-label="'),
    "trace.txt": re.compile(rb"graphattn trace \d"),
}
"""How what the demo writes begins: only such files are written anew."""
NEXT = {
    "graphattn demo abcdabcdabcd": "the same with a text of yours",
    "graphattn trace toy --tensor '*head0.weights'": "single tensors, by name",
    "graphattn trace block --n 3 --d 4 --causal": "one small block, every number",
    "graphattn render block -o block.svg": "and its picture",
    "graphattn ops softmax": "all there is to know of one op",
}


@click.command(short_help="Watch a trained model at work, step by step.")
@click.argument("text", default="")
@click.option("-o", "--output", "folder", metavar="FOLDER", default=FOLDER, help=f"Where files go.  [{FOLDER}]")
@FORCE
def command(text: str, folder: str, force: bool) -> None:
    """Watch a small trained model read TEXT (letters a to z) and guess each next letter.

    Prints the walk through it, and writes the diagram, the full dump and a page into a folder.
    """
    from ...weights import toy_induction
    from ..tour import tour

    specimen = toy_induction.toy_induction(text or toy_induction.TEXT)
    with progress("running the model") as say:
        trace = specimen.run(listeners=[counted(len(specimen.graph.at("op")), say)])
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise GraphError(f"{folder!r} is a file; expected a folder to write into")
    if not force:
        from graphattn.dumps.write import need_free

        need_free(target, {name: partial(_begins, start) for name, start in STARTS.items()})
    target.mkdir(parents=True, exist_ok=True)
    out = console()
    for line in tour(specimen, trace):
        out.print(line)
    written = _write(specimen, trace, target)
    out.print()
    out.print("Written, for a closer look", style="bold cyan")
    out.print()
    for path, what in written.items():
        out.print(f"  {target / path}".ljust(34) + what)
    out.print()
    out.print("What to try next", style="bold cyan")
    out.print()
    for line, what in NEXT.items():
        out.print(f"  {line}".ljust(52) + what)
    out.print()
    out.print("Walk through the run in a browser, from the induction head's cell", style="bold cyan")
    out.print()
    out.print(f"  {_page(trace, target)}")


def _begins(start: re.Pattern[bytes], content: bytes) -> bool:
    return start.match(content) is not None


def _page(trace: Trace, folder: Path) -> str:
    """Write the page; its address, with the cell that the last letter looks at most."""
    from graphattn.dumps.page import link, write_page

    from ..tour import INDUCTION

    with progress("writing the page"):
        path = write_page(folder / "page.html", trace)
    name = f"{INDUCTION}.weights"
    last = trace[name][-1]
    cell = (len(last) - 1, max(range(len(last)), key=last.__getitem__))
    return path.as_posix() + link(trace, name, cell)


def _write(specimen: Specimen, trace: Trace, folder: Path) -> dict[str, str]:
    """Draw and dump into a folder: what is in each file, by its name."""
    from graphattn.dumps.picture import render
    from graphattn.dumps.trace_text import trace_text
    from graphattn.dumps.write import write_text

    from ...weights import toy_induction

    with progress("drawing"):
        render(specimen.graph, folder / "heads.svg", level="head")
        render(specimen.graph, folder / "model.svg", level="op")
    with progress("writing the dump"):
        write_text(folder / "trace.txt", trace_text(trace, limit=toy_induction.CONTEXT))
    return {
        "heads.svg": "the model as a picture, a box for each head",
        "model.svg": "the same, with what is inside the heads",
        "trace.txt": f"all {len(trace.names)} tensors of this run, number by number",
    }
