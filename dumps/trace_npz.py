"""A trace as .npz: an array for each tensor, which numpy reads, and what makes it a trace again.

`numpy.load(path)["head0.weights"]` is a recorded tensor. The member `graphattn.json` is the form of
`trace_json` without the values: graph, labels, masks, warnings. Floats are doubles, so that they read back
bit for bit; numbers of types that are no doubles are refused.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

from graphattn.core import nested
from graphattn.core.errors import GraphError
from graphattn.core.limits import ANOTHER, most_bytes
from graphattn.core.tensor_file import NPZ_EXTRA, read_tensors
from graphattn.core.trace import Trace
from graphattn.dumps.assembly import place
from graphattn.dumps.graph_json import json_text, read_json
from graphattn.dumps.tensor_bytes import npz_bytes, readable, recorded
from graphattn.dumps.trace_json import trace_data, trace_of


def trace_npz(trace: Trace) -> bytes:
    """The recorded tensors and what makes them a trace. Raises a `GraphError` where numbers are no doubles."""
    tensors = recorded(trace)
    for name, (spec, value) in tensors.items():
        if spec.kind == "float" and not all(isinstance(cell, float) for cell in nested.flat(value)):
            raise GraphError(
                f"{name} holds {trace.numbers.name} numbers, which .npz cannot; expected a run in floats,"
                " or .json or .txt"
            )
    rest = json_text(trace_data(trace, values=False))
    file = io.BytesIO(npz_bytes(tensors))
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive:
        member = zipfile.ZipInfo(NPZ_EXTRA, (1980, 1, 1, 0, 0, 0))
        member.compress_type = zipfile.ZIP_DEFLATED
        archive.writestr(member, rest)
    return readable(file)


def read_trace_npz(path: str | Path) -> Trace:
    """The trace in a file that `trace_npz` gave. Raises a `GraphError` that names it where it holds none."""
    tensors: dict[str, Any] = dict(read_tensors(path).tensors)
    with place(repr(str(path))), zipfile.ZipFile(path) as archive:
        if NPZ_EXTRA not in archive.namelist():
            raise GraphError("it holds tensors and no trace; expected one that trace.save wrote")
        with archive.open(NPZ_EXTRA) as member:
            text = member.read(most_bytes() + 1)
        if len(text) > most_bytes():
            raise GraphError(f"{NPZ_EXTRA} is larger than {most_bytes():,} bytes; expected less ({ANOTHER})")
        try:
            data = read_json(text.decode("utf-8"), NPZ_EXTRA)
        except UnicodeDecodeError as error:
            raise GraphError(f"{NPZ_EXTRA} is not UTF-8 (byte {error.start}); expected text") from None
        return trace_of(data, NPZ_EXTRA, tensors)
