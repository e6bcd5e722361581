"""`graphattn trace`: evaluate a graph and print every step, number by number."""

from __future__ import annotations

from typing import Any

import click

from .output import OUTPUT, counted, emit, progress
from .source import LEVEL, Whole, need_unpatched, read_specimen, specimen_options


@click.command(short_help="Run a graph and print every tensor of it.")
@specimen_options
@LEVEL
@click.option(
    "--exact/--pretty", default=False,
    help="Every digit and nothing left out, which reads back bit for bit; or four decimals.  [--pretty]",
)  # fmt: skip
@click.option(
    "--json", "as_json", is_flag=True, help="JSON, which reads back bit for bit; -o FILE.json implies it."
)
@click.option(
    "--tensor", "patterns", metavar="PATTERN", multiple=True,
    help="Only tensors whose names match, like '*.weights'. May be repeated.",
)  # fmt: skip
@click.option("--decimals", type=Whole(0), default=4, help="Decimals of a pretty number.  [4]")
@click.option("--limit", type=Whole(2), default=12, help="Rows and columns of a tensor that are shown.  [12]")
@click.option("--allow-nonfinite", is_flag=True, help="Let infinities and NaN in the feeds in.")
@OUTPUT
def command(
    level: str | None, exact: bool, as_json: bool, patterns: tuple[str, ...], decimals: int, limit: int,
    allow_nonfinite: bool, output: str | None, **source: Any,
) -> None:  # fmt: skip
    """Run SOURCE and print every tensor of it, step by step."""
    as_json = as_json or bool(output and output.lower().endswith(".json"))
    specimen = read_specimen(**source)
    keep = patterns if as_json and patterns else None
    with progress("evaluating") as say:
        if specimen.trace is not None and level is None and keep is None:
            trace = specimen.trace
        else:
            need_unpatched(specimen.trace)
            listener = counted(len(specimen.graph.at(level or "op")), say)
            trace = specimen.run(level=level, keep=keep, listeners=[listener], allow_nonfinite=allow_nonfinite)
        say("writing")
        if as_json:
            from graphattn.dumps.trace_json import trace_json

            text = trace_json(trace)
        else:
            from graphattn.dumps.trace_text import trace_text

            text = trace_text(trace, "exact" if exact else "pretty", decimals, limit, patterns or None)
    emit(text, output, exact=as_json or exact)
