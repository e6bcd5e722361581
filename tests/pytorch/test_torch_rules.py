"""Every operator that is read, on small tensors: what the graph gives is what PyTorch gives.

A step is made by hand, without an export, so that each operator has its arguments as its schema has them.
"""

import pytest
from needed import torch
from steps import apart

from graphattn import GraphError
from graphattn.torch.calling import reading
from graphattn.torch.operators import find
from graphattn.torch.program import Module, Program, Source, Step, Use, bound
from graphattn.torch.rules import RULES

HERE = (Module("", "Whole"), Module("part", "Part"))


def numbers(*shape, seed=0, positive=False):
    x = torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return x.abs() + 0.1 if positive else x


def program(op, arguments, results=1):
    """A program of one step. Tensors of floats are inputs; integers and bools are inputs too, and known."""
    operator = find(op)
    sources, values = [], []

    def placed(value):
        if isinstance(value, torch.Tensor):
            name = f"x{len(values)}"
            dtype = str(value.dtype).removeprefix("torch.")
            sources.append(Source(name, "input", dtype=dtype, shape=tuple(value.shape)))
            values.append(value)
            return Use(name)
        return [placed(item) for item in value] if isinstance(value, (list, tuple)) else value

    given = bound(operator.defaults, op, {name: placed(value) for name, value in arguments.items()})
    outputs = tuple(f"y{i}" for i in range(results))
    step = Step(
        "y", op, operator.call, given, outputs, results > 1, HERE, operator.positional, operator.writes,
        operator.shares,
    )  # fmt: skip
    return Program("one", tuple(sources), (step,), {f"out{i}": Use(y) for i, y in enumerate(outputs)}), values


x, y = numbers(2, 3, 4), numbers(2, 3, 4, seed=1)
matrix, row, above = numbers(3, 4), numbers(4), numbers(2, 3, 4, positive=True)
images, flags = numbers(1, 6, 2, 2), numbers(2, 3, 4, seed=3) > 0
scores = numbers(1, 2, 3, 3)
triangle = torch.triu(torch.full((3, 3), float("-inf"), dtype=torch.float64), 1)
BINARY = ("Tensor", "Scalar")
ONE = """
    abs cos exp expm1 neg negative sin tanh erf special_erf sigmoid special_expit square positive relu silu
    contiguous clone alias detach lift_fresh_copy resolve_conj resolve_neg special_expm1 detach_
    """.split()  # noqa: SIM905

