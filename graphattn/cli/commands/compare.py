"""`graphattn compare`: where two recordings of the same computation part, and how."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from ...core.errors import GraphError
from ..output import OUTPUT, emit, fitting_width, progress
from ..paint import COMPARISON, painter
from ..source import ENGINE, GRAPH, LEVEL, is_graph, read_specimen
from ..theirs import feeds_beside, need_numbers, need_sizes, read_pairs, read_recording, recorded

if TYPE_CHECKING:
    from ...insight.compare.recording import Recording

GROUP = "Compare with another implementation"


def size_options(command: Any) -> Any:
    """The options of a built-in graph, without SOURCE."""
    for option in reversed(GRAPH[1:]):
        command = option(command)
    return command


@click.command(short_help="Find where two recordings part, and what the relation is.")
@click.argument("mine", metavar="A")
@click.argument("theirs", metavar="B")
@click.option(
    "--name", "names", metavar="A=B", multiple=True,
    help="A tensor's name in A and in B; head*.x stands for all heads, x[0, 1] for a part. May be repeated.",
)  # fmt: skip
@click.option("--by", default="name", metavar="HOW", help="Match tensors by name, or by value alone.  [name]")
@click.option(
    "--precision", metavar="FORMAT",
    help="Derive tolerances from float64, float32, bfloat16 or float16.  [what the numbers hold]",
)  # fmt: skip
@click.option("--rtol", type=float, help="Let cells differ by this part of A's cell.")
@click.option("--atol", type=float, help="Let cells differ by this much.")
@click.option("--nan-equal", is_flag=True, help="NaN agrees with NaN.")
@click.option("--masked-below", type=float, help="Cells this small or smaller are masked too.")
@click.option("--empty", metavar="POLICY", help="What B gives where nothing is seen: zero, nan, uniform, any.")
@click.option("--all", "everything", is_flag=True, help="List the tensors that agree, too.")
@click.option("--diagnose", "named", is_flag=True, help="Name the mistake too, where A is a graph.")
@click.option("--json", "as_json", is_flag=True, help="The same for programs; -o FILE.json implies it.")
@size_options
@LEVEL
@ENGINE
@OUTPUT
@click.pass_context
def command(
    ctx: click.Context, mine: str, theirs: str, names: tuple[str, ...], by: str, precision: str | None,
    rtol: float | None, atol: float | None, nan_equal: bool, masked_below: float | None, empty: str | None,
    everything: bool, named: bool, as_json: bool, level: str | None, engine: str | None,
    output: str | None, **source: Any,
) -> None:  # fmt: skip
    """Compare B with A: which tensor is the first that differs though its inputs agree, and how.

    \b
    A is one of
      a recording   a trace saved as text or JSON; tensors in .npz, .npy, .safetensors, .json,
                    .csv, or a .txt with lines `name = [values]`; a folder of such files
      a graph       built-in, saved, a .py file, an .onnx model or a .pt2 program; it is run on the
                    inputs that B recorded
      a model       the folder of a trained one, with --text or --ids
    B is a recording.

    Exit status 0: they agree. 1: they do not, or too few digits were printed to tell. 2: bad input.
    """
    from ...insight.compare import compare

    pairs = read_pairs(names, "A", "B")
    width = fitting_width(output)
    with progress("comparing") as say:
        say(f"reading {theirs}")
        recording = read_recording(theirs)
        say(f"reading {mine}")
        own, feeds = _own(mine, recording, pairs, level, source)
        say("comparing")
        found = compare(
            own, recording, names=pairs, by=by, precision=precision, rtol=rtol,
            atol=atol, nan_equal=nan_equal, masked_below=masked_below, empty=empty, feeds=feeds, level=level,
            engine=engine,
        )  # fmt: skip
        as_json = as_json or bool(output and output.lower().endswith(".json"))
        mistake = None
        if named and not found.agrees:
            say("looking for the mistake")
            mistake = _mistake(own, feeds, recording, pairs, precision)
        data = found.data() if mistake is None else {**found.data(), "diagnosis": mistake.data()}
        told = found.text(everything, width) + ("" if mistake is None else f"\n{mistake.text(width=width)}")
        text = json.dumps(data, ensure_ascii=False, indent=1) if as_json else told
    emit(text, output, exact=as_json, painted=None if as_json else painter(COMPARISON))
    ctx.exit(0 if found.agrees else 1)


def _mistake(own: Any, feeds: Any, recording: Any, names: dict[str, str], precision: str | None) -> Any:
    """What diagnose says of the same two. Raises a `GraphError` where A is no graph."""
    from ...core.graph import Graph
    from ...insight.diagnose import diagnose

    if not isinstance(own, Graph):
        raise GraphError("--diagnose needs a graph to plant mistakes in; expected A to be one, not a recording")
    return diagnose(own, feeds, recording, names=names, precision=precision)


def _own(
    mine: str, theirs: Recording, names: dict[str, str], level: str | None, source: dict[str, Any]
) -> tuple[Any, Any]:
    """A, and what to feed it where it is a graph: what B did not record."""
    from ...builtin import GRAPHS
    from ...insight.compare.feeding import unrecorded

    if not is_graph(mine):
        given = [name for name, value in source.items() if value is not None]
        if given:
            raise GraphError(f"--{given[0]} does not apply to {mine}; expected it with {', '.join(GRAPHS)}")
        return read_recording(mine), None
    specimen = read_specimen(mine, drawn=False, recorded=recorded(mine, theirs, names), **source)
    if specimen.trace is not None and level is None:
        return specimen.trace, None
    need_numbers(specimen.graph, theirs, names)
    need_sizes(mine, specimen.graph, theirs, source["heads"])
    missing = unrecorded(specimen.graph, theirs, names)
    return specimen.graph, feeds_beside(specimen, missing, "B", "A")
