"""graphattn: attention as a dataflow graph, evaluated step by step with every number visible.

Names load on first use, so that `import graphattn` stays light.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if (Path(__file__).parent.parent / "passes").is_dir():  # in a checkout: passes/ and dumps/ are beside us
    __path__.append(str(Path(__file__).parent.parent))

if TYPE_CHECKING:
    from .core.errors import GraphError as GraphError
    from .core.graph import Graph as Graph
    from .core.graph import Tensor as Tensor
    from .core.run import run as run
    from .core.run import steps as steps
    from .core.trace import Step as Step
    from .core.trace import Trace as Trace
    from .dumps.load import load as load
    from .insight.compare import compare as compare
    from .insight.diagnose import diagnose as diagnose
    from .insight.heads import heads as heads
    from .models import pretrained as pretrained
    from .passes.gradient import gradient as gradient
    from .passes.jacobian import jacobian as jacobian

__version__ = "0.1.0"

_HOME = {
    "GraphError": "core.errors",
    "Graph": "core.graph",
    "Tensor": "core.graph",
    "Step": "core.trace",
    "Trace": "core.trace",
    "run": "core.run",
    "steps": "core.run",
    "compare": "insight.compare",
    "load": "dumps.load",
    "heads": "insight.heads",
    "pretrained": "models",
    "diagnose": "insight.diagnose",
    "gradient": "passes.gradient",
    "jacobian": "passes.jacobian",
}

__all__ = [
    "Graph",
    "GraphError",
    "Step",
    "Tensor",
    "Trace",
    "__version__",
    "compare",
    "diagnose",
    "gradient",
    "heads",
    "jacobian",
    "load",
    "pretrained",
    "run",
    "steps",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f".{_HOME[name]}", __name__), name)
    if not name.startswith("_") and find_spec(f"{__name__}.{name}"):
        return import_module(f".{name}", __name__)  # graphattn.model, graphattn.torch, …
    hint = import_module(".core.elsewhere", __name__).top(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
