"""`graphattn why`: how one number came about, or with --reach what it touches."""

from __future__ import annotations

import json
import math
from typing import Any

import click

from ...core.errors import GraphError
from .. import completion
from ..output import OUTPUT, emit, fitting_width, progress
from ..paint import WHY, painter
from ..source import ENGINE, LEVEL, Whole, need_unpatched, read_specimen, specimen_options

GROUP = "Explain its numbers"


class Depth(click.ParamType):
    """A whole number of 1 or more, or `all`."""

    name = "depth"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        if value == "all":
            return math.inf
        try:
            return Whole(1).convert(value, param, ctx)
        except click.UsageError:
            self.fail(f"expected a whole number of 1 or more or all, got {str(value)[:40]!r}", param, ctx)


@click.command(short_help="Explain how one number came about.")
@specimen_options
@ENGINE
@click.argument("tensor", metavar="TENSOR", shell_complete=completion.tensors)
@click.argument("index", metavar="[INDEX]...", nargs=-1)
@LEVEL
@click.option("--depth", type=Depth(), default="1", help="How many cells deep: a number, or all.  [1]")
@click.option("--reach", is_flag=True, help="The other way round: which later cells does this one touch?")
@click.option(
    "--sources", "split", is_flag=True,
    help="Split the cell over what wrote it: embeddings, heads, feed-forwards, biases.",
)  # fmt: skip
@click.option("--by", metavar="WHAT", help="With --sources: head, layer or token.  [head]")
@click.option(
    "--through", metavar="PATTERN", multiple=True,
    help="With --sources: heads and feed-forwards to look through, like 'layer0.*'. May be repeated.",
)  # fmt: skip
@click.option(
    "--against", metavar="INDEX", help="With --sources: the difference to this cell of the last axis."
)
@click.option(
    "--ablate", type=Whole(0), metavar="COUNT",
    help="With --sources: what the cell loses without each of so many sources, the rest run again.",
)  # fmt: skip
@click.option("--digits", type=Whole(0), default=6, help="Decimals that are shown.  [6]")
@click.option("--width", type=Whole(40), help="The longest line.  [the terminal's, or 80]")
@click.option("--cells", type=Whole(1), help="How many cells are written out at most.  [a screenful]")
@click.option("--parts/--no-parts", default=True, help="Whether max, mean, Σ exp … are written out.  [--parts]")
@click.option("--markdown", is_flag=True, help="A nested list in Markdown.")
@click.option("--json", "as_json", is_flag=True, help="Every cell with its exact number, which recomputes.")
@OUTPUT
def command(
    tensor: str, index: tuple[str, ...], level: str | None, depth: float, reach: bool, split: bool,
    by: str | None, through: tuple[str, ...], against: str | None, ablate: int | None, digits: int,
    width: int | None, cells: int | None, parts: bool, markdown: bool, as_json: bool, output: str | None,
    **source: Any,
) -> None:  # fmt: skip
    """Explain how the cell of TENSOR at INDEX came about: the formula, the numbers, the cells they
    came from. INDEX is a number or a label for each axis; negative numbers go behind `--`."""
    if markdown and as_json:
        raise GraphError("both --markdown and --json are given; expected one of them")
    if digits > 17:
        raise GraphError(f"--digits is {digits}; expected at most 17")
    if not split and (by or through or against or ablate):
        raise GraphError(
            "--by, --through, --against and --ablate say how --sources splits; expected it with them"
        )
    if split and (reach or markdown):
        raise GraphError("--sources is a table of its own; expected no --reach or --markdown beside it")
    width = width or fitting_width(output)
    specimen = read_specimen(**source)
    with progress("evaluating") as say:
        if specimen.trace is not None and level is None:
            trace = specimen.trace
        else:
            need_unpatched(specimen.trace)
            trace = specimen.run(level=level)
        say("looking back")
        if split:
            found = trace.sources(
                tensor, *index, by=by or "head", through=through, against=against, ablate=ablate or 0
            )
            text = (
                json.dumps(found.record(), ensure_ascii=False, indent=1) if as_json else found.text(width=width)
            )
        elif reach:
            found = trace.reach(tensor, *index)
            text = found.json() if as_json else found.markdown() if markdown else found.text(width or 80)
        else:
            why = trace.why(tensor, *index, depth="all" if depth == math.inf else int(depth))
            text = (
                why.json() if as_json
                else why.markdown(digits, parts, cells or 12) if markdown
                else why.text(width or 80, digits, parts, cells)
            )  # fmt: skip
    plain = as_json or markdown or split or reach
    emit(text, output, exact=as_json, painted=None if plain else painter(WHY))
