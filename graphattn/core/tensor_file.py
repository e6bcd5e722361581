"""Tensors from files: .safetensors, .json, .npy, .npz and .csv, as nested lists by name.

    read_tensors(path) -> TensorFile(path, tensors, metadata)

No numpy, never pickle. Cells become Python floats, ints or bools, exactly as stored (float16,
bfloat16 and float32 have exact doubles). Infinities and NaN are read as they are: `run` refuses
them where it is fed. A file is not trusted: its size, the number of its cells, the depth of its
nesting and every length that it states are checked before memory is taken; whatever is wrong is
one `GraphError` that names the file, the tensor and what was expected.

- .json: {"name": nested lists, ...}, or a list of {"name", "data"} (and "shape", which then must
  agree). "inf", "-inf" and "nan" are numbers. Whatever holds no numbers (texts, lists of texts,
  objects, true, null) is metadata.
- .csv: one matrix, a row a line, named after the file.
- .npy: one tensor, named after the file. .npz: one tensor for each member.
"""

from __future__ import annotations

import ast
import csv
import json
import math
import struct
import zipfile
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

from . import nested
from .errors import GraphError
from .limits import ANOTHER, most_bytes, most_read, need_read


@dataclass(frozen=True)
class TensorFile:
    """What a file holds: nested lists by name, and what it says beside them."""

    path: str
    tensors: Mapping[str, Any]
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def need_numbers(self, names: Container[str]) -> None:
        """Refuse a text, or another thing without numbers, under one of the names that tensors have."""
        need_numbers(self.path, self.metadata, names)


def need_numbers(path: str, metadata: Mapping[str, Any], names: Container[str]) -> None:
    """Raises a `GraphError` for the first entry of a file's metadata that has one of these names."""
    for name, value in metadata.items():
        if name in names:
            raise GraphError(f"{path}: {name} is {_short(value)}; expected nested lists of numbers")


def read_tensors(path: str | Path) -> TensorFile:
    """The tensors of a file, by the ending of its name (see the module's docstring).

    Raises a `GraphError` for anything that is not as the format says, `OSError` where the file
    cannot be read at all.
    """
    path = Path(path)
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise GraphError(f"{path} has no known ending; expected {', '.join(READERS)}")
    data = _bytes_of(path)
    try:
        return reader(data, str(path))
    except RecursionError:
        raise GraphError(f"{path} is nested too deep; expected at most {nested.RANK_LIMIT} lists") from None
    except MemoryError:
        raise GraphError(f"{path} does not fit into memory; expected a smaller file") from None


def _bytes_of(path: Path) -> bytes:
    """The content of a file; one byte too many is never read."""
    with path.open("rb") as file:
        data = file.read(most_bytes() + 1)
    if len(data) > most_bytes():
        raise GraphError(f"{path} is larger than {most_bytes():,} bytes; expected a smaller file ({ANOTHER})")
    return data


# ---------------------------------------------------------------- from flat bytes to nested lists


def _numbers(code: str) -> Callable[[bytes, str], list[Any]]:
    """A reader of packed numbers: bytes and byte order ("<" or ">") to a list."""
    size = struct.calcsize(f"<{code}")
    return lambda data, order: list(struct.unpack(f"{order}{len(data) // size}{code}", data))


def _bfloat16(data: bytes, order: str) -> list[float]:
    """The upper halves of float32 numbers (little-endian, as safetensors stores them)."""
    whole = bytearray(2 * len(data))
    whole[2::4] = data[0::2]
    whole[3::4] = data[1::2]
    return _numbers("f")(bytes(whole), "<")


def _fold(cells: list[Any], shape: Sequence[int]) -> Any:
    """Nested lists of a shape from its cells in row-major order."""
    if not shape:
        return cells[0]
    for size in reversed(shape[1:]):
        if not size:
            return nested.full(shape, None)
        cells = [cells[start : start + size] for start in range(0, len(cells), size)]
    return cells


def _check_shape(shape: Any, what: str) -> tuple[int, ...]:
    """The shape as a tuple; refused where its cells, or its empty lists, would be too many."""
    if not isinstance(shape, (list, tuple)) or not all(type(n) is int and n >= 0 for n in shape):
        raise GraphError(f"{what} has shape {_short(shape)}; expected a list of sizes")
    if len(shape) > nested.RANK_LIMIT:
        raise GraphError(f"{what} has rank {len(shape)}; expected at most {nested.RANK_LIMIT}")
    if math.prod(max(n, 1) for n in shape) > most_read():
        raise GraphError(
            f"{what} has shape {_short(list(shape))}; expected at most {most_read():,} cells ({ANOTHER})"
        )
    return tuple(shape)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


# ---------------------------------------------------------------- .safetensors

SAFETENSORS_TYPES: dict[str, Callable[[bytes, str], list[Any]]] = {
    "F64": _numbers("d"),
    "F32": _numbers("f"),
    "F16": _numbers("e"),
    "BF16": _bfloat16,
    "I64": _numbers("q"),
    "I32": _numbers("i"),
    "I16": _numbers("h"),
    "I8": _numbers("b"),
    "U64": _numbers("Q"),
    "U32": _numbers("I"),
    "U16": _numbers("H"),
    "U8": _numbers("B"),
    "BOOL": _numbers("?"),
}


