"""A small ONNX model as a graph: nodes in topological order, by the names of their tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...core.errors import GraphError, suggest
from ...core.graph import Graph, Tensor
from ...core.nested import shown
from ...core.specimen import Specimen
from ..call import Call, read
from .operator import OPERATORS, Inner, whole

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
    g = call.graph
    tensors: dict[str, Any] = {"": None}
    for name, value in inputs.items():
        if name in initializers and read(value, name, ("float", "int", "bool"))[2] == "float":
            tensors[name] = call.parameter(_name(name), value)
        else:
            tensors[name] = call.input(_name(name), value, kinds=("float", "int", "bool"))
    known = dict(inputs)
    for number, node in enumerate(nodes):
        op, attributes, taken, given = _fields(node, number)
        if op == "Constant":
            value = next((v for k, v in attributes.items() if k.startswith("value")), None)
            if value is None or len(given) != 1:
                raise GraphError(f"node {number} is a Constant without a value; expected one, and one output")
            known[given[0]] = value
            tensors[given[0]] = g.constant(value, name=_name(given[0]))
            continue
        if op not in OPERATORS:
            raise GraphError(f"node {number} is {shown(op)}; no such operator is known{suggest(op, OPERATORS)}")
        with g.scope(f"{op}_{number}"):
            results = _built(g, op, attributes, taken, given, opset, tensors, known)
        for name, result in zip(given, results):
            if name:
                tensors[name] = result
                if isinstance(result, Tensor):
                    g.adopt_alias(_name(name), result.ref)
    for name in outputs:
        if name not in tensors:
            raise GraphError(f"output {name!r} is no tensor of the model{suggest(name, tensors)}")
    if any(isinstance(tensors[name], Inner) for name in outputs):
        call.graph = g.at("op")
    return call.specimen(**{_name(name): call.graph.tensor(tensors[name].name) for name in outputs})


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


def _built(
    g: Graph, op: str, attributes: Mapping[str, Any], taken: Sequence[str], given: Sequence[str],
    opset: int | None, tensors: Mapping[str, Any], known: Mapping[str, Any],
) -> Sequence[Any]:  # fmt: skip
    """The outputs of one node."""
    operator = OPERATORS[op]
    operands = []
    for slot, name in enumerate(taken):
        if name not in tensors:
            raise GraphError(f"{op}: input {name!r} is not computed before{suggest(name, tensors)}")
        static = operator.kinds(slot) is None
        if static and name and name not in known:
            raise GraphError(
                f"{op}: input {name!r} must be known when the graph is built; expected an initializer"
            )
        value = read(known[name], name, ("int",))[0] if static and name else tensors[name]
        if isinstance(value, Inner):
            raise GraphError(f"{op}: input {name!r} stands inside another node; expected one that does not")
        operands.append(value)
    attributes = dict(attributes)
    for slot, p in enumerate(operator.operands):  # what is an operand today was an attribute before
        if p.name in attributes and operator.kinds(slot) is None:
            operands += [None] * (slot + 1 - len(operands))
            operands[slot] = attributes.pop(p.name)
    operator.need(operands)
    more = {"opset": opset, "outputs": len(given)}
    told = {name: value for name, value in more.items() if name in operator.keywords and value is not None}
    results = operator.build(g, *operands, **{**told, **operator.check(attributes)})
    return [Inner(f"{g.path}.{r.name}") if isinstance(r, Inner) else r for r in results]


def _name(name: str) -> str:
    """A tensor's name as an identifier."""
    word = "".join(c if c.isidentifier() or c.isdecimal() else "_" for c in name)
    return word if word.isidentifier() else f"t{word}"
