"""A .pt2 archive, read without PyTorch's own loader: nothing in it is unpickled, and nothing is run.

`torch.export.load` unpickles: sample inputs with any code in them (weights_only=False where the safe way
fails), custom objects, and tensors that are marked so. What a program needs is not pickled: its graph is JSON
(`models/model.json`), its tensors lie raw in `data/weights` and `data/constants`, with shapes and strides in
JSON beside them. That alone is read here; what an archive has pickled is never opened. Entries are looked up by
name and never written anywhere; compressed ones are refused (PyTorch writes none), so that no entry is larger
than the file.
"""

from __future__ import annotations

import json
import os
import zipfile
from math import prod
from pathlib import Path
from typing import Any, NoReturn

from ..core.errors import GraphError
from ..core.limits import most_cells
from ..core.nested import shown
from .program import need_torch

JSON_LIMIT = 2**28
"""The longest JSON that is read, in bytes."""
MOST_ENTRIES = 10**5
MODELS, WEIGHTS, CONSTANTS = "models/", "data/weights/", "data/constants/"
TYPES = {
    1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "float16", 7: "float32", 8: "float64",
    12: "bool", 13: "bfloat16",
}  # fmt: skip
"""Types of cells by their numbers in the JSON."""


class Archive:
    """The entries of a .pt2 file, and its tensors by the names in the state_dict."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._flat: dict[tuple[str, str], Any] = {}
        try:
            self._file = zipfile.ZipFile(self.path)
            entries = self._file.infolist()
        except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
            raise GraphError(
                f"{path} is not a whole .pt2 archive: {error}; expected one of torch.export.save"
            ) from None
        if len(entries) > MOST_ENTRIES:
            self.refuse(f"has {len(entries):,} entries; expected at most {MOST_ENTRIES:,}")
        packed = next((e for e in entries if e.compress_type or e.file_size != e.compress_size), None)
        if packed is not None:
            self.refuse(
                f"has the compressed entry {shown(packed.filename)}; expected none, as torch.export.save writes"
            )
        self._entries = {entry.filename.partition("/")[2]: entry for entry in entries}
        if "archive_format" not in self._entries:
            self.refuse("has no archive_format; expected an archive of torch.export.save")
        if "byteorder" in self._entries and self.bytes("byteorder", 16) != b"little":
            self.refuse("holds big-endian numbers; expected little-endian ones")

    def refuse(self, why: str) -> NoReturn:
        raise GraphError(f"{self.path} {why}")

    @property
    def models(self) -> list[str]:
        """The names of the programs in it."""
        return [
            name[len(MODELS) : -len(".json")]
            for name in self._entries
            if name.startswith(MODELS) and name.endswith(".json")
        ]

    def bytes(self, name: str, most: int) -> bytes:
        """An entry, of at most so many bytes."""
        entry = self._entries.get(name)
        if entry is None:
            self.refuse(f"has no {name[:80]}; expected it, as torch.export.save writes it")
        if entry.file_size > most:
            self.refuse(f"has a {name[:80]} of {entry.file_size:,} bytes; expected at most {most:,}")
        try:
            return self._file.read(entry)
        except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError, RuntimeError) as error:
            self.refuse(f"is not whole: {name[:80]}: {error}")

    def size(self, name: str) -> int:
        entry = self._entries.get(name)
        return 0 if entry is None else entry.file_size

    def json(self, name: str) -> dict[str, Any]:
        """An entry of JSON, which must be an object."""
        try:
            value = json.loads(self.bytes(name, JSON_LIMIT).decode("utf-8"))
        except (ValueError, RecursionError) as error:
            self.refuse(f"has a {name[:80]} that is not JSON: {str(error)[:120]}")
        if not isinstance(value, dict):
            self.refuse(f"has a {name[:80]} that is {shown(value)}; expected a JSON object")
        return value

    def tensors(self, model: str) -> dict[str, Any]:
        """Every stored tensor of a program, by its name in the state_dict; None for one that is pickled, which
        is refused where a step takes it."""
        found: dict[str, Any] = {}
        for folder, kind in ((WEIGHTS, "weights"), (CONSTANTS, "constants")):
            name = f"{folder}{model}_{kind}_config.json"
            if name not in self._entries:
                if f"{folder}{model}.pt" in self._entries:
                    self.refuse(
                        f"has pickled {kind}, which are never read; expected a file of torch 2.9 or newer"
                    )
                continue
            config = self.json(name).get("config")
            if not isinstance(config, dict):
                self.refuse(f"has a {name[:80]} without a config; expected one")
            for path, record in config.items():
                found[path] = self._tensor(folder, path, record)
        return found

    def _tensor(self, folder: str, path: str, record: Any) -> Any:
        """A tensor as it lies there: its bytes, looked at with its shape and strides."""
        torch = need_torch()
        if not isinstance(record, dict) or record.get("use_pickle") is not False:
            return None
        meta: Any = record.get("tensor_meta")
        file = record.get("path_name")
        try:
            dtype = TYPES[meta["dtype"]]
            shape, strides = ([size["as_int"] for size in meta[key]] for key in ("sizes", "strides"))
            offset = meta["storage_offset"]["as_int"]
        except (TypeError, KeyError):
            self.refuse(
                f"has a tensor {shown(path)} whose meta is {shown(meta)}; expected floats, integers or bools"
            )
        numbers = [*shape, *strides, offset]
        if len(shape) != len(strides) or not all(type(n) is int and 0 <= n < 2**53 for n in numbers):
            self.refuse(f"has a tensor {shown(path)} of sizes {shown(shape)} and strides {shown(strides)}")
        count, width = prod(shape), getattr(torch, dtype).itemsize
        if count > most_cells():
            self.refuse(f"has a tensor {shown(path)} of {count:,} cells; expected at most {most_cells():,}")
        if not count:
            return torch.zeros(shape, dtype=getattr(torch, dtype))
        last = offset + sum((size - 1) * stride for size, stride in zip(shape, strides))
        name = f"{folder}{file}"
        if not isinstance(file, str) or (last + 1) * width > self.size(name):
            needs, has = f"{(last + 1) * width:,}", f"{self.size(name):,}"
            self.refuse(f"has a tensor {shown(path)} that needs {needs} bytes; its entry has {has}")
        if (name, dtype) not in self._flat:  # once, where several tensors lie in one entry
            data = bytearray(self.bytes(name, most_cells() * 8))
            self._flat[name, dtype] = torch.frombuffer(
                data, dtype=getattr(torch, dtype), count=len(data) // width
            )
        flat = self._flat[name, dtype]
        return torch.as_strided(flat, shape, strides, offset)
