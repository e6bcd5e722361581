"""What someone recorded, whoever it was and in whatever form: tensors by name.

    read(source) -> Recording

source: a `Trace`; a dict of tensors (nested lists, or anything with `.tolist()`: PyTorch, JAX,
numpy); or the path of a trace saved as text or JSON, of a .npz, .npy, .safetensors, .csv or .json
of tensors, of a text file with `name = [values]`, or of a folder of such files.

A tensor is kept as its rows (the lists along its last axis, in row-major order): a scalar is one
row of one cell. Values of a trace are not copied. Files are not trusted: whatever is wrong with
one is a `GraphError` that names it.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from graphattn.dumps.load import load_trace, read_text

from ...core import nested
from ...core.errors import GraphError, suggest
from ...core.numbers import FLOAT, dot
from ...core.tensor_file import READERS, TensorFile, read_tensors
from ...core.trace import Trace
from .plain_text import read_plain_text

Rows = list[list[Any]]
FILE_LIMIT = 4096
"""The most files of a folder that are read."""
SAVED = re.compile(r"graphattn (trace|graph) ")
SAVED_JSON = re.compile(r'"format"\s*:\s*"graphattn (trace|graph)"')


@dataclass(frozen=True)
class Recorded:
    """One tensor: its rows along the last axis, in row-major order."""

    name: str
    shape: tuple[int, ...]
    rows: Rows

    @cached_property
    def flat(self) -> list[Any]:
        """Every cell, in row-major order."""
        return self.rows[0] if len(self.rows) == 1 else list(chain.from_iterable(self.rows))

    @cached_property
    def spread(self) -> float:
        """The root of the mean square of its cells, those of masks and what is not finite aside."""
        if self.size:
            squares = math.fsum(dot(row, row) for row in self.rows)
            if squares < self.size * 1e8:  # nothing masked, infinite or NaN
                return math.sqrt(squares / self.size)
        cells = [x for x in self.flat if -1e9 < x < 1e9]
        return math.sqrt(math.fsum(x * x for x in cells) / len(cells)) if cells else 0.0

    @property
    def size(self) -> int:
        return len(self.rows) * self.width

    @property
    def width(self) -> int:
        """The length of a row."""
        return self.shape[-1] if self.shape else 1

    @cached_property
    def squeezed(self) -> tuple[int, ...]:
        """The shape without leading axes of size 1."""
        shape = self.shape
        while len(shape) > 1 and shape[0] == 1:
            shape = shape[1:]
        return shape

    def part(self, index: Sequence[int]) -> Recorded:
        """The sub-tensor at an index of the leading axes."""
        flat, shape = self.flat, self.shape
        for i in index:
            size = len(flat) // shape[0]
            flat, shape = flat[i * size : (i + 1) * size], shape[1:]
        return folded(f"{self.name}{list(index)}", shape, flat)

    def columns(self, start: int, stop: int) -> Recorded:
        """The cells `start` to `stop` of every row."""
        rows = [row[start:stop] for row in self.rows]
        return Recorded(f"{self.name}[…, {start}:{stop}]", (*self.shape[:-1], stop - start), rows)

    def transposed(self) -> Recorded:
        """The last two axes swapped, for a tensor of rank 2 (leading axes of 1 aside)."""
        n, m = self.squeezed[-2:]
        return Recorded(f"{self.name}ᵀ", (m, n), list(map(list, zip(*self.rows))) if n else [])

    def as_shape(self, shape: tuple[int, ...]) -> Recorded:
        """The same cells in the same order, in another shape of as many cells."""
        return self if shape == self.shape else folded(self.name, shape, self.flat)

    def index(self, row: int, column: int) -> tuple[int, ...]:
        """The index of a cell, given by its row and its column."""
        if not self.shape:
            return ()
        index = [column]
        for size in reversed(self.shape[:-1]):
            row, i = divmod(row, size)
            index.append(i)
        return tuple(reversed(index))

    def nested(self) -> Any:
        """As nested lists."""
        return _fold(self.flat, self.shape)


@dataclass(frozen=True)
class Recording:
    """Tensors by name, in order; and the trace that they are from, where they are from one."""

    title: str
    tensors: Mapping[str, Recorded]
    trace: Trace | None = None
    notes: tuple[str, ...] = field(default=())

    def find(self, name: str) -> Recorded | None:
        """The tensor of that name; in a trace an alias, an output or a unique ending will do."""
        if name in self.tensors:
            return self.tensors[name]
        if self.trace is None:
            return None
        try:
            ref = self.trace.graph.resolve(name)
        except GraphError:
            return None
        return self.tensors.get(self.trace.graph.tensor_name(ref))

    def need(self, name: str) -> Recorded:
        """As `find`; a `GraphError` where there is none."""
        found = self.find(name)
        if found is None:
            known = list(self.tensors)
            raise GraphError(
                f"{self.title} has no tensor {nested.shown(name)}; expected one of {listed(known)}"
                + suggest(name, known)
            )
        return found


def listed(names: Sequence[str], limit: int = 8) -> str:
    """a, b, c and 5 more."""
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(map(str, names[:limit])) + more if names else "none"


def sizes(shape: Sequence[int]) -> str:
    """2 × 3"""
    return " × ".join(map(str, shape)) or "a scalar"


def folded(name: str, shape: tuple[int, ...], flat: Sequence[Any]) -> Recorded:
    """A tensor from its cells in row-major order."""
    width = shape[-1] if shape else 1
    rows = [list(flat[start : start + width]) for start in range(0, len(flat), width)] if width else []
    return Recorded(name, shape, rows)


def _fold(flat: Sequence[Any], shape: tuple[int, ...]) -> Any:
    if not shape:
        return flat[0]
    if len(shape) == 1:
        return list(flat)
    size = len(flat) // shape[0] if shape[0] else 0
    return [_fold(flat[i * size : (i + 1) * size], shape[1:]) for i in range(shape[0])]


# ---------------------------------------------------------------- reading


def read(source: Any, title: str = "yours") -> Recording:
    """The tensors of a source (see the module's docstring); `title` is what messages call it.

    Raises a `GraphError` that says what is wrong with it, `OSError` where a file cannot be read.
    """
    if isinstance(source, Recording):
        return source
    if isinstance(source, Trace):
        return of_trace(source, title)
    if isinstance(source, TensorFile):
        return of_dict(source.tensors, source.path)
    if isinstance(source, Mapping):
        return of_dict(source, title)
    if isinstance(source, (str, os.PathLike)):
        return read_file(source)
    raise GraphError(
        f"{title} is a {type(source).__name__}; expected a trace, a dict of tensors, or the path of a file"
    )


def of_trace(trace: Trace, title: str = "the reference") -> Recording:
    """The tensors that a trace holds."""
    tensors: dict[str, Recorded] = {}
    near = None if trace.numbers is FLOAT or trace.numbers.cell is float else trace.numbers.near
    for step in trace.steps:
        for name, spec, value in zip(step.names, step.specs, step.outputs, strict=True):
            if value is None:
                continue
            rows = value if spec.rank == 2 else [row for _, row in nested.rows(value, spec.rank)]
            if near is not None and spec.kind == "float":
                rows = [list(map(near, row)) for row in rows]
            tensors[name] = Recorded(name, spec.shape, rows)
    if not tensors:
        raise GraphError(f"{title} holds no tensors; expected a trace with some that were kept")
    return Recording(title, tensors, trace)


def of_dict(values: Mapping[Any, Any], title: str) -> Recording:
    """Tensors from a dict by name."""
    if not values:
        raise GraphError(f"{title} holds no tensors; expected at least one")
    tensors: dict[str, Recorded] = {}
    for name, value in values.items():
        if not isinstance(name, str):
            raise GraphError(f"{title} has the name {nested.shown(name)}; expected text")
        tensors[name] = _tensor(name, value, f"{title}: {name}")
    return Recording(title, tensors)


def _tensor(name: str, value: Any, what: str) -> Recorded:
    if hasattr(value, "tolist"):
        value = value.tolist()
    try:
        shape = nested.shape_of(value, what)
    except RecursionError:
        raise GraphError(f"{what} is nested deeper than {nested.RANK_LIMIT} lists") from None
    rows = [
        row if nested.plain(row, allow_nonfinite=True) else [_cell(cell, what) for cell in row]
        for _, row in nested.rows(value, len(shape))
    ]
    return Recorded(name, shape, rows if not shape or shape[-1] else [])


def _cell(cell: Any, what: str) -> Any:
    if isinstance(cell, bool):
        return cell
    if isinstance(cell, (str, bytes, bytearray)) or cell is None:
        raise GraphError(f"{what} holds {nested.shown(cell)}; expected numbers")
    try:
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        raise GraphError(
            f"{what} holds {nested.shown(cell)}; expected numbers that a double can hold"
        ) from None


def read_file(path: str | os.PathLike[str]) -> Recording:
    """The tensors in a file, or in a folder of files."""
    path = Path(path)
    if path.is_dir():
        return _folder(path)
    ending = path.suffix.lower()
    if ending in READERS and ending != ".json":
        return of_dict(read_tensors(path).tensors, str(path))
    text = read_text(path)
    saved = SAVED.match(text) or SAVED_JSON.search(text[:1000])
    if saved and saved[1] == "graph":
        raise GraphError(f"{path} holds a graph without values; expected a trace, or tensors")
    if saved:
        return of_trace(load_trace(path), str(path))
    if ending == ".json":
        return of_dict(read_tensors(path).tensors, str(path))
    return of_dict(read_plain_text(text, str(path)), str(path))


def _folder(path: Path) -> Recording:
    """Every tensor file of a folder; a file of one tensor gives it its own name."""
    files = sorted(file for file in path.iterdir() if file.suffix.lower() in READERS and file.is_file())
    if not files:
        raise GraphError(f"{path} holds no tensor files; expected {', '.join(READERS)}")
    if len(files) > FILE_LIMIT:
        raise GraphError(f"{path} holds {len(files):,} tensor files; expected at most {FILE_LIMIT:,}")
    values: dict[str, Any] = {}
    for file in files:
        for name, value in read_tensors(file).tensors.items():
            if name in values:
                raise GraphError(f"{file} holds {name!r}, which another file there holds too; expected it once")
            values[name] = value
    return of_dict(values, str(path))
