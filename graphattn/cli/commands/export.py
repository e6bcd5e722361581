"""`graphattn export`: a graph as a program of its own, in C or Python, or as an ONNX model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ...core.errors import GraphError
from ..output import message, progress, wrote
from ..source import LEVEL, Whole, read_specimen, specimen_options

GROUP = "Take it elsewhere"
ENDINGS = (".c", ".py", ".onnx")


@click.command(short_help="Write a graph as a C or Python program, or an ONNX model.")
@specimen_options
@click.argument("file", metavar="FILE")
@LEVEL
@click.option("--opset", type=Whole(1), help="Of an .onnx file, 18 to 26.  [23]")
@click.option(
    "--attention", metavar="HOW",
    help="In an .onnx file: whole (one Attention for all heads), heads, or decomposed (MatMul and Softmax)."
    "  [whole]",
)  # fmt: skip
@click.option("--numbers", metavar="TYPE", help="Of an .onnx file: float32, or float for doubles.  [float32]")
@click.option(
    "--careful", is_flag=True, default=None,
    help="In an .onnx file: what stands behind a mask never leaks, infinity and NaN neither.",
)  # fmt: skip
def command(
    file: str, level: str | None, opset: int | None, attention: str | None, numbers: str | None,
    careful: bool | None, **options: Any,
) -> None:  # fmt: skip
    """Write SOURCE into FILE: .c is plain C99, .py imports nothing but math, .onnx needs graphattn[onnx].
    Level op or primitive for a program, any for a model.

    Compiled with -DGRAPHATTN_MAIN, the C file is a program that runs the feeds and prints every tensor. An
    ONNX model is fed the inputs; trained tensors are part of it.
    """
    ending = Path(file).suffix.lower()
    if ending not in ENDINGS:
        raise GraphError(f"{file} has no known ending; expected FILE.c, FILE.py or FILE.onnx")
    given = {"opset": opset, "attention": attention, "numbers": numbers, "exact": careful}
    given = {name: value for name, value in given.items() if value is not None}
    if given and ending != ".onnx":
        flag = "careful" if "exact" in given else next(iter(given))
        raise GraphError(f"--{flag} is for ONNX models; expected FILE.onnx with it")
    specimen = read_specimen(**options)
    with progress("writing"):
        said = _write(specimen, file, ending, level, given)
    for sentence in said:
        message(sentence)
    wrote(file)


def _write(specimen: Any, file: str, ending: str, level: str | None, given: dict[str, Any]) -> tuple[str, ...]:
    """Write the file; what is lost by it."""
    from graphattn.dumps.write import write_text

    graph = specimen.graph
    if ending == ".onnx":
        from ...core.op import find
        from ...onnx import save

        trained = {name: x for name, x in specimen.feeds.items() if graph.nodes[name].op is find("parameter")}
        return save(graph if level is None else graph.at(level), file, feeds=trained, **given)
    if ending == ".c":
        from graphattn.dumps.c_source import c_source

        write_text(file, c_source(graph, specimen.feeds, level or "op"))
    else:
        from graphattn.dumps.python_source import python_source

        write_text(file, python_source(graph, level or "op"))
    return ()
