"""A model's folder as it is downloaded: small JSON files, and where its files really are.

Nothing in it is trusted: a file is read where it is a plain one, of bounded size, inside the folder.
A link may lead to where Hugging Face's cache keeps its files (`../../blobs`), and to nowhere else
outside.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from ..core.errors import GraphError

Read = TypeVar("Read")
WHOLE = "model.safetensors"
PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
JSON_LIMIT = 2**24
"""The largest config or index that is read, in bytes."""


def is_model_folder(path: Path) -> bool:
    """Whether a folder looks like a model's: it says what it is in config.json."""
    return (path / "config.json").is_file() or (path / "config.json").is_symlink()


class Folder:
    """The folder of a model. `path` is as it was given, for messages."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if self.path.suffix.lower() in PICKLED and self.path.is_file():
            raise refused_file(self.path)
        if not self.path.is_dir():
            raise GraphError(f"{self.path} is not a folder; expected one with config.json and {WHOLE}")
        self._real = self.path.resolve()
        self._read: dict[str, Any] = {}

    def once(self, what: str, read: Callable[[], Read]) -> Read:
        """What is read of it once, for all texts that come."""
        if what not in self._read:
            self._read[what] = read()
        return self._read[what]

    def has(self, name: str) -> bool:
        return (self.path / name).exists() or (self.path / name).is_symlink()

    def file(self, name: str) -> Path:
        """The path of a file in it. Raises a `GraphError` where it is absent, no plain file, or leads
        out of the folder."""
        where = self.path / name
        if "\\" in name or "\0" in name or Path(name).is_absolute() or ".." in Path(name).parts:
            raise GraphError(f"{self.path}: {name[:80]!r} leads out of the folder; expected a file inside it")
        try:
            real = where.resolve(strict=True)
        except (OSError, RuntimeError):
            broken = "is a link to nothing" if where.is_symlink() else "is missing"
            raise GraphError(f"{self.path}: {name[:80]} {broken}; expected that file") from None
        rooms = (self._real, self._real.parent.parent / "blobs")
        if not any(room in real.parents for room in rooms):
            raise GraphError(f"{where} is a link that leads out of the folder; expected a file inside it")
        if not real.is_file():
            raise GraphError(f"{where} is no plain file; expected one")
        return where

    def json(self, name: str, kind: type = dict) -> Any:
        """What a small JSON file holds: an object, or a list for kind=list."""
        where = self.file(name)
        with where.open("rb") as file:
            data = file.read(JSON_LIMIT + 1)
        if len(data) > JSON_LIMIT:
            raise GraphError(f"{where} is larger than {JSON_LIMIT:,} bytes; expected a smaller file")
        try:
            found = json.loads(data.decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:
            reason = "nested too deep" if isinstance(error, RecursionError) else str(error)
            raise GraphError(f"{where} is not JSON: {reason[:120]}") from None
        if not isinstance(found, kind):
            expected = "an object" if kind is dict else "a list"
            raise GraphError(f"{where} holds a {type(found).__name__}; expected {expected}")
        return found


def refused_file(path: Path) -> GraphError:
    """What to say of a pickled file of weights."""
    return GraphError(
        f"{path} is pickled, which can run code and is never read; expected {WHOLE}, which transformers"
        " writes: AutoModel.from_pretrained(FOLDER).save_pretrained(NEW_FOLDER)"
    )
