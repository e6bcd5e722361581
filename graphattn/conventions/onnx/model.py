"""A small ONNX model as a graph: nodes in topological order, by the names of their tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...core.errors import GraphError, suggest
from ...core.graph import Scope
from ...core.nested import shown
from ...core.specimen import Specimen
from ..call import Call, read
from .nodes import Building, OnnxNode
from .operator import OPERATORS, whole

FIELDS = ("op", "attrs", "inputs", "outputs")


def model(
    nodes: Sequence[Mapping[str, Any]],
    inputs: Mapping[str, Any],
    outputs: Sequence[str],
    opset: int | None = None,
    initializers: Sequence[str] = (),
) -> Specimen:
    """The graph of `nodes`, each a dict of op, attrs, inputs and outputs (tensor names, "" = left out).

    inputs: values by tensor name; those in `initializers` are declared as parameters. A name that is no
    identifier gets a t in front (`t0`); a node's tensors stand in the scope op_number (`Gemm_0`).
    """
    if not isinstance(inputs, Mapping) or not all(isinstance(name, str) for name in inputs):
        raise GraphError(f"inputs is {shown(inputs)}; expected a dict of values by tensor name")
    for what, names in (("outputs", outputs), ("initializers", initializers)):
        if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
            raise GraphError(f"{what} is {shown(names)}; expected a list of tensor names")
    if not isinstance(nodes, (list, tuple)):
        raise GraphError(f"nodes is {shown(nodes)}; expected a list of dicts")
    if opset is not None:
        whole("opset", opset, 1)
    call = Call("model")
    places = Numbered()
    building = Building(call.graph, places, opset)
    for name, value in inputs.items():
        if name in initializers and read(value, name, ("float", "int", "bool"))[2] == "float":
            tensor = call.parameter(_name(name), value)
        else:
            tensor = call.input(_name(name), value, kinds=("float", "int", "bool"))
        building.feed(name, tensor, value)
    for number, node in enumerate(nodes):
        op, attributes, taken, given = _fields(node, number)
        if op == "Constant":
            value = next((v for k, v in attributes.items() if k.startswith("value")), None)
            if value is None or len(given) != 1:
                raise GraphError(f"node {number} is a Constant without a value; expected one, and one output")
            building.know(given[0], *_known(value, given[0]))
        elif op not in OPERATORS:
            raise GraphError(f"node {number} is {shown(op)}; no such operator is known{suggest(op, OPERATORS)}")
        else:
            building.add(OnnxNode(op, taken, given, attributes, path=(f"{op}_{number}",)))
    for name in outputs:
        if name not in building.values:
            raise GraphError(f"output {name!r} is no tensor of the model{suggest(name, building.values)}")
    results = building.results(outputs)
    call.graph = building.graph
    return call.specimen(**{_name(name): tensor for name, tensor in results.items()})


class Numbered:
    """A node's tensors stand in the scope op_number, whatever else there is at the top."""

    def scope(self, node: OnnxNode) -> tuple[tuple[Scope, ...], str]:
        return (), ".".join(node.path or [node.op])

    def tensor(self, name: str, user: OnnxNode | None) -> tuple[tuple[Scope, ...], str]:
        return (), _name(name)

    def alias(self, name: str) -> str:
        return _name(name)


def _known(value: Any, name: str) -> tuple[Any, str, tuple[int, ...]]:
    cells, shape, kind = read(value, name, ("float", "int", "bool"))
    return cells, kind, shape


def _fields(node: Any, number: int) -> tuple[str, dict[str, Any], Sequence[str], Sequence[str]]:
    """op, attrs, inputs and outputs of a node; each tensor's name is text."""
    if not isinstance(node, Mapping) or not isinstance(node.get("op"), str):
        raise GraphError(f"node {number} is {shown(node)}; expected a dict with {', '.join(FIELDS)}")
    attributes = node.get("attrs") or {}
    names = [node.get(field) or [] for field in ("inputs", "outputs")]
    texts = all(isinstance(part, (list, tuple)) and all(isinstance(n, str) for n in part) for part in names)
    if not isinstance(attributes, Mapping) or not texts:
        raise GraphError(f"node {number} is {shown(node)}; expected attrs by name, and lists of tensor names")
    return node["op"], dict(attributes), names[0], names[1]


def _name(name: str) -> str:
    """A tensor's name as an identifier."""
    word = "".join(c if c.isidentifier() or c.isdecimal() else "_" for c in name)
    return word if word.isidentifier() else f"t{word}"
