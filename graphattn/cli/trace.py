"""`graphattn trace`: evaluate a graph and print every step, number by number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..core.errors import GraphError, suggest
from ..core.numbers import names
from ..core.rounded import FORMATS
from .output import OUTPUT, counted, emit, progress, wrote
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
@click.option("--markdown", "as_markdown", is_flag=True, help="Markdown; -o FILE.md implies it.")
@click.option(
    "--csv", "folder", metavar="FOLDER",
    help="Write into a new FOLDER, a CSV file for each tensor, which reads back bit for bit.",
)  # fmt: skip
@click.option("--csv-labels", is_flag=True, help="With --csv: labels in the first row and column of each file.")
@click.option(
    "--tensor", "patterns", metavar="PATTERN", multiple=True,
    help="Only tensors whose names match, like '*.weights'. May be repeated.",
)  # fmt: skip
@click.option(
    "--precision", "short", metavar="TYPE",
    help="Beside a run in float32, float16 or bfloat16: the error of each step, and what the step added."
    " Sums are taken in float32; in the type itself with float16:float16 or bfloat16:bfloat16.",
)  # fmt: skip
@click.option("--decimals", type=Whole(0), default=4, help="Decimals of a pretty number.  [4]")
@click.option("--limit", type=Whole(2), default=12, help="Rows and columns of a tensor that are shown.  [12]")
@click.option("--allow-nonfinite", is_flag=True, help="Let infinities and NaN in the feeds in.")
@OUTPUT
def command(
    level: str | None, exact: bool, as_json: bool, as_markdown: bool, folder: str | None, csv_labels: bool,
    patterns: tuple[str, ...], short: str | None, decimals: int, limit: int, allow_nonfinite: bool,
    output: str | None, **source: Any,
) -> None:  # fmt: skip
    """Run SOURCE and print every tensor of it, step by step."""
    form = _form(exact, as_json, as_markdown, folder, csv_labels, short, bool(patterns), output)
    specimen = read_specimen(**source)
    keep = patterns if form in ("json", "csv") and patterns else None
    with progress("evaluating") as say:
        if specimen.trace is not None and level is None and keep is None:
            trace = specimen.trace
        else:
            need_unpatched(specimen.trace)
            listener = counted(len(specimen.graph.at(level or "op")), say)
            trace = specimen.run(level=level, keep=keep, listeners=[listener], allow_nonfinite=allow_nonfinite)
        say("writing")
        text = ""
        if folder is not None:
            from graphattn.dumps.csv_folder import write_csv_folder

            write_csv_folder(folder, trace, labelled=csv_labels)
        elif short is not None:
            from graphattn.dumps.precision_text import precision_text

            rounded = specimen.run(numbers=short, allow_nonfinite=allow_nonfinite)
            text = precision_text(trace, rounded)
        elif form == "json":
            from graphattn.dumps.trace_json import trace_json

            text = trace_json(trace)
        elif form == "markdown":
            from graphattn.dumps.markdown import trace_markdown

            text = trace_markdown(trace, decimals, limit, patterns or None)
        else:
            from graphattn.dumps.trace_text import trace_text

            text = trace_text(trace, form, decimals, limit, patterns or None)
    if folder is not None:
        wrote(folder)
    else:
        emit(text, output, exact=form not in ("pretty", "precision"))


def _form(
    exact: bool, as_json: bool, as_markdown: bool, folder: str | None, csv_labels: bool, short: str | None,
    selected: bool, output: str | None,
) -> str:  # fmt: skip
    """pretty, exact, json, markdown, csv or precision. Raises a `GraphError` where options contradict
    each other."""
    asked = [
        ("--json", as_json), ("--markdown", as_markdown), ("--csv", folder is not None),
        ("--precision", short is not None),
    ]  # fmt: skip
    told = [option for option, given in asked if given]
    if len(told) > 1:
        raise GraphError(f"{' and '.join(told)} do not go together; expected one of them")
    if csv_labels and folder is None:
        raise GraphError("--csv-labels does not apply here; expected it with --csv FOLDER")
    if folder is not None and output is not None:
        raise GraphError(f"--csv writes into {folder!r}; expected no -o beside it")
    types = [name for name in names() if name.partition(":")[0] in FORMATS]
    if short is not None and short not in types:
        known = ", ".join(types) + suggest(short, types)
        raise GraphError(f"--precision {short!r} is no short float; expected one of {known}")
    suffix = Path(output).suffix.lower() if output else ""
    by_suffix = {".json": "json", ".md": "markdown", ".markdown": "markdown"}.get(suffix)
    form = told[0].removeprefix("--") if told else by_suffix or ("exact" if exact else "pretty")
    if form == "markdown" and exact:
        raise GraphError("Markdown is not exact; expected --exact with text, or --json or --csv")
    if form == "precision" and (exact or selected):
        raise GraphError("--precision is a table of all steps; expected no --exact and no --tensor beside it")
    return form
