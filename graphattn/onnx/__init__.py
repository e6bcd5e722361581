"""ONNX models in and out (extra `onnx`).

    specimen = load("model.onnx", feeds)      a graph with its feeds: run it, draw it, ask it why
    operators("model.onnx")                   which operators it has, and which of them are read
    save(graph, "model.onnx")                 a graph as a model of standard operators

Tensors go by their ONNX names. What is computed of shapes and of integers that are fed is computed while
the model is read; `specimen.graph.notes` says what the graph depends on by that.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {"input_names": "feeding", "load": "importing", "operators": "inventory", "save": "writing"}


def __getattr__(name: str) -> Any:
    """Load a function of this package on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


__all__ = ["input_names", "load", "operators", "save"]  # pyright: ignore[reportUnsupportedDunderAll]
