"""The small folders of models that tests read, and copies of them with something changed."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from graphattn.core import nested

FOLDERS = Path(__file__).parent.parent / "data" / "models"
MINILM = os.environ.get("GRAPHATTN_MINILM")

needs_minilm = pytest.mark.skipif(
    not MINILM or not Path(MINILM).is_dir(),
    reason="GRAPHATTN_MINILM names no folder with all-MiniLM-L6-v2 (tools/fetch_minilm.py fetches it)",
)


def distance(a, b) -> float:
    """The largest difference of two tensors of one shape."""
    assert nested.shape_of(a) == nested.shape_of(b)
    return max(abs(x - y) for x, y in zip(nested.flat(a), nested.flat(b), strict=True))


def expected(family: str) -> dict:
    """What transformers computed in float64 (data/models/write.py)."""
    return json.loads((FOLDERS / family / "expected.json").read_text(encoding="utf-8"))


def copied(family: str, to: Path, drop=(), **settings) -> Path:
    """A copy of a family's folder, with settings changed (None takes one out) and files left out."""
    folder = to / family
    shutil.copytree(FOLDERS / family, folder)
    for name in drop:
        (folder / name).unlink()
    config = json.loads((folder / "config.json").read_text(encoding="utf-8")) | settings
    config = {key: value for key, value in config.items() if key not in settings or value is not None}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder
