"""load: an ONNX model as a graph with its feeds.

read_model ─ bytes to a checked ModelProto (reading.py)
    │
inputs, initialisers ─ fed, or drawn at random; weights packed once (tensors.py)
    │
each node ─ the loop that all ONNX operators share (conventions/onnx/nodes.py): built, or folded (folding/)
    │
finished ─ a node that is one op takes the scope's name; attention is grouped (finishing.py, patterns.py)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..conventions.onnx.nodes import Building, OnnxNode
from ..core.errors import GraphError, suggest
from ..core.graph import Graph
from ..core.specimen import Specimen
from ..core.words import shown, sizes
from .checking import checked_types, told_of
from .feeding import Fed, read_feeds
from .finishing import finished
from .folding import fold
from .naming import ModelPlaces, identifier
from .reading import Model, package, read_model
from .refusals import need_readable
from .scopes import scopes_of
from .tensors import KINDS, array_of, packed, type_name

KNOWN_LIMIT = 64
"""Trained floats of at most so many cells may be looked into while reading (scales, limits of a clip)."""


def load(
    source: Any, feeds: Mapping[str, Any] | None = None, *, labels: Mapping[str, Sequence[str]] | None = None,
    seed: int = 0, fixed: bool = False, grouped: bool = True,
) -> Specimen:  # fmt: skip
    """The graph of an ONNX model, ready to run: its feeds, and what it depends on in `graph.notes`.

    source: a path, the bytes of a file, or a `onnx.ModelProto`. feeds: arrays or nested lists by the ONNX
    names of the inputs; what is not fed is drawn at random (`seed`), which needs fixed sizes, and named in
    `drawn` of the specimen. labels: texts by axis name. fixed: whether integers and bools that are fed are
    constants of the graph. grouped: whether attention is recognised. Raises a `GraphError` that names the
    operator and the node where something is not read, `OSError` where a file cannot be read at all.
    """
    model = read_model(source)
    own = None if fixed else _own(model)
    if own is not None:
        graph, values = own
        fed = read_feeds(model, feeds or {}, seed)
        given = {name: one.value for name, one in fed.items()}
        drawn = [name for name, one in fed.items() if one.drawn]
        return Specimen(graph, {**values, **given}, labels or {}, allow_nonfinite=True, drawn=drawn)
    types = checked_types(model)
    reader = _Reader(model, types, read_feeds(model, {} if feeds is None else feeds, seed))
    return reader.specimen(labels or {}, fixed, grouped)


def _own(model: Model) -> tuple[Graph, dict[str, Any]] | None:
    """The graph that `save` wrote the model from, where it still is that."""
    from .writing.restoring import restored

    return restored(model)


class _Reader:
    """One model on its way into a graph."""

    def __init__(self, model: Model, types: Mapping[str, str], fed: Mapping[str, Fed]) -> None:
        self.model, self.fed = model, fed
        name = identifier(Path(model.what).stem if model.folder else model.graph.name or "model")
        self.graph = Graph(name, title=model.graph.name)
        self.places = ModelPlaces(self.graph, self._names())
        self.feeds: dict[str, Any] = {}
        self.drawn: list[str] = []
        self.building = Building(self.graph, self.places, model.opset, self._fold, types)

    def _names(self) -> Iterator[str]:
        """Every name of a tensor in the model."""
        graph = self.model.graph
        yield from self.fed
        yield from (tensor.name for tensor in graph.initializer)
        for node in graph.node:
            yield from node.output

    def _fold(self, node: OnnxNode, known: Any, shapes: Any, outputs: int) -> Any:
        return fold(node, known, shapes, outputs, self.model.opset)

    def specimen(self, labels: Mapping[str, Sequence[str]], fixed: bool, grouped: bool) -> Specimen:
        for fed in self.fed.values():
            self._input(fed, fixed)
        for tensor in self.model.graph.initializer:
            if tensor.name not in self.fed:
                self._initializer(tensor)
        for node in nodes_of(self.model):
            self.building.add(node)
        names = [output.name for output in self.model.graph.output]
        for name in names:
            if name not in self.building.values:
                raise GraphError(
                    f"output {shown(name)} is computed by no node{suggest(name, self.building.values)}"
                )
        results = self.building.results(names)
        graph = self.building.graph
        known = {n: v.known for n, v in self.building.values.items() if v.known is not None}
        graph, notes = finished(graph, results, self.building.own, known, grouped)
        graph.notes = (*self._notes(), *notes)
        return Specimen(graph, self.feeds, labels, allow_nonfinite=True, drawn=self.drawn)

    def _input(self, fed: Fed, fixed: bool) -> None:
        if fed.kind != "float" and fixed:
            self.building.know(fed.name, fed.array, fed.kind, fed.array.shape, fed=True)
            return
        name = self.places.name(fed.name)
        tensor = self.graph.input(name, fed.array.shape, fed.axes, fed.kind)
        self.graph.adopt_alias(fed.name, tensor.ref)
        self.feeds[name] = fed.value
        if fed.drawn:
            self.drawn.append(name)
        self.building.feed(fed.name, tensor, None if fed.kind == "float" else fed.array)

    def _initializer(self, tensor: Any) -> None:
        """Floats are trained tensors, which are fed; one of a single cell (a factor, a limit), and what is
        no float, is a constant."""
        what = f"initializer {shown(tensor.name)}"
        array = array_of(tensor, self.model, what)
        kind = KINDS[type_name(tensor.data_type)]

        def declare(user: OnnxNode | None) -> Any:
            path, local = self.places.tensor(tensor.name, user)
            with self.building.within(path):
                made = self.graph.parameter(local, array.shape)
            self.graph.adopt_alias(tensor.name, made.ref)
            self.feeds[made.name] = packed(array)
            return made

        looked = kind != "float" or array.size <= KNOWN_LIMIT
        trained = kind == "float" and array.size != 1
        self.building.know(
            tensor.name, array if looked else None, kind, array.shape, declare=declare if trained else None
        )

    def _notes(self) -> Iterator[str]:
        if self.building.folded:
            fed = ", ".join(f"{fed.name} of {sizes(fed.array.shape)}" for fed in self.fed.values())
            yield (
                f"{self.building.folded:,} of {len(self.model.graph.node):,} nodes were computed while reading:"
                f" the graph is for {fed or 'no inputs'}"
            )
        for name, uses in self.building.specialised.items():
            told = ", ".join(uses[:3]) + (f" and {len(uses) - 3} more" if len(uses) > 3 else "")
            yield (f"what was fed as {name} is part of the graph, in {told}: load it again for other values")


def nodes_of(model: Model) -> Iterator[OnnxNode]:
    """The nodes of a model. Raises a `GraphError` for one that is not read."""
    for number, node in enumerate(model.graph.node):
        told = told_of(number, node)
        attributes = {a.name: _attribute(a, model, told) for a in node.attribute}
        need_readable(node.op_type, node.domain, attributes, told)
        yield OnnxNode(node.op_type, tuple(node.input), tuple(node.output), attributes, told, scopes_of(node))


def _attribute(attribute: Any, model: Model, told: str) -> Any:
    """A number, text, a list of these, or an array."""
    onnx = package()
    kind = attribute.type
    if kind == onnx.AttributeProto.TENSOR:
        return array_of(attribute.t, model, f"{told}: {attribute.name}")
    plain = ("FLOAT", "INT", "STRING", "FLOATS", "INTS", "STRINGS")
    name = onnx.AttributeProto.AttributeType.Name(kind)
    if name not in plain:
        raise GraphError(
            f"{told} has {attribute.name[:80]!r}, a {name.lower()}; expected numbers, text or a tensor"
        )
    value = onnx.helper.get_attribute_value(attribute)
    if name == "STRING":
        return value.decode("utf-8", "replace")
    if name == "STRINGS":
        return [text.decode("utf-8", "replace") for text in value]
    return list(value) if name.endswith("S") else value
