"""graphattn: attention as a dataflow graph, evaluated step by step with every number visible.

Names load on first use, so that `import graphattn` stays light.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if (Path(__file__).parent.parent / "passes").is_dir():  # in a checkout: passes/ and dumps/ are beside us
    __path__.append(str(Path(__file__).parent.parent))

if TYPE_CHECKING:
    from .errors import GraphError as GraphError
    from .graph import Graph as Graph
    from .graph import Tensor as Tensor
    from .trace import Step as Step
    from .trace import Trace as Trace
    from .trace import run as run
    from .trace import steps as steps

__version__ = "0.1.0"

_HOME = {
    "GraphError": "errors",
    "Graph": "graph",
    "Tensor": "graph",
    "Step": "trace",
    "Trace": "trace",
    "run": "trace",
    "steps": "trace",
}

__all__ = ["Graph", "GraphError", "Step", "Tensor", "Trace", "__version__", "run", "steps"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f".{_HOME[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
