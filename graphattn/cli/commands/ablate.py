"""`graphattn ablate`: what changes when a head, or any tensor, is replaced."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from ...core.errors import GraphError
from ...core.words import joined
from ..output import OUTPUT, emit, fitting_width, progress
from ..paint import CHANGES, painter
from ..patches import said
from ..source import ENGINE, read_specimen, specimen_options

GROUP = "Explain its numbers"


@click.command(short_help="Replace a tensor and see what changes after it.")
@specimen_options
@ENGINE
@click.option(
    "--all", "everything", is_flag=True, help="List also what stays as it is, and what only moves numbers."
)
@OUTPUT
def command(everything: bool, output: str | None, **source: Any) -> None:
    """Run SOURCE as it is and with --patch, and say what changes: the outputs first, then every tensor, by
    how much. This is the causal test of what `graphattn why --sources` says: --patch layer0.head1.out=zero
    takes a head away."""
    if not source.get("patches"):
        raise GraphError("nothing is replaced; expected --patch NAME=uniform, NAME=zero or NAME=FILE")
    from ...insight.changes import changes

    specimen = read_specimen(**source)
    with progress("evaluating") as say:
        before = replace(specimen, patch={}).run()
        say("evaluating with the patch")
        after = specimen.run()
        say("comparing")
        found = changes(before, after)
    causes = [f"{name} {said(entry)}" for name, entry in zip(specimen.patch, source["patches"], strict=True)]
    emit(found.text(joined(causes), everything, fitting_width(output)), output, painted=painter(CHANGES))
