"""Others who compute an ONNX model: ONNX Runtime in float32, ONNX's reference in float64; each with every
intermediate as an output."""

import math
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

MODELS = sorted((Path(__file__).parents[1] / "data" / "onnx").glob("*.onnx"))


def feeds(model):
    """Five tokens, the last of them padding; or floats."""
    known = {"input_ids": np.array([[3, 1, 4, 1, 5]]), "attention_mask": np.array([[1, 1, 1, 1, 0]])}
    drawn = np.random.default_rng(0)
    return {
        i.name: known[i.name] if i.name in known else drawn.normal(size=(1, 5, 8)).astype(np.float32)
        for i in model.graph.input
    }


def with_all_outputs(model):
    found = onnx.ModelProto()
    found.CopyFrom(model)
    have = {output.name for output in found.graph.output}
    for node in found.graph.node:
        for name in node.output:
            if name and name not in have:
                found.graph.output.append(helper.make_empty_tensor_value_info(name))
    return found


def by_runtime(model, fed):
    """Every tensor by ONNX Runtime, nothing of it optimised away."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(with_all_outputs(model).SerializeToString(), options)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, fed), strict=True))


def by_reference(model, fed):
    """Every tensor by ONNX's reference implementation."""
    from onnx.reference import ReferenceEvaluator
    from onnx.reference.op_run import OpRun

    class Erf(OpRun):
        """As it is specified; the reference's own gives a float32, of a float64 too."""

        def _run(self, x):
            return (np.vectorize(math.erf)(x),)

    class Gelu(OpRun):
        """As it is specified; the reference's own has √2 as a float32."""

        def _run(self, x, approximate=None):
            assert approximate in (None, "none")
            return (np.vectorize(lambda v: 0.5 * v * (1.0 + math.erf(v / math.sqrt(2.0))))(x),)

    made = with_all_outputs(model)
    names = [output.name for output in made.graph.output]
    evaluator = ReferenceEvaluator(made, new_ops=[Erf, Gelu])
    return dict(zip(names, evaluator.run(names, fed), strict=True))


def in_double(model):
    """The model with each float32 in it a float64, of the same value."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    del made.graph.value_info[:]
    for tensor in made.graph.initializer:
        _widen(tensor)
    for info in (*made.graph.input, *made.graph.output):
        if info.type.tensor_type.elem_type == TensorProto.FLOAT:
            info.type.tensor_type.elem_type = TensorProto.DOUBLE
    for node in made.graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR:
                _widen(attribute.t)
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.DOUBLE
    return made


def _widen(tensor):
    if tensor.data_type == TensorProto.FLOAT:
        wide = numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name)
        tensor.CopyFrom(wide)


def worst(trace, theirs):
    """(the largest difference, its name, how many tensors were compared); what is hidden is compared by
    position: −∞ here, a large negative number or −∞ there."""
    largest, name, count = 0.0, "", 0
    for key, value in theirs.items():
        if key not in trace.graph:
            continue
        mine, other = np.array(trace[key], float), np.asarray(value, float)
        assert mine.shape == other.shape, key
        hidden = np.isneginf(mine)
        assert np.all(other[hidden] < -1e30), key
        mine, other = mine[~hidden], other[~hidden]
        assert np.array_equal(np.isnan(mine), np.isnan(other)), key
        apart = np.nanmax(np.abs(mine - other) / np.maximum(1.0, np.abs(other)), initial=0.0)
        if apart > largest:
            largest, name = float(apart), key
        count += 1
    return largest, name, count
