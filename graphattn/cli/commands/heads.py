"""`graphattn heads`: what each attention head of a model does on a text."""

from __future__ import annotations

import json
from typing import Any

import click

from ...core.errors import GraphError
from ..output import OUTPUT, emit, progress
from ..source import Whole, read_specimen, specimen_options

GROUP = "See a computation"


@click.command(short_help="What each attention head does on a text, ranked.")
@specimen_options
@click.argument("words", metavar="[TEXT]", required=False)
@click.option("--by", metavar="SCORE", help="Rank by this column.  [what a head stands out in]")
@click.option("--limit", type=Whole(1), help="Rows of the table.  [all]")
@click.option("--thumbnails", type=Whole(0), default=6, help="Heads whose maps are drawn small.  [6]")
@click.option("--json", "as_json", is_flag=True, help="Every score as JSON.")
@OUTPUT
def command(
    words: str | None, by: str | None, limit: int | None, thumbnails: int, as_json: bool,
    output: str | None, **source: Any,
) -> None:  # fmt: skip
    """Score every head: how much of its attention goes to the previous token, the next, the same
    token, an earlier mention of it, what came after that (induction), the first token, separators,
    punctuation; and how evenly it is spread. A row `even` has what even attention would give. TEXT
    is what a trained model reads, as --text."""
    if words is not None and source.get("text") is not None:
        raise GraphError("both TEXT and --text are given; expected one of them")
    source["text"] = source.get("text") if words is None else words
    specimen = read_specimen(**source)
    with progress("evaluating"):
        from ...insight.heads import heads

        found = heads(specimen.trace or specimen.run())
    if as_json:
        emit(json.dumps(found.record(), ensure_ascii=False, indent=1), output, exact=True)
    else:
        emit(found.text(by, limit, thumbnails), output)
