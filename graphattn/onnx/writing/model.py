"""A graph as an ONNX model: `Program` is what it is made of, `model_of` the protobuf message.

Tensors and nodes have our names, and an output of the graph has the output's. What one of our nodes became
stands together; all of it says in its metadata which node that was, and in which scopes:

    graphattn.name                our node
    graphattn.op                  its op
    namespace                     block: block/block.norm: layernorm/block.norm.mean: reduce_mean
    pkg.torch.onnx.name_scopes    ['', 'block', 'block.norm', 'block.norm.mean'], as PyTorch writes it
    graphattn.axes                (of a tensor) the names of its axes
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from ...core import nested
from ...core.axes import Spec
from ...core.errors import GraphError
from ...core.graph import Graph, Node, Ref
from ...core.packed import Packed
from .lowering import ask, known, lowered
from .operators import Initializer, Target, Value, Written

TYPES = {"float": "float64", "float32": "float32"}
"""numpy's name of each float type."""
IR_VERSION = 10
"""The oldest that has metadata on nodes, which every runtime of the last years reads."""
OLDEST, NEWEST = 18, 26
"""The opsets that are written."""


@dataclass
class Program:
    """What a model is made of, before it is a protobuf message. Inputs and outputs are (name, spec)."""

    graph: Graph
    """The graph at the level of ONNX."""
    target: Target
    inputs: list[tuple[str, Spec]] = field(default_factory=list)
    outputs: list[tuple[str, Spec]] = field(default_factory=list)
    initializers: list[Initializer] = field(default_factory=list)
    nodes: list[tuple[Node, Written]] = field(default_factory=list)
    said: dict[str, list[str]] = field(default_factory=dict)
    """What the model does not do as the graph does, with the nodes."""
    single: dict[str, list[str]] = field(default_factory=dict)
    """The nodes that are computed in float32 in a model of doubles, with the operators."""
    names: dict[Ref, str] = field(default_factory=dict)
    """The name of each tensor."""

    def tensor(self, ref: Ref) -> str:
        """The name of a tensor of the graph."""
        return self.names.get(ref) or self.graph.tensor_name(ref)


def program_of(
    graph: Graph, target: Target, values: Mapping[str, Any], outputs: Iterable[str] | None = None,
    fed: Collection[str] = (),
) -> Program:  # fmt: skip
    """The program of a graph.

    values: what becomes part of the model of all that is fed. outputs: the tensors that it gives, by name,
    and nothing is computed that they do not need; if None, all is, and it gives the outputs of the graph.
    fed: nodes whose tensors are fed although the graph computes them.
    """
    fine = lowered(graph, target, fed)
    program = Program(fine, target)
    if outputs is not None:
        results = {name: fine.resolve(name) for name in outputs}
        needed = _needed(fine, {ref.node for ref in results.values()}, fed)
    else:
        needed = None
        results = {name: t.ref for name, t in fine.outputs.items()}
        results = results or {fine.tensor_name(ref): ref for ref in _ends(fine)}
    made = {
        Ref(node.name, port)
        for node in fine.nodes.values()
        if node.operands and node.name not in fed
        for port in range(len(node.ports))
    }
    for name, ref in results.items():
        if ref in made and ref not in program.names:
            program.names[ref] = name
    for node in fine.nodes.values():
        if needed is None or node.name in needed:
            write_node(program, node, values, fed)
    for name, ref in results.items():
        spec = fine.spec(ref)
        if program.tensor(ref) != name:
            same = Written("Identity", [Value(program.tensor(ref), spec.kind)], [Value(name, spec.kind)], {})
            program.nodes.append((fine.nodes[ref.node], same))
        program.outputs.append((name, spec))
    return program


def _needed(graph: Graph, wanted: set[str], fed: Collection[str]) -> set[str]:
    """The nodes that these need, where some are fed."""
    found: set[str] = set()
    todo = list(wanted)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            if name not in fed:
                todo += [ref.node for ref in graph.nodes[name].operands if ref is not None]
    return found


def _ends(graph: Graph) -> Iterator[Ref]:
    """The tensors that nothing takes."""
    taken = {ref for node in graph.nodes.values() for ref in node.operands}
    for node in graph.nodes.values():
        for port in range(len(node.ports)):
            if node.operands and Ref(node.name, port) not in taken:
                yield Ref(node.name, port)


def write_node(program: Program, node: Node, values: Mapping[str, Any], fed: Collection[str]) -> None:
    """Add what one node becomes."""
    graph = program.graph
    if node.name in values:
        _initialize(program, node, [values[node.name]])
    elif node.op.fed or node.name in fed:
        program.inputs += [
            (program.tensor(Ref(node.name, port)), spec) for port, spec in enumerate(node.outputs)
        ]
        default = node.attributes.get("default") if node.op.fed else None
        if default is not None:
            _initialize(program, node, [nested.full(node.outputs[0].shape, float(default))])
    elif not node.operands:
        found = known(node)
        _initialize(program, node, [found] if len(node.ports) == 1 else found)
    else:
        fragment, found = ask(graph, node, program.target, program.tensor)
        results = found if isinstance(found, tuple) else (found,)
        for port, result in enumerate(results):
            name = program.tensor(Ref(node.name, port))
            if result.known is None:  # made by the rule: it gets the tensor's name
                result.name, result.known = name, node.outputs[port]
            else:  # an operand, or the same twice
                same = Written("Identity", [result], [Value(name, result.kind)], {})
                fragment.nodes.append(same)
        program.initializers += fragment.initializers
        program.nodes += [(node, written) for written in fragment.nodes]
        for sentence in fragment.said:
            program.said.setdefault(sentence, []).append(node.name)
        if fragment.single:
            program.single[node.name] = fragment.single


