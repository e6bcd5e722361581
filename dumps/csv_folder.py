"""A trace as a folder of CSV files, one for each tensor, and back.

    run/
        manifest.json                   what is in which file
        graph.txt                       the graph, in the form of `graph_text`
        X.csv                           a row of numbers a line
        head0.weights.csv
        head0.weights~masked.csv        True where a cell is hidden, where any is

A file holds one row of the tensor a line, in the shortest digits that read back to the same number.
A scalar is one line of one cell, a tensor of one axis one line. Of three axes and more, the rows of
all slices stand below each other, and each begins with its index along the axes before the last two
(so a line of a 2 × 3 × 4 tensor has one index and four numbers): the files stay rectangular, and any
spreadsheet or data frame takes them. with `labels`, a first line and first cells say what the rows
and columns are: labels where the axes have them, else numbers; the reader goes past them. A label
that a spreadsheet would take for a formula has an apostrophe before it.

    {"format": "graphattn trace folder", "version": 1, "numbers": "float", "labelled": false,
     "labels": {"token": ["the", …]}, "graph": "graph.txt",
     "tensors": {"head0.weights": {"file": "head0.weights.csv", "masked": "head0.weights~masked.csv",
                                   "shape": [3, 3], "axes": ["token", "token"], "kind": "float",
                                   "op": "softmax"}},
     "steps": [{"name": "head0.weights", "patched": [], "warnings": []}]}

`tensors` has what was recorded; `steps` every node that the run came to. Files are named after their
tensors. Where Windows, or a system that takes `K` for `k`, could not hold such a name, it is changed
by a `~`, which no tensor has in its name.

The folder is written whole or not at all. Read back, nobody vouches for it: only plain files in the
folder itself are opened, and whatever does not fit raises a `GraphError` that names the file.
"""

from __future__ import annotations

import csv
import io
import math
import os
import stat
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from graphattn.core import nested
from graphattn.core.axes import Spec, describe
from graphattn.core.errors import GraphError
from graphattn.core.graph import Graph
from graphattn.core.limits import most_bytes, need_bytes
from graphattn.core.numbers import Numbers, of
from graphattn.core.trace import Trace
from graphattn.core.words import integer, sizes, typed
from graphattn.dumps.assembly import place
from graphattn.dumps.graph_json import VERSION, check_format, entry, json_text, need, read_json, spec_data
from graphattn.dumps.graph_text import graph_text, parse_graph
from graphattn.dumps.literals import shortened
from graphattn.dumps.recording import Recording
from graphattn.dumps.rows import TensorRow, step_rows
from graphattn.dumps.table import READERS, folded, label, need_few_rows, no_cells
from graphattn.dumps.trace_text import need_sources, printing
from graphattn.dumps.write import write_folder

FORMAT = "graphattn trace folder"
MANIFEST = "manifest.json"
GRAPH = "graph.txt"
FIELD_LIMIT = 131_072
"""Python's own reader takes no longer field."""
NAME_LIMIT = 100
DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{i}" for port in ("com", "lpt") for i in "0123456789¹²³")}
"""What Windows takes for a device, whatever follows the first dot."""
FORMULA = ("=", "+", "-", "@")
BOOL = Spec((), kind="bool")


# ---------------------------------------------------------------- writing


def write_csv_folder(path: str | os.PathLike[str], trace: Trace, labels: bool = False) -> Path:
    """Write the trace into a folder (see the module's docstring); the path.

    labels: whether each file has labels in its first line and first cells. A folder that is there
    already is replaced only if it is empty or such a trace. Raises a `GraphError` where it is not, or
    where nothing can be written.
    """
    with printing():
        return write_folder(path, _bounded(_files(trace, labels)), _written)


