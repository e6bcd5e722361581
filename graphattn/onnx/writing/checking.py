"""Whose fault it is that ONNX refuses a model: the first node that it refuses by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import onnx

from ...core.errors import GraphError
from ...core.graph import Ref
from .model import Program, array_of, model_of, write_node
from .operators import Initializer


def blaming(program: Program, take: Callable[[], Any]) -> Any:
    """What `take`, which does something with the model, gives; where it fails, a `GraphError` that names the
    node."""
    try:
        return take()
    except (GraphError, MemoryError, NotImplementedError):
        raise
    except Exception as error:  # whatever the libraries raise
        for node in {node.name: node for node, _ in program.nodes}.values():
            refused = _refused(program, node.name)
            if refused:
                raise GraphError(
                    f"{node.op.name} {node.name!r}: its onnx rule writes what ONNX refuses: {refused}"
                ) from error
        raise GraphError(f"ONNX refuses the model of graph {program.graph.name!r}: {_first(error)}") from error


def _refused(program: Program, name: str) -> str:
    """Why ONNX refuses a model of that node alone; "" if it does not."""
    graph, target = program.graph, program.target
    node = graph.nodes[name]
    alone = Program(graph, target)
    alone.inputs = [(graph.tensor_name(ref), graph.spec(ref)) for ref in dict.fromkeys(node.operands) if ref]
    write_node(alone, node, {}, ())
    alone.outputs = [(graph.tensor_name(Ref(name, port)), spec) for port, spec in enumerate(node.outputs)]

    def array(made: Initializer) -> Any:
        return array_of(made.cells, made.shape, made.value.kind, target.numbers, made.value.name)

    try:
        onnx.checker.check_model(model_of(alone, array), full_check=True)
    except GraphError:
        raise
    except Exception as error:
        return _first(error)
    return ""


def _first(error: Exception) -> str:
    """The first line of what a library says."""
    return " ".join(str(error).split("\n", 1)[0].split())[:200]
