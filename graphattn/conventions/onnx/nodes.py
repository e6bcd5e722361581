"""The loop over the nodes of an ONNX model: a graph out of operators, by the names of their tensors.

    building = Building(graph, places, opset)
    building.feed("x", tensor)
    building.know("shape", [2, 3])
    building.add(OnnxNode("Reshape", ("x", "shape"), ("y",)))
    building.tensor("y")

What stands behind a name (`Value`) is a tensor of the graph, or known before any run (an initialiser, the
shape of a tensor, an integer that is fed), or both. Where all inputs of a node are known, `fold` computes
it: shape arithmetic never reaches the graph. What is known is put there as a constant when a node needs it
as a tensor; what is known only because an integer that was fed is known is computed in the graph instead,
where that is possible, so that the graph stays good for others. `specialised` says for which fed inputs
it was not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from math import prod
from typing import Any, Protocol

from ...core.errors import GraphError, suggest
from ...core.graph import Graph, Scope, Tensor
from ...core.nested import shown
from ...core.packed import LEAST
from ..call import read
from .operator import OPERATORS, Inner, Operator


@dataclass(frozen=True, eq=False)
class OnnxNode:
    """One node of a model. inputs and outputs are names of tensors, "" = left out; `told` is how messages
    call it; `path` are the scopes that the exporter put it into."""

    op: str
    inputs: Sequence[str] = ()
    outputs: Sequence[str] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    told: str = ""
    path: tuple[str, ...] | None = None


class Places(Protocol):
    """Where things stand in the graph, and what they are called there."""

    def scope(self, node: OnnxNode) -> tuple[tuple[Scope, ...], str]:
        """The open scopes of a node, outermost first, and the name of its own, which is new."""
        ...

    def tensor(self, name: str, user: OnnxNode | None) -> tuple[tuple[Scope, ...], str]:
        """The same for a tensor that no node gives, and that `user` is the first to need: its scopes, and
        its name inside these."""
        ...

    def alias(self, name: str) -> str:
        """What a tensor goes by in the graph, besides the name of its node."""
        ...


Declare = Callable[["OnnxNode | None"], Tensor]
"""What puts a tensor into the graph, when a node (None: the model's outputs) needs it."""


@dataclass(eq=False)
class Value:
    """What stands behind a tensor's name (see the module's docstring)."""

    name: str
    known: Any = None
    """An array or nested lists; None where only a run tells."""
    kind: str = "float"
    """Of what is known: float, int or bool."""
    shape: tuple[int, ...] = ()
    fed: frozenset[str] = frozenset()
    """The fed inputs without whose values it would not be known."""
    tensor: Tensor | Inner | None = None
    node: OnnxNode | None = None
    """The node that computes it in the graph, where it is not there yet and could be."""
    declare: Declare | None = None
    """How it comes into the graph where it is no constant there: as a parameter."""


Fold = Callable[[OnnxNode, Sequence[Any], Sequence[tuple[int, ...] | None], int], "Sequence[Any] | None"]
"""(node, what is known of its inputs, their shapes, number of outputs) → the outputs, or None."""


class Building:
    """A graph in the making (see the module's docstring).

    fold: what computes a node whose inputs are known (none: nothing is folded). types: ONNX element types by
    tensor name, for operators that ask.
    """

    def __init__(
        self, graph: Graph, places: Places, opset: int | None = None, fold: Fold | None = None,
        types: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        self.graph, self.places, self.opset, self.fold = graph, places, opset, fold
        self.types = types or {}
        self.values: dict[str, Value] = {}
        self.specialised: dict[str, list[str]] = {}
        """For each fed input whose values went into the graph, the first tensors that hold them."""
        self.own: set[str] = set()
        """The scopes of single nodes."""
        self.folded = 0
        """How many nodes were computed while building."""

    # ------------------------------------------------------------ what is there before the nodes

    def feed(self, name: str, tensor: Tensor, known: Any = None) -> None:
        """An input of the graph, and what it is fed where that may be looked into (integers and bools)."""
        fed = frozenset() if known is None else frozenset([name])
        self._enter(name, Value(name, known, tensor.kind, tensor.shape, fed, tensor))

    def know(
        self, name: str, known: Any, kind: str, shape: tuple[int, ...], fed: bool = False,
        declare: Declare | None = None,
    ) -> None:  # fmt: skip
        """A tensor that is part of the model, or `fed` and taken for a part of it: a constant, or where it
        comes into the graph otherwise, what `declare` gives (`known` may be None then)."""
        names = frozenset([name] if fed else [])
        self._enter(name, Value(name, known, kind, shape, names, declare=declare))

    def _enter(self, name: str, value: Value) -> None:
        if name in self.values:
            raise GraphError(f"tensor {shown(name)} is there twice; expected each name once")
        self.values[name] = value

    # ------------------------------------------------------------ nodes

    def add(self, node: OnnxNode) -> None:
        """Take in a node, whose inputs must be there."""
        values = [self._input(node, name) if name else None for name in node.inputs]
        known = self._folded(node, values)
        if known is None:
            if node.op not in OPERATORS:
                told = node.told or node.op
                raise GraphError(f"{told}: no such operator is known{suggest(node.op, OPERATORS)}")
            self._build(node)
            return
        self.folded += 1
        fed = frozenset().union(*(value.fed for value in values if value is not None and node.op != "Shape"))
        later = takes(node.op, values)
        for name, cells in zip(node.outputs, known):
            if not name:
                continue
            made = Value(name, cells, kind_of(cells), tuple(cells.shape), fed)
            wanted = fed or (made.kind == "float" and prod(made.shape) > 1)
            made.node = node if later and wanted else None
            self._enter(name, made)

    def _input(self, node: OnnxNode, name: str) -> Value:
        if name not in self.values:
            raise GraphError(
                f"{node.told or node.op}: input {shown(name)} is not computed before"
                f"{suggest(name, self.values)}"
            )
        return self.values[name]

    def _folded(self, node: OnnxNode, values: Sequence[Value | None]) -> Sequence[Any] | None:
        """The outputs of a node that can be computed now."""
        shape_alone = node.op in ("Shape", "Size")
        if self.fold is None or any(
            value is not None and value.known is None and not shape_alone for value in values
        ):
            return None
        known = [None if value is None else value.known for value in values]
        shapes = [None if value is None else self.shape(value) for value in values]
        return self.fold(node, known, shapes, len(node.outputs))

    def shape(self, value: Value) -> tuple[int, ...]:
        """The shape of a tensor, which is always known."""
        if isinstance(value.tensor, Inner):
            return self.graph.at("op").tensor(value.tensor.name).shape
        return value.shape if value.tensor is None else value.tensor.shape

    # ------------------------------------------------------------ into the graph

    def tensor(self, name: str, user: OnnxNode | None = None) -> Tensor | Inner:
        """The tensor of that name, put into the graph now where it is not there yet; `user` is the node
        that needs it."""
        waiting = [name]
        while waiting:
            value = self.values[waiting[-1]]
            if value.tensor is not None:
                waiting.pop()
                continue
            if value.node is not None:
                before = [n for n in value.node.inputs if n and self._waits(value.node, n)]
                if before:
                    waiting += before
                    continue
                node, value.node = value.node, None
                try:
                    self._build(node)
                except GraphError:  # what is known is a constant then
                    self._constant(value, user)
                waiting.pop()
                continue
            if value.declare is not None:
                value.tensor = value.declare(user)
            else:
                self._constant(value, user)
            waiting.pop()
        tensor = self.values[name].tensor
        assert tensor is not None
        return tensor

    def results(self, names: Sequence[str]) -> dict[str, Tensor]:
        """The tensors of these names, in a graph that is `self.graph` from then on: at level op where one
        stands inside a composite."""
        found = {name: self.tensor(name) for name in names}
        if any(isinstance(tensor, Inner) for tensor in found.values()):
            self.graph = self.graph.at("op")
        return {name: self.graph.tensor(tensor.name) for name, tensor in found.items()}

    def _waits(self, node: OnnxNode, name: str) -> bool:
        """Whether an input of a node is yet to be built, and by a node."""
        value = self.values[name]
        return value.tensor is None and value.node is not None

    def _constant(self, value: Value, user: OnnxNode | None) -> None:
        self._used(value, value.name)
        path, local = self.places.tensor(value.name, user)
        with self.within(path):
            if prod(value.shape) or len(value.shape) == 1:
                value.tensor = self.graph.constant(cells_of(value), name=local)
            else:  # nested lists do not tell what stands inside an axis of size 0
                value.tensor = self.graph.reshape(self.graph.constant(()), value.shape, name=local)
        self._called(value)

    def _called(self, value: Value) -> None:
        """A tensor goes by its own name, whatever it is called in the graph."""
        if isinstance(value.tensor, Tensor):
            self.graph.adopt_alias(self.places.alias(value.name), value.tensor.ref)

    def _used(self, value: Value, what: str) -> None:
        """A value that is known by what was fed went into the graph."""
        for name in value.fed:
            self.specialised.setdefault(name, []).append(what)

    def within(self, path: Iterable[Scope]) -> ExitStack:
        """Inside these scopes, outermost first."""
        stack = ExitStack()
        for scope in path:
            if scope.name in self.graph.scopes:
                scope = self.graph.scopes[scope.name]
            stack.enter_context(self.graph.within(scope))
        return stack

    def _build(self, node: OnnxNode) -> None:
        """The outputs of one node in the graph."""
        operator = OPERATORS[node.op]
        told = node.told or node.op
        try:
            operands, constants = self._operands(node, operator)
            attributes = dict(node.attributes)
            for slot, p in enumerate(operator.operands):  # what is an operand today was an attribute before
                if p.name in attributes:
                    operands += [None] * (slot + 1 - len(operands))
                    given = attributes.pop(p.name)
                    operands[slot] = given if operator.kinds(slot) is None else self.graph.constant(given)
            operator.need(operands)
            more = {
                "opset": self.opset, "outputs": len(node.outputs), "known": constants,
                "types": [self.types.get(name) for name in node.inputs],
                "result_types": [self.types.get(name) for name in node.outputs],
            }  # fmt: skip
            own = {k: v for k, v in more.items() if k in operator.keywords and v is not None}
            path, local = self.places.scope(node)
            with self.within(path), self.graph.scope(local):
                results = operator.add(self.graph, operands, {**own, **operator.check(attributes)})
                here = str(self.graph.path)
                self.own.add(here)
        except GraphError as error:
            sentence = str(error)
            raise error if sentence.startswith(told) else GraphError(f"{told}: {sentence}") from None
        for name, result in zip(node.outputs, results):
            if not name:
                continue
            value = self.values.get(name)
            if value is None:
                value = self.values[name] = Value(name)
            elif value.tensor is not None or value.known is None:
                raise GraphError(f"tensor {shown(name)} is there twice; expected each name once")
            value.node = None
            value.tensor = Inner(f"{here}.{result.name}") if isinstance(result, Inner) else result
            if isinstance(result, Tensor):
                value.kind, value.shape = result.kind, result.shape
            self._called(value)

    def _operands(self, node: OnnxNode, operator: Operator) -> tuple[list[Any], list[Any]]:
        """The operands of a node, and for each what it holds where that is a constant."""
        operands: list[Any] = []
        constants: list[Any] = []
        for slot, name in enumerate(node.inputs):
            if not name:
                operands.append(None)
                constants.append(None)
                continue
            value = self._input(node, name)
            if operator.kinds(slot) is None:
                operands.append(self._static(node, value))
                constants.append(operands[-1])
                continue
            tensor = self.tensor(name, node)
            if isinstance(tensor, Inner):
                raise GraphError(f"input {shown(name)} stands inside another node; expected one that does not")
            operands.append(tensor)
            constant = tensor.node.op.name == "constant" and value.known is not None
            constants.append(lists(value.known) if constant else None)
        return operands, constants

    def _static(self, node: OnnxNode, value: Value) -> Any:
        """What an operand holds that must be known when the graph is built."""
        if value.known is None:
            raise GraphError(
                f"{node.told or node.op}: input {shown(value.name)} must be known when the graph is built, and"
                " depends on what is computed; expected an initializer, a shape, or what follows from those"
            )
        self._used(value, node.outputs[0] if node.outputs else value.name)
        return read(value.known, value.name, ("int", "float", "bool"))[0]


def takes(op: str, values: Sequence[Value | None]) -> bool:
    """Whether an operator takes operands of these kinds."""
    operator = OPERATORS.get(op)
    if operator is None:
        return False
    for slot, value in enumerate(values):
        if slot >= len(operator.operands) and not operator.variadic:
            return False
        kinds = operator.kinds(slot)
        if value is not None and kinds is not None and value.kind not in kinds:
            return False
    return True


def cells_of(value: Value) -> Any:
    """What a constant is made of: an array of many floats stays one."""
    large = value.kind == "float" and prod(value.shape) >= LEAST
    return value.known if large and str(value.known.dtype) in ("float32", "float64") else lists(value.known)


def lists(known: Any) -> Any:
    """What is known, as nested lists."""
    return known.tolist() if hasattr(known, "tolist") else known


def kind_of(cells: Any) -> str:
    """float, int or bool, of an array with a `.dtype`."""
    name = str(cells.dtype)
    return "bool" if "bool" in name else "int" if "int" in name else "float"