def _bounded(files: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The files, as long as all of them together are read back."""
    size = 0
    for name, text in files:
        size += len(text)
        need_bytes("the folder of the trace", size)
        yield name, text


def _files(trace: Trace, labelled: bool) -> Iterator[tuple[str, str]]:
    """Name and text of each file."""
    name_of = _FileNames()
    tensors: dict[str, Any] = {}
    steps = []
    for row in step_rows(trace):
        steps.append(
            {
                "name": row.name,
                "patched": [tensor.name for tensor in row.tensors if tensor.patched],
                "warnings": list(row.warnings),
            }
        )
        for tensor in row.tensors:
            if tensor.value is None:
                continue
            file, masked = name_of(tensor.name), None
            yield file, _csv(tensor, tensor.value, _text_of(tensor.spec, trace.numbers), labelled)
            if tensor.mask is not None and any(nested.flat(tensor.mask)):
                masked = name_of(tensor.name, "~masked")
                yield masked, _csv(tensor, tensor.mask, str, labelled)
            told = {"file": file, "masked": masked, **spec_data(tensor.spec), "op": row.op.name}
            tensors[tensor.name] = told
    yield GRAPH, graph_text(trace.graph)
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "numbers": trace.numbers.name,
        "labelled": labelled,
        "labels": {axis: list(labels) for axis, labels in trace.labels.items()},
        "graph": GRAPH,
        "tensors": tensors,
        "steps": steps,
    }
    yield MANIFEST, json_text(manifest)


class _FileNames:
    """Names for files that every system can hold side by side, as near to the tensors' as can be."""

    def __init__(self) -> None:
        self.taken: set[str] = set()

    def __call__(self, tensor: str, ending: str = "") -> str:
        stem = tensor if len(tensor.encode()) <= NAME_LIMIT else f"{_cut(tensor, NAME_LIMIT)}~"
        if stem.partition(".")[0].lower() in DEVICES:
            stem = f"~{stem}"
        for turn in count(1):
            name = f"{stem}{'' if turn == 1 else f'~{turn}'}{ending}.csv"
            key = unicodedata.normalize("NFKC", name.casefold())
            if key not in self.taken:
                self.taken.add(key)
                return name
        raise AssertionError


def _cut(text: str, size: int) -> str:
    """The first letters of a text, at most `size` bytes."""
    return text.encode()[:size].decode(errors="ignore")


def _text_of(spec: Spec, numbers: Numbers) -> Any:
    return numbers.text if spec.kind == "float" else integer if spec.kind == "int" else str


def _csv(tensor: TensorRow, value: Any, text_of: Any, labelled: bool) -> str:
    """One tensor, or its mask, as CSV."""
    if not tensor.spec.size:
        need_few_rows(tensor.spec)
    written = io.StringIO(newline="")
    writer = csv.writer(written, lineterminator="\n")
    rank = tensor.spec.rank
    if labelled and rank:
        axes = tensor.spec.axes[:-1]
        corner = [_shown(label(axis)) if axis else f"axis {i}" for i, axis in enumerate(axes)]
        heads = (_label(tensor, -1, j) for j in range(tensor.spec.shape[-1]))
        writer.writerow(_fields(tensor.name, [*corner, *heads]))
    for index, row in nested.rows(value, rank):
        cells = _fields(tensor.name, map(text_of, row))
        if labelled:
            heads = _fields(tensor.name, (_label(tensor, axis, i) for axis, i in enumerate(index)))
            writer.writerow([*heads, *cells])
        else:
            writer.writerow([*index[:-1], *cells])
    return written.getvalue()


def _fields(name: str, texts: Iterable[str]) -> list[str]:
    """The cells of a row. Raises a `GraphError` for one that is too long to be read."""
    fields = list(texts)
    longest = max(map(len, fields), default=0)
    if longest > FIELD_LIMIT:
        raise GraphError(
            f"{name} has a cell of {longest:,} letters, and readers of CSV take {FIELD_LIMIT:,};"
            " expected a shorter one, or .txt or .json"
        )
    return fields


def _label(tensor: TensorRow, axis: int, i: int) -> str:
    labels = tensor.labels[axis]
    return _shown(label(labels[i])) if labels else str(i)


def _shown(text: str) -> str:
    """A label that no spreadsheet evaluates."""
    return f"'{text}" if text.startswith(FORMULA) else text


def _written(folder: Path) -> Collection[str]:
    """What a folder was written with, by its own manifest; nothing where it has none of ours."""
    try:
        data = _manifest(_Folder(folder))
        tensors = entry(data, "tensors", dict, MANIFEST).values()
        files = {told.get(key) for told in tensors for key in ("file", "masked") if isinstance(told, dict)}
    except GraphError:
        return ()
    return {MANIFEST, GRAPH, *(file for file in files if isinstance(file, str))}


# ---------------------------------------------------------------- reading


def read_csv_folder(path: str | os.PathLike[str], limit: int | None = None) -> Trace:
    """The trace in a folder that `write_csv_folder` wrote, bit for bit.

    limit: the most bytes that are read, by default `limits.most_bytes`.

    Raises a `GraphError` that names the file, the line where there
    is one, and what was expected.
    """
    folder = _Folder(path, limit)
    with place(repr(folder.name)):
        data = _manifest(folder)
        if entry(data, "graph", str, MANIFEST) != GRAPH:
            raise GraphError(f"{MANIFEST}: graph is {shortened(data['graph'])}; expected {GRAPH!r}")
        text = folder.read(GRAPH)
        with place(GRAPH):
            graph = parse_graph(text)
            need_sources(graph, "the graph")
        reader = _Reader(folder, graph, data)
        reader.read()
        with place(MANIFEST):
            return reader.restore(reader.labels)


def is_csv_folder(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a folder with a manifest in it."""
    return os.path.isfile(os.path.join(path, MANIFEST))


def _manifest(folder: _Folder) -> dict[str, Any]:
    data = read_json(folder.read(MANIFEST), MANIFEST)
    check_format(data, FORMAT, MANIFEST)
    return data


class _Folder:
    """A folder of which plain files are read, no more bytes in all than `limit`."""

    def __init__(self, path: Any, limit: int | None = None) -> None:
        try:
            self.name = os.fspath(path)
        except TypeError:
            raise GraphError(f"path is {typed(path)}; expected a folder") from None
        self.limit = self.left = most_bytes() if limit is None else limit

    def read(self, file: str) -> str:
        """The text of a file in this folder. Raises where it is not one: a link, a device, a path."""
        if not _is_plain(file):
            raise GraphError(f"{shortened(file)} is not the name of a file in this folder; expected one")
        path = os.path.join(self.name, file)
        try:
            if not stat.S_ISREG(os.lstat(path).st_mode):
                raise GraphError(f"{file!r} is a link, a folder or a device; expected a plain file")
            # the file may have been exchanged for a link since: never follow one, never wait for a pipe
            flags = sum(getattr(os, flag, 0) for flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))
            with open(os.open(path, os.O_RDONLY | flags), "rb") as opened:
                data = opened.read(self.left + 1)
        except (OSError, ValueError) as error:
            if isinstance(error, GraphError):
                raise
            reason = getattr(error, "strerror", None) or error
            raise GraphError(f"{file!r} was not read: {reason}; expected a file of this trace") from None
        self.left -= len(data)
        if self.left < 0:
            raise GraphError(f"its files hold more than {self.limit} bytes; expected fewer")
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise GraphError(f"{file!r} is not UTF-8 (byte {error.start}); expected text") from None


def _is_plain(file: str) -> bool:
    """Whether this is the name of a file, on any system, without a way to elsewhere."""
    here = file not in ("", ".", "..") and "\0" not in file and len(file.encode(errors="replace")) <= 255
    return here and PurePosixPath(file).name == file == PureWindowsPath(file).name and ":" not in file


class _Reader(Recording):
    """Reads the recorded tensors and steps."""

    def __init__(self, folder: _Folder, graph: Graph, data: Mapping[str, Any]) -> None:
        with place(MANIFEST):
            super().__init__(graph, of(entry(data, "numbers", str)))
            self.labelled = entry(data, "labelled", bool)
            self.labels = {
                axis: [need(item, str, f"a label of axis {axis!r}") for item in need(items, list, "labels")]
                for axis, items in entry(data, "labels", dict).items()
            }
        self.folder = folder
        self.data = data

    def read(self) -> None:
        """Take in the steps, then the tensors."""
        for i, step in enumerate(entry(self.data, "steps", list, MANIFEST)):
            with place(f"{MANIFEST}: steps[{i}]"):
                self.step(
                    entry(need(step, dict, "it"), "name", str),
                    [need(item, str, "a warning") for item in entry(step, "warnings", list)],
                    [need(item, str, "a patched tensor") for item in entry(step, "patched", list)],
                )
        specs = {
            node.tensor_name(port): spec
            for node in map(self.graph.node, self.evaluated)
            for port, spec in enumerate(node.outputs)
        }
        seen: set[str] = set()
        for name, told in entry(self.data, "tensors", dict, MANIFEST).items():
            with place(f"{MANIFEST}: tensor {shortened(name)}"):
                if name not in specs:
                    raise GraphError("no step of the trace gives it; expected a tensor that one gives")
                self._check(need(told, dict, "it"), specs[name])
                files = [entry(told, "file", str), entry(told, "masked", str, "", None)]
                for file in files:
                    if file in seen:
                        raise GraphError(f"{shortened(file)} is another tensor's file too; expected its own")
                    if file is not None:
                        seen.add(file)
            value, mask = files
            self.tensor(
                name,
                self._tensor(value, specs[name], specs[name].kind),
                None if mask is None else self._tensor(mask, specs[name], BOOL.kind),
            )

    def _check(self, told: Mapping[str, Any], spec: Spec) -> None:
        """What the manifest says of a tensor must be what the graph gives."""
        shape, kind = entry(told, "shape", list), entry(told, "kind", str)
        if shape != list(spec.shape) or kind != spec.kind:
            said = f"{sizes(shape[:8])} of {kind}"
            raise GraphError(f"it is {shortened(said)}; the graph gives {describe(spec)}")

    def _tensor(self, file: str, spec: Spec, kind: str) -> Any:
        """The value in one file."""
        rows = list(self._rows(file, spec, kind))
        with place(repr(file)):
            expected = math.prod(spec.shape[:-1])
            if len(rows) != expected:
                raise GraphError(f"it has {len(rows)} rows; expected {expected} for {describe(spec)}")
            if not spec.size:
                return no_cells(spec)
        return folded(rows, spec.shape) if spec.rank else rows[0][0]

    def _rows(self, file: str, spec: Spec, kind: str) -> Iterator[list[Any]]:
        """The rows in one file, without what tells where they are."""
        text = self.folder.read(file)
        read = READERS[kind]
        columns = spec.shape[-1] if spec.rank else 1
        before = max(spec.rank - (1 if self.labelled else 2), 0)
        expected = math.prod(spec.shape[:-1])
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        with _lines_of(file, reader):
            if self.labelled and spec.rank:
                _need_cells(next(reader, []), before + columns)
            for i, row in enumerate(reader):
                if i >= expected:
                    raise GraphError(f"it is one row too many; expected {expected} for {describe(spec)}")
                _need_cells(row, before + columns)
                if not self.labelled and before:
                    _need_index(row[:before], i // spec.shape[-2], spec.shape[:-2])
                yield [read(cell, self.numbers) for cell in row[before:]]


@contextmanager
def _lines_of(file: str, reader: Any) -> Iterator[None]:
    """Let errors name the file and the line that was read last."""
    try:
        yield
    except (GraphError, csv.Error) as error:
        raise GraphError(f"{file!r}, line {reader.line_num}: {error}") from None


def _need_cells(row: Sequence[str], expected: int) -> None:
    if len(row) != expected:
        raise GraphError(f"it has {len(row)} cells; expected {expected}")


def _need_index(found: Sequence[str], place_: int, sizes: Sequence[int]) -> None:
    """The index of a slice stands before its rows."""
    index: list[str] = []
    for size in reversed(sizes):
        place_, i = divmod(place_, size)
        index.append(str(i))
    if list(found) != index[::-1]:
        raise GraphError(f"the row begins {shortened(','.join(found))}; expected {','.join(index[::-1])!r}")