CASES = {
    **{f"{name}.default": [{"self": x}] for name in ONE},
    **{f"{name}.default": [{"self": above}] for name in ("log", "sqrt", "rsqrt", "reciprocal", "log1p",
       "special_log1p")},
    **{f"{name}.{kind}": [{"self": x, "other": y if kind == "Tensor" else 0.5}] for kind in BINARY
       for name in ("mul", "multiply", "div", "divide", "true_divide", "gt", "greater", "lt", "less", "eq",
                    "ne", "ge", "le")},
    **{f"{name}.{kind}": [{"self": x, "other": y if kind == "Tensor" else 0.5},
                          {"self": x, "other": y if kind == "Tensor" else 2, "alpha": 3}] for kind in BINARY
       for name in ("add", "sub", "subtract", "rsub")},
    **{f"lerp.{kind}": [{"self": x, "end": y, "weight": above if kind == "Tensor" else 0.25}]
       for kind in BINARY},
    "pow.Tensor_Scalar": [{"self": above, "exponent": e} for e in (2, 3, 0.5, -0.5, -2, 1, 1.5)],
    "pow.Scalar": [{"self": 10000.0, "exponent": x}],
    **{f"{name}.{kind}": [{"self": x, "other": y}] for name, kind in
       (("maximum", "default"), ("minimum", "default"), ("max", "other"), ("min", "other"))},
    "clamp.default": [{"self": x, "min": -0.5}, {"self": x, "max": 0.5}, {"self": x, "min": -1, "max": 1}],
    "clamp.Tensor": [{"self": x, "min": y}],
    "clamp_min.default": [{"self": x, "min": 0.1}],
    "clamp_max.default": [{"self": x, "max": 0.1}],
    "clamp_min.Tensor": [{"self": x, "min": y}],
    "clamp_max.Tensor": [{"self": x, "max": y}],
    "addcmul.default": [{"self": x, "tensor1": y, "tensor2": above, "value": 2}, {"self": x, "tensor1": y,
                         "tensor2": y}],
    "dropout.default": [{"input": x, "p": 0.5, "train": False}],
    "feature_dropout.default": [{"input": x, "p": 0.5, "train": False}],
    "to.dtype": [{"self": x, "dtype": torch.float64}],
    "to.dtype_layout": [{"self": x, "dtype": torch.float64}],
    "to.device": [{"self": x, "device": torch.device("cpu"), "dtype": torch.float64}],
    "to.other": [{"self": x, "other": y}],
    "type_as.default": [{"self": x, "other": y}],
    "_to_copy.default": [{"self": x, "dtype": torch.float64}],
    "linear.default": [{"input": x, "weight": numbers(5, 4), "bias": numbers(5)}, {"input": row,
                       "weight": numbers(5, 4)}],
    "layer_norm.default": [{"input": x, "normalized_shape": [4], "weight": row, "bias": row},
                           {"input": x, "normalized_shape": [3, 4], "weight": matrix}],
    "native_layer_norm.default": [{"input": x, "normalized_shape": [4], "weight": row, "bias": row,
                                   "eps": 1e-5}],
    "rms_norm.default": [{"input": x, "normalized_shape": [4], "weight": row},
                         {"input": x, "normalized_shape": [3, 4], "eps": 1e-3}],
    "group_norm.default": [{"input": images, "num_groups": 3, "weight": numbers(6), "bias": numbers(6)},
                           {"input": images, "num_groups": 2}, {"input": images, "num_groups": 1,
                            "bias": numbers(6)}],
    "embedding.default": [{"weight": matrix, "indices": torch.tensor([[0, 2], [1, 1]])}],
    "gelu.default": [{"self": x}, {"self": x, "approximate": "tanh"}],
    "leaky_relu.default": [{"self": x, "negative_slope": 0.2}],
    "elu.default": [{"self": x}, {"self": x, "alpha": 0.5}],
    "softplus.default": [{"self": 30 * x}, {"self": x, "beta": 2}],
    "glu.default": [{"self": x}],
    "view.default": [{"self": x, "size": [3, -1]}],
    "reshape.default": [{"self": x, "shape": [2, 12]}, {"self": x, "shape": [2, 3, 4]}],
    "_unsafe_view.default": [{"self": x, "size": [24]}],
    "flatten.using_ints": [{"self": x, "start_dim": 1}, {"self": x}],
    "unflatten.int": [{"self": x, "dim": -1, "sizes": [2, -1]}],
    "squeeze.default": [{"self": numbers(1, 3, 1)}],
    "squeeze.dim": [{"self": numbers(1, 3, 1), "dim": -1}, {"self": x, "dim": 0}],
    "squeeze.dims": [{"self": numbers(1, 3, 1), "dim": [0, 2]}],
    "unsqueeze.default": [{"self": x, "dim": -1}, {"self": x, "dim": 0}],
    "permute.default": [{"self": x, "dims": [2, 0, 1]}, {"self": x, "dims": [0, 2, 1]}],
    "transpose.int": [{"self": x, "dim0": 0, "dim1": -1}, {"self": x, "dim0": 1, "dim1": 1}],
    "swapaxes.default": [{"self": x, "axis0": 0, "axis1": 1}],
    "swapdims.default": [{"self": x, "dim0": 0, "dim1": 1}],
    "t.default": [{"self": matrix}, {"self": row}],
    "mT.default": [{"self": x}],
    "numpy_T.default": [{"self": x}],
    "movedim.int": [{"self": x, "source": 0, "destination": -1}],
    "movedim.intlist": [{"self": x, "source": [0, 1], "destination": [2, 0]}],
    "expand.default": [{"self": numbers(3, 1), "size": [2, -1, 4]}],
    "expand_as.default": [{"self": row, "other": x}],
    "broadcast_to.default": [{"self": row, "size": [3, 4]}],
    "select.int": [{"self": x, "dim": -2, "index": -1}],
    "slice.Tensor": [{"self": x, "dim": 2, "start": 1, "end": 9223372036854775807, "step": 2},
                     {"self": x, "dim": 1, "start": -2, "end": -1}, {"self": x},
                     {"self": x, "dim": 1, "start": 3}],
    "narrow.default": [{"self": x, "dim": 2, "start": 1, "length": 2}],
    "split.Tensor": [{"self": x, "split_size": 3, "dim": -1}],
    "split_with_sizes.default": [{"self": x, "split_sizes": [1, 3], "dim": -1}],
    "chunk.default": [{"self": x, "chunks": 2, "dim": 1}],
    "unbind.int": [{"self": x, "dim": 0}],
    "cat.default": [{"tensors": [x, y], "dim": -1}, {"tensors": [x], "dim": 0}],
    "concat.default": [{"tensors": [x, y], "dim": 1}],
    "concatenate.default": [{"tensors": [x, y], "dim": 1}],
    "stack.default": [{"tensors": [x, y], "dim": -1}, {"tensors": [x, y]}],
    "repeat.default": [{"self": matrix, "repeats": [2, 1, 3]}],
    "repeat_interleave.self_int": [{"self": x, "repeats": 2, "dim": 1}, {"self": x, "repeats": 3}],
    "flip.default": [{"self": x, "dims": [0, -1]}],
    "index_select.default": [{"self": x, "dim": 1, "index": torch.tensor([2, 0])},
                             {"self": x, "dim": -1, "index": torch.tensor([0, 0, 3])}],
    "index.Tensor": [{"self": matrix, "indices": [torch.tensor([[0, 2], [1, 0]])]},
                     {"self": x, "indices": [None, torch.tensor([2, 0])]},
                     {"self": x, "indices": [None, None, torch.tensor(-1)]},
                     {"self": x, "indices": [torch.tensor([0, 1]), torch.tensor([2, -1])]}],
    "roll.default": [{"self": x, "shifts": [1], "dims": [-1]}, {"self": x, "shifts": [-2], "dims": [1]}],
    "pad.default": [{"self": x, "pad": [1, 2, 0, 1]}, {"self": x, "pad": [-1, 1], "value": 0.5}],
    "constant_pad_nd.default": [{"self": x, "pad": [0, 1], "value": 2}],
    "tril.default": [{"self": x}, {"self": x, "diagonal": 1}],
    "triu.default": [{"self": x, "diagonal": 1}],
    **{f"{name}.default": [{"self": x}] for name in ("mean", "sum", "max", "min", "var", "std")},
    **{f"{name}": [{"self": x, "dim": [-1]}, {"self": x, "dim": [0, 2], "keepdim": True},
                   {"self": x, "dim": [0]}]
       for name in ("mean.dim", "sum.dim_IntList", "amax.default", "amin.default", "var.dim", "std.dim",
                    "var.correction", "std.correction", "logsumexp.default")},
    **{name: [{"self": x, "dim": -1}, {"self": x, "dim": 1}] for name in ("softmax.int", "log_softmax.int")},
    **{f"{name}.default": [{"self": x, "dim": 2, "half_to_float": False}]
       for name in ("_softmax", "_log_softmax")},
    "cumsum.default": [{"self": x, "dim": -1}],
    "linalg_vector_norm.default": [{"self": x, "dim": [-1], "keepdim": True}, {"self": x}],
    "scaled_dot_product_attention.default": [
        {"query": x, "key": y, "value": y},
        {"query": x, "key": y, "value": y, "is_causal": True, "scale": 0.5},
        {"query": x, "key": y, "value": y, "attn_mask": numbers(3, 3)},
        {"query": x, "key": y, "value": y, "attn_mask": torch.ones(3, 3, dtype=torch.bool).tril()},
        {"query": numbers(1, 4, 3, 2), "key": numbers(1, 2, 3, 2), "value": numbers(1, 2, 3, 2, seed=1),
         "enable_gqa": True},
    ],
    "matmul.default": [{"self": x, "other": matrix.T.contiguous()}, {"self": x, "other": row}, {"self": row,
                        "other": numbers(4, 2)}, {"self": row, "other": row},
                       {"self": row, "other": numbers(2, 4, 3)}],
    "bmm.default": [{"self": x, "mat2": numbers(2, 4, 2)}],
    "mm.default": [{"self": matrix, "mat2": numbers(4, 2)}],
    "mv.default": [{"self": matrix, "vec": row}],
    "dot.default": [{"self": row, "tensor": row}],
    "outer.default": [{"self": row, "vec2": numbers(3)}],
    "addmm.default": [{"self": row[:2], "mat1": matrix, "mat2": numbers(4, 2)}, {"self": numbers(3, 2),
                       "mat1": matrix, "mat2": numbers(4, 2), "beta": 0.5, "alpha": 2}],
    "baddbmm.default": [{"self": numbers(2, 3, 2), "batch1": x, "batch2": numbers(2, 4, 2)}],
    "einsum.default": [{"equation": e, "tensors": t} for e, t in (
        ("bik,bjk->bij", [x, y]), ("bhid,bhjd->bhij", [scores, scores]), ("ij,jk->ki", [matrix, numbers(4, 2)]),
        ("i,j->ij", [row, row]), ("bij,bij->b", [x, y]), ("bij,bik->bjk", [x, numbers(2, 3, 5)]))],
    "masked_fill.Scalar": [{"self": x, "mask": flags, "value": 2.0}, {"self": scores, "mask": triangle < 0,
                            "value": -1e9}, {"self": scores, "mask": triangle < 0, "value": float("-inf")}],
    "masked_fill.Tensor": [{"self": x, "mask": flags, "value": torch.tensor(3)}],
    "where.self": [{"condition": flags, "self": x, "other": y}, {"condition": triangle == 0, "self": scores,
                    "other": y[0, :3, :3]}],
    "where.ScalarOther": [{"condition": flags, "self": x, "other": 0.5}, {"condition": triangle == 0,
                           "self": scores, "other": -1e9}],
    "where.ScalarSelf": [{"condition": flags, "self": 1, "other": x}],
    "where.Scalar": [],
    **{f"{name}.default": [] for name in ("logical_not", "bitwise_not", "logical_and", "logical_or")},
    **{f"{name}.Tensor": [] for name in ("bitwise_and", "__and__", "bitwise_or", "__or__")},
}  # fmt: skip
"""Arguments by operator; bools alone are known, so that what combines them is only built for what is fed."""


