"""`graphattn trace`: evaluate a graph and print every step, number by number."""

from __future__ import annotations

from typing import Any

import click

from ..trace import Trace
from .output import OUTPUT, counted, emit, progress
from .source import LEVEL, read_specimen, specimen_options


@click.command(short_help="Run a graph and print every tensor of it.")
@specimen_options
@LEVEL
@click.option(
    "--exact", "precision", flag_value="exact", help="Every digit, nothing left out: reads back bit for bit."
)
@click.option(
    "--pretty", "precision", flag_value="pretty", default="pretty", help="Four decimals.  [the default]"
)
@click.option("--json", "as_json", is_flag=True, help="JSON, which reads back bit for bit.")
@click.option(
    "--tensor", "patterns", metavar="PATTERN", multiple=True,
    help="Only tensors whose names match, like '*.weights'. May be repeated.",
)  # fmt: skip
@click.option("--allow-nonfinite", is_flag=True, help="Let infinities and NaN in the feeds in.")
@OUTPUT
def command(
    level: str | None, precision: str, as_json: bool, patterns: tuple[str, ...], allow_nonfinite: bool,
    output: str | None, **source: Any,
) -> None:  # fmt: skip
    """Run SOURCE and print every tensor of it, step by step."""
    specimen = read_specimen(**source)
    graph = specimen.graph.at(level or "op")
    with progress("evaluating") as say:
        trace = specimen.run(level=level, allow_nonfinite=allow_nonfinite, listeners=[counted(len(graph), say)])
        say("writing")
        text = _text(trace, precision, as_json, patterns)
    emit(text, output, exact=as_json or precision == "exact")


def _text(trace: Trace, precision: str, as_json: bool, patterns: tuple[str, ...]) -> str:
    if as_json:
        from graphattn.dumps.trace_json import trace_json

        return trace_json(trace)
    from graphattn.dumps.trace_text import trace_text

    return trace_text(trace, precision=precision, only=patterns or None)
