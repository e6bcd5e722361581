"""Random calls of ONNX operators, computed by graphattn, by ONNX's reference, and by ONNX Runtime where the
reference differs: of floats by ops of a graph, of integers while the model is read.

    python tests/onnx_suite/operator_calls.py 50

computes so many calls of each operator in `CALLS` and counts what became of them. An entry draws the inputs
(None = left out) and the attributes of a call.
"""

from __future__ import annotations

import random
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any
from unittest import SkipTest

import numpy as np
from onnx import helper
from onnx.reference import ReferenceEvaluator

from graphattn.onnx.backend import Prepared

OPSET = 23


class Dice(random.Random):
    """Random shapes, tensors and attributes."""

    def shape(self, least: int = 0, most: int = 4, size: int = 4) -> tuple[int, ...]:
        return tuple(self.randint(1, size) for _ in range(self.randint(least, most)))

    def floats(self, *shape: int, special: float = 0.0) -> Any:
        cells = [self.gauss(0.0, 2.0) for _ in range(int(np.prod(shape)))]
        odd = (np.inf, -np.inf, np.nan, 0.0, -0.0)
        return np.array([self.choice(odd) if self.random() < special else c for c in cells]).reshape(shape)

    def ints(self, low: int, high: int, *shape: int) -> Any:
        return np.array([self.randint(low, high) for _ in range(int(np.prod(shape)))], np.int64).reshape(shape)

    def bools(self, *shape: int) -> Any:
        return np.array([self.random() < 0.5 for _ in range(int(np.prod(shape)))], bool).reshape(shape)

    def axis(self, rank: int) -> int:
        return self.randrange(-rank, rank)

    def stretched(self, shape: Sequence[int]) -> tuple[int, ...]:
        """A shape that broadcasts to this one."""
        sizes = [1 if self.random() < 0.3 else n for n in shape]
        return tuple(sizes[self.randint(0, len(sizes)) if self.random() < 0.4 else 0 :])


Drawn = tuple[list[Any], dict[str, Any]]
CALLS: dict[str, Callable[[Dice], Drawn]] = {}


def call(*names: str) -> Callable[[Callable[[Dice], Drawn]], Callable[[Dice], Drawn]]:
    def enter(draw: Callable[[Dice], Drawn]) -> Callable[[Dice], Drawn]:
        CALLS.update(dict.fromkeys(names, draw))
        return draw

    return enter


@call("Abs", "Reciprocal", "Sign", "Neg", "Exp", "Sqrt", "Log", "Tanh", "Sinh", "Cosh", "Asinh", "IsNaN",
      "IsInf", "Elu", "LeakyRelu", "Celu", "Selu", "HardSwish", "HardSigmoid", "Softplus", "Softsign", "Mish",
      "Relu", "Erf", "ThresholdedRelu", "Shrink", "Sigmoid")  # fmt: skip
def one(d: Dice) -> Drawn:
    return [d.floats(*d.shape(), special=0.2)], {}


@call("Tan", "Sin", "Cos")
def turned(d: Dice) -> Drawn:
    return [d.floats(*d.shape())], {}


@call("Acosh")
def from_one_on(d: Dice) -> Drawn:
    return [1 + abs(d.floats(*d.shape()))], {}


@call("Atanh")
def within_one(d: Dice) -> Drawn:
    return [np.tanh(d.floats(*d.shape()))], {}