def test_every_operator_has_a_case():
    assert {f"aten.{name}" for name in CASES} == set(RULES)


@pytest.mark.parametrize("name", [name for name, cases in CASES.items() if cases])
def test_an_operator_is_what_pytorch_computes(name):
    op = f"aten.{name}"
    for arguments in CASES[name]:
        theirs = find(op).call(
            **{k: v.clone() if isinstance(v, torch.Tensor) else v for k, v in arguments.items()}
        )
        several = isinstance(theirs, (list, tuple))
        theirs = list(theirs) if several else [theirs]
        theirs = theirs[:1] if name == "native_layer_norm.default" else theirs
        made, values = program(op, arguments, max(len(theirs), 2) if several and len(theirs) > 1 else 1)
        trace = reading(made, values).specimen().run()
        for i, their in enumerate(theirs):
            mine = torch.tensor(trace[f"out{i}"], dtype=their.dtype).reshape(their.shape)
            assert apart(mine.double(), their.double()) < 1e-13, (arguments, i)


@pytest.mark.parametrize("name", ["logical_not.default", "bitwise_not.default", "logical_and.default",
                                  "bitwise_and.Tensor", "__and__.Tensor", "logical_or.default",
                                  "bitwise_or.Tensor", "__or__.Tensor"])  # fmt: skip
