"""`graphattn ablate`: what changes when a head, or any tensor, is replaced."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from ...core.errors import GraphError
from ..output import OUTPUT, emit, fitting_width, progress
from ..paint import COMPARISON, painter
from ..source import ENGINE, read_specimen, specimen_options

GROUP = "Explain its numbers"


@click.command(short_help="Replace a tensor and see what changes after it.")
@specimen_options
@ENGINE
@click.option("--all", "everything", is_flag=True, help="List also the tensors that stay as they are.")
@OUTPUT
def command(everything: bool, output: str | None, **source: Any) -> None:
    """Run SOURCE as it is and with --patch, and compare the two: the reference is the run as it is,
    yours is the one with the patch. This is the causal test of what `graphattn why --sources` says:
    --patch layer0.head1.out=zero takes a head away."""
    if not source.get("patches"):
        raise GraphError("nothing is replaced; expected --patch NAME=uniform, NAME=zero or NAME=FILE")
    from ...insight.compare import compare

    specimen = read_specimen(**source)
    with progress("evaluating") as say:
        before = replace(specimen, patch={}).run()
        say("evaluating with the patch")
        after = specimen.run()
        say("comparing")
        found = compare(before, after)
    emit(found.text(everything, fitting_width(output)), output, painted=painter(COMPARISON))
