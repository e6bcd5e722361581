"""Reading what someone recorded.

    read(source) -> Recording

source: a `Trace`; a dict of tensors (nested lists, or anything with `.tolist()`: PyTorch, JAX,
numpy); or the path of a trace saved as text or JSON, of a .npz, .npy, .safetensors, .csv or .json
of tensors, of a text file with `name = [values]`, or of a folder of such files.

Files are not trusted: whatever is wrong with one is a `GraphError` that names it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from graphattn.dumps.load import load_trace, read_text

from ...core import nested
from ...core.errors import GraphError
from ...core.numbers import FLOAT
from ...core.tensor_file import READERS, TensorFile, read_tensors
from ...core.trace import Trace
from ...core.words import typed
from .plain_text import read_cells
from .printed import EXACT, Print, print_of_texts
from .recording import Recorded, Recording, rows_of

FILE_LIMIT = 4096
"""The most files of a folder that are read."""
BINARY = (".npy", ".npz", ".safetensors")
SAVED = re.compile(r"graphattn (trace|graph) ")
SAVED_JSON = re.compile(r'"format"\s*:\s*"graphattn (trace|graph)"')
DTYPE = re.compile(r"(?:bfloat|float|u?int|bool)\d*")


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
    cells = isinstance(source, (list, tuple)) or hasattr(source, "tolist")
    hint = "; a tensor goes under its name: {'out': …}" if cells else ""
    wanted = "a trace, a dict of tensors, or the path of a file"
    raise GraphError(f"{title} is {typed(source)}; expected {wanted}{hint}")


def of_trace(trace: Trace, title: str = "the reference") -> Recording:
    """The tensors that a trace holds."""
    tensors: dict[str, Recorded] = {}
    near = None if trace.numbers is FLOAT or trace.numbers.cell is float else trace.numbers.near
    recorded = trace.recording.value
    for step in trace.recording.done:
        node = step.node
        for name, place, spec in zip(node.tensor_names, step.places, node.outputs, strict=True):
            value = recorded(place)
            if value is None:
                continue
            rows = rows_of(value, spec.rank)
            if near is not None and spec.kind == "float":
                rows = [list(map(near, row)) for row in rows]
            if spec.kind == "int":
                for cell in chain.from_iterable(rows):
                    _cell(cell, f"{title}: {name}")  # refused where no double holds it
            tensors[name] = Recorded(name, spec.shape, rows)
    if not tensors:
        raise GraphError(f"{title} holds no tensors; expected a trace with some that were kept")
    return Recording(title, tensors, trace)


def of_dict(
    values: Mapping[Any, Any], title: str, prints: Mapping[str, Print | None] | None = None
) -> Recording:
    """Tensors from a dict by name; `prints` says how they were printed, as far as that is known."""
    if not values:
        raise GraphError(f"{title} holds no tensors; expected at least one")
    tensors: dict[str, Recorded] = {}
    for name, value in values.items():
        if not isinstance(name, str):
            raise GraphError(f"{title} has the name {nested.shown(name)}; expected text")
        tensors[name] = _tensor(name, value, f"{title}: {name}", (prints or {}).get(name))
    return Recording(title, tensors)


def _tensor(name: str, value: Any, what: str, printed: Print | None) -> Recorded:
    dtype, turned = "", False
    if type(value) is not list:
        dtype, turned = _dtype(value), _is_turned(value)
        if hasattr(value, "tolist"):
            value = value.tolist()
    matrix = _matrix(value)
    if matrix is not None:
        return Recorded(name, matrix, value, dtype, EXACT if dtype else printed, turned)
    try:
        shape = nested.shape_of(value, what)
    except RecursionError:
        raise GraphError(f"{what} is nested deeper than {nested.RANK_LIMIT} lists") from None
    rows = [
        row if nested.plain(row, allow_nonfinite=True) else [_cell(cell, what) for cell in row]
        for _, row in nested.rows(value, len(shape))
    ]
    return Recorded(
        name, shape, rows if not shape or shape[-1] else [], dtype, EXACT if dtype else printed, turned
    )


def _matrix(value: Any) -> tuple[int, int] | None:
    """The shape of a list of lists of floats, all as long; None of anything else."""
    if type(value) is not list or set(map(type, value)) != {list}:
        return None
    (width, *others) = set(map(len, value))
    floats = width and not others and set(map(type, chain.from_iterable(value))) == {float}
    return (len(value), width) if floats else None


def _dtype(value: Any) -> str:
    """The type of an array's cells, as numpy, PyTorch and JAX name it; "" where it has none."""
    dtype = DTYPE.search(str(getattr(value, "dtype", "")))
    return dtype[0] if dtype else ""


def _is_turned(value: Any) -> bool:
    """Whether a matrix is the transposed view of an array: its first axis runs fastest in memory."""
    strides = getattr(value, "strides", None)
    if strides is None and callable(getattr(value, "stride", None)):
        strides = value.stride()
    shape = getattr(value, "shape", ())
    return (
        isinstance(strides, tuple)
        and len(strides) == len(shape) == 2
        and min(shape) > 1
        and strides[0] < strides[1]
    )


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
        return _of_file(path)
    text = read_text(path)
    saved = SAVED.match(text) or SAVED_JSON.search(text[:1000])
    if saved and saved[1] == "graph":
        raise GraphError(f"{path} holds a graph without values; expected a trace, or tensors")
    if saved:
        return of_trace(load_trace(path), str(path))
    if ending == ".json":
        return _of_file(path)
    cells = read_cells(text, str(path))
    found = of_dict({name: value for name, (value, _, _) in cells.items()}, str(path))
    return replace(found, tensors={
        name: replace(tensor, dtype=cells[name][2], printed=print_of_texts(cells[name][1]))
        for name, tensor in found.tensors.items()
    })  # fmt: skip


def _of_file(path: Path) -> Recording:
    file = read_tensors(path)
    if not file.tensors:
        file.need_numbers(file.metadata)
    binary = path.suffix.lower() in BINARY
    found = of_dict(file.tensors, str(path), dict.fromkeys(file.tensors, EXACT) if binary else None)
    return found if binary else replace(found, beside=file.metadata)


def _folder(path: Path) -> Recording:
    """Every tensor file of a folder; a file of one tensor gives it its own name."""
    files = sorted(file for file in path.iterdir() if file.suffix.lower() in READERS and file.is_file())
    if not files:
        raise GraphError(f"{path} holds no tensor files; expected {', '.join(READERS)}")
    if len(files) > FILE_LIMIT:
        raise GraphError(f"{path} holds {len(files):,} tensor files; expected at most {FILE_LIMIT:,}")
    tensors: dict[str, Recorded] = {}
    for file in files:
        for name, tensor in _of_file(file).tensors.items():
            if name in tensors:
                raise GraphError(f"{file} holds {name!r}, which another file there holds too; expected it once")
            tensors[name] = tensor
    return Recording(str(path), tensors)