def test_bools_that_are_computed(name):
    """Comparisons of fed floats, combined."""
    op, compare = find(f"aten.{name}"), find("aten.gt.Tensor")
    operands = ["self", "other"][: 1 if "not" in name else 2]
    sources = tuple(Source(n, "input", dtype="float64", shape=(2, 3, 4)) for n in "ab")
    steps = [
        Step(n + n, compare.name, compare.call, {"self": Use(n), "other": Use("ab"[n == "a"])}, (n + n,), False,
             HERE, compare.positional)
        for n in "ab"
    ]  # fmt: skip
    given = {operand: Use(n + n) for operand, n in zip(operands, "ab")}
    steps.append(Step("y", op.name, op.call, given, ("y",), False, HERE, op.positional))
    trace = reading(Program("one", sources, tuple(steps), {"out": Use("y")}), [x, y]).specimen().run()
    assert trace["out"] == op.call(*[x > y, y > x][: len(operands)]).tolist()


REFUSED = {
    "dropout.default": (
        {"input": x, "p": 0.5, "train": True},
        "dropout is active; expected a module in eval mode",
    ),
    "to.dtype": ({"self": x, "dtype": torch.int64}, "numbers that are computed become int64"),
    "pow.Tensor_Scalar": ({"self": x, "exponent": 0.3}, "the exponent is 0.3; expected halves or wholes to 64"),
    "cumsum.default": ({"self": x, "dim": 0}, "running sums go along another axis than the last"),
    "pad.default": (
        {"self": x, "pad": [1, 1], "mode": "reflect"},
        "the mode is 'reflect'; expected 'constant'",
    ),
    "linalg_vector_norm.default": ({"self": x, "ord": 1}, "the norm is of order 1; expected 2"),
    "einsum.default": (
        {"equation": "ii->i", "tensors": [matrix]},
        "the equation is 'ii->i'; expected two operands",
    ),
    "topk.default": ({"self": x, "k": 1}, "is not read; graphattn.torch.supported() lists what is"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_names_operator_node_and_module(name):
    arguments, why = REFUSED[name]
    made, values = program(f"aten.{name}", arguments)
    with pytest.raises(GraphError) as told:
        reading(made, values)
    assert f"aten.{name} (node y, part)" in str(told.value) and why in str(told.value)
