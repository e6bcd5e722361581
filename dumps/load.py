"""Read a graph or a trace from a file, text or JSON alike, or a trace from a folder of CSV files.

The form is recognised from how the file begins. Files are untrusted: a file that is too large, not
UTF-8, or anything else than a graph or a trace raises a `GraphError` that names it and says what
was expected.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from graphattn.core.errors import GraphError
from graphattn.core.graph import Graph
from graphattn.core.limits import ANOTHER, most_bytes
from graphattn.core.trace import Trace
from graphattn.core.words import typed
from graphattn.dumps import csv_folder, graph_json, graph_text, trace_json, trace_npz, trace_text
from graphattn.dumps.assembly import place
from graphattn.dumps.literals import shortened


def load_graph(path: str | os.PathLike[str], limit: int | None = None) -> Graph:
    """The graph in a file that `graph_text` or `graph_json` wrote."""
    return _load(path, limit, "graph")


def load_trace(path: str | os.PathLike[str], limit: int | None = None) -> Trace:
    """The trace in a file that `trace_text(…, precision="exact")` or `trace_json` wrote, or in a folder
    that `write_csv_folder` wrote."""
    if isinstance(path, (str, os.PathLike)):
        if csv_folder.is_csv_folder(path):
            return csv_folder.read_csv_folder(path, limit)
        if Path(path).suffix.lower() == ".npz":
            return _readable(trace_npz.read_trace_npz, path)
    return _load(path, limit, "trace")


def load(path: str | os.PathLike[str]) -> Trace | Graph:
    """What `trace.save` or a graph's text or JSON wrote: a trace, or a graph. Raises a `GraphError` for
    anything else."""
    if isinstance(path, (str, os.PathLike)) and (os.path.isdir(path) or Path(path).suffix.lower() == ".npz"):
        return load_trace(path)
    return _load(path, None, None)


def _readable(read: Callable[[Any], Trace], path: Any) -> Trace:
    """What a reader reads, and a sentence where the file cannot be opened."""
    try:
        return read(path)
    except (OSError, zipfile.BadZipFile) as error:
        reason = getattr(error, "strerror", None) or error
        raise GraphError(f"{os.fspath(path)!r} was not read: {reason}; expected a file") from None


def _load(path: Any, limit: int | None, wanted: str | None) -> Any:
    text = read_text(path, limit)
    with place(f"{os.fspath(path)!r}"):
        return _parsed(text, wanted)


def _parsed(text: str, wanted: str | None) -> Any:
    """The graph or trace in a text of either form; `wanted` is None where both will do."""
    if text.startswith("graphattn "):
        found = text[len("graphattn ") :].partition(" ")[0]
        wanted = _need_wanted(found, wanted)
        return graph_text.parse_graph(text) if wanted == "graph" else trace_text.read_trace(text)
    if text.lstrip()[:1] == "{":
        data = graph_json.read_json(text, "JSON")
        found = str(data.get("format")).removeprefix("graphattn ")
        wanted = _need_wanted(found, wanted)
        return graph_json.graph_of(data, "JSON") if wanted == "graph" else trace_json.trace_of(data, "JSON")
    what = wanted or "graph or trace"
    raise GraphError(
        f"it begins with {shortened(text[:80].strip())}; expected a {what} as text or JSON of graphattn"
    )


def _need_wanted(found: str, wanted: str | None) -> str:
    """What to read it as."""
    if wanted is not None and found != wanted and found in ("graph", "trace"):
        raise GraphError(f"it holds a {found}; expected a {wanted} (load_{found} reads it)")
    return wanted or ("graph" if found == "graph" else "trace")


def read_text(path: Any, limit: int | None = None) -> str:
    """The text of a UTF-8 file of at most `limit` bytes (`limits.most_bytes`)."""
    limit = most_bytes() if limit is None else limit
    try:
        name = os.fspath(path)
    except TypeError:
        raise GraphError(f"path is {typed(path)}; expected a file name") from None
    try:
        if Path(name).is_dir():
            raise GraphError(f"{name!r} is a folder; expected a file")
        with open(name, "rb") as file:
            data = file.read(limit + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, GraphError):
            raise
        raise GraphError(
            f"{name!r} was not read: {getattr(error, 'strerror', None) or error}; expected a file"
        ) from None
    if len(data) > limit:
        raise GraphError(f"{name!r} is larger than {limit} bytes; expected a smaller file ({ANOTHER})")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise GraphError(f"{name!r} is not UTF-8 (byte {error.start}); expected a text file") from None
