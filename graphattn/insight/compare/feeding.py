"""What a graph is fed so that its run can be compared: the inputs that yours recorded, as they were meant.

Weights may have been stored (in, out) for (out, in): the shape tells, of a square one the other weights, or
that it is the transposed view of an array; q, k and v may be one matrix, in any order, whole or head by
head; a gain may be stored as γ − 1. Where that leaves several readings, the graph is run on each, and the
one that most of what was computed agrees with is taken; what was read otherwise than it stands there is said
(`notes`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, product, zip_longest
from typing import Any

from ...core.axes import Spec
from ...core.errors import GraphError
from ...core.graph import Graph
from ...core.run import run
from ...core.words import listed
from .alignment import agreeing
from .alignment.arrangements import arrangements
from .alignment.by_mapping import part_of
from .alignment.fused import FUSED, cuts, may_fuse
from .alignment.names import dotted_endings, is_gradient, meaning, unnumbered, words
from .reading import of_trace
from .recording import Recorded, Recording, folded

READINGS = 64
"""At most so many readings are run."""


@dataclass(frozen=True)
class Reading:
    """A way to read what was recorded: tensors by input, in the shapes of the inputs, and what there is to
    say."""

    tensors: Mapping[str, Recorded]
    notes: tuple[str, ...] = field(default=())

    def changed(self, tensors: Mapping[str, Recorded], note: str) -> Reading:
        return Reading({**self.tensors, **tensors}, (*self.notes, note))


def run_on(
    graph: Graph, yours: Recording, names: Mapping[str, str], feeds: Any, level: str | None,
    engine: str | None = None,
) -> tuple[Recording, tuple[str, ...]]:  # fmt: skip
    """A run of a graph on what it is fed, or else on the inputs that yours recorded; and notes on these."""
    given = {} if feeds is None else dict(feeds)
    sources = {n: t for n, t in sources_of(graph, yours, names).items() if n not in given}
    missing = [name for name in graph.inputs if name not in given and name not in sources]
    readings = list(_readings(graph, yours, sources, missing))
    if not readings:
        raise GraphError(
            f"yours did not record {listed(missing)}, which graph {graph.name!r} is fed;"
            " expected feeds, or these tensors in yours"
        )
    best: tuple[int, Recording, tuple[str, ...]] | None = None
    used = {tensor.name for tensor in sources.values()}
    computed = replace(yours, tensors={n: t for n, t in yours.tensors.items() if n not in used})
    for reading in readings[:READINGS]:
        cells = {name: fed_as(tensor, graph.node(name).outputs[0]) for name, tensor in reading.tensors.items()}
        trace = of_trace(run(graph, {**given, **cells}, level=level, allow_nonfinite=True, engine=engine))
        if len(readings) == 1:
            return trace, reading.notes
        count = agreeing(trace, computed) if computed.tensors else 0
        if best is None or count > best[0]:
            best = count, trace, reading.notes
        if count >= len(computed.tensors):
            break
    assert best is not None
    return best[1], best[2]


def unrecorded(graph: Graph, yours: Recording, names: Mapping[str, str]) -> list[str]:
    """The inputs that yours did not record, not even together with others in one tensor."""
    sources = sources_of(graph, yours, names)
    missing = [name for name in graph.inputs if name not in sources]
    return missing if missing and not any(_readings(graph, yours, sources, missing)) else []


def sources_of(graph: Graph, yours: Recording, names: Mapping[str, str]) -> dict[str, Recorded]:
    """The tensor of yours that each input of the graph is: by the names that were given, by its own, by its
    words, or by what a library calls it. Inputs that yours did not record are not there."""
    named = {name: part_of(yours, names[name])[0] if name in names else yours.find(name) for name in graph.fed}
    others = [name for name, tensor in named.items() if tensor is None]
    named |= _called_otherwise(yours, others) if others else {}
    return {name: tensor for name, tensor in named.items() if tensor is not None}


def _called_otherwise(yours: Recording, names: Iterable[str]) -> dict[str, Recorded | None]:
    """The tensor of yours for each of these names that has none of its own: the one of its words, or of what
    it means."""
    by_words = {words(name): tensor for name, tensor in yours.tensors.items()}
    by_meaning: dict[frozenset[str], Recorded | None] = {}
    for name, tensor in yours.tensors.items():
        for key in set() if is_gradient(name) else {meaning(ending) for ending in dotted_endings(name)}:
            if key and by_meaning.setdefault(key, tensor) is not tensor:
                by_meaning[key] = None
    found: dict[str, Recorded | None] = {}
    for name in names:
        found[name] = by_words.get(words(name)) or by_meaning.get(meaning(name))
        if found[name] is None:  # the only one by that name but for a number: ln_1 is the norm of one layer
            alike = [t for key, t in by_meaning.items() if unnumbered(key) == meaning(name)]
            found[name] = alike[0] if len(set(map(id, alike))) == 1 else None
    return found


# ---------------------------------------------------------------- readings


def _readings(
    graph: Graph, yours: Recording, sources: Mapping[str, Recorded], missing: list[str]
) -> Iterator[Reading]:
    """The ways in which the inputs may be meant, the likeliest first."""
    plain = _plain(graph, sources)
    for reading in _split(graph, yours, plain, missing) if missing else [plain]:
        yield reading
        squares = [name for name in reading.tensors if _is_square_weight(graph, name)]
        swapped = {name: _transposed(reading.tensors[name]) for name in squares}
        if len(squares) > 1 and not _orientation(graph, sources):
            yield reading.changed(swapped, f"square weights are read as (in, out): {listed(squares, 12)}")
        gains = {name: t for name, t in reading.tensors.items() if _is_gain(graph, name, t)}
        if gains:
            more = {name: folded(t.name, t.shape, [x + 1.0 for x in t.flat], t) for name, t in gains.items()}
            yield reading.changed(more, f"gains are read as γ − 1: {listed(list(gains), 12)}")


def _plain(graph: Graph, sources: Mapping[str, Recorded]) -> Reading:
    """Each tensor in the shape of its input; weights turned where their shapes, or other weights, say so."""
    orientation = _orientation(graph, sources)
    reading, turned = {}, []
    for name, tensor in sources.items():
        spec = graph.node(name).outputs[0]
        fitting = next((t for _, t in arrangements(tensor, spec.shape)), None)
        if fitting is None:  # run() says what is wrong with it
            fitting = tensor
        if _is_square_weight(graph, name) and (tensor.turned or orientation == "in, out"):
            fitting = _transposed(fitting)
        if len(spec.shape) == 2 and fitting.flat != tensor.flat:
            turned.append(name)
        reading[name] = fitting
    notes = (f"weights are read as (in, out): {listed(turned, 12)}",) if turned else ()
    return Reading(reading, notes)


def _orientation(graph: Graph, sources: Mapping[str, Recorded]) -> str:
    """How weights are stored, as those that are not square tell: "in, out" or "out, in"; "" if none tells."""
    for name, tensor in sources.items():
        shape = graph.node(name).outputs[0].shape
        if _is_weight(graph, name) and shape[0] != shape[1]:
            if tensor.squeezed == shape:
                return "out, in"
            if tensor.squeezed == shape[::-1]:
                return "in, out"
    return ""


def _is_weight(graph: Graph, name: str) -> bool:
    """Whether an input is a matrix that belongs to the graph, not what it is run on."""
    node = graph.node(name)
    return node.outputs[0].rank == 2 and node.op.drawn is not None


def _is_square_weight(graph: Graph, name: str) -> bool:
    shape = graph.node(name).outputs[0].shape
    return _is_weight(graph, name) and shape[0] == shape[1] > 1


def _is_gain(graph: Graph, name: str, tensor: Recorded) -> bool:
    """Whether an input may be a gain that was stored as γ − 1: a row of numbers around 0 by such a name."""
    named = {"gamma", "gain", "scale"} & {part.rstrip("0123456789") for part in words(name)}
    near = bool(tensor.flat) and abs(sum(tensor.flat) / tensor.size) < 0.5
    return graph.node(name).outputs[0].rank == 1 and bool(named) and near


def _transposed(tensor: Recorded) -> Recorded:
    return replace(tensor.transposed(), name=tensor.name)


def _split(graph: Graph, yours: Recording, plain: Reading, missing: list[str]) -> Iterator[Reading]:
    """Missing inputs taken out of tensors that hold q, k and v, or k and v, together."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for name in missing:
        kind = meaning(name) - FUSED
        groups.setdefault((*sorted(kind), str(len(graph.inputs[name].shape))), []).append(name)
    taken = {tensor.name for tensor in plain.tensors.values()}
    left = [t for n, t in yours.tensors.items() if n not in taken and may_fuse(n)]
    ways = []
    for wholes in _assigned(list(groups.items()), graph, left):
        readings = [plain]
        for whole, members in zip(wholes, groups.values()):
            parts = list(cuts(whole, [(name, graph.inputs[name].shape) for name in members]))
            readings = [
                reading.changed(*cut) for cut in parts for reading in readings if _fits(reading, cut[1])
            ]
        ways.append(readings)
    yield from (reading for row in zip_longest(*ways) for reading in row if reading is not None)


