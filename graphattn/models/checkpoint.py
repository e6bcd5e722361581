"""The trained tensors of a folder by name: model.safetensors, or shards that an index lists.

    checkpoint = Checkpoint(folder, prefixes=("bert.",))
    checkpoint.take("embeddings.LayerNorm.weight", (384,))  ->  Weight
    checkpoint.left_over()                                  ->  names that nobody took

Names are as the newest transformers write them: a prefix of the whole model is left off, and
`LayerNorm.gamma` and `.beta` of older files are `.weight` and `.bias`. Files are checked by the
safetensors library (lengths, offsets, gaps, overlaps) and mapped, so that only what is taken is read.
Pickled files are never opened.
"""

from __future__ import annotations

import json
import mmap
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..core.errors import GraphError, suggest
from .folder import PICKLED, WHOLE, Folder, refused_file
from .weight import CODES, Weight

INDEX = "model.safetensors.index.json"
HEADER_LIMIT = 2**25
"""The longest header that is read, in bytes (100,000 tensors take some 10 MB)."""
OLD = (("gamma", "weight"), ("beta", "bias"))


class Stored(NamedTuple):
    """Where a tensor lies: its name there, the file, type, shape, and its bytes."""

    name: str
    path: Path
    dtype: str
    shape: tuple[int, ...]
    data: memoryview


class Checkpoint:
    """The tensors of a folder, by canonical names (see the module's docstring)."""

    def __init__(self, folder: Folder, prefixes: Sequence[str] = ()) -> None:
        self.folder = folder
        self._stored: dict[str, Stored] = {}
        self._taken: set[str] = set()
        for stored in folder.once("tensors", lambda: _tensors(folder)):
            name = _canonical(stored.name, prefixes)
            if name in self._stored:
                raise GraphError(
                    f"{folder.path} holds {stored.name!r} and {self._stored[name].name!r}, which are the same"
                    " tensor; expected one of them"
                )
            self._stored[name] = stored

    def __contains__(self, name: str) -> bool:
        return name in self._stored

    def take(self, name: str, shape: Sequence[int] | None = None) -> Weight:
        """The tensor of that name. Raises a `GraphError` where it is missing, holds no floats, or has
        another shape than config.json promises."""
        stored = self._stored.get(name)
        if stored is None:
            raise GraphError(
                f"{self.folder.path} has no tensor {name!r}{suggest(name, self._stored)};"
                " expected it, as config.json says which model this is"
            )
        if stored.dtype not in CODES:
            raise GraphError(
                f"{stored.path}: {stored.name} holds {stored.dtype}; expected one of {', '.join(CODES)}"
            )
        if shape is not None and stored.shape != tuple(shape):
            raise GraphError(
                f"{stored.path}: {stored.name} has shape {list(stored.shape)};"
                f" expected {list(shape)}, as config.json says"
            )
        self._taken.add(name)
        return self.folder.once(
            f"tensor {stored.name}", lambda: Weight(stored.shape, CODES[stored.dtype], stored.data)
        )

    def ignore(self, *patterns: str) -> None:
        """Tensors whose names match one of these (regular expressions) are known to be of no use here."""
        self._taken.update(name for name in self._stored for p in patterns if re.fullmatch(p, name))

    def left_over(self) -> list[str]:
        """The tensors that were not taken, by the names that they are stored under."""
        return [stored.name for name, stored in self._stored.items() if name not in self._taken]

    def need_layers(self, pattern: str, count: int) -> None:
        """Refuse a folder that has other layers than config.json promises. `pattern` is the start of the
        names of a layer's tensors, with {} for its number: "encoder.layer.{}."."""
        head, _, tail = pattern.partition("{}")
        number = re.compile(f"{re.escape(head)}([0-9]{{1,6}}){re.escape(tail)}")
        present = {int(found[1]) for found in map(number.match, self._stored) if found}
        if present != set(range(len(present))) or len(present) != count:
            last = f"{len(present)}" if present == set(range(len(present))) else f"{sorted(present)[:12]}"
            raise GraphError(
                f"{self.folder.path} has the tensors of {last} layers; expected {count:,}, as config.json says"
            )


def _canonical(name: str, prefixes: Sequence[str]) -> str:
    for prefix in prefixes:
        if name.startswith(prefix):
            name = name[len(prefix) :]
            break
    for old, new in OLD:
        if re.search(f"[Nn]orm.*\\.{old}$", name):
            return name[: -len(old)] + new
    return name


def _tensors(folder: Folder) -> list[Stored]:
    """Every tensor of the folder."""
    if folder.has(WHOLE):
        return _of_file(folder.file(WHOLE))
    if not folder.has(INDEX):
        raise _no_weights(folder)
    placed = folder.json(INDEX).get("weight_map")
    if not isinstance(placed, dict) or not placed or not all(isinstance(p, str) for p in placed.values()):
        raise GraphError(f"{folder.path / INDEX} has no weight_map; expected tensor names with their files")
    found: list[Stored] = []
    for shard in dict.fromkeys(placed.values()):
        if not shard.endswith(".safetensors"):
            raise GraphError(f"{folder.path / INDEX} names {shard[:80]!r}; expected .safetensors files")
        promised = {name for name, file in placed.items() if file == shard}
        here = _of_file(folder.file(shard))
        missing = sorted(promised - {stored.name for stored in here})
        if missing:
            raise GraphError(f"{folder.path / shard} has no {missing[0][:80]!r}; expected it, as {INDEX} says")
        found += [stored for stored in here if stored.name in promised]
    return found


def _no_weights(folder: Folder) -> GraphError:
    pickled = sorted(p.name for p in folder.path.iterdir() if p.suffix.lower() in PICKLED)
    if pickled:
        return refused_file(folder.path / pickled[0])
    return GraphError(f"{folder.path} has no {WHOLE} and no {INDEX}; expected one of them")


def _of_file(path: Path) -> list[Stored]:
    """The tensors of one .safetensors file, which the library has checked, mapped into memory."""
    try:
        import numpy  # noqa: F401  (the library maps files with it)
        from safetensors import SafetensorError, safe_open
    except ImportError:
        raise GraphError(
            "a model's folder is read with numpy beside safetensors: pip install 'graphattn[models]'"
        ) from None
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > HEADER_LIMIT:
            raise GraphError(f"{path} states a header of {length:,} bytes; expected at most {HEADER_LIMIT:,}")
        try:
            with safe_open(path, framework="np"):
                pass
        except (SafetensorError, OSError, ValueError) as error:
            reason = str(error).removeprefix("Error while deserializing: ")
            raise GraphError(f"{path} is not a whole .safetensors file: {reason[:160]}") from None
        mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    header: dict[str, Any] = json.loads(bytes(mapped[8 : 8 + length]))
    start = 8 + length
    return [
        Stored(name, path, record["dtype"], tuple(record["shape"]), mapped[start + first : start + last])
        for name, record in header.items()
        if name != "__metadata__"
        for first, last in (record["data_offsets"],)
    ]
