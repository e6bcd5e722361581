"""Tensors by name as the bytes of a file that numpy, PyTorch and others read: .npz and .safetensors.

    npz_bytes({"x": (Spec((2,)), [1.0, 2.0])}) -> bytes

Floats are doubles, ints 64 bits, bools a byte each. The same tensors give the same bytes. More than is read
back from one file (`core.limits`) is refused.
"""

from __future__ import annotations

import io
import json
import struct
import zipfile
from array import array
from collections.abc import Mapping
from typing import Any

from graphattn.core import nested
from graphattn.core.axes import Spec
from graphattn.core.errors import GraphError
from graphattn.core.limits import need_bytes, need_read
from graphattn.core.trace import Trace

Tensors = Mapping[str, tuple[Spec, Any]]
CODES = {"float": ("d", "<f8", "F64"), "int": ("q", "<i8", "I64"), "bool": ("B", "|b1", "BOOL")}
"""By kind: the code of `array`, of numpy, of safetensors."""


def npz_bytes(tensors: Tensors) -> bytes:
    """A zip of one .npy file a tensor (NumPy Enhancement Proposal 1, format version 1.0)."""
    need_read("the .npz file would hold", sum(spec.size for spec, _ in tensors.values()))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, (spec, value) in tensors.items():
            member = zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0))
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, _npy(name, spec, value))
    return readable(file)


def readable(file: io.BytesIO) -> bytes:
    """The bytes of an .npz file; a `GraphError` where it holds more than is read back."""
    with zipfile.ZipFile(file) as archive:
        unpacked = sum(member.file_size for member in archive.infolist())
    need_bytes("the .npz file", max(unpacked, file.getbuffer().nbytes), instead="")
    return file.getvalue()


def safetensors_bytes(tensors: Tensors) -> bytes:
    """A file of the safetensors format: the length of a JSON header, the header, the cells. (The library's own
    writer takes numpy's arrays, or records that differ from version to version.)"""
    need_read("the .safetensors file would hold", sum(spec.size for spec, _ in tensors.values()))
    header: dict[str, Any] = {}
    cells: list[bytes] = []
    end = 0
    aligned = sorted(tensors.items(), key=lambda item: item[1][0].kind == "bool")  # cells of 8 bytes first
    for name, (spec, value) in aligned:
        cells.append(_cells(name, spec, value))
        start, end = end, end + len(cells[-1])
        header[name] = {"dtype": CODES[spec.kind][2], "shape": list(spec.shape), "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    need_bytes("the .safetensors file", 8 + len(text) + end, instead="")
    return b"".join([struct.pack("<Q", len(text)), text, *cells])


def recorded(trace: Trace) -> Tensors:
    """Every tensor that a trace recorded, in order."""
    return {name: (trace.spec(name), trace[name]) for name in trace.names}


def trace_safetensors(trace: Trace) -> bytes:
    """The recorded tensors as .safetensors; it holds no graph."""
    return safetensors_bytes(recorded(trace))


def _npy(name: str, spec: Spec, value: Any) -> bytes:
    shape = ", ".join(map(str, spec.shape)) + ("," if spec.rank == 1 else "")
    header = f"{{'descr': '{CODES[spec.kind][1]}', 'fortran_order': False, 'shape': ({shape}), }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    return (
        b"\x93NUMPY\x01\x00"
        + struct.pack("<H", len(header))
        + header.encode("latin-1")
        + _cells(name, spec, value)
    )


def _cells(name: str, spec: Spec, value: Any) -> bytes:
    """The cells in row-major order, little-endian."""
    try:
        cells = array(CODES[spec.kind][0], nested.flat(value))
    except (OverflowError, TypeError) as error:
        raise GraphError(
            f"{name} does not fit 64 bits a cell: {error}; expected floats, ints or bools"
        ) from None
    if struct.pack("=H", 1) != struct.pack("<H", 1):
        cells.byteswap()
    return cells.tobytes()