def _read_safetensors(data: bytes, path: str) -> TensorFile:
    """The package `safetensors` checks the header: lengths, offsets, gaps and overlaps."""
    from safetensors import SafetensorError, deserialize

    try:
        found = deserialize(data)
    except SafetensorError as error:
        reason = str(error).removeprefix("Error while deserializing: ")
        raise GraphError(f"{path} is not a whole .safetensors file: {reason}") from None
    tensors: dict[str, Any] = {}
    total = 0
    for name, record in sorted(found, key=lambda item: item[0]):
        read = SAFETENSORS_TYPES.get(record["dtype"])
        if read is None:
            raise GraphError(
                f"{path}: tensor {_short(name)} holds {record['dtype']};"
                f" expected one of {', '.join(SAFETENSORS_TYPES)}"
            )
        shape = _check_shape(list(record["shape"]), f"{path}: tensor {_short(name)}")
        total += math.prod(shape)
        need_read(f"{path} holds", total)
        tensors[name] = _fold(read(bytes(record["data"]), "<"), shape)
    (length,) = struct.unpack("<Q", data[:8])
    return TensorFile(path, tensors, json.loads(data[8 : 8 + length]).get("__metadata__", {}))


# ---------------------------------------------------------------- .json

NONFINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def _read_json(data: bytes, path: str) -> TensorFile:
    try:
        content = json.loads(data.decode("utf-8-sig"), object_pairs_hook=lambda pairs: _unique(pairs, path))
    except GraphError:
        raise
    except json.JSONDecodeError as error:
        raise GraphError(
            f"{path} is not JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        ) from None
    except ValueError as error:  # not UTF-8, or an integer of thousands of digits
        raise GraphError(f"{path} is not JSON: {error}") from None
    stated = isinstance(content, list)
    if stated:
        content = _named(content, path)
    if not isinstance(content, dict):
        raise GraphError(f'{path} holds {_short(content)}; expected {{"name": nested lists, ...}}')
    tensors: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    total = 0
    for name, value in content.items():
        if not (stated or _holds_numbers(value)):
            metadata[name] = value
            continue
        what = f"{path}: {name}"
        total += math.prod(nested.shape_of(value, what))
        need_read(f"{path} holds", total)
        tensors[name] = _cells(value, what)
    return TensorFile(path, tensors, metadata)


def _unique(pairs: list[tuple[str, Any]], path: str) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise GraphError(f"{path} holds {_short(twice)} twice; expected each name once")
    return found


def _named(records: list[Any], path: str) -> dict[str, Any]:
    """{"name": data} from a list of {"name", "data"} records."""
    pairs = []
    for place, record in enumerate(records):
        if not isinstance(record, dict) or not isinstance(record.get("name"), str) or "data" not in record:
            raise GraphError(f'{path}[{place}] is {_short(record)}; expected {{"name": ..., "data": ...}}')
        name, data = record["name"], record["data"]
        if "shape" in record:
            shape = nested.shape_of(data, f"{path}: {name}")
            if list(shape) != record["shape"] and math.prod(shape):
                raise GraphError(
                    f"{path}: {name} states shape {_short(record['shape'])} but its data has {list(shape)}"
                )
        pairs.append((name, data))
    return _unique(pairs, path)


def _holds_numbers(value: Any) -> bool:
    """Whether it is meant as a tensor: a number, or lists with a number in them, or empty ones."""
    if not isinstance(value, list):
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    first = next((cell for cell in nested.flat(value) if not isinstance(cell, str)), None)
    return isinstance(first, (int, float)) or next(nested.flat(value), None) is None


def _cells(value: Any, what: str) -> Any:
    if isinstance(value, list):
        return [_cells(item, f"{what}[{i}]") for i, item in enumerate(value)]
    if isinstance(value, (int, float)):
        return value
    if isinstance(value, str) and value in NONFINITE:
        return NONFINITE[value]
    raise GraphError(f"{what} is {_short(value)}; expected a number")


# ---------------------------------------------------------------- .csv


MATRIX = "a .csv is one matrix, without header or index; other tensors go into .npz or .json"


def _read_csv(data: bytes, path: str) -> TensorFile:
    try:
        lines = data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise GraphError(f"{path} is not text in UTF-8: {error.reason} at byte {error.start}") from None
    matrix: list[list[float]] = []
    reader = csv.reader(lines)
    try:
        for row in reader:
            if row:
                matrix.append([_csv_cell(cell, path, reader.line_num, j) for j, cell in enumerate(row)])
    except csv.Error as error:
        raise GraphError(f"{path} line {reader.line_num}: {error}") from None
    if not matrix:
        raise GraphError(f"{path} is empty; expected a matrix, one row a line")
    for i, row in enumerate(matrix):
        if len(row) != len(matrix[0]):
            raise GraphError(
                f"{path} row {i} has {len(row)} cells; expected {len(matrix[0])}, as in row 0"
                " (rows and columns count from 0)"
            )
    return TensorFile(path, {Path(path).stem: matrix})


def _csv_cell(cell: str, path: str, line: int, column: int) -> float:
    try:
        return float(cell)
    except ValueError:
        where = f"{path} line {line}, column {column}"
        raise GraphError(f"{where} is {_short(cell)}; expected a number ({MATRIX})") from None


# ---------------------------------------------------------------- .npy and .npz

NPY_TYPES = {
    "f8": "d", "f4": "f", "f2": "e", "i8": "q", "i4": "i", "i2": "h", "i1": "b",
    "u8": "Q", "u4": "I", "u2": "H", "u1": "B", "b1": "?",
}  # fmt: skip
HEADER_LIMIT = 10_000
NPZ_EXTRA = "graphattn.json"
"""The member of an .npz that is no tensor: what makes a trace of the tensors."""


def _read_npy(data: bytes, path: str) -> TensorFile:
    return TensorFile(path, {Path(path).stem: _npy(data, path)})


def _npy(data: bytes, what: str) -> Any:
    """One tensor in numpy's own format (NEP 1): magic, version, header, cells."""
    if data[:6] != b"\x93NUMPY" or len(data) < 10:
        raise GraphError(f"{what} is not an .npy file; expected it to begin with \\x93NUMPY")
    wide = data[6] >= 2
    start = 12 if wide else 10
    length = int.from_bytes(data[8:start], "little")
    if length > HEADER_LIMIT or start + length > len(data):
        raise GraphError(f"{what} states a header of {length:,} bytes; expected less, and all of it")
    order, code, fortran, shape = _npy_header(data[start : start + length], what)
    shape = _check_shape(shape, what)
    cells = data[start + length :]
    size = struct.calcsize(f"<{code}")
    if len(cells) != math.prod(shape) * size:
        raise GraphError(
            f"{what} holds {len(cells):,} bytes of cells;"
            f" expected {math.prod(shape) * size:,} ({list(shape)}, {size} bytes each)"
        )
    flat = _numbers(code)(cells, order)
    if not fortran or len(shape) < 2:
        return _fold(flat, shape)
    return _turned(_fold(flat, shape[::-1]), shape)


def _npy_header(text: bytes, what: str) -> tuple[str, str, bool, Any]:
    """Byte order, `struct` code, whether the first axis runs fastest, shape."""
    try:
        header = ast.literal_eval(text.decode("latin-1").strip())
        descr, fortran, shape = header["descr"], header["fortran_order"], header["shape"]
    except (SyntaxError, ValueError, TypeError, KeyError, RecursionError, MemoryError):
        raise GraphError(
            f"{what} has a header that is not numpy's; expected descr, fortran_order, shape"
        ) from None
    if not isinstance(descr, str) or not isinstance(fortran, bool):
        raise GraphError(f"{what} holds records; expected numbers")
    if descr[1:2] == "O":
        raise GraphError(f"{what} holds pickled Python objects, which are never read; expected numbers")
    code = NPY_TYPES.get(descr[1:])
    if code is None or descr[0] not in "<>|=":
        raise GraphError(
            f"{what} holds {_short(descr)}; expected one of {', '.join(NPY_TYPES)} (floats, ints, bools)"
        )
    return ">" if descr[0] == ">" else "<", code, fortran, shape


def _turned(block: Any, shape: tuple[int, ...]) -> Any:
    """The tensor whose cell at i, j, … is the block's cell at …, j, i."""
    return nested.build(shape, lambda *index: nested.at(block, index[::-1]))


def _read_npz(data: bytes, path: str) -> TensorFile:
    tensors: dict[str, Any] = {}
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            members = archive.infolist()
            unpacked = sum(member.file_size for member in members)
            if unpacked > most_bytes():
                raise GraphError(
                    f"{path} unpacks to {unpacked:,} bytes; expected at most {most_bytes():,} ({ANOTHER})"
                )
            total = 0
            for member in members:
                if member.filename == NPZ_EXTRA:
                    continue
                name = member.filename.removesuffix(".npy")
                if name in tensors:
                    raise GraphError(f"{path} holds {_short(name)} twice; expected each name once")
                with archive.open(member) as file:
                    content = file.read(member.file_size + 1)  # never more than it states
                tensors[name] = _npy(content, f"{path}: {_short(name)}")
                total += math.prod(nested.shape_of(tensors[name]))
                need_read(f"{path} holds", total)
    except (GraphError, MemoryError, RecursionError):
        raise
    except Exception as error:  # a damaged archive raises BadZipFile, zlib.error, EOFError, KeyError, ...
        raise GraphError(f"{path} is not a whole .npz file: {error}") from None
    return TensorFile(path, tensors)


READERS: dict[str, Callable[[bytes, str], TensorFile]] = {
    ".safetensors": _read_safetensors,
    ".json": _read_json,
    ".csv": _read_csv,
    ".npy": _read_npy,
    ".npz": _read_npz,
}