def _assigned(
    groups: Sequence[tuple[tuple[str, ...], list[str]]], graph: Graph, left: list[Recorded]
) -> list[list[Recorded]]:
    """The tensor of each group of inputs: one as large as they are together, and, of several, in whose name the
    words stand that tell the groups apart; where none does, each order of them is tried."""
    told = set[str]().union(*(kind for kind, _ in groups)) - set.intersection(
        *(set(kind) for kind, _ in groups)
    )
    choices = []
    for kind, members in groups:
        size = sum(graph.inputs[name].size for name in members)
        fitting = [t for t in left if t.size == size] if len(members) in (2, 3) else []
        named = [t for t in fitting if words(t.name) & told == set(kind) & told]
        choices.append(named if len(named) == 1 else fitting)
    assigned = [list(one) for one in islice(product(*choices), READINGS**2)]
    return [one for one in assigned if len(set(map(id, one))) == len(one)]


def _fits(reading: Reading, note: str) -> bool:
    """Whether a second tensor is cut in the order of the first."""
    orders = {_order(said) for said in reading.notes if " holds " in said}
    return not orders or _order(note) in orders


def _order(note: str) -> str:
    """The order that a note says, in the letters q, k and v alone."""
    said = note.partition(" holds ")[2]
    at = max(said.find(" side by side"), said.find(" head by head"))
    letters = [meaning(name) & FUSED for name in said[:at].split(" | ")]
    return " ".join("".join(letter) for letter in letters) + said[at:]


def fed_as(tensor: Recorded, spec: Spec) -> Any:
    """A tensor as an input of that kind is fed: numbers of tokens are whole in a file of floats too."""
    if spec.kind == "float":
        return tensor.nested()
    convert = bool if spec.kind == "bool" else int
    cells = [convert(x) if math.isfinite(x) and x == convert(x) else x for x in tensor.flat]
    return folded(tensor.name, tensor.shape, cells).nested()
