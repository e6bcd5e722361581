"""Golden vectors as source: constant arrays of C, Rust, JavaScript and Python.

C and Rust hold each tensor flat, in row-major order, with its shape. In C they are members of one struct, where
`log` and `y1` are free, and a table lists them all by name. JavaScript and Python hold nested lists.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from typing import Any

from graphattn.core import nested
from graphattn.core.numbers import FLOAT
from graphattn.dumps.golden.vectors import Vector

WIDTH = 100
C_HEAD = """#ifndef GRAPHATTN_VECTORS_H
#define GRAPHATTN_VECTORS_H
#include <math.h>
#include <stddef.h>

/* Each tensor flat, in row-major order: tensors.q. vectors[] lists them by name, with their shapes. */
static const struct {
"""
C_TABLE = """struct graphattn_vector {{
    const char *name;
    char kind; /* 'f' double, 'i' long long, 'b' unsigned char */
    const void *cells;
    size_t size, rank, shape[{ranks}];
}};
static const struct graphattn_vector vectors[] = {{"""


def c(vectors: list[Vector]) -> Iterator[tuple[str, str]]:
    """A header; C99 and C++. Sizes of 0 are held as one cell, since C has no empty arrays."""
    types = {"float": "double", "int": "long long", "bool": "unsigned char"}
    special = {math.inf: "INFINITY", -math.inf: "-INFINITY", None: "NAN"}
    lines = [C_HEAD.rstrip()]
    for v in vectors:
        lines.append(f"    {types[v.spec.kind]} {v.identifier}[{max(v.spec.size, 1)}]; /* {_comment(v)} */")
    lines.append("} tensors = {")
    for v in vectors:
        cells = _cells(v, special, {True: "1", False: "0"}) or ["0"]
        lines += [f"    {{ /* {v.identifier} */", *wrapped(cells, "       "), "    },"]
    lines += ["};", "", C_TABLE.format(ranks=max([1, *(v.spec.rank for v in vectors)]))]
    for v in vectors:
        name, shape = json.dumps(v.name), ", ".join(map(str, v.spec.shape)) or "1"
        told = f"{name}, '{v.spec.kind[0]}', tensors.{v.identifier}, {v.spec.size}, {v.spec.rank}, {{{shape}}}"
        lines.append(f"    {{{told}}},")
    lines += ["};", f"static const size_t vector_count = {len(vectors)};", "", "#endif", ""]
    yield "vectors.h", "\n".join(lines)


def rust(vectors: list[Vector]) -> Iterator[tuple[str, str]]:
    """A module."""
    types = {"float": "f64", "int": "i64", "bool": "bool"}
    special = {math.inf: "f64::INFINITY", -math.inf: "f64::NEG_INFINITY", None: "f64::NAN"}
    lines = ["//! Each tensor flat, in row-major order, beside its shape.", "#![allow(dead_code)]", ""]
    for v in vectors:
        cells = _cells(v, special, {True: "true", False: "false"})
        name = v.identifier.upper()
        lines += [f"/// {_comment(v)}", f"pub static {name}: [{types[v.spec.kind]}; {v.spec.size}] = ["]
        lines += [*wrapped(cells), "];"]
        shape = ", ".join(map(str, v.spec.shape))
        lines += [f"pub static {name}_SHAPE: [usize; {v.spec.rank}] = [{shape}];", ""]
    yield "vectors.rs", "\n".join(lines)


def js(vectors: list[Vector]) -> Iterator[tuple[str, str]]:
    """An ES module with one export, an object by name."""
    special = {math.inf: "Infinity", -math.inf: "-Infinity", None: "NaN"}
    text = _nested(special, {True: "true", False: "false"})
    lines = [f"  // {_comment(v)}\n  [{json.dumps(v.name)}]: {text(v.value)}," for v in vectors]
    yield "vectors.mjs", "export const vectors = {\n" + "\n".join(lines) + "\n};\n"


def python(vectors: list[Vector]) -> Iterator[tuple[str, str]]:
    """A module with one dict, by name."""
    special = {math.inf: "inf", -math.inf: "-inf", None: "nan"}
    text = _nested(special, {True: "True", False: "False"})
    lines = [f"    # {_comment(v)}\n    {json.dumps(v.name)}: {text(v.value)}," for v in vectors]
    head = "from math import inf, nan  # noqa: F401\n\nvectors = {\n"
    yield "vectors.py", head + "\n".join(lines) + "\n}\n"


def _comment(v: Vector) -> str:
    shape = " x ".join(map(str, v.spec.shape)) or "scalar"
    return f"{v.name}: {v.role}, {v.op}, {shape}".encode("ascii", "backslashreplace").decode()


def _cell(special: dict[Any, str], flags: dict[bool, str]) -> Callable[[Any], str]:
    """How a cell is spelled; `special` has the infinities, and NaN by None."""

    def spelled(cell: Any) -> str:
        if isinstance(cell, bool):
            return flags[cell]
        if isinstance(cell, float) and not math.isfinite(cell):
            return special[None if cell != cell else cell]
        return FLOAT.text(cell) if isinstance(cell, float) else str(cell)

    return spelled


def _cells(v: Vector, special: dict[Any, str], flags: dict[bool, str]) -> list[str]:
    return [_cell(special, flags)(cell) for cell in nested.flat(v.value)]


def _nested(special: dict[Any, str], flags: dict[bool, str]) -> Callable[[Any], str]:
    spelled = _cell(special, flags)

    def text(value: Any) -> str:
        if isinstance(value, (list, tuple)):
            return "[" + ", ".join(map(text, value)) + "]"
        return spelled(value)

    return text


def wrapped(cells: list[str], indent: str = "   ") -> Iterator[str]:
    """Cells with commas, as many as fit a line."""
    line = indent
    for cell in cells:
        if len(line) + len(cell) + 2 > WIDTH:
            yield line
            line = indent
        line += f" {cell},"
    if line.strip():
        yield line
