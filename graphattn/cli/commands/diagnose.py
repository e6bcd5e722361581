"""`graphattn diagnose`: which mistake gives these numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from ...core.errors import GraphError
from ..output import OUTPUT, emit, fitting_width, progress
from ..paint import COMPARISON, painter
from ..source import fed_options, need_unpatched, read_specimen
from ..theirs import feeds_beside, need_numbers, need_sizes, read_pairs, read_recording, recorded

if TYPE_CHECKING:
    from ...core.specimen import Specimen
    from ...insight.compare.recording import Recording

GROUP = "Compare with another implementation"


@click.command(short_help="Name the mistake behind a wrong result.")
@fed_options
@click.argument("theirs", metavar="[THEIRS]", required=False)
@click.option(
    "--name", "names", metavar="NAME=THEIRS", multiple=True,
    help="A tensor's name in SOURCE and in THEIRS; head*.x stands for all heads, x[0, 1] for a part. May be"
    " repeated.",
)  # fmt: skip
@click.option("--precision", metavar="FORMAT", help="float64, float32, float16, bfloat16, or so many decimals.")
@click.option(
    "--budget", type=float, metavar="SECONDS",
    help="How long to search, in seconds of work of the processor.  [10, and 20 for pairs]",
)  # fmt: skip
@click.option(
    "--pairs/--no-pairs", default=True, help="Whether two mistakes at once are looked for.  [--pairs]"
)
@click.option(
    "--reveal", default="cause", metavar="HOW", help="How much is told: none, place or cause.  [cause]"
)
@click.option("--probe", is_flag=True, help="Instead: inputs on which the usual mistakes can all be seen.")
@click.option("--picture", metavar="FILE", help="Draw the first finding, what it changes marked.")
@click.option("--markdown", is_flag=True, help="The report as Markdown.")
@click.option("--json", "as_json", is_flag=True, help="The same for programs; -o FILE.json implies it.")
@OUTPUT
@click.pass_context
def command(
    ctx: click.Context, theirs: str | None, names: tuple[str, ...], precision: str | None,
    budget: float | None, pairs: bool, reveal: str, probe: bool, picture: str | None, markdown: bool,
    as_json: bool, output: str | None, **source: Any,
) -> None:  # fmt: skip
    """Name the mistake behind THEIRS, numbers that SOURCE should have given but did not.

    THEIRS is a trace or a file of tensors (.npz, .npy, .safetensors, .json, .csv, .txt, or a folder): the final
    output is enough, intermediates help. What SOURCE is fed is taken from its feeds; inputs that THEIRS has
    come before those.

    Exit status 0: it is right, or what differs is harmless. 1: it is not. 2: bad input.
    """
    from ...insight.diagnose import diagnose
    from ...insight.diagnose.probe import probe as find_probe
    from ...insight.diagnose.report import check_reveal

    check_reveal(reveal)
    if markdown and as_json:
        raise GraphError("both --markdown and --json are given; expected one of them")
    if theirs is None and not probe:
        raise GraphError("no numbers are given; expected THEIRS after SOURCE, or --probe")
    as_json = as_json or bool(output and output.lower().endswith(".json"))
    recording = None if probe or theirs is None else read_recording(theirs)
    pairs_of_names = read_pairs(names, "SOURCE", "THEIRS")
    fed = None if recording is None else recorded(source["source"], recording, pairs_of_names)
    specimen = read_specimen(**source, drawn=recording is None, recorded=fed)
    need_unpatched(specimen.trace)
    with progress("looking for the mistake") as say:
        if recording is None:
            found = find_probe(specimen.graph, specimen.feeds)
            text = json.dumps(dict(found.feeds), indent=1) if as_json else str(found)
            emit(text, output, exact=as_json)
            return
        need_numbers(specimen.graph, recording, pairs_of_names)
        need_sizes(source["source"], specimen.graph, recording, source["heads"])
        own = _own(specimen, recording, pairs_of_names, theirs or "", source)
        done = diagnose(
            specimen.graph, own, recording, names=pairs_of_names, precision=_precision(precision),
            budget=budget, pairs=pairs, say=say,
        )  # fmt: skip
        if picture and done.findings and reveal == "cause":
            done.findings[0].picture(picture)
        text = (
            json.dumps(done.data(reveal), ensure_ascii=False, indent=1) if as_json
            else done.markdown(reveal) if markdown else done.text(reveal, fitting_width(output))
        )  # fmt: skip
    emit(text, output, exact=as_json, painted=None if as_json or markdown else painter(COMPARISON))
    ctx.exit(0 if done.agrees else 1)


def _own(
    specimen: Specimen, recording: Recording, names: Mapping[str, str], theirs: str, source: Mapping[str, Any]
) -> dict[str, Any]:
    """What to feed that THEIRS did not record: what was given, by that very name; what is drawn, by any that
    compare finds an input by. Nothing is drawn beside feeds that were given, unless a seed is given too."""
    from ...insight.compare.feeding import unrecorded

    own = {
        name: value
        for name, value in specimen.feeds.items()
        if name not in specimen.drawn and name not in names and recording.find(name) is None
    }
    missing = [name for name in unrecorded(specimen.graph, recording, names) if name not in own]
    seed, files = source["seed"], source["feed_files"]
    if seed is not None or not (own or files):
        drawn = missing
    else:
        drawn = [name for name in missing if name in specimen.drawn]
    return own | feeds_beside(specimen, drawn, theirs, source["source"], seed or 0)


def _precision(given: str | None) -> str | int | None:
    return int(given) if given is not None and given.isdigit() else given
