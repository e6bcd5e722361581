"""One node computed by ONNX's own reference implementation: any operator, exactly as it is specified."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...conventions.onnx.nodes import OnnxNode
from ...core.errors import GraphError


def by_reference(node: OnnxNode, known: Sequence[Any], opset: int, outputs: int) -> list[Any] | None:
    """The outputs of a node; None where the reference does not know its operator."""
    from onnx import defs, helper, numpy_helper
    from onnx.reference import ReferenceEvaluator

    if not defs.has(node.op):
        return None
    attributes = {
        name: numpy_helper.from_array(value) if hasattr(value, "dtype") else value
        for name, value in node.attributes.items()
    }
    inputs = [f"i{slot}" if array is not None else "" for slot, array in enumerate(known)]
    made = helper.make_node(node.op, inputs, [f"o{port}" for port in range(outputs)], **attributes)
    given = {name: array for name, array in zip(inputs, known) if name}
    taken = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in given.items()
    ]
    results = [helper.make_empty_tensor_value_info(name) for name in made.output]
    graph = helper.make_graph([made], "one", taken, results)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    try:
        found = ReferenceEvaluator(model).run(None, given)
    except NotImplementedError:
        return None
    if any(not hasattr(array, "dtype") for array in found):
        raise GraphError("gives what is no tensor of numbers; expected one")
    return list(found)
