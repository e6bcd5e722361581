"""Golden vectors: the inputs and every intermediate of a run as files for another language's tests.

    golden(trace, "vectors/", "c", command="graphattn golden block -o vectors")

    vectors/
        README.txt       what this is, and how to make it again
        manifest.json    every tensor: name, identifier, shape, kind, role, op, where it stands
        graph.txt        the graph, in the form of `graph_text`
        vectors.h        the numbers (vectors.json, .npz, .safetensors, .rs, .js, .py, or a folder of .csv)

Every float has the shortest digits that read back to the same double. Identifiers are names with what no
language takes in a name replaced by `_`. A format is one line of `FORMATS`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from graphattn.core.errors import GraphError, suggest
from graphattn.core.trace import Trace
from graphattn.dumps.golden.vectors import Vector, vectors
from graphattn.dumps.graph_json import json_text
from graphattn.dumps.graph_text import graph_text
from graphattn.dumps.write import write_folder

MANIFEST = "manifest.json"
FORMAT = "graphattn golden vectors"


@dataclass(frozen=True, slots=True)
class Format:
    """A language or a file format. `writer` gives, of the vectors, each file's name and its text or bytes."""

    name: str
    writer: str
    """Module of this package and function, as `source:c`."""
    help: str

    @property
    def write(self) -> Callable[[list[Vector]], Iterator[tuple[str, str | bytes]]]:
        module, _, function = self.writer.partition(":")
        return getattr(import_module(f"graphattn.dumps.golden.{module}"), function)


FORMATS: Mapping[str, Format] = {
    form.name: form
    for form in (
        Format("json", "data:json", "one JSON file of nested lists"),
        Format("csv", "data:csv", "a CSV file for each tensor"),
        Format("npz", "data:npz", "one file for numpy"),
        Format("safetensors", "data:safetensors", "one file for PyTorch and others"),
        Format("c", "source:c", "a header of constant arrays"),
        Format("rust", "source:rust", "a module of constant arrays"),
        Format("js", "source:js", "a module of nested arrays"),
        Format("python", "source:python", "a module of nested lists"),
    )
}


def golden(trace: Trace, folder: str | os.PathLike[str], form: str = "json", command: str = "") -> Path:
    """Write the vectors of a trace into a new folder (see the module's docstring); its path.

    command: how to make them again, for the README. Raises a `GraphError` for an unknown format, for a tensor
    that was not kept, and where the folder holds something else.
    """
    if form not in FORMATS:
        raise GraphError(f"format is {form!r}; expected one of {', '.join(FORMATS)}{suggest(form, FORMATS)}")
    return write_folder(folder, _files(trace, FORMATS[form], command), _written)


def _files(trace: Trace, form: Format, command: str) -> Iterator[tuple[str, Any]]:
    found = vectors(trace)
    names = []
    for name, content in form.write(found):
        names.append(name)
        yield name, content
    yield "graph.txt", graph_text(trace.graph)
    yield "README.txt", _readme(trace, form, command, names)
    yield MANIFEST, json_text(_manifest(trace, form, command, names, found))


def _readme(trace: Trace, form: Format, command: str, names: list[str]) -> str:
    shown = names[0] if len(names) == 1 else f"{len(names)} files"
    again = f"Made by: {command}\n" if command else ""
    return (
        f"Golden vectors of the graph {trace.graph.name}: its inputs and every intermediate, in {shown}.\n"
        f"{again}"
        f"Arithmetic: {trace.numbers.name} (float is IEEE 754 double precision); every digit is given.\n"
        "Hidden cells are -inf in scores and 0 in weights.\n"
        "manifest.json says what each tensor is; graph.txt is the graph.\n"
    )


def _manifest(
    trace: Trace, form: Format, command: str, names: list[str], found: list[Vector]
) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": 1,
        "graph": trace.graph.name,
        "numbers": trace.numbers.name,
        "written_as": form.name,
        "made_by": command,
        "files": names,
        "labels": {axis: list(labels) for axis, labels in trace.labels.items()},
        "outputs": {name: trace.graph.tensor_name(tensor.ref) for name, tensor in trace.graph.outputs.items()},
        "tensors": [
            {
                "name": vector.name,
                "identifier": vector.identifier,
                "role": vector.role,
                "op": vector.op,
                "shape": list(vector.spec.shape),
                "axes": list(vector.spec.axes),
                "kind": vector.spec.kind,
            }
            for vector in found
        ],
    }


def _written(folder: Path) -> set[str]:
    """What a folder was written with, by its own manifest; nothing where it has none of ours."""
    import json

    try:
        data = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        files = data["files"] if data["format"] == FORMAT else None
    except (OSError, ValueError, KeyError, TypeError):
        return set()
    if not isinstance(files, list) or not all(isinstance(name, str) for name in files):
        return set()
    return {MANIFEST, "README.txt", "graph.txt", *files}
