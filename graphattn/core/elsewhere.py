"""What numpy, PyTorch and ONNX call things, and what they are called here: for the sentence that says so.

>>> argument("dim", ["x", "axis"])
"; dim is called 'axis' here"
>>> argument("keepdims", ["x", "axis"])
'; a reduced axis always stays, with size 1'
>>> builder("einsum")
'; g.matmul and g.transpose do that here'
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from inspect import Parameter, signature
from typing import Any, TypeVar

from .errors import GraphError, suggest

F = TypeVar("F", bound=Callable[..., Any])

ARGUMENTS: dict[str, tuple[str, ...]] = {
    "dim": ("axis",), "axes": ("axis",), "perm": ("axes",), "dims": ("perm",), "permutation": ("perm",),
    "epsilon": ("eps",), "variance_epsilon": ("eps",), "layer_norm_eps": ("eps",),
    "num_heads": ("heads",), "n_heads": ("heads",), "nhead": ("heads",), "n_head": ("heads",),
    "q_num_heads": ("heads",), "num_attention_heads": ("heads",), "kv_num_heads": ("kv_heads",),
    "num_kv_heads": ("kv_heads",), "num_key_value_heads": ("kv_heads",), "n_kv_heads": ("kv_heads",),
    "is_causal": ("causal",), "attn_mask": ("mask",), "attention_mask": ("mask",), "src_mask": ("mask",),
    "key_padding_mask": ("mask",), "query": ("q",), "key": ("k",), "value": ("v",), "Q": ("q",), "K": ("k",),
    "V": ("v",), "past_key": ("past_k",), "past_value": ("past_v",), "sliding_window": ("window",),
    "logit_softcap": ("softcap",), "attn_logit_softcapping": ("softcap",),
    "weight": ("gamma", "w", "table"), "bias": ("beta", "b"), "scale_factor": ("factor",), "scale": ("gamma",),
    "B": ("beta", "b"), "d_k": ("sqrt",), "head_dim": ("sqrt",), "input": ("x",), "other": ("b",), "A": ("a",),
    "rotary_base": ("base",), "theta": ("base",), "rope_theta": ("base",), "tanh": ("approximate",),
    "split_size_or_sections": ("parts",), "chunks": ("parts",), "num_outputs": ("parts",),
    "repeats": ("times",), "softmax_scale": ("scale",), "sm_scale": ("scale",), "scaling": ("scale",),
    "heads": ("parts",), "kdim": ("k",), "vdim": ("v",),
}  # fmt: skip
"""The name there: the names here, of which the first that a call takes is meant."""

EXPLAINED = {
    "keepdims": "a reduced axis always stays, with size 1",
    "keepdim": "a reduced axis always stays, with size 1",
    "dtype": 'numbers are chosen at the run: run(graph, feeds, numbers="float32");'
             " a tensor's kind is float, bool or int",
    "device": "everything runs in plain Python; leave it out",
    "requires_grad": "gradient(graph, of=…, wrt=[…]) differentiates any tensor",
    "normalized_shape": "it is always the last axis; leave it out",
    "in_features": "sizes come from the weights: w is out × in",
    "out_features": "sizes come from the weights: w is out × in",
    **dict.fromkeys(
        ("embed_dim", "d_model", "key_dim", "value_dim", "head_dim", "d_k", "d_v", "units", "hidden_size",
         "qkv_features", "features", "num_embeddings", "embedding_dim", "input_dim", "output_dim"),
        "sizes come from the operands; leave it out",
    ),
    "temperature": "divide before it: g.scale(x, divide=…)",
    "use_bias": "give b=… or leave it out",
    "dropout_p": "there is no dropout: what is seen is the same in every run",
    "dropout": "there is no dropout: what is seen is the same in every run",
    "p": "there is no dropout: what is seen is the same in every run",
    "need_weights": "the weights are always recorded: trace[\"….weights\"]",
    "average_attn_weights": "each head's weights are recorded: trace[\"head0.weights\"]",
    "batch_first": "axes before the last two are batch, always first", "inplace": "nothing is changed in place",
    "transpose_b": "write b.T", "transB": "write b.T", "transpose_a": "write a.T", "transA": "write a.T",
    "dim0": "x.T exchanges the last two axes; perm=(…) names the order of all",
    "dim1": "x.T exchanges the last two axes; perm=(…) names the order of all",
    "enable_gqa": "kv_heads=… of multi_head shares keys and values",
    "out": "results are returned, never written into",
    "seed": "a run draws nothing: graphattn.builtin.random_feeds(graph, seed=0) draws feeds",
    "heads": "attention is one head; multi_head(…, heads=…) has several",
    "num_heads": "attention is one head; multi_head(…, heads=…) has several",
    "nhead": "attention is one head; multi_head(…, heads=…) has several",
    "return_weights": "the weights are always recorded: trace[\"….weights\"]",
    "training": "every run gives the same; leave it out", "bias_k": "k and v may have a row more instead",
}  # fmt: skip

OPS = {
    "einsum": ("matmul", "transpose"), "dot": ("matmul",), "mm": ("matmul",), "bmm": ("matmul",),
    "Gemm": ("linear",), "gemm": ("linear",), "Linear": ("linear",), "dense": ("linear",), "addmm": ("linear",),
    "permute": ("transpose",), "swapaxes": ("transpose",), "t": ("transpose",), "view": ("reshape",),
    "flatten": ("reshape",), "squeeze": ("reshape",), "unsqueeze": ("reshape",), "cat": ("concat",),
    "concatenate": ("concat",), "hstack": ("concat",), "vstack": ("concat",), "chunk": ("split",),
    "sum": ("reduce_sum",), "mean": ("reduce_mean",), "max": ("reduce_max",), "amax": ("reduce_max",),
    "ReduceSum": ("reduce_sum",), "ReduceMean": ("reduce_mean",), "ReduceMax": ("reduce_max",),
    "argmax": ("one_hot_argmax",), "one_hot": ("embedding",), "gather": ("embedding",), "take": ("embedding",),
    "index_select": ("embedding",), "Embedding": ("embedding",), "expand": ("broadcast",),
    "broadcast_to": ("broadcast",), "tile": ("repeat",), "masked_fill": ("mask", "where"),
    "tril": ("trilu", "causal_mask"), "triu": ("trilu", "causal_mask"), "mul": ("multiply",),
    "div": ("divide",),
    "sub": ("subtract",), "neg": ("negate",), "pow": ("multiply",), "power": ("multiply",),
    "square": ("multiply",), "rsqrt": ("sqrt", "divide"), "reciprocal": ("divide",), "logit": ("sigmoid",),
    "scaled_dot_product_attention": ("attention",), "sdpa": ("attention",),
    "MultiheadAttention": ("multi_head",),
    "MultiHeadAttention": ("multi_head",), "MultiHeadDotProductAttention": ("multi_head",),
    "MultiHeadSelfAttention": ("multi_head",), "dot_product_attention": ("attention",),
    "Attention": ("attention",), "Dense": ("linear",), "LayerNormalization": ("layernorm",),
    "TransformerEncoderLayer": ("encoder_layer",), "swish": ("silu",),
    "TransformerDecoderLayer": ("decoder_layer",), "mlp": ("feed_forward",), "rotary": ("rope",),
    "RotaryEmbedding": ("rope",), "layer_norm": ("layernorm",), "rms_norm": ("rmsnorm",), "eq": ("where",),
    "greater": ("is_positive",), "gt": ("is_positive",), "Tensor": ("constant",), "tensor": ("constant",),
    "array": ("constant",), "placeholder": ("input",), "variable": ("parameter",), "zeros": ("constant",),
    "ones": ("constant",), "full": ("constant",), "eye": ("constant",), "arange": ("constant",),
}  # fmt: skip
"""The name there: the builders here that do it."""

NAMED = '(q @ k.T).named("scores") names what was given no name'
VALUES = ("numpy", "item", "tolist", "to_list", "detach", "cpu", "value", "values", "data", "eval", "array")
ATTRIBUTES = {
    **dict.fromkeys(VALUES, "its value is there after a run: run(graph, feeds)[name]"),
    "grad": "gradient(graph, of=…, wrt=[…]) has gradients as tensors",
    "backward": "gradient(graph, of=…, wrt=[…]) has gradients as tensors",
    "dtype": 'x.kind is float, bool or int; numbers are chosen at the run: run(…, numbers="float32")',
    "size": "x.shape has its sizes", "ndim": "len(x.shape) is its rank", "dim": "len(x.shape) is its rank",
    "rank": "len(x.shape) is its rank", "rename": NAMED, "rename_": NAMED,
    **dict.fromkeys(("device", "to", "cuda"), "everything runs in plain Python; leave it out"),
    **dict.fromkeys(("float", "half", "double", "astype"), "numbers are chosen at the run: run(…, numbers=…)"),
    **dict.fromkeys(("t", "mT"), "x.T exchanges the last two axes"),
    **dict.fromkeys(("dot", "mm", "bmm"), "x @ y is the product"), "clone": "a tensor is never changed",
    "copy": "a tensor is never changed",
    **dict.fromkeys(
        ("transpose", "permute", "swapaxes"), "x.T exchanges the last two axes, and g.transpose(x, perm=…) any"
    ),
}  # fmt: skip
"""What arrays and tensors there have, and what to write here."""

GRAPHS = {
    **dict.fromkeys(("forward", "eval", "evaluate", "execute", "compute", "predict"),
                    "run(graph, feeds) evaluates it"),
    **dict.fromkeys(("save", "dump", "to_json", "write"), "str(graph) is its text, which graphattn.load reads"),
    **dict.fromkeys(("draw", "plot", "view", "show", "visualize"), 'graph.render("x.svg") draws it'),
    **dict.fromkeys(("backward", "grad"), "gradient(graph, of=…, wrt=[…]) is the graph with derivatives"),
    **dict.fromkeys(("parameters", "state_dict", "named_parameters"), "graph.inputs are what it is fed"),
    **dict.fromkeys(("edges", "predecessors", "successors"), "graph.dag is a networkx graph"),
    **dict.fromkeys(("rename", "alias"), NAMED),
    **dict.fromkeys(("nn", "functional", "F", "np", "numpy", "jnp", "jax", "torch", "layers", "keras", "ops"),
                    "ops are methods of a graph: g.softmax(x), g.linear(x, w)"),
    **dict.fromkeys(("add_node", "add_edge", "call_function"), "an op adds its node: y = g.softmax(x)"),
    **dict.fromkeys(("topological_sort", "sorted", "order"), "graph.nodes are in that order"),
    **dict.fromkeys(("remove", "remove_node", "delete", "erase_node"),
                    "a graph only grows; passes give a new one, run(…, patch=…) replaces a tensor"),
    **dict.fromkeys(("train", "fit"), "value_and_grad(graph, feeds, of=…) has the gradients of a step"),
}  # fmt: skip
"""What a model has there, and what to write here."""

TRACES = {
    **dict.fromkeys(("plot", "imshow", "heatmap", "draw"), 'trace.figure("weights", "w.svg") draws a tensor'),
    **dict.fromkeys(("render", "view"), 'trace.graph.render("x.svg", trace=trace) draws it with its numbers'),
    **dict.fromkeys(("items", "values"), "dict(trace) is a dict of its tensors"),
    **dict.fromkeys(("run", "forward", "eval"), "it is what a run gave: run(graph, feeds) runs again"),
    **dict.fromkeys(("grad", "backward", "gradient"), "gradient(graph, of=…, wrt=[…]) is a graph to run"),
    **dict.fromkeys(("dump", "write", "to_json", "to_csv"), 'trace.save("run.json") writes it'),
    **dict.fromkeys(("mean", "sum", "std", "describe", "summary"), "trace.stats(name) has them"),
    **dict.fromkeys(("print", "show_all", "text"), "print(trace) prints it"),
}  # fmt: skip
"""What a result has there, and what to write here."""

TOP = {
    **dict.fromkeys(
        ("why", "reach", "sources", "table", "stats", "figure"),
        "it is a method of a trace: run(graph, feeds).{0}(…)",
    ),
    "zoom": "it is a method of a graph: graph.at(level)",
    "render": 'it is a method of a graph: graph.render("x.svg")',
    "Value": "graphattn.scalar has it",
    "value_and_grad": "graphattn.passes.gradient has it",
    "cost": "graphattn.passes.cost has it",
    "verify": "graphattn.passes.verify has it",
    **dict.fromkeys(
        ("attention", "block", "causal_mask", "layer_norm", "multi_head", "pos_encoding", "softmax"),
        "graphattn.model.{0} computes with lists; an op is a method of a graph",
    ),
    "specimen": "graphattn.builtin has it",
    "random_feeds": "graphattn.builtin has it",
}
"""What is looked for in `graphattn` itself, and where it is."""

NUMBERS = {
    "float64": "float", "double": "float", "fp64": "float", "f64": "float", "f8": "float", "float_": "float",
    "fp32": "float32", "f32": "float32", "single": "float32", "f4": "float32", "fp16": "float16",
    "f16": "float16", "half": "float16", "f2": "float16", "bf16": "bfloat16", "decimal": "mpmath",
    "mp": "mpmath",
    "exact": "fraction", "rational": "fraction", "int": "fraction", "int8": "float16",
}  # fmt: skip
"""The name there: the number type here that is the same or nearest."""


def argument(name: str, taken: Iterable[str]) -> str:
    """What to add to a sentence that refuses the argument `name`, where `taken` are those that a call takes."""
    taken = list(taken)
    for ours in ARGUMENTS.get(name, ()):
        if ours in taken:
            return f"; {name} is called {ours!r} here"
    if name in EXPLAINED:
        return f"; {EXPLAINED[name]}"
    near = suggest(name, taken)
    return near or (f"; expected {', '.join(taken)}" if 0 < len(taken) <= 12 else "")


def builder(name: str) -> str:
    """What to add to a sentence that knows no op of this name; '' where nothing is known of it."""
    ours = OPS.get(name, ())
    if ours:
        return f"; {' and '.join(f'g.{op}' for op in ours)} {'do' if len(ours) > 1 else 'does'} that here"
    if "dropout" in name.lower():
        return "; leave it out: every run gives the same, so there is none"
    return f"; {GRAPHS[name]}" if name in GRAPHS else ""


def top(name: str) -> str:
    """What to add to a sentence that knows nothing of this name in `graphattn` itself."""
    return f"; {TOP[name].format(name)}" if name in TOP else builder(name)


def attribute(name: str) -> str:
    """What to add to a sentence that knows no attribute of this name of a tensor."""
    return f"; {ATTRIBUTES[name]}" if name in ATTRIBUTES else builder(name) if name in OPS else ""


def numbers(name: str) -> str:
    """What to add to a sentence that knows no number type of this name; '' where nothing is known of it."""
    ours = NUMBERS.get(name)
    return f"; {name} is {ours!r} here" if ours else ""


def meant(function: F) -> F:
    """The function, whose calls with arguments that it does not take are refused in a sentence that knows what
    was meant, as a `GraphError`."""

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            told = _misfit(function, args, kwargs)
            if told is None:
                raise
            raise GraphError(told) from error

    return called  # type: ignore[return-value]


def _misfit(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    """What is wrong with the arguments of a call; None where they fit."""
    parameters = signature(function).parameters
    name = function.__name__
    named = [key for key in parameters if key != "self"]
    if not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        for key in kwargs:
            if key not in parameters:
                fed = any(key in getattr(given, "inputs", ()) for given in args[:1])
                hint = f"; feeds are one dict: {name}(graph, {{{key!r}: …}})" if fed else argument(key, named)
                return f"{name} takes no argument {key!r}{hint}"
    try:
        signature(function).bind(*args, **kwargs)
    except TypeError as error:
        said = str(error).replace("missing a required argument: ", "it needs ")
        if said == "too many positional arguments" and any(
            p.kind is p.VAR_KEYWORD for p in parameters.values()
        ):
            return f"{name} takes tensors by name; expected {name}(out=…)"
        if said == "too many positional arguments" and "feeds" in named:
            given = next(iter(getattr(args[0], "inputs", ())), "x")
            return f"{name} got {len(args)} arguments; feeds are one dict: {name}(graph, {{{given!r}: …}})"
        needed = [
            key
            for key in named
            if parameters[key].default is parameters[key].empty
            and parameters[key].kind not in (Parameter.VAR_KEYWORD, Parameter.VAR_POSITIONAL)
        ]
        return f"{name}: {said}; expected {name}({', '.join(needed)}, …)"
    return None
