"""Conformance cases (see tests/data/corpora/README.md): read them, and judge a result by their rule."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent.parent / "data" / "corpora"
ROOT = Path(os.environ.get("GRAPHATTN_CORPORA", HERE))
SUITES = ("torch", "onnx", "trace", "mp")
SPECIAL = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}

EXACT = {"Transpose", "Split", "Concat", "Where", "Trilu", "Relu", "Identity", "Reshape"}
"""Operators that only move numbers: their results are compared with ==."""


class Array:
    """A recorded tensor as an argument: nested lists, with the shape and dtype that were recorded."""

    def __init__(self, tensor: dict[str, Any]) -> None:
        self.shape, self.dtype, self.data = tuple(tensor["shape"]), tensor["dtype"], tensor["data"]

    def tolist(self) -> Any:
        return self.data


def paths(suite: str, root: Path | None = None) -> list[Path]:
    """The files of a suite, in order. An empty suite of ours is an error, since a test of nothing passes;
    another folder (GRAPHATTN_CORPORA) need not have every suite."""
    folder = ROOT if root is None else root
    found = sorted((folder / suite).glob("*.json"))
    if not folder.is_dir() or (not found and folder == HERE):
        raise FileNotFoundError(f"no cases in {folder / suite}")
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
    """The data of the inputs, by name."""
    return {tensor["name"]: tensor["data"] for tensor in case["inputs"]}


def tolerance(case: dict[str, Any], tensor: dict[str, Any]) -> tuple[float, float]:
    """(rtol, atol) for one output of a computation in doubles."""
    if {node["op"] for node in case.get("nodes", [case])} <= EXACT:
        return 0.0, 0.0
    if "f64_rtol" in case:
        return case["f64_rtol"], case["f64_atol"]
    return case["rtol"], tensor.get("atol", case["atol"]) or 0.0


def judged(case: dict[str, Any], tensor: dict[str, Any], got: Any, rtol: float | None = None) -> str | None:
    """None where `got` passes by the case's own rule, or at another rtol; else the first difference."""
    own, atol = tolerance(case, tensor)
    return mismatch(got, tensor["data"], own if rtol is None else rtol, atol, tensor["name"])


def mismatch(got: Any, want: Any, rtol: float, atol: float, where: str) -> str | None:
    """None where |got − want| ≤ atol + rtol |want| in every cell; else the first difference."""
    if isinstance(want, list):
        if not isinstance(got, list) or len(got) != len(want):
            return f"{where}: the shape differs"
        told = (mismatch(g, w, rtol, atol, f"{where}[{i}]") for i, (g, w) in enumerate(zip(got, want)))
        return next((one for one in told if one), None)
    if isinstance(got, list):
        return f"{where}: the shape differs"
    if isinstance(want, int):  # bools too
        return None if type(got) is type(want) and got == want else f"{where}: got {got!r}; expected {want!r}"
    if want != want or got != got:
        return None if want != want and got != got else f"{where}: got {got!r}; expected {want!r}"
    if got == want or (math.isfinite(want) and abs(got - want) <= atol + rtol * abs(want)):
        return None
    return f"{where}: got {got!r}; expected {want!r}"
