"""A model that `save` wrote comes back as the very graph that it was written from.

The model carries the text of the graph, and how it was written. `restored` reads the text and writes that
graph again: only if the nodes, inputs, outputs and initializers are those of the file, one by one, is the
graph what the file says, and taken; a file that anything else changed is read as any other model.
"""

from __future__ import annotations

import json
from typing import Any

from graphattn.dumps.graph_text import graph_text, parse_graph

from ...core.errors import GraphError
from ...core.graph import Graph
from ..reading import Model
from ..tensors import array_of as array_of_initializer
from ..tensors import packed
from .model import array_of, model_of, program_of
from .operators import Initializer, Target

GRAPH, WRITTEN = "graphattn.graph", "graphattn.written"
"""Where the text of the graph stands, and how it was written."""
TEXT_LIMIT = 2**20
"""The longest text of a graph that a model carries: its large constants stand in the model already."""


def carried(graph: Graph, target: Target, values: Any) -> dict[str, str]:
    """What a model carries of the graph that it was written from; nothing where that is too long."""
    text = graph_text(graph)
    if len(text) > TEXT_LIMIT:
        return {}
    written = {
        "opset": target.opset, "numbers": target.numbers, "attention": target.attention, "exact": target.exact,
        "values": sorted(values),
    }  # fmt: skip
    return {GRAPH: text, WRITTEN: json.dumps(written)}


def restored(model: Model) -> tuple[Graph, dict[str, Any]] | None:
    """The graph that a model was written from, and the tensors that became part of the model; None for a
    model that is not, or not any more, what `save` makes of the graph that it carries."""
    told = {pair.key: pair.value for pair in model.proto.metadata_props}
    if GRAPH not in told or len(told[GRAPH]) > TEXT_LIMIT or len(told.get(WRITTEN, "")) > TEXT_LIMIT:
        return None
    try:
        graph = parse_graph(told[GRAPH])
        target, names = _written(told.get(WRITTEN, ""))
        stored = {tensor.name: tensor for tensor in model.graph.initializer}
        values = {name: array_of_initializer(stored[name], model, f"initializer {name!r}") for name in names}
        if any(array.shape != graph.inputs[name].shape for name, array in values.items()):
            return None
        again = _again(graph, target, values)
    except (GraphError, KeyError, ValueError, TypeError, RecursionError):
        return None
    same = all(
        list(getattr(again.graph, part)) == list(getattr(model.graph, part))
        for part in ("node", "input", "output")
    )
    mine = {tensor.name: tensor for tensor in again.graph.initializer if tensor.name not in values}
    theirs = {name: tensor for name, tensor in stored.items() if name not in values}
    if not same or mine != theirs:
        return None
    return graph, {name: packed(array) for name, array in values.items()}


def _written(text: str) -> tuple[Target, list[str]]:
    """How a model was written, and the names of what became part of it."""
    told = json.loads(text)
    names = told["values"]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("no names")
    return Target(int(told["opset"]), str(told["numbers"]), str(told["attention"]), bool(told["exact"])), names


def _again(graph: Graph, target: Target, values: dict[str, Any]) -> Any:
    """The model of the graph, without the cells of what is known to be the same."""
    program = program_of(graph, target, dict.fromkeys(values, ()))

    def array(initializer: Initializer) -> Any | None:
        value = initializer.value
        if value.name in values:
            return values[value.name][:0].reshape(-1)
        return array_of(initializer.cells, initializer.shape, value.kind, target.numbers, value.name)

    return model_of(program, array)
