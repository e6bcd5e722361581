"""What was observed, tensor by tensor of the graph: found by name, by shape, or as compare finds it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from ...core import nested
from ...core.errors import GraphError, suggest
from ...core.graph import Graph, Ref
from ...core.run import run
from ...core.words import listed, sizes
from ..compare.alignment import align
from ..compare.alignment.arrangements import merges
from ..compare.alignment.matching import Pair
from ..compare.feeding import fed_as, run_on
from ..compare.reading import of_trace
from ..compare.recording import Recorded, Recording


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


@dataclass(frozen=True)
class Reading:
    """What was observed of a graph, and what the graph is fed."""

    observed: list[Observed]
    """In the order of the graph."""
    fed: dict[str, Any]
    recorded: dict[str, Recorded]
    """The inputs that are fed as they were observed."""
    notes: list[str]


def read_observed(
    graph: Graph, recording: Recording, feeds: Mapping[str, Any] | None, gradients: Collection[str] = (),
    names: Mapping[str, str] | None = None,
) -> Reading:  # fmt: skip
    """The observed tensors that the graph (at the level at which it is searched) has, and what it is fed:
    `feeds`, and for inputs that are missing there, those that were observed. Names that the graph does not have
    are those of compare's alignment. A result may be of another shape, and so may `gradients`: one that was not
    summed over the tokens is.

    Raises a `GraphError` where the graph has none of the names, or the shape of an intermediate is not its.
    """
    fed, recorded, notes = _fed(graph, recording, feeds, names or {})
    found: dict[Ref, Observed] = {}
    left: list[Recorded] = []
    mapped = set((names or {}).values())
    for name, tensor in recording.tensors.items():
        if name in graph.nodes and graph.nodes[name].op.fed and name not in mapped:
            continue
        if name not in graph or name in mapped:
            left.append(tensor)
            continue
        ref = graph.resolve(name)
        spec = graph.spec(ref)
        if spec.kind == "float":
            free = name in gradients or name in graph.outputs
            shaped = tensor if free and not _fits(tensor, spec.shape) else _shaped(name, tensor, spec.shape)
            found[ref] = Observed(_known(graph, name, ref), ref, shaped)
    if left or names:  # names are for tensors that are there
        notes += _place(graph, recording, fed, names or {}, left, found, bool(gradients))
    if not found:
        raise GraphError(f"{recording.title} has no tensor that the graph computes; expected one or more")
    order = {name: place for place, name in enumerate(graph.nodes)}
    observed = sorted(found.values(), key=lambda o: (order[o.ref.node], o.ref.port))
    return Reading(observed, fed, recorded, notes)


def _known(graph: Graph, name: str, ref: Ref) -> str:
    """A name as it was given, unless it is but the ending of one, which may have others further in."""
    return name if name in graph.outputs or name in graph.aliases else graph.tensor_name(ref)


def _fed(
    graph: Graph, recording: Recording, feeds: Mapping[str, Any] | None, names: Mapping[str, str]
) -> tuple[dict[str, Any], dict[str, Recorded], list[str]]:
    """What the graph is fed, what of it was observed, and what there is to say: an input that was observed by
    its own name and in its shape is taken as it is, any other as compare reads it."""
    fed = dict(feeds or {})
    recorded: dict[str, Recorded] = {}
    for name, spec in graph.fed.items():
        tensor = recording.tensors.get(names.get(name, name))
        if name not in fed and tensor is not None and _squeezed(tensor.shape) == _squeezed(spec.shape):
            recorded[name] = _shaped(name, tensor, spec.shape)
            fed[name] = fed_as(recorded[name], spec)
    missing = [name for name in graph.inputs if name not in fed]
    if not missing:
        return fed, recorded, []
    fed_run, notes = run_on(graph, recording, names, fed, None)
    read = fed_run.tensors
    given = {name: fed_as(read[name], graph.inputs[name]) for name in missing}
    return {**fed, **given}, {**recorded, **{name: read[name] for name in missing}}, list(notes)


def _place(
    graph: Graph, recording: Recording, fed: Mapping[str, Any], names: Mapping[str, str],
    left: list[Recorded], found: dict[Ref, Observed], backward: bool,
) -> list[str]:  # fmt: skip
    """Find tensors whose names the graph does not have, in turn: as compare does by name, the only one for the
    one result that is left and has its shape (`backward`, where gradients were observed, that may be its
    cotangent), by value, and the only one that is left for a result. What no tensor of the graph is is told."""
    alignment = align(of_trace(run(graph, fed, allow_nonfinite=True)), recording, names)
    fits = [
        pair for pair in alignment.pairs if pair.reference.shape == graph.spec(graph.resolve(pair.key)).shape
    ]
    by_shape: list[tuple[str, ...]] = [] if backward else [()]
    for how in (("mapping", "name"), *by_shape, ("value",), *by_shape):
        more: list[Recorded] = []
        for tensor in left:
            pairs = [pair for pair in fits if pair.other == tensor.name and pair.how.startswith(how)]
            alone = sum(_squeezed(other.shape) == _squeezed(tensor.shape) for other in left) == 1
            if not (
                _by_pairs(graph, pairs, names, found) if how else alone and _by_shape(graph, tensor, found)
            ):
                more.append(tensor)
        left = more
    if left and not found:
        known = [*graph.outputs, *graph.tensor_names()]
        raise GraphError(
            f"the graph has no tensor {nested.shown(left[0].name)}{suggest(left[0].name, known)};"
            f" expected one of {listed(list(graph.outputs))}, or another tensor of the graph"
        )
    return [f"not looked at, for the graph has no such tensor: {listed(t.name for t in left)}"] if left else []


def _by_pairs(
    graph: Graph, pairs: Sequence[Pair], names: Mapping[str, str], found: dict[Ref, Observed]
) -> bool:
    """Whether compare pairs a tensor, as it is, with tensors of the graph, and it is taken for those that are
    numbers and computed, by the name that was given for it if there is one."""
    if not pairs or "as if" in pairs[0].how:
        return False
    given = {graph.resolve(name): name for name in names if name in graph}
    for pair in pairs:
        ref = graph.resolve(pair.key)
        if ref not in found and graph.spec(ref).kind == "float" and not graph.nodes[ref.node].op.fed:
            found[ref] = Observed(given.get(ref, pair.key), ref, pair.yours)
    return True


def _by_shape(graph: Graph, tensor: Recorded, found: dict[Ref, Observed]) -> bool:
    """Whether a tensor is the one result that is left and has its shape, and is taken for it."""
    results = [(name, t.ref) for name, t in graph.outputs.items() if t.ref not in found and t.kind == "float"]
    fits = [(name, ref) for name, ref in results if _squeezed(graph.spec(ref).shape) == _squeezed(tensor.shape)]
    if len(fits) == 1:
        name, ref = fits[0]
        found[ref] = Observed(name, ref, _shaped(name, tensor, graph.spec(ref).shape))
    return len(fits) == 1


def _squeezed(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(size for size in shape if size != 1)


def other_shape(name: str, theirs: tuple[int, ...], own: tuple[int, ...]) -> str:
    """That a tensor is of another shape than the graph's, and which was expected."""
    if theirs == (*own[:-2], *own[:-3:-1]) and len(own) > 1:
        hint = ", its transpose"
    elif prod(theirs) == prod(own):
        hint = ": it holds as many cells in another layout, which compare reads and diagnose does not"
    else:
        hint = ", or a graph of that size"
    return f"{name} is {sizes(theirs)} in yours; expected {sizes(own)}{hint}"


def _fits(tensor: Recorded, shape: Sequence[int]) -> bool:
    """Whether a tensor has that shape, but for neighbouring axes that are one in either of both."""
    own, wanted = _squeezed(tensor.shape), _squeezed(shape)
    return merges(own, wanted) or merges(wanted, own)


def _shaped(name: str, tensor: Recorded, shape: tuple[int, ...]) -> Recorded:
    if tensor.shape == shape:
        return tensor
    if not _fits(tensor, shape):
        raise GraphError(other_shape(name, tensor.shape, shape))
    return tensor.as_shape(shape)
