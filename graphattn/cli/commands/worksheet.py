"""`graphattn worksheet`: numbers to fill in by hand, their solution, and a spreadsheet that checks itself."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

import click

from ...core.errors import GraphError
from ..output import FORCE, message, progress, wrote
from ..source import LEVEL, read_specimen, specimen_options

GROUP = "Take it elsewhere"
MOST = 500
"""The most sheets that one call writes."""


@click.command(short_help="Write sheets to fill in by hand, with solutions.")
@specimen_options
@LEVEL
@click.option(
    "--blank", metavar="NAMES",
    help="The tensors to fill in, by name or pattern: weights,out.  [all that are computed]",
)  # fmt: skip
@click.option("--seeds", metavar="A..B", help="A sheet for each seed: 1..30.")
@click.option("--title", default="", help="What stands above the sheet.  [the graph's title]")
@click.option("-o", "--output", metavar="FOLDER", help="The folder that the files go into.")
@FORCE
def command(
    source: str, level: str | None, blank: str | None, seeds: str | None, title: str, output: str | None,
    force: bool, seed: int | None, **options: Any,
) -> None:  # fmt: skip
    """Leave tensors of SOURCE blank, to be filled in by hand.

    Each sheet is a page to print (one A4 side, where that is possible) and its solution, the same as Markdown,
    and a spreadsheet that marks each square while it is filled in; `graphattn check` grades it. The inputs that
    are not fed are drawn, so that hands can do the numbers.
    """
    if output is None:
        raise GraphError("there is no folder to write into; expected -o FOLDER")
    wanted = _seeds(seeds, seed)
    specimen = read_specimen(source, seed=0, drawn=False, **options)
    if specimen.trace is not None or specimen.patch:
        raise GraphError(f"{source} is a run with its numbers; expected a graph, whose numbers can be drawn")
    from ...worksheet import Exercises

    names = None if blank is None else [name.strip() for name in blank.split(",") if name.strip()]
    feeds = _given(source, specimen.feeds, options)
    made = Exercises(specimen.graph, names, feeds, specimen.labels, level or "op", title)
    with progress("drawing numbers") as say:
        for number in wanted:
            say(f"seed {number}")
            sheet = made.sheet(number, f"graphattn worksheet {shlex.quote(source)}")
            sheet.save(output, force)
            if not sheet.nice:
                message(f"seed {number}: no small numbers were found; the sheet has decimals")
            if sheet.sides > 1:
                message(f"seed {number}: the page takes {sheet.sides} sides; --blank names fewer tensors")
    wrote(output)


def _seeds(seeds: str | None, seed: int | None) -> range:
    if seeds is None:
        return range(seed or 0, (seed or 0) + 1)
    if seed is not None:
        raise GraphError("--seed and --seeds are both given; expected one of them")
    told = re.fullmatch(r"(\d{1,9})(?:\.\.(\d{1,9}))?", seeds.strip())
    if not told:
        raise GraphError(f"--seeds is {seeds[:40]!r}; expected two whole numbers: 1..30")
    first, last = int(told[1]), int(told[2] or told[1])
    if not first <= last < first + MOST:
        raise GraphError(f"--seeds {seeds} is {last - first + 1:,} sheets; expected 1 to {MOST}")
    return range(first, last + 1)


def _given(source: str, feeds: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """The feeds that are not drawn: those of the source, or for a built-in graph those of --feeds."""
    from ...builtin import GRAPHS, random_feeds

    if source not in GRAPHS:
        return dict(feeds)
    if not options.get("feed_files"):
        return {}
    from ..source import read_graph

    sizes = ("n", "d", "heads", "causal", "projections", "text", "ids", "layers")
    given: dict[str, Any] = {name: options.get(name) for name in sizes}
    drawn = random_feeds(read_graph(source, **given), 0)
    return {name: value for name, value in feeds.items() if value != drawn.get(name)}
