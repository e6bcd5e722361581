"""`graphattn check`: a learner's file, graded function by function."""

from __future__ import annotations

import json

import click

from ...core.errors import GraphError
from ..output import emit, progress

GROUP = "Compare with another implementation"


@click.command(short_help="Grade an implementation of attention, or a worksheet.")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--contract", default="model", metavar="CONTRACT",
    help="What the file must do: model (seven functions on lists), scalar (Value, SelfAttention), or a Python"
    " file with the right functions and CASES; of a worksheet, the sheet that was handed out.  [model]",
)  # fmt: skip
@click.option(
    "--reveal", default="cause", metavar="HOW",
    help="How much is told: none, place (which call fails, and where), or cause (and what was expected, and"
    " the mistake).  [cause]",
)  # fmt: skip
@click.option("--seconds", type=float, default=10.0, metavar="S", help="What one function may take.  [10]")
@click.option("--megabytes", type=int, default=1024, metavar="MB", help="Memory that one may take.  [1024]")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_context
def command(
    ctx: click.Context, files: tuple[str, ...], contract: str, reveal: str, seconds: float, megabytes: int,
    as_json: bool,
) -> None:  # fmt: skip
    """Grade each FILE: Python, which is executed, or a worksheet that was filled in (.xlsx), of which each
    square is marked. Several are shown as a table. Exit status 1: something is wrong."""
    if not seconds > 0 or megabytes < 64:
        raise GraphError(
            f"limits of {seconds:g} s and {megabytes} MB; expected more than 0 s and 64 MB or more"
        )
    from ...check import check
    from ...check.report import table

    reports = []
    for file in files:
        with progress(f"grading {file}"):
            reports.append(check(file, contract, reveal=reveal, seconds=seconds, megabytes=megabytes))
    if as_json:
        data = [report.data() for report in reports]
        written = json.dumps(data if len(data) > 1 else data[0], indent=2, ensure_ascii=False) + "\n"
    else:
        written = (table(reports) if len(reports) > 1 else reports[0].text()) + "\n"
    emit(written, None, exact=as_json)
    ctx.exit(0 if all(report.right for report in reports) else 1)