def _initialize(program: Program, node: Node, cells: Any) -> None:
    for port, (value, spec) in enumerate(zip(cells, node.outputs, strict=True)):
        name = program.tensor(Ref(node.name, port))
        program.initializers.append(Initializer(Value(name, spec.kind, spec), value, spec.shape))


# ---------------------------------------------------------------- arrays


def array_of(cells: Any, shape: tuple[int, ...], kind: str, numbers: str, what: str) -> Any:
    """The numpy array of a tensor: nested lists, a flat list, or what is packed."""
    dtype = {"float": TYPES[numbers], "int": "int64", "bool": "bool"}[kind]
    if isinstance(cells, Packed):
        flat = np.frombuffer(cells.cells, dtype=cells.cells.format)
        return flat.reshape(shape).astype(dtype, copy=False)
    try:
        with np.errstate(over="ignore"):
            return np.array(cells, dtype=dtype).reshape(shape)
    except OverflowError:
        raise GraphError(f"{what} holds an integer beyond 64 bits, which ONNX does not have") from None


# ---------------------------------------------------------------- protobuf


def model_of(
    program: Program, arrays: Callable[[Initializer], Any | None], *, about: str = "",
    carried: Mapping[str, str] | None = None,
) -> Any:  # fmt: skip
    """The `onnx.ModelProto`. `arrays` gives the array of an initializer, or None for one that is fed. about:
    its documentation; carried: its metadata."""
    graph, target = program.graph, program.target
    inputs = [_info(name, spec, target) for name, spec in program.inputs]
    initializers = []
    for initializer in program.initializers:
        array = arrays(initializer)
        if array is None:
            spec = Spec(initializer.shape, kind=initializer.value.kind)
            inputs.append(_info(initializer.value.name, spec, target))
        else:
            initializers.append(numpy_helper.from_array(array, initializer.value.name))
    outer = {name: _scopes(graph, name) for name in dict.fromkeys(node.scope for node, _ in program.nodes)}
    results = {name for name, _ in program.outputs}
    written = {node.name for node, _ in program.nodes}
    shown = [
        (program.tensor(Ref(node.name, port)), spec)
        for node in graph.nodes.values()
        if node.name in written
        for port, spec in enumerate(node.outputs)
    ]
    made = helper.make_graph(
        [_node(node, each, outer[node.scope]) for node, each in program.nodes],
        graph.name,
        inputs,
        [_info(name, spec, target) for name, spec in program.outputs],
        initializers,
        doc_string=graph.title,
        value_info=[_info(name, spec, target) for name, spec in shown if name not in results],
    )
    model = helper.make_model(
        made, opset_imports=[helper.make_opsetid("", target.opset)], ir_version=_ir_version(target.opset),
        producer_name="graphattn", doc_string=about,
    )  # fmt: skip
    if carried:
        helper.set_model_props(model, dict(carried))
    return model


def _ir_version(opset: int) -> int:
    """The oldest IR version that the opset and what we write need."""
    try:
        return max(IR_VERSION, helper.find_min_ir_version_for([helper.make_opsetid("", opset)], True))
    except ValueError:
        return IR_VERSION


def _info(name: str, spec: Spec, target: Target) -> Any:
    types = {"float": TensorProto.DOUBLE if target.double else TensorProto.FLOAT}
    types |= {"int": TensorProto.INT64, "bool": TensorProto.BOOL}
    info = helper.make_tensor_value_info(name, types[spec.kind], spec.shape)
    if any(spec.axes):
        helper.set_metadata_props(info, {"graphattn.axes": ",".join(axis or "" for axis in spec.axes)})
    return info


def _node(node: Node, written: Written, scopes: list[tuple[str, str]]) -> Any:
    attributes: dict[str, Any] = {
        key: _TO[value] if (written.operator, key) == ("Cast", "to") else value
        for key, value in written.attributes.items()
    }
    made = helper.make_node(
        written.operator,
        ["" if x is None else x.name for x in written.inputs],
        [x.name for x in written.outputs],
        name=written.outputs[0].name,
        **attributes,
    )
    path = [*scopes, (node.name, node.op.name)]
    helper.set_metadata_props(
        made,
        {
            "graphattn.name": node.name,
            "graphattn.op": node.op.name,
            "namespace": "/".join(f"{name}: {kind}" for name, kind in path),
            "pkg.torch.onnx.name_scopes": repr(["", *(name for name, _ in path)]),
        },
    )
    return made


_TO = {"float": TensorProto.DOUBLE, "float32": TensorProto.FLOAT}


def _scopes(graph: Graph, scope: str | None) -> list[tuple[str, str]]:
    """The scopes around a node, outer first, each with the op that was there."""
    found: list[tuple[str, str]] = []
    while scope is not None:
        record = graph.scopes[scope]
        found.insert(0, (scope, "" if record.op is None else record.op.name))
        scope = record.parent
    return found


def size_of(program: Program) -> int:
    """The bytes of the initializers."""
    wide = {"float": 8 if program.target.double else 4, "int": 8, "bool": 1}
    return sum(prod(i.shape) * wide[i.value.kind] for i in program.initializers)


__all__ = ["NEWEST", "OLDEST", "Program", "array_of", "model_of", "program_of", "size_of", "write_node"]
