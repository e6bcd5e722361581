"""Whether a model is what ONNX says, before a graph is made of it: `checked_types` refuses what is not read,
names that are there twice, nodes that come before what they need (so every cycle), and types that do not
agree, as the package `onnx` checks them.
"""

from __future__ import annotations

import re
from typing import Any

from ..core.errors import GraphError
from ..core.nested import RANK_LIMIT
from ..core.words import shown
from .reading import Model, first_line, package
from .refusals import need_readable
from .tensors import type_name

OF_TYPES = re.compile(r"TypeInferenceError|inconsistent type|ele?m(ent)? type")
"""What the package `onnx` says of types that do not agree."""


def told_of(number: int, node: Any) -> str:
    """How messages call a node."""
    named = f" {node.name[:120]!r}" if node.name else ""
    return f"{node.op_type[:80]} (node {number}{named})"


def checked_types(model: Model) -> dict[str, str]:
    """The element type of each tensor (FLOAT, INT64, …), of a model that is checked. Raises a `GraphError`
    that says what is wrong with it."""
    for number, node in enumerate(model.graph.node):
        need_readable(node.op_type, node.domain, (), told_of(number, node))
    _need_order(model)
    onnx = package()
    newest = onnx.defs.onnx_opset_version()
    if model.opset > newest:
        raise GraphError(
            f"{model.what} is of opset {model.opset:,}; expected at most {newest}, which onnx knows"
        )
    skeleton = _skeleton(model)
    context = onnx.checker.C.CheckerContext()
    context.ir_version = skeleton.ir_version
    context.opset_imports = {o.domain: o.version for o in skeleton.opset_import}
    try:
        for node in skeleton.graph.node:  # not the whole model: that wants shapes which are found out here
            onnx.checker.check_node(node, context)
    except Exception as error:  # whatever the C++ code raises
        raise GraphError(f"{model.what} is not as ONNX says: {first_line(error)}") from None
    inferred = _inferred(model, skeleton)
    graph = inferred.graph
    return {
        info.name: type_name(info.type.tensor_type.elem_type)
        for info in (*graph.value_info, *graph.output, *graph.input)
        if info.type.HasField("tensor_type")
    }


def _inferred(model: Model, skeleton: Any) -> Any:
    """The model with the types of all tensors; refused where they do not agree. What does not fit in shape
    is left to the builders, who know what is fed (and to whom no function of an old opset is unknown)."""
    infer = package().shape_inference.infer_shapes
    try:
        return infer(skeleton, check_type=True, strict_mode=True)
    except Exception as error:
        if OF_TYPES.search(str(error)) or "ShapeInferenceError" not in str(error):
            raise GraphError(f"{model.what} is not as ONNX says: {first_line(error)}") from None
    try:
        return infer(skeleton)
    except Exception as error:
        raise GraphError(f"{model.what} is not as ONNX says: {first_line(error)}") from None


def _need_order(model: Model) -> None:
    """Each tensor once, and each node after what it needs."""
    graph = model.graph
    there: set[str] = set()
    for kind, held in (("initializer", graph.initializer), ("input", graph.input)):
        seen: set[str] = set()
        for item in held:
            if item.name in seen:
                raise GraphError(f"{kind} {shown(item.name)} is there twice; expected each name once")
            seen.add(item.name)
        there |= seen
    for number, node in enumerate(graph.node):
        for name in node.input:
            if name and name not in there:
                raise GraphError(
                    f"{told_of(number, node)} needs {shown(name)}, which no node before it gives; expected"
                    " nodes in an order without cycles"
                )
        for name in node.output:
            if name and name in there:
                raise GraphError(
                    f"{told_of(number, node)} gives {shown(name)}, which is there already; expected each name"
                    " once"
                )
            there.add(name)


def _skeleton(model: Model) -> Any:
    """The model without its trained numbers: what is stored is declared as an input."""
    onnx = package()
    proto = onnx.ModelProto()
    proto.ir_version = model.proto.ir_version
    proto.opset_import.extend(model.proto.opset_import)
    graph, old = proto.graph, model.graph
    graph.name = old.name
    graph.node.extend(old.node)
    graph.input.extend(old.input)
    graph.output.extend(old.output)
    graph.value_info.extend(old.value_info)
    declared = {info.name for info in old.input}
    for tensor in old.initializer:
        if tensor.name in declared:
            continue
        if len(tensor.dims) > RANK_LIMIT:
            raise GraphError(
                f"initializer {shown(tensor.name)} has rank {len(tensor.dims)}; expected at most {RANK_LIMIT}"
            )
        graph.input.append(onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims)))
    return proto