@call("Add", "Sub", "Mul", "Div", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal")
def two(d: Dice) -> Drawn:
    shape = d.shape()
    a, b = d.floats(*shape, special=0.3), d.floats(*d.stretched(shape), special=0.3)
    return ([a, b] if d.random() < 0.5 else [b, a]), {}


@call("And", "Or", "Xor")
def two_bools(d: Dice) -> Drawn:
    shape = d.shape()
    return [np.isnan(d.floats(*shape)), d.bools(*d.stretched(shape))], {}


@call("Max", "Min", "Sum", "Mean")
def several(d: Dice) -> Drawn:
    shape = d.shape()
    return [
        d.floats(*(shape if i == 0 else d.stretched(shape)), special=0.1) for i in range(d.randint(1, 3))
    ], {}


@call("Clip")
def clipped(d: Dice) -> Drawn:
    low, high = sorted((d.gauss(0, 2), d.gauss(0, 2)))
    return [
        d.floats(*d.shape(), special=0.2),
        d.choice((None, np.array(low))),
        d.choice((None, np.array(high))),
    ], {}


@call("Where")
def chosen(d: Dice) -> Drawn:
    shape = d.shape()
    return [d.bools(*d.stretched(shape)), d.floats(*shape, special=0.2), d.floats(*d.stretched(shape))], {}


@call("Pow")
def powers(d: Dice) -> Drawn:
    shape = d.shape()
    return [d.floats(*shape, special=0.1), d.ints(-3, 5, *d.stretched(shape))], {}


@call("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
      "ReduceSumSquare", "ReduceLogSumExp", "ReduceLogSum")  # fmt: skip
def reduced(d: Dice) -> Drawn:
    shape = d.shape(1)
    axes = d.sample(range(len(shape)), d.randint(0, len(shape)))
    given = [a - len(shape) if d.random() < 0.4 else a for a in axes]
    more = {"noop_with_empty_axes": 1} if d.random() < 0.2 and axes else {}
    return [d.floats(*shape, special=0.05), np.array(given, np.int64) if given else None], {
        "keepdims": d.randrange(2),
        **more,
    }


@call("ArgMax", "ArgMin")
def largest(d: Dice) -> Drawn:
    shape = d.shape(1)
    x = np.round(d.floats(*shape))
    return [x], {"axis": d.axis(len(shape)), "keepdims": d.randrange(2), "select_last_index": d.randrange(2)}


@call("CumSum")
def running(d: Dice) -> Drawn:
    shape = d.shape(1)
    return [d.floats(*shape), np.array(d.axis(len(shape)))], {
        "exclusive": d.randrange(2),
        "reverse": d.randrange(2),
    }


@call("TopK")
def topmost(d: Dice) -> Drawn:
    shape = d.shape(1)
    axis = d.axis(len(shape))
    x = np.round(d.floats(*shape, special=0.0))
    return [x, np.array([d.randint(1, shape[axis])])], {"axis": axis, "largest": d.randrange(2)}


@call("Softmax", "LogSoftmax", "Hardmax")
def along(d: Dice) -> Drawn:
    shape = d.shape(1)
    return [d.floats(*shape)], {"axis": d.axis(len(shape))}


@call("MatMul")
def matrices(d: Dice) -> Drawn:
    n, k, m = (d.randint(1, 3) for _ in range(3))
    lead = d.shape(0, 2, 3)
    a = (k,) if d.random() < 0.2 else (*lead, n, k)
    b = (k,) if d.random() < 0.2 else (*d.stretched(lead), k, m)
    return [d.floats(*a), d.floats(*b)], {}


@call("Gemm")
def gemm(d: Dice) -> Drawn:
    n, k, m = (d.randint(1, 3) for _ in range(3))
    a, b = d.randrange(2), d.randrange(2)
    c = None if d.random() < 0.3 else d.floats(*d.stretched((n, m)))
    inputs = [d.floats(*((k, n) if a else (n, k))), d.floats(*((m, k) if b else (k, m))), c]
    return inputs, {"transA": a, "transB": b, "alpha": d.choice((1.0, 0.5)), "beta": d.choice((1.0, 0.25))}


EQUATIONS = ("ij,jk->ik", "bij,bjk->bik", "ij->ji", "ii->i", "ij->", "i,j->ij", "...ij,...jk->...ik",
             "bhqd,bhkd->bhqk", "ij,ij->i", "ij,jk,kl->il", "...ii->...i", "ij", "ji,kj",
             "b...i,i->b...")  # fmt: skip


@call("Einsum")
def einsum(d: Dice) -> Drawn:
    equation = d.choice(EQUATIONS)
    sizes = {c: d.randint(1, 3) for c in "ijklbhqd"}
    dots = d.shape(0, 2, 3)
    terms = equation.partition("->")[0].split(",")
    shapes = [[n for c in t.replace("...", ".") for n in (dots if c == "." else (sizes[c],))] for t in terms]
    return [d.floats(*shape) for shape in shapes], {"equation": equation}


@call("Transpose")
def transposed(d: Dice) -> Drawn:
    shape = d.shape()
    return [d.floats(*shape)], {
        "perm": d.sample(range(len(shape)), len(shape))
    } if shape and d.random() < 0.7 else {}


@call("Slice")
def sliced(d: Dice) -> Drawn:
    shape = d.shape(1)
    axes = d.sample(range(len(shape)), d.randint(1, len(shape)))
    ends = [d.choice((d.randint(-5, 5), 2**40, -(2**40))) for _ in axes]
    steps = [d.choice((1, 1, 2, -1, -2)) for _ in axes]
    given = [a - len(shape) if d.random() < 0.4 else a for a in axes]
    lists = ([d.randint(-5, 5) for _ in axes], ends, given, steps)
    return [d.floats(*shape), *(np.array(x, np.int64) for x in lists)], {}


@call("Gather")
def gathered(d: Dice) -> Drawn:
    shape = d.shape(1)
    axis = d.axis(len(shape))
    n = shape[axis]
    return [d.floats(*shape), d.ints(-n, n - 1, *d.shape(0, 2))], {"axis": axis}


@call("GatherElements")
def elements(d: Dice) -> Drawn:
    shape = d.shape(1)
    axis = d.axis(len(shape))
    n = shape[axis]
    wanted = [d.randint(1, s) for s in shape]
    wanted[axis] = d.randint(1, 4)
    return [d.floats(*shape), d.ints(-n, n - 1, *wanted)], {"axis": axis}


@call("GatherND")
def gathered_nd(d: Dice) -> Drawn:
    shape = d.shape(1)
    depth = d.randint(1, len(shape))
    batch = d.randint(0, min(depth, len(shape)) - 1) if d.random() < 0.5 else 0
    lead = (*shape[:batch], *d.shape(0, 2, 3))
    width = d.randint(1, len(shape) - batch)
    index = np.stack([d.ints(-n, n - 1, *lead) for n in shape[batch : batch + width]], -1)
    return [d.floats(*shape), index], {"batch_dims": batch}


@call("ScatterElements")
def scattered(d: Dice) -> Drawn:
    shape = d.shape(1)
    axis = d.axis(len(shape))
    n, reduction = shape[axis], d.choice(("none", "add", "mul", "max", "min"))
    wanted = [d.randint(1, s) for s in shape]
    index = np.stack(
        [np.array(d.sample(range(n), wanted[axis])) for _ in range(int(np.prod(wanted)) // wanted[axis])]
    )
    index = np.moveaxis(
        index.reshape([w for i, w in enumerate(wanted) if i != axis % len(shape)] + [wanted[axis]]), -1, axis
    )
    if reduction != "none":
        index = d.ints(-n, n - 1, *wanted)
    return [d.floats(*shape), index, d.floats(*wanted)], {"axis": axis, "reduction": reduction}


@call("ScatterND")
def scattered_nd(d: Dice) -> Drawn:
    shape = d.shape(1)
    depth, reduction = d.randint(1, len(shape)), d.choice(("none", "add", "mul", "max", "min"))
    cells = list(np.ndindex(*shape[:depth]))
    count = d.randint(1, len(cells))
    rows = d.sample(cells, count) if reduction == "none" else [d.choice(cells) for _ in range(count)]
    return [d.floats(*shape), np.array(rows, np.int64), d.floats(count, *shape[depth:])], {
        "reduction": reduction
    }


@call("OneHot")
def one_hot(d: Dice) -> Drawn:
    shape, n = d.shape(0, 3), d.randint(1, 4)
    return [d.ints(-n - 1, n + 1, *shape), np.array(n), d.floats(2)], {"axis": d.axis(len(shape) + 1)}


@call("Compress")
def compressed(d: Dice) -> Drawn:
    shape = d.shape(1)
    axis = d.choice((None, d.axis(len(shape))))
    n = int(np.prod(shape)) if axis is None else shape[axis]
    return [d.floats(*shape), d.bools(d.randint(1, n))], {} if axis is None else {"axis": axis}


@call("Trilu")
def triangle(d: Dice) -> Drawn:
    return [d.floats(*d.shape(2)), np.array(d.randint(-4, 4))], {"upper": d.randrange(2)}


@call("Tile")
def tiled(d: Dice) -> Drawn:
    shape = d.shape(1, 3)
    return [d.floats(*shape), d.ints(0, 3, len(shape))], {}


@call("Expand")
def expanded(d: Dice) -> Drawn:
    shape = d.shape()
    return [d.floats(*d.stretched(shape)), np.array(shape, np.int64)], {}


@call("Concat")
def joined(d: Dice) -> Drawn:
    shape = d.shape(1)
    axis = d.axis(len(shape))
    parts = [[*shape] for _ in range(d.randint(1, 3))]
    for part in parts:
        part[axis] = d.randint(0, 3)
    return [d.floats(*part) for part in parts], {"axis": axis}


@call("Unsqueeze")
def unsqueezed(d: Dice) -> Drawn:
    shape = d.shape(0, 3)
    count = d.randint(1, 2)
    axes = d.sample(range(len(shape) + count), count)
    return [d.floats(*shape), np.array([a - len(shape) - count if d.random() < 0.4 else a for a in axes])], {}


@call("Flatten")
def flattened(d: Dice) -> Drawn:
    shape = d.shape(1)
    return [d.floats(*shape)], {"axis": d.randint(-len(shape), len(shape))}


@call("Pad")
def padded(d: Dice) -> Drawn:
    shape, mode = d.shape(1, 3), d.choice(("constant", "constant", "reflect", "edge", "wrap"))
    most = min(shape) - 1 if mode != "constant" else 2
    low = -min(1, min(shape) - 1) if mode == "constant" and min(shape) > 2 else 0
    pads = d.ints(low, max(0, most), 2 * len(shape))
    return [
        d.floats(*shape),
        pads,
        np.array(d.gauss(0, 1)) if mode == "constant" and d.random() < 0.5 else None,
    ], {"mode": mode}


@call("LayerNormalization")
def layer_norm(d: Dice) -> Drawn:
    shape = d.shape(1)
    axis = d.axis(len(shape))
    own = shape[axis:] if axis < 0 else shape[axis % len(shape) :]
    return [d.floats(*shape), d.floats(*own), d.choice((None, d.floats(*own)))], {"axis": axis}


@call("LpNormalization")
def lp_norm(d: Dice) -> Drawn:
    shape = d.shape(1)
    return [d.floats(*shape)], {"axis": d.axis(len(shape)), "p": d.choice((1, 2))}


@call("InstanceNormalization")
def instance_norm(d: Dice) -> Drawn:
    shape = d.shape(3, 4)
    return [d.floats(*shape), d.floats(shape[1]), d.floats(shape[1])], {}


@call("BatchNormalization")
def batch_norm(d: Dice) -> Drawn:
    shape = d.shape(2, 4)
    return [d.floats(*shape), *(d.floats(shape[1]) for _ in range(3)), abs(d.floats(shape[1]))], {}


@call("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(d: Dice) -> Drawn:
    classes = d.randint(2, 4)
    lead, rest = d.randint(1, 3), d.shape(0, 2, 3)
    target = d.ints(0, classes - 1, lead, *rest)
    more: dict[str, Any] = {"reduction": d.choice(("none", "sum", "mean"))}
    if d.random() < 0.4:
        more["ignore_index"] = d.choice((0, -1))
        target[(0,) * target.ndim] = 1
    return [d.floats(lead, classes, *rest), target, d.choice((None, abs(d.floats(classes))))], more


@call("Conv")
def conv(d: Dice) -> Drawn:
    rank, group = d.randint(1, 2), d.choice((1, 1, 2))
    channels, many = group * d.randint(1, 2), group * d.randint(1, 2)
    kernel = [d.randint(1, 3) for _ in range(rank)]
    x = d.floats(d.randint(1, 2), channels, *(d.randint(5, 7) for _ in range(rank)))
    w, b = d.floats(many, channels // group, *kernel), d.choice((None, d.floats(many)))
    more = sliding(d, rank)
    return [x, w, b], {"group": group, "kernel_shape": kernel, **more}


def sliding(d: Dice, rank: int, dilated: bool = True) -> dict[str, Any]:
    more: dict[str, Any] = {"strides": [d.randint(1, 2) for _ in range(rank)]}
    if dilated and d.random() < 0.4:
        more["dilations"] = [d.randint(1, 2) for _ in range(rank)]
    if d.random() < 0.6:
        more["pads"] = [d.randint(0, 1) for _ in range(2 * rank)]
    return more


@call("MaxPool", "AveragePool")
def pool(d: Dice) -> Drawn:
    rank = d.randint(1, 2)
    kernel = [d.randint(2, 3) for _ in range(rank)]
    x = d.floats(d.randint(1, 2), d.randint(1, 2), *(d.randint(5, 7) for _ in range(rank)))
    return [x], {"kernel_shape": kernel, "ceil_mode": d.randrange(2), **sliding(d, rank, dilated=False)}


@call("ConvTranspose")
def conv_transpose(d: Dice) -> Drawn:
    group = d.choice((1, 1, 2))
    channels, many = group * d.randint(1, 2), d.randint(1, 2)
    kernel = [d.randint(2, 3) for _ in range(2)]
    x = d.floats(d.randint(1, 2), channels, *(d.randint(2, 4) for _ in range(2)))
    return [x, d.floats(channels, many, *kernel), d.choice((None, d.floats(many * group)))], {
        "group": group,
        **sliding(d, 2),
    }


@call("RotaryEmbedding")
def rotary(d: Dice) -> Drawn:
    b, h, n, half = d.randint(1, 2), d.randint(1, 2), d.randint(1, 3), d.randint(1, 3)
    caches = [d.floats(b, n, half) for _ in range(2)]
    width = 2 * half + 2 * d.randint(0, 1)
    return [d.floats(b, h, n, width), *caches], {
        "interleaved": d.randrange(2),
        "rotary_embedding_dim": 2 * half,
    }


def model_of(op: str, inputs: Sequence[Any], attributes: dict[str, Any]) -> Any:
    """A model of one node."""
    given = [f"x{slot}" if x is not None else "" for slot, x in enumerate(inputs)]
    while not given[-1]:
        given.pop()
    infos = [
        helper.make_tensor_value_info(f"x{slot}", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for slot, x in enumerate(inputs) if x is not None
    ]  # fmt: skip
    outputs = ["y", "z"] if op in ("TopK",) else ["y"]
    node = helper.make_node(op, given, outputs, **attributes)
    results = [helper.make_empty_tensor_value_info(name) for name in outputs]
    graph = helper.make_graph([node], "call", infos, results)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=11)


SHORT = {"Celu", "RotaryEmbedding"}
"""Operators that take no doubles."""
ATTRIBUTES_ROUND = {"HardSwish", "HardSigmoid", "Selu", "Celu", "LeakyRelu", "Shrink", "Gelu"}
"""Operators with attributes that are no float32 (0.2, 1/6), which the reference rounds."""
WHOLE = {
    "Sign", "Add", "Sub", "Mul", "Div", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal", "Abs",
    "Neg", "Max", "Min", "Clip", "Where", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ArgMax",
    "ArgMin", "CumSum", "TopK", "Transpose", "Slice", "Gather", "GatherElements", "GatherND", "Compress",
    "Trilu", "Tile", "Expand", "Concat", "Unsqueeze", "Flatten", "Pad", "OneHot",
}  # fmt: skip
"""Operators that are computed of integers while a model is read."""


def drawn(op: str, seed: int) -> tuple[Any, list[Any]]:
    """A model of one node, and what it is fed: doubles, or integers now and then."""
    dice = Dice(f"{op} {seed}")
    inputs, attributes = CALLS[op](dice)
    kind: Any = np.float32 if op in SHORT else np.float64
    if op in WHOLE and dice.random() < 0.4:
        kind = dice.choice((np.int32, np.int64))

    def as_kind(x: Any) -> Any:
        if x is None or x.dtype != np.float64:
            return x
        if kind in (np.int32, np.int64):
            whole = np.round(3 * np.nan_to_num(x, posinf=7, neginf=-7)).astype(kind)
            return np.where(whole == 0, kind(1), whole) if op == "Div" else whole
        return x.astype(kind)

    inputs = [as_kind(x) for x in inputs]
    return model_of(op, inputs, attributes), [np.asarray(x) for x in inputs if x is not None]


def reference(model: Any, arrays: Sequence[Any]) -> list[Any]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        names = [i.name for i in model.graph.input]
        return ReferenceEvaluator(model).run(None, dict(zip(names, arrays)))


def runtime(model: Any, arrays: Sequence[Any]) -> list[Any]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    data = model.SerializeToString()
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    return session.run(None, dict(zip([i.name for i in model.graph.input], arrays)))


def near(a: Sequence[Any], b: Sequence[Any], tolerance: float) -> bool:
    return all(
        x.shape == np.shape(y)
        and np.allclose(np.asarray(x, float), np.asarray(y, float), tolerance, tolerance / 100, equal_nan=True)
        for x, y in zip(a, b)
    )


def judged(op: str, seed: int) -> str:
    """equal, refused, or what else became of one call. The reference judges; where it differs or fails, ONNX
    Runtime does, in float32."""
    model, arrays = drawn(op, seed)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ours = Prepared(model).run(arrays)
    except SkipTest as error:
        return f"refused: {error}"
    rough = op in SHORT or op in ATTRIBUTES_ROUND
    try:
        theirs = reference(model, arrays)
        if near(ours, theirs, 1e-5 if rough else 1e-9):
            return "equal"
    except Exception as error:
        theirs = [str(error)]
    short = [x.astype(np.float32) if x.dtype == np.float64 else x for x in arrays]
    slots = iter(short)
    inputs = [next(slots) if name else None for name in model.graph.node[0].input]
    attributes = {a.name: helper.get_attribute_value(a) for a in model.graph.node[0].attribute}
    try:
        if near(ours, runtime(model_of(op, inputs, attributes), short), 1e-3):
            return "equal to ONNX Runtime alone"
    except Exception as error:
        return f"not computed by the others: {str(error)[:80]}"
    return f"differs: {[x.tolist() for x in arrays]} {attributes}: {ours} and the reference {theirs}"


def main(count: int, pattern: str = "") -> int:
    told: Counter[str] = Counter()
    for op in CALLS:
        for seed in range(count if pattern in op else 0):
            result = judged(op, seed)
            told["equal" if result == "equal" else f"{op} {result[:150]}"] += 1
    for line, number in sorted(told.items()):
        print(f"{number:6} {line}")
    return int(any(" differs" in line for line in told))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 50, *sys.argv[2:]))
