"""What was observed, tensor by tensor of the graph: read in any form, found by name, or by shape."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...core import nested
from ...core.errors import GraphError, suggest
from ...core.graph import Graph, Ref
from ...core.words import listed, sizes
from ..compare.reading import read
from ..compare.recording import Recorded


@dataclass(frozen=True)
class Observed:
    """One tensor of the graph as it was observed."""

    name: str
    """Its name in the graph."""
    ref: Ref
    theirs: Recorded

    @property
    def rows(self) -> list[list[float]]:
        return self.theirs.rows


def read_observed(
    graph: Graph, source: Any, feeds: Mapping[str, Any] | None, gradients: Collection[str] = ()
) -> tuple[list[Observed], dict[str, Any]]:
    """The observed tensors that the graph (at the level at which it is searched) has, in its order, and what it
    is fed: `feeds`, and for inputs that are missing there, those that were observed. `gradients` names those
    whose shape may be wrong too: one that was not summed over the tokens has another.

    Raises a `GraphError` for a name that the graph does not have, or a shape that is not its.
    """
    recording = read(source)
    fed = dict(feeds or {})
    left: list[Recorded] = []
    found: dict[Ref, Observed] = {}
    for name, tensor in recording.tensors.items():
        if name in graph.inputs:
            if name not in fed:
                fed[name] = _shaped(name, tensor, graph.inputs[name].shape).nested()
            continue
        if name not in graph:
            left.append(tensor)
            continue
        ref = graph.resolve(name)
        spec = graph.spec(ref)
        if spec.kind == "float":
            free = name in gradients and _squeezed(tensor.shape) != _squeezed(spec.shape)
            found[ref] = Observed(name, ref, tensor if free else _shaped(name, tensor, spec.shape))
    for tensor in left:
        _by_shape(graph, tensor, found)
    if not found:
        raise GraphError(f"{recording.title} has no tensor that the graph computes; expected one or more")
    order = {name: place for place, name in enumerate(graph.nodes)}
    return sorted(found.values(), key=lambda o: order[o.ref.node]), fed


def _by_shape(graph: Graph, tensor: Recorded, found: dict[Ref, Observed]) -> None:
    """A tensor whose name the graph does not have is its one result that is left and has its shape."""
    results = [(name, t.ref) for name, t in graph.outputs.items() if t.ref not in found and t.kind == "float"]
    fits = [(name, ref) for name, ref in results if _squeezed(graph.spec(ref).shape) == _squeezed(tensor.shape)]
    if len(fits) != 1:
        known = [*graph.outputs, *graph.tensor_names()]
        raise GraphError(
            f"the graph has no tensor {nested.shown(tensor.name)}{suggest(tensor.name, known)};"
            f" expected one of {listed(list(graph.outputs))}, or another tensor of the graph"
        )
    name, ref = fits[0]
    found[ref] = Observed(name, ref, _shaped(name, tensor, graph.spec(ref).shape))


def _squeezed(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(size for size in shape if size != 1)


def _shaped(name: str, tensor: Recorded, shape: tuple[int, ...]) -> Recorded:
    if tensor.shape == shape:
        return tensor
    if _squeezed(tensor.shape) != _squeezed(shape):
        turned = tensor.shape == (*shape[:-2], *shape[:-3:-1]) and len(shape) > 1
        hint = ", its transpose" if turned else ""
        raise GraphError(f"{name} is {sizes(tensor.shape)} in yours; expected {sizes(shape)}{hint}")
    return tensor.as_shape(shape)


def rows_of(value: Any, rank: int) -> list[list[float]]:
    """The rows of a tensor along its last axis; `rank` is for one that is empty."""
    depth, inner = 0, value
    while isinstance(inner, list):
        depth += 1
        inner = inner[0] if inner else None
        rank = rank if inner is None else depth
    rank = rank if depth else 0
    if rank == 2:
        return value
    if rank == 0:
        return [[value]]
    return [row for _, row in nested.rows(value, rank)]
