"""What a graph is fed so that its run can be compared: the inputs that yours recorded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...core.errors import GraphError
from ...core.graph import Graph
from ...core.trace import Trace, run
from .alignment import words
from .recording import Recorded, Recording, folded, listed


def run_on(graph: Graph, yours: Recording, names: Mapping[str, str], feeds: Any, level: str | None) -> Trace:
    """The trace of a graph on what it is fed, or else on the inputs that yours recorded."""
    given = {} if feeds is None else dict(feeds)
    by_words = {words(name): tensor for name, tensor in yours.tensors.items()}
    missing = []
    for name, spec in graph.inputs.items():
        if name in given:
            continue
        tensor = yours.need(names[name]) if name in names else yours.find(name) or by_words.get(words(name))
        if tensor is None:
            missing.append(name)
            continue
        if tensor.size == spec.size:
            tensor = tensor.as_shape(spec.shape)
        value = tensor.nested()
        given[name] = value if spec.kind == "float" else _of_kind(tensor, spec.kind)
    if missing:
        raise GraphError(
            f"yours did not record {listed(missing)}, which graph {graph.name!r} is fed;"
            " expected feeds, or these tensors in yours"
        )
    return run(graph, given, level=level, allow_nonfinite=True)


def _of_kind(tensor: Recorded, kind: str) -> Any:
    convert = bool if kind == "bool" else int
    cells = [convert(cell) if cell == convert(cell) else cell for cell in tensor.flat]
    return folded(tensor.name, tensor.shape, cells).nested()
