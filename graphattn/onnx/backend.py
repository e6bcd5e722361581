"""graphattn as a backend of ONNX (`onnx.backend.base`).

    from graphattn.onnx.backend import Backend
    y, = Backend.run_model(model, [x])

    BackendTest(Backend, __name__)                      ONNX's official suite, see graphattn.onnx.suite

A model is read with its inputs as feeds, integers and bools known while reading (`load(..., fixed=True)`);
floats are computed by the graph, in double precision, and rounded once to the type of the output. What is not
read is `unittest.SkipTest` with the sentence of the refusal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from unittest import SkipTest

from ..core.errors import GraphError
from ..core.nested import flat
from .importing import load
from .reading import package

package()  # says how to get it where it is missing

from onnx import ModelProto, defs, helper, shape_inference  # noqa: E402
from onnx.backend import base  # noqa: E402

STORED = ("input", "parameter", "constant", "reshape")
"""Ops that compute nothing: a graph of these alone was computed while it was read."""


class Prepared(base.BackendRep):
    """A model that is ready to run. `computed` says whether the last run's outputs came out of ops of the
    graph, or were known when the model had been read."""

    def __init__(self, model: ModelProto) -> None:
        self.model = model
        stored = {tensor.name for tensor in model.graph.initializer}
        self.inputs = [i.name for i in model.graph.input if i.name not in stored]
        self.types = _types(model)
        self.computed = False

    def run(self, inputs: Sequence[Any], **kwargs: Any) -> tuple[Any, ...]:
        """The outputs, in the model's order, as arrays of the types that the model states."""
        import numpy

        given = [inputs] if hasattr(inputs, "dtype") else list(inputs)
        if any(str(getattr(array, "dtype", "")) == "object" for array in given):
            raise SkipTest("an input holds strings; expected numbers")
        if any(not hasattr(array, "dtype") for array in given):
            raise SkipTest("an input is no tensor; expected tensors of numbers")
        feeds = dict(zip(self.inputs, given))
        try:
            specimen = load(self.model, feeds, fixed=True, grouped=False)
            wanted = list(specimen.graph.outputs)
            trace = specimen.run(targets=wanted)
            values = [(trace[name], specimen.graph.outputs[name].shape) for name in wanted]
        except GraphError as error:
            raise SkipTest(str(error)) from None
        results = {tensor.node.name for tensor in specimen.graph.outputs.values()}
        needed = results | specimen.graph.ancestors(*results)
        self.computed = any(specimen.graph.nodes[name].op.name not in STORED for name in needed)
        return tuple(
            _array(numpy, value, shape, self.types[output.name], output.name)
            for (value, shape), output in zip(values, self.model.graph.output)
        )


def _array(numpy: Any, value: Any, shape: tuple[int, ...], dtype: Any, name: str) -> Any:
    """Nested lists as an array of that type; integers must be whole."""
    cells = list(flat(value)) if shape else [value]
    if numpy.dtype(dtype).kind in "iu" and any(isinstance(cell, float) for cell in cells):
        whole = [int(cell) for cell in cells if cell == cell and abs(cell) < 2**53]
        if whole != cells:
            raise GraphError(f"output {name!r} holds integers, and what was computed is none")
        cells = whole
    with numpy.errstate(over="ignore"):
        return numpy.array(cells).reshape(shape).astype(dtype) if cells else numpy.empty(shape, dtype)


def _types(model: ModelProto) -> dict[str, Any]:
    """The element type of each output, as the model states it or as it follows."""
    stated = {output.name: output.type.tensor_type.elem_type for output in model.graph.output}
    if not all(stated.values()):
        inferred = shape_inference.infer_shapes(model)
        stated = {output.name: output.type.tensor_type.elem_type for output in inferred.graph.output}
    return {name: helper.tensor_dtype_to_np_dtype(kind or 1) for name, kind in stated.items()}


class Backend(base.Backend):
    """graphattn as `onnx.backend.base.Backend`."""

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> Prepared:
        if any(not output.type.HasField("tensor_type") for output in model.graph.output):
            raise SkipTest("an output is no tensor; expected tensors of numbers")
        return Prepared(model)

    @classmethod
    def run_node(
        cls, node: Any, inputs: Any, device: str = "CPU", outputs_info: Any = None, **kwargs: Any
    ) -> tuple[Any, ...]:
        """One node, on arrays; opset_version: the newest unless given."""
        given = list(inputs)
        infos = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in zip((n for n in node.input if n), given)
        ]
        outputs = [helper.make_empty_tensor_value_info(name) for name in node.output if name]
        graph = helper.make_graph([node], "node", infos, outputs)
        opset = helper.make_opsetid("", kwargs.get("opset_version") or defs.onnx_opset_version())
        return cls.prepare(helper.make_model(graph, opset_imports=[opset])).run(given)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return device == "CPU"


prepare, run_model, run_node, supports_device = (
    Backend.prepare, Backend.run_model, Backend.run_node, Backend.supports_device,
)  # fmt: skip
