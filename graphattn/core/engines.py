"""What computes a run instead of the interpreter: `run(graph, feeds, engine="onnxruntime")`."""

from __future__ import annotations

from typing import Any

from .errors import GraphError, suggest
from .words import listed, shown

ENGINES = ("onnxruntime",)
PRECISIONS = ("float", "float32")
"""The numbers that engines compute with."""


def lacking(error: ImportError) -> GraphError:
    """What to say where a package is missing that an engine is made of."""
    return GraphError(
        f"engine='onnxruntime' needs the package {error.name}: pip install 'graphattn[onnxruntime]'"
    )


def need_engine(engine: Any) -> None:
    """Refuse what is no engine."""
    if engine not in ENGINES:
        near = suggest(engine, ENGINES) if isinstance(engine, str) else ""
        raise GraphError(f"engine is {shown(engine)}; expected {listed(ENGINES)}, or None{near}")
