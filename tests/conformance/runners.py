"""From a case to what we compute for it: the call of its suite, and where its outputs stand.

`computed(case)` gives a trace and, for each output of the case, the name that it has there. A case
that asks for what we do not have raises `NotRun` with the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cases import Array

from graphattn import Graph, GraphError
from graphattn.conventions import careful, onnx
from graphattn.conventions import torch as like_torch
from graphattn.core.specimen import Specimen
from graphattn.core.trace import Trace


class NotRun(Exception):
    """The case asks for what we do not have."""


def specimen(case: dict[str, Any], care: bool = False) -> tuple[Specimen, dict[str, str]]:
    """The graph of a case with its feeds, and the name there of each of its outputs."""
    try:
        build = (WITH_CARE if care else SUITES)[case["suite"]]
    except KeyError:
        raise NotRun(f"suite {case.get('suite')!r} is not known") from None
    try:
        return build(case)
    except GraphError as error:
        raise NotRun(f"refused: {error}") from error


def computed(case: dict[str, Any], care: bool = False, **options: Any) -> tuple[Trace, dict[str, str]]:
    """A trace of a case, and the name there of each of its outputs."""
    made, names = specimen(case, care)
    return made.run(**options), names


def arrays(case: dict[str, Any]) -> dict[str, Array]:
    return {tensor["name"]: Array(tensor) for tensor in case["inputs"]}


def same_names(case: dict[str, Any], made: Specimen) -> tuple[Specimen, dict[str, str]]:
    return made, {tensor["name"]: tensor["name"] for tensor in case["outputs"]}


def function(table: dict[str, Callable[..., Specimen]]) -> Callable[[dict[str, Any]], Any]:
    """A suite whose cases are calls, each op by a function of its attributes and tensors."""

    def build(case: dict[str, Any]) -> tuple[Specimen, dict[str, str]]:
        if case["op"] not in table:
            raise NotRun(f"op {case['op']!r} has no adapter")
        return same_names(case, table[case["op"]](dict(case["attrs"]), arrays(case)))

    return build


# ---------------------------------------------------------------- torch


def sdpa(a: dict[str, Any], t: dict[str, Array]) -> Specimen:
    q, k, v = (t.pop(name) for name in "qkv")
    return like_torch.scaled_dot_product_attention(q, k, v, **t, **a)


def multihead_attention(a: dict[str, Any], t: dict[str, Array]) -> Specimen:
    call = {name: a.pop(name) for name in ("need_weights", "average_attn_weights", "is_causal")}
    a.pop("self_attention", None)
    query = t.pop("query")
    key = t.pop("key", query)
    value = t.pop("value", key)
    masks = {name: t.pop(name) for name in ("attn_mask", "key_padding_mask") if name in t}
    return like_torch.MultiheadAttention(**a, state_dict=t)(query, key, value, **masks, **call)


def encoder_layer(a: dict[str, Any], t: dict[str, Array]) -> Specimen:
    a.pop("num_layers"), a.pop("final_norm")
    src = t.pop("src")
    masks = {name: t.pop(name) for name in ("src_mask", "src_key_padding_mask") if name in t}
    return like_torch.TransformerEncoderLayer(**a, state_dict=t)(src, **masks)


def encoder(a: dict[str, Any], t: dict[str, Array]) -> Specimen:
    layers, final = a.pop("num_layers"), a.pop("final_norm")
    src, mask = t.pop("src"), t.pop("src_mask", None) or t.pop("mask", None)
    padding = t.pop("src_key_padding_mask", None)
    norm = like_torch.LayerNorm(a["d_model"], a["layer_norm_eps"], bias=a["bias"]) if final else None
    layer = like_torch.TransformerEncoderLayer(**a)
    return like_torch.TransformerEncoder(layer, layers, norm, state_dict=t)(src, mask, padding)


def module(made: Callable[..., Any], *drop: str) -> Callable[..., Specimen]:
    def build(a: dict[str, Any], t: dict[str, Array]) -> Specimen:
        x = t.pop("x")
        return made(**{name: value for name, value in a.items() if name not in drop}, state_dict=t)(x)

    return build


TORCH = {
    "scaled_dot_product_attention": sdpa,
    "multihead_attention": multihead_attention,
    "transformer_encoder_layer": encoder_layer,
    "transformer_encoder": encoder,
    "linear": module(like_torch.Linear),
    "layer_norm": module(like_torch.LayerNorm),
    "rms_norm": module(like_torch.RMSNorm, "bias"),
    "gelu": lambda a, t: like_torch.gelu(t["x"], **a),
    "relu": lambda a, t: like_torch.relu(t["x"], **a),
    "softmax": lambda a, t: like_torch.softmax(t["x"], **a),
    "log_softmax": lambda a, t: like_torch.log_softmax(t["x"], **a),
}


# ---------------------------------------------------------------- onnx


def of_onnx(case: dict[str, Any]) -> tuple[Specimen, dict[str, str]]:
    tensors = arrays(case)
    wanted = [tensor["name"] for tensor in case["outputs"]]
    if case["op"] == "Graph":
        initializers = [t["name"] for t in case["inputs"] if t.get("role") == "initializer"]
        made = onnx.model(case["nodes"], tensors, wanted, case["opset"], initializers)
        return made, dict(zip(wanted, made.graph.outputs, strict=True))
    if case["op"] not in onnx.OPERATORS:
        raise NotRun(f"op {case['op']!r} has no adapter")
    operator = onnx.OPERATORS[case["op"]]
    by_slot = {tensor["slot"]: tensors[tensor["name"]] for tensor in case["inputs"]}
    operands = [by_slot.get(slot) for slot in range(len(case["input_slots"]))]
    more = {"opset": case["opset"], "outputs": len(case["output_slots"])}
    told = {name: value for name, value in more.items() if name in operator.keywords}
    made = operator(*operands, **case["attrs"], **told)
    given = list(made.graph.outputs)
    return made, {tensor["name"]: given[tensor["slot"]] for tensor in case["outputs"]}


# ---------------------------------------------------------------- mp


def mp_attention(a: dict[str, Any], t: dict[str, Array]) -> Specimen:
    return like_torch.scaled_dot_product_attention(
        t["q"], t["k"], t["v"], t.get("attn_mask"), is_causal=a["is_causal"], scale=a["scale"]
    )


MP = {
    "attention": mp_attention,
    "softmax": lambda a, t: like_torch.softmax(t["x"], a["axis"]),
    "layer_norm": lambda a, t: like_torch.layer_norm(
        t["x"], t["x"].shape[-1:], t.get("weight"), t.get("bias"), a["eps"]
    ),
}


CAREFUL = {
    "attention": lambda a, t: careful.attention(
        t["q"], t["k"], t["v"], t.get("attn_mask"), is_causal=a["is_causal"], scale=a["scale"]
    ),
    "softmax": lambda a, t: careful.softmax(t["x"], a["axis"]),
    "layer_norm": lambda a, t: careful.layer_norm(t["x"], t.get("weight"), t.get("bias"), a["eps"]),
}


# ---------------------------------------------------------------- trace


def of_trace(case: dict[str, Any]) -> tuple[Specimen, dict[str, str]]:
    """The block, run at level primitive, with an MLP after it where the case has one."""
    attrs = case["attrs"]
    g = Graph("block")
    t = {}
    for tensor in case["inputs"]:
        name = tensor["name"].replace(".", "_")
        declare = g.input if name == "x" else g.parameter
        t[tensor["name"]] = declare(name, tensor["shape"])
    given = {f"{kind}_{p}": t.get(f"{kind}_{p}") for kind in "wb" for p in "qkvo"}
    y = g.block(
        t["x"], None, t.get("ln.weight"), t.get("ln.bias"), **given, heads=attrs["h"], causal=attrs["causal"],
        eps=attrs["eps"], name="block",
    )  # fmt: skip
    if attrs["mlp"]:
        norm = g.layernorm(y, t.get("ln2.weight"), t.get("ln2.bias"), eps=attrs["eps"], name="ln2")
        fc = g.linear(norm, t["w_fc"], t.get("b_fc"), name="fc")
        op, more = ("gelu", {"approximate": "tanh"}) if attrs["mlp"] == "gelu_tanh" else (attrs["mlp"], {})
        act = g.apply(op, fc, name="act", **more)
        y = g.add(y, g.linear(act, t["w_proj"], t.get("b_proj"), name="mlp_out"), name="residual2")
    g.output(y=y)
    feeds = {tensor["name"].replace(".", "_"): tensor["data"] for tensor in case["inputs"]}
    names = {tensor["name"]: our_name(tensor["name"]) for tensor in case["trace"]}
    return Specimen(g.at("primitive"), feeds), {**names, case["outputs"][0]["name"]: "y"}


OURS = {
    "ln.mean": "norm.mean", "ln.var": "norm.variance", "ln.normalized": "norm.normalized", "ln": "norm",
    "q": "attention.q", "k": "attention.k", "v": "attention.v", "concat": "attention.concat",
    "proj": "attention.proj", "residual": "block", "ln2.var": "ln2.variance",
}  # fmt: skip
PER_HEAD = {"q": "q_heads.part{}", "k": "k_heads.part{}", "v": "v_heads.part{}", "head_out": "head{}.out"}


def our_name(theirs: str) -> str:
    """Their name of an intermediate in ours: weights.h1 is head1.weights."""
    base, dot, head = theirs.rpartition(".h")
    if dot and head.isdigit():
        return PER_HEAD.get(base, "head{}." + base).format(head)
    return OURS.get(theirs, theirs)


WITH_CARE = {"mp": function(CAREFUL)}
"""Suites of which we have a second, more careful way to compute."""

SUITES = {"torch": function(TORCH), "onnx": of_onnx, "trace": of_trace, "mp": function(MP)}
