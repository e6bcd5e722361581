"""Golden vectors as data files: JSON, CSV, .npz, .safetensors."""

from __future__ import annotations

import json as standard
from collections.abc import Iterator
from typing import Any

from graphattn.core import nested
from graphattn.core.numbers import FLOAT
from graphattn.dumps.golden.vectors import Vector
from graphattn.dumps.tensor_bytes import npz_bytes, safetensors_bytes


def json(vectors: list[Vector]) -> Iterator[tuple[str, str]]:
    """A dict of nested lists by name; infinities and NaN are the texts "inf", "-inf", "nan"."""
    lines = (f"{standard.dumps(v.name)}: {standard.dumps(_told(v.value), ensure_ascii=False)}" for v in vectors)
    yield "vectors.json", "{\n" + ",\n".join(lines) + "\n}\n"


def csv(vectors: list[Vector]) -> Iterator[tuple[str, str]]:
    """A file for each tensor: the cells of the last axis on a line, the rows of all slices below each other."""
    for vector in vectors:
        text = FLOAT.text if vector.spec.kind == "float" else str
        rows = (",".join(map(text, row)) for _, row in nested.rows(vector.value, vector.spec.rank))
        yield f"{vector.identifier}.csv", "".join(f"{row}\n" for row in rows)


def npz(vectors: list[Vector]) -> Iterator[tuple[str, bytes]]:
    yield "vectors.npz", npz_bytes({v.name: (v.spec, v.value) for v in vectors})


def safetensors(vectors: list[Vector]) -> Iterator[tuple[str, bytes]]:
    yield "vectors.safetensors", safetensors_bytes({v.name: (v.spec, v.value) for v in vectors})


def _told(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_told(item) for item in value]
    return FLOAT.text(value) if isinstance(value, float) and value - value != 0 else value
