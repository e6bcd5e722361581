"""`graphattn next`: what a model says comes next, and a text continued."""

from __future__ import annotations

from typing import Any

import click

from ...core.errors import GraphError
from ..output import OUTPUT, emit, message, progress
from ..source import ENGINE, Whole, read_specimen, specimen_options

GROUP = "See a computation"


@click.command(short_help="What a language model says comes next.")
@specimen_options
@ENGINE
@click.argument("words", metavar="[TEXT]", required=False)
@click.option("--count", type=Whole(1), default=10, help="Rows of the table.  [10]")
@click.option("--generate", type=Whole(1), help="Continue the text with so many tokens, the likeliest each.")
@OUTPUT
def command(words: str | None, count: int, generate: int | None, output: str | None, **source: Any) -> None:
    """The likeliest tokens after a text, with their probabilities: the softmax of the last row of
    the logits. TEXT is what a trained model reads, as --text."""
    if words is not None and source.get("text") is not None:
        raise GraphError("both TEXT and --text are given; expected one of them")
    source["text"] = source.get("text") if words is None else words
    from ...models import generation

    with progress("evaluating"):
        specimen = read_specimen(**source)
        if generate is None:
            text = generation.next_text(generation.next_tokens(specimen.trace or specimen.run(), count))
        else:
            from ..source import model_options

            steps = generation.generate(source["source"], count=generate, **model_options(source))
            found = []
            try:
                found.extend(step.token for step in steps)
            except GraphError as error:
                if not found:
                    raise
                message(f"after {len(found)} tokens: {error}")
            text = generation.next_text(found)
    emit(text, output)
