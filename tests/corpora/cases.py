"""Reads the conformance cases (see tests/data/corpora/README.md) and compares with their rule."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent.parent / "data" / "corpora"
ROOT = Path(os.environ.get("GRAPHATTN_CORPORA", HERE))
SPECIAL = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def paths(suite: str) -> list[Path]:
    """The files of a suite, in order. An empty suite is an error: a test of nothing passes."""
    found = sorted((ROOT / suite).glob("*.json"))
    if not found:
        raise FileNotFoundError(f"no cases in {ROOT / suite}")
    return found


def load(path: Path) -> dict[str, Any]:
    """A case; the numbers of its tensors are read."""
    with open(path, encoding="utf-8") as file:
        case = json.load(file)
    for field in ("inputs", "outputs", "trace"):
        for tensor in case.get(field, ()):
            tensor["data"] = _read(tensor["data"])
    return case


def _read(data: Any) -> Any:
    if isinstance(data, list):
        return [_read(item) for item in data]
    return SPECIAL[data] if isinstance(data, str) else data


def inputs(case: dict[str, Any]) -> dict[str, Any]:
    return {tensor["name"]: tensor["data"] for tensor in case["inputs"]}


def judged(case: dict[str, Any], tensor: dict[str, Any], got: Any) -> str | None:
    """None where `got` passes by the case's own rule; else the first difference."""
    atol = tensor.get("atol", case["atol"]) or 0.0
    return mismatch(got, tensor["data"], case["rtol"], atol, tensor["name"])


def mismatch(got: Any, want: Any, rtol: float, atol: float, where: str) -> str | None:
    if isinstance(want, list):
        if not isinstance(got, list) or len(got) != len(want):
            return f"{where}: the shape differs"
        told = (mismatch(g, w, rtol, atol, f"{where}[{i}]") for i, (g, w) in enumerate(zip(got, want)))
        return next((one for one in told if one), None)
    if want != want or got != got:
        return None if want != want and got != got else f"{where}: got {got!r}; expected {want!r}"
    if got == want or (math.isfinite(want) and abs(got - want) <= atol + rtol * abs(want)):
        return None
    return f"{where}: got {got!r}; expected {want!r}"
