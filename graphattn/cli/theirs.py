"""A recording that a graph is held against: its tensors, what they are called in the graph, and what the graph
is fed beside them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.errors import GraphError
from ..core.specimen import Specimen
from ..core.words import listed, sizes
from .output import message
from .source import is_graph, is_program

if TYPE_CHECKING:
    from ..core.graph import Graph
    from ..insight.compare.recording import Recording


def read_recording(path: str) -> Recording:
    """The tensors of a file or a folder. Raises a `GraphError` for what holds none."""
    from ..insight.compare.reading import read_file

    if not Path(path).exists():
        raise GraphError(f"{path!r} does not exist; expected a recording: a file or a folder of tensors")
    if is_graph(path):
        raise GraphError(f"{path} is a graph without values; expected a recording: a trace, or tensors")
    return read_file(path)


def recorded(source: str, recording: Recording, names: Mapping[str, str]) -> dict[str, Any]:
    """What was recorded, by its own names and by the `names` that it has in a source that is read for it."""
    if not is_program(source):
        return {}
    own = {name: tensor.nested() for name, tensor in recording.tensors.items()}
    return own | {mine: own[theirs] for mine, theirs in names.items() if theirs in own}


def read_pairs(entries: Iterable[str], mine: str, theirs: str) -> dict[str, str]:
    """{the name in mine: the name in theirs} of what --name was given."""
    pairs = {}
    for entry in entries:
        own, sign, other = entry.partition("=")
        if not sign or not own or not other:
            raise GraphError(f"--name {entry!r} is no pair; expected NAME_IN_{mine}=NAME_IN_{theirs}")
        pairs[own.strip()] = other.strip()
    return pairs


def need_numbers(graph: Graph, recording: Recording, names: Mapping[str, str]) -> None:
    """Refuse a text where a tensor of the graph, or one that --name names, is recorded."""
    recording.need_numbers({*graph.tensor_names(), *names.values()})


FLAGS = {"token": "--n", "feature": "--d"}
"""The options that say how long an axis of a built-in graph is."""


def need_sizes(source: str, graph: Graph, recording: Recording, heads: int | None) -> None:
    """Refuse inputs of other sizes than those of the graph, and results where no inputs were recorded; with the
    sizes that a built-in graph (of so many heads) would need."""
    from ..builtin import GRAPHS

    inputs = {name: tensor for name, tensor in recording.tensors.items() if name in graph.inputs}
    results = {name: tensor for name, tensor in recording.tensors.items() if name in graph.outputs}
    wrong = []
    flags: dict[str, int] = {}
    for name, tensor in (inputs or results).items():
        spec = graph.spec(graph.resolve(name))
        if tensor.size != spec.size and len(tensor.squeezed) == spec.rank:
            wrong.append((name, tensor, spec))
            axes = zip(spec.axes, tensor.squeezed, spec.shape, strict=True)
            flags |= {FLAGS[axis]: size for axis, size, own in axes if axis in FLAGS and size != own}
    if wrong:
        name, tensor, spec = wrong[0]
        asked = " ".join(f"{flag} {size}" for flag, size in sorted(flags.items(), reverse=True))
        named = source in GRAPHS and asked and _exists(source, flags.get("--d"), heads)
        hint = f"{asked} for {source} of that size" if named else "a graph of that size"
        raise GraphError(
            f"{name} is {sizes(tensor.squeezed)} in {recording.title}; expected {sizes(spec.shape)}, or {hint}"
        )


def _exists(source: str, features: int | None, heads: int | None) -> bool:
    """Whether there is a built-in graph of so many features: its heads divide them."""
    from ..builtin import built

    try:
        return features is None or bool(built(source, 1, features, heads).nodes)
    except GraphError:
        return False


def feeds_beside(
    specimen: Specimen, missing: Sequence[str], theirs: str, mine: str, seed: int | None = None
) -> dict[str, Any]:
    """A value for each of the inputs that `theirs` did not record: what `mine` holds, or else what is drawn at
    random. Says which are which."""
    from ..builtin import random_feeds

    held = [name for name in missing if name in specimen.feeds and name not in specimen.drawn]
    drawn = [name for name in missing if name not in held]
    if held and len(missing) < len(specimen.graph.inputs):
        message(f"{theirs} did not record {listed(held)}: {mine}'s own are used")
    if drawn:
        message(
            f"{theirs} did not record {listed(drawn)}, and {mine} does not hold them: they are drawn at random"
            + ("" if seed is None else f" (--seed {seed})")
        )
    random = random_feeds(specimen.graph, seed or 0) if any(n not in specimen.feeds for n in drawn) else {}
    return {name: specimen.feeds[name] if name in specimen.feeds else random[name] for name in missing}
