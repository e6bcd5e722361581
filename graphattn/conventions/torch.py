"""Calls of PyTorch as graphs: the same names and arguments, without PyTorch.

    layer = MultiheadAttention(8, 2, batch_first=True, state_dict=theirs.state_dict())
    trace = layer(x, x, x, attn_mask=mask).run()
    trace["attn_output"], trace["attention.head0.scores"]

Functions stand for those of `torch.nn.functional`, classes for modules of `torch.nn` in eval mode: a
class takes the constructor's arguments and the parameters as `state_dict`, and calling it gives a
`Specimen` (a graph and its feeds). Tensors are nested lists, or anything with `.tolist()`.

What PyTorch means by its arguments, where others mean something else, is said in `DIFFERENCES`
(`graphattn.conventions`) and nowhere else. Recorded with PyTorch 2.13.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from math import prod
from typing import Any

from ..core.builders import Builders
from ..core.errors import GraphError, suggest
from ..core.graph import Graph, Tensor
from ..core.nested import shown
from ..core.specimen import Specimen
from ..core.words import sizes
from .call import MASK, Call, both_masks, count, flag, rank, read

FLOAT64_EPS = 2.0**-52
"""What rms_norm adds where eps is None: torch.finfo(torch.float64).eps."""

ACTIVATIONS = ("relu", "gelu", "gelu_tanh")

# ---------------------------------------------------------------- torch.nn.functional


def linear(input: Any, weight: Any, bias: Any = None) -> Specimen:
    """y = input weightᵀ + bias; weight (out, in)."""
    call = Call("linear")
    x = call.input("input", input)
    w = call.parameter("weight", weight, None, None)
    b = None if bias is None else call.parameter("bias", bias, w.shape[0])
    return call.specimen(y=whole_linear(call.graph, x, w, b, "y"))


def whole_linear(g: Builders, x: Tensor, w: Any, b: Any, name: str) -> Tensor:
    """x Wᵀ + b, of a lone row too."""
    if len(x.shape) != 1:
        return g.linear(x, w, b, name=name)
    row = g.reshape(x, (1, x.shape[0]), name=f"{name}_of")
    return g.reshape(g.linear(row, w, b, name=f"{name}_row"), (w.shape[0],), name=name)


def layer_norm(
    input: Any, normalized_shape: Sequence[int], weight: Any = None, bias: Any = None, eps: float = 1e-05
) -> Specimen:
    """Over the last len(normalized_shape) axes together; biased variance, eps inside the root."""
    call = Call("layer_norm")
    shape = _sizes(normalized_shape)
    x = _normalized(call.input("input", input), shape)
    gamma, beta = (
        None if value is None else call.parameter(name, value, *shape)
        for name, value in (("weight", weight), ("bias", bias))
    )
    return call.specimen(y=over_last_axes(call.graph, "layernorm", x, len(shape), "y", gamma, beta, eps=eps))


def rms_norm(
    input: Any, normalized_shape: Sequence[int], weight: Any = None, eps: float | None = None
) -> Specimen:
    """Over the last len(normalized_shape) axes together; eps=None is that of float64."""
    call = Call("rms_norm")
    shape = _sizes(normalized_shape)
    x = _normalized(call.input("input", input), shape)
    gamma = None if weight is None else call.parameter("weight", weight, *shape)
    eps = FLOAT64_EPS if eps is None else eps
    return call.specimen(y=over_last_axes(call.graph, "rmsnorm", x, len(shape), "y", gamma, eps=eps))


def _sizes(shape: Any) -> tuple[int, ...]:
    given = (shape,) if isinstance(shape, int) else tuple(shape) if isinstance(shape, (list, tuple)) else ()
    if not given:
        raise GraphError(f"normalized_shape is {shown(shape)}; expected the sizes of the last axes")
    return tuple(count("normalized_shape", size, least=0) for size in given)


def _normalized(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    if x.shape[-len(shape) :] != shape:
        raise GraphError(f"input is {x.shape} and normalized_shape {shape}; expected its last sizes")
    return x


def over_last_axes(
    g: Builders, op: str, x: Tensor, axes: int, name: str, *rows: Tensor | None, **attributes: Any
) -> Tensor:
    """An op on rows, over the last `axes` axes as one row."""
    if axes == 1:
        return g.apply(op, x, *rows, name=name, **attributes)
    whole = (prod(x.shape[-axes:]),)
    flat = [
        None if row is None else g.reshape(row, whole, name=f"{row.name}_row", title=row.symbol) for row in rows
    ]
    x_rows = g.reshape(x, x.shape[:-axes] + whole, name=f"{name}_rows_of")
    y_rows = g.apply(op, x_rows, *flat, name=f"{name}_rows", **attributes)
    return g.reshape(y_rows, x.shape, axes=x.axes, name=name)


def gelu(input: Any, approximate: str = "none") -> Specimen:
    """x · Φ(x); approximate="tanh" as GPT-2."""
    call = Call("gelu")
    x = call.input("input", input)
    return call.specimen(y=call.graph.gelu(x, approximate=approximate, name="y"))


def relu(input: Any) -> Specimen:
    """max(x, 0)."""
    call = Call("relu")
    return call.specimen(y=call.graph.relu(call.input("input", input), name="y"))


def softmax(input: Any, dim: int = -1) -> Specimen:
    """Along `dim`; a row of −∞ alone gives NaN."""
    call = Call("softmax")
    return call.specimen(y=call.graph.softmax(call.input("input", input), axis=dim, empty="nan", name="y"))


def log_softmax(input: Any, dim: int = -1) -> Specimen:
    """ln softmax, along `dim`."""
    call = Call("log_softmax")
    return call.specimen(y=call.graph.log_softmax(call.input("input", input), axis=dim, name="y"))


def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Specimen:
    """softmax(query keyᵀ · scale, masked) value, over (…, heads, n, d). Outputs: out, weights.

    attn_mask: bool, True = may attend, or float, added. is_causal: top-left. A query that sees nothing
    gets zeros. enable_gqa: query head i uses key and value head i // (query heads / key heads).
    """
    _no_dropout("dropout_p", dropout_p)
    if flag("is_causal", is_causal) and attn_mask is not None:
        raise GraphError("attn_mask is given with is_causal=True; expected one of them, as PyTorch does")
    call = Call("scaled_dot_product_attention")
    g = call.graph
    q, k, v = (
        call.input(name, x, _batched(x, name, "head", "token", "feature"))
        for name, x in (("query", query), ("key", key), ("value", value))
    )
    mask = None if attn_mask is None else call.input("attn_mask", attn_mask, kinds=MASK)
    if flag("enable_gqa", enable_gqa):
        k, v = (shared_heads(g, x, q, name) for name, x in (("key", k), ("value", v)))
    out, weights = g.attention(q, k, v, mask, causal=is_causal, scale=scale, name="attention")
    return call.specimen(out=out, weights=weights)


def shared_heads(g: Builders, x: Tensor, q: Tensor, name: str) -> Tensor:
    """Each key or value head as often as query heads share it."""
    if len(x.shape) < 3 or len(q.shape) < 3:
        raise GraphError(
            f"enable_gqa: {name} has rank {len(x.shape)}; expected an axis of heads, so rank 3 or more"
        )
    heads, groups = q.shape[-3], x.shape[-3]
    if not groups or heads % groups:
        raise GraphError(f"{heads} query heads do not share {groups} {name} heads evenly")
    return (
        x if heads == groups else g.repeat(x, heads // groups, axis=-3, name=f"{name}_repeated", title=x.symbol)
    )


def _batched(value: Any, what: str, *names: str) -> tuple[str | None, ...]:
    """Axis names for a tensor of any rank: the last ones as given, the first ones batch."""
    found = len(read(value, what, ("float",))[1])
    return (None,) * (found - len(names)) + names[max(len(names) - found, 0) :]


def _no_dropout(what: str, p: Any) -> None:
    if isinstance(p, bool) or not isinstance(p, (int, float)) or p != 0:
        raise GraphError(f"{what} is {shown(p)}; expected 0.0, since what is traced is evaluation")


# ---------------------------------------------------------------- torch.nn


class _Module:
    """A module in eval mode: what its constructor was given, and its parameters by name.

    Without parameters it is a pattern, to be copied (TransformerEncoder) or given some later.
    """

    def __init__(self, shapes: Mapping[str, tuple[int, ...]], state_dict: Mapping[str, Any] | None) -> None:
        self.shapes = dict(shapes)
        self.state_dict: dict[str, Any] | None = None
        if state_dict is not None or not shapes:
            self.load_state_dict({} if state_dict is None else state_dict)

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take the parameters; refused where one is missing or not called for."""
        if not isinstance(state_dict, Mapping):
            raise GraphError(f"state_dict is {shown(state_dict)}; expected the module's parameters by name")
        told = f"state_dict of {type(self).__name__} has"
        for name in self.shapes:
            if name not in state_dict:
                raise GraphError(f"{told} no {name!r}{suggest(name, map(str, state_dict))}")
        for name in state_dict:
            if name not in self.shapes:
                known = ", ".join(self.shapes) or "nothing"
                raise GraphError(f"{told} {name!r}, which its arguments do not call for; expected {known}")
        self.state_dict = dict(state_dict)

    def parameters(self, call: Call) -> dict[str, Tensor]:
        """The parameters by name, declared in the call's graph."""
        if self.state_dict is None:
            raise GraphError(f"{type(self).__name__} has no parameters; expected a state_dict")
        return {
            name: call.parameter(name, self.state_dict[name], *shape) for name, shape in self.shapes.items()
        }


class Linear(_Module):
    """torch.nn.Linear."""

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True,
        *, state_dict: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        size = count("out_features", out_features)
        shapes: dict[str, tuple[int, ...]] = {"weight": (size, count("in_features", in_features))}
        super().__init__({**shapes, "bias": (size,)} if flag("bias", bias) else shapes, state_dict)

    def __call__(self, input: Any) -> Specimen:
        call = Call("linear")
        x = call.input("input", input)
        p = self.parameters(call)
        return call.specimen(y=whole_linear(call.graph, x, p["weight"], p.get("bias"), "y"))


class LayerNorm(_Module):
    """torch.nn.LayerNorm."""

    op = "layernorm"

    def __init__(
        self, normalized_shape: int | Sequence[int], eps: float = 1e-05, elementwise_affine: bool = True,
        bias: bool = True, *, state_dict: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self.shape = _sizes(normalized_shape)
        self.eps = eps
        names = ("weight", "bias") if flag("bias", bias) else ("weight",)
        affine = flag("elementwise_affine", elementwise_affine)
        super().__init__(dict.fromkeys(names, self.shape) if affine else {}, state_dict)

    def __call__(self, input: Any) -> Specimen:
        call = Call(self.op)
        x = call.input("input", input)
        return call.specimen(y=self.put(call, _normalized(x, self.shape), "y"))

    def put(self, call: Call, x: Tensor, name: str) -> Tensor:
        """Add this module to a graph."""
        rows = self.parameters(call)
        gamma, beta = rows.get("weight"), rows.get("bias")
        given = (gamma, beta) if self.op == "layernorm" else (gamma,)
        return over_last_axes(call.graph, self.op, x, len(self.shape), name, *given, eps=self.eps)


class RMSNorm(LayerNorm):
    """torch.nn.RMSNorm."""

    op = "rmsnorm"

    def __init__(
        self, normalized_shape: int | Sequence[int], eps: float | None = None,
        elementwise_affine: bool = True, *, state_dict: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        eps = FLOAT64_EPS if eps is None else eps
        super().__init__(normalized_shape, eps, elementwise_affine, bias=False, state_dict=state_dict)


class MultiheadAttention(_Module):
    """torch.nn.MultiheadAttention in eval mode, as it computes where gradients are on.

    state_dict: in_proj_weight (3e, e), or q_proj_weight (e, e), k_proj_weight (e, kdim), v_proj_weight
    (e, vdim) where kdim or vdim differ from e; in_proj_bias (3e); bias_k, bias_v (1, 1, e);
    out_proj.weight (e, e); out_proj.bias (e).
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        *,
        state_dict: Mapping[str, Any] | None = None,
    ) -> None:
        self.e, self.heads = e, _ = count("embed_dim", embed_dim), count("num_heads", num_heads)
        if e % self.heads:
            raise GraphError(f"embed_dim {e} does not divide into {self.heads} heads; expected a multiple")
        kdim = e if kdim is None else count("kdim", kdim)
        vdim = e if vdim is None else count("vdim", vdim)
        self.add_bias_kv = flag("add_bias_kv", add_bias_kv)
        self.add_zero_attn = flag("add_zero_attn", add_zero_attn)
        self.batch_first = flag("batch_first", batch_first)
        shapes: dict[str, tuple[int, ...]] = {"in_proj_weight": (3 * e, e)}
        if (kdim, vdim) != (e, e):
            shapes = {"q_proj_weight": (e, e), "k_proj_weight": (e, kdim), "v_proj_weight": (e, vdim)}
        if flag("bias", bias):
            shapes["in_proj_bias"] = (3 * e,)
        if add_bias_kv:
            shapes["bias_k"] = shapes["bias_v"] = (1, 1, e)
        shapes["out_proj.weight"] = (e, e)
        if bias:
            shapes["out_proj.bias"] = (e,)
        super().__init__(shapes, state_dict)

    def __call__(
        self,
        query: Any,
        key: Any,
        value: Any,
        key_padding_mask: Any = None,
        need_weights: bool = True,
        attn_mask: Any = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> Specimen:
        """Outputs: attn_output and, with need_weights, attn_weights.

        query (n_q, e), (b, n_q, e) or, unless batch_first, (n_q, b, e); key and value likewise. Bool
        masks: True = masked. Self-attention passes the same object three times.
        """
        call = Call("multihead_attention", title=f"nn.MultiheadAttention, {self.heads} heads")
        g = call.graph
        x_q, x_k, x_v = (
            self._tokens(call, name, x) for name, x in (("query", query), ("key", key), ("value", value))
        )
        if not len(x_q.shape) == len(x_k.shape) == len(x_v.shape):
            raise GraphError("query, key and value are batched and unbatched; expected the same rank")
        batch = x_q.shape[:-2]
        for name, x in (("key", x_k), ("value", x_v)):
            if x.shape[:-2] != batch:
                raise GraphError(
                    f"query has {batch[0]} sequences and {name} has {x.shape[0]}; expected as many"
                )
        if x_k.shape[:-1] != x_v.shape[:-1]:
            raise GraphError(f"key has {x_k.shape[-2]} tokens and value has {x_v.shape[-2]}; expected as many")
        need_weights = flag("need_weights", need_weights)
        hint = flag("is_causal", is_causal)
        if hint and attn_mask is None:
            raise GraphError("is_causal=True is a hint in nn.MultiheadAttention; expected attn_mask with it")
        causal = hint and not need_weights and key_padding_mask is None
        if causal and (self.add_bias_kv or self.add_zero_attn):
            raise GraphError(
                "is_causal with need_weights=False hides appended keys in PyTorch; expected need_weights=True"
            )
        mask = masks_of(
            call,
            None if causal else attn_mask,
            key_padding_mask,
            batch,
            self.heads,
            x_q.shape[-2],
            x_k.shape[-2],
        )
        out = self._attend(call, x_q, x_k, x_v, mask, causal=causal, empty="nan" if need_weights else "zero")
        outputs = {"attn_output": self._as_given(g, out, batch, "attn_output")}
        if need_weights:
            call.graph = g = g.at("head")
            outputs = {name: g.tensor(tensor.name) for name, tensor in outputs.items()}
            heads = [g.tensor(f"attention.head{i}.weights") for i in range(self.heads)]
            outputs["attn_weights"] = _gathered(g, heads, flag("average_attn_weights", average_attn_weights))
        return call.specimen(**outputs)

    def _attend(
        self, call: Call, q: Tensor, k: Tensor, v: Tensor, mask: tuple[Tensor | None, bool],
        *, causal: bool, empty: str,
    ) -> Tensor:  # fmt: skip
        """The multi_head node."""
        g, p = call.graph, self.parameters(call)
        appended: dict[str, Any] = {
            f"appended_{side}": g.reshape(p[f"bias_{side}"], (self.e,), name=f"bias_{side}_row")
            for side in "kv"
            if self.add_bias_kv
        }
        return g.multi_head(
            q, k, v, mask[0], **packed(g, p), **appended, heads=self.heads, causal=causal,
            masks_by_head=mask[1], zero_key=self.add_zero_attn, empty=empty, name="attention",
        )  # fmt: skip

    def _tokens(self, call: Call, name: str, value: Any) -> Tensor:
        """(b, n, e) or (n, e), however it was given."""
        first = ("batch", "token") if self.batch_first else ("token", "batch")
        g, already = call.graph, set(call.graph.nodes)
        axes = _batched(value, name, *first, "feature")
        x = call.input(name, value, axes if len(axes) == 3 else ("token", "feature"))
        if rank(name, x, 2, 3) == 2 or self.batch_first:
            return x
        turned = f"{x.name}_by_batch"
        return g.tensor(turned) if turned in already else g.transpose(x, perm=(1, 0, 2), name=turned)

    def _as_given(self, g: Graph, out: Tensor, batch: tuple[int, ...], name: str) -> Tensor:
        return out if self.batch_first or not batch else g.transpose(out, perm=(1, 0, 2), name=name)


def packed(g: Graph, p: Mapping[str, Tensor]) -> dict[str, Any]:
    """w_q, b_q, … of the multi_head op, from PyTorch's parameters: rows of q, then of k, then of v."""
    found: dict[str, Any] = {}
    if "in_proj_weight" in p:
        parts = g.split(p["in_proj_weight"], 3, axis=0, name="in_proj_weight_parts")
        found.update(zip(("w_q", "w_k", "w_v"), parts))
    else:
        found.update({f"w_{side}": p[f"{side}_proj_weight"] for side in "qkv"})
    if "in_proj_bias" in p:
        found.update(zip(("b_q", "b_k", "b_v"), g.split(p["in_proj_bias"], 3, name="in_proj_bias_parts")))
    found["w_o"] = p["out_proj.weight"]
    if "out_proj.bias" in p:
        found["b_o"] = p["out_proj.bias"]
    return found


def masks_of(
    call: Call, attn_mask: Any, key_padding_mask: Any, batch: tuple[int, ...], heads: int, n_q: int, n_k: int,
    names: tuple[str, str] = ("attn_mask", "key_padding_mask"),
) -> tuple[Tensor | None, bool]:  # fmt: skip
    """One mask from attn_mask and key_padding_mask, whose True hides, and whether it has heads.

    attn_mask (n_q, n_k) or (b · h, n_q, n_k), of which b · h + head is one; key_padding_mask (b, n_k),
    or (n_k) where there is no batch.
    """
    g = call.graph
    given: list[Tensor] = []
    by_head = False
    if attn_mask is not None:
        mask = call.input(names[0], attn_mask, kinds=MASK)
        by_head = rank(names[0], mask, 2, 3) == 3
        _need_shape(mask, (prod(batch) * heads, n_q, n_k) if by_head else (n_q, n_k))
        if by_head:
            mask = g.reshape(mask, (*batch, heads, n_q, n_k), name=f"{names[0]}_by_head")
        given.append(mask)
    if key_padding_mask is not None:
        mask = call.input(names[1], key_padding_mask, kinds=MASK)
        _need_shape(mask, (*batch, n_k))
        between = (1, 1) if by_head else (1,)
        given.append(g.reshape(mask, (*batch, *between, n_k), name=f"{names[1]}_by_query"))
    shown_by = [
        g.logical_not(mask, name=f"{mask.name}_visible", title="not masked")
        for mask in given
        if mask.kind == "bool"
    ]
    return both_masks(g, shown_by, [mask for mask in given if mask.kind == "float"]), by_head


def _need_shape(mask: Tensor, shape: tuple[int, ...]) -> None:
    if mask.shape != shape:
        told = [sizes(mask.shape), sizes(shape)]
        raise GraphError(f"{mask.name} is {told[0]}; expected {told[1]}")


def _gathered(g: Graph, heads: Sequence[Tensor], average: bool) -> Tensor:
    """The weights of all heads, (b, h, n_q, n_k), or their mean, (b, n_q, n_k)."""
    weights = g.stack(*heads, axis=-3, axis_name="head", name="weights")
    if not average:
        return weights
    mean = g.reduce_mean(weights, axis=-3, name="weights_mean")
    return g.reshape(mean, (*mean.shape[:-3], *mean.shape[-2:]), name="weights_averaged")


class TransformerEncoderLayer(_Module):
    """torch.nn.TransformerEncoderLayer in eval mode, as it computes where gradients are on.

    activation: "relu", "gelu" or "gelu_tanh" (a function whose name tells which will do too). state_dict:
    self_attn.… as MultiheadAttention; linear1, linear2, norm1 and norm2 with .weight and .bias.
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = "relu",
        layer_norm_eps: float = 1e-05,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        *,
        state_dict: Mapping[str, Any] | None = None,
    ) -> None:
        d, hidden = count("d_model", d_model), count("dim_feedforward", dim_feedforward)
        self.attention = MultiheadAttention(d, nhead, bias=bias, batch_first=batch_first)
        self.activation = getattr(activation, "__name__", activation)
        if self.activation not in ACTIVATIONS:
            raise GraphError(
                f"activation is {shown(activation)}; expected one of {', '.join(ACTIVATIONS)}"
                f"{suggest(self.activation, ACTIVATIONS)}"
            )
        self.eps, self.norm_first = layer_norm_eps, flag("norm_first", norm_first)
        shapes = {f"self_attn.{name}": shape for name, shape in self.attention.shapes.items()}
        for name, shape in (
            ("linear1", (hidden, d)),
            ("linear2", (d, hidden)),
            ("norm1", (d,)),
            ("norm2", (d,)),
        ):
            shapes[f"{name}.weight"] = shape
            if bias:
                shapes[f"{name}.bias"] = shape[:1]
        super().__init__(shapes, state_dict)

    def __call__(
        self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool = False
    ) -> Specimen:
        """Output: out. src as query of MultiheadAttention; bool masks: True = masked."""
        call = Call("transformer_encoder_layer", title="nn.TransformerEncoderLayer")
        x = self.attention._tokens(call, "src", src)
        masks = _of_encoder(call, self, x, src_mask, src_key_padding_mask, is_causal, "src_mask")
        return call.specimen(
            out=self.attention._as_given(call.graph, self.put(call, x, *masks), x.shape[:-2], "out")
        )

    def put(self, call: Call, x: Tensor, mask: Tensor | None, by_head: bool, causal: bool) -> Tensor:
        """Add this layer to a graph."""
        g, p = call.graph, self.parameters(call)
        attention = {name.removeprefix("self_attn."): tensor for name, tensor in p.items()}
        return g.encoder_layer(
            x, mask, p["norm1.weight"], p.get("norm1.bias"), **packed(g, attention),
            gamma_2=p["norm2.weight"], beta_2=p.get("norm2.bias"),
            w_in=p["linear1.weight"], b_in=p.get("linear1.bias"),
            w_out=p["linear2.weight"], b_out=p.get("linear2.bias"), heads=self.attention.heads,
            norm_first=self.norm_first, activation=self.activation, eps=self.eps, causal=causal,
            masks_by_head=by_head, name="layer",
        )  # fmt: skip


class TransformerEncoder:
    """torch.nn.TransformerEncoder in eval mode: copies of a layer one after another, and a norm.

    state_dict: layers.0.…, layers.1.… and norm.…; layer i of the graph is layers{i}.layer.
    enable_nested_tensor and mask_check change how PyTorch computes, not what.
    """

    def __init__(
        self,
        encoder_layer: TransformerEncoderLayer,
        num_layers: int,
        norm: LayerNorm | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
        *,
        state_dict: Mapping[str, Any],
    ) -> None:
        if not isinstance(encoder_layer, TransformerEncoderLayer):
            raise GraphError(f"encoder_layer is {shown(encoder_layer)}; expected a TransformerEncoderLayer")
        if norm is not None and not isinstance(norm, LayerNorm):
            raise GraphError(f"norm is {shown(norm)}; expected a LayerNorm or an RMSNorm")
        flag("enable_nested_tensor", enable_nested_tensor)
        flag("mask_check", mask_check)
        if not isinstance(state_dict, Mapping):
            raise GraphError(f"state_dict is {shown(state_dict)}; expected the module's parameters by name")
        self.layers = [copy(encoder_layer) for _ in range(count("num_layers", num_layers))]
        self.norm = copy(norm)
        parts: dict[str, _Module] = {f"layers.{i}.": layer for i, layer in enumerate(self.layers)}
        if self.norm is not None:
            parts["norm."] = self.norm
        own: dict[str, dict[str, Any]] = {prefix: {} for prefix in parts}
        for name, value in state_dict.items():
            prefix = next((prefix for prefix in parts if str(name).startswith(prefix)), None)
            if prefix is None:
                raise GraphError(
                    f"state_dict of TransformerEncoder has {name!r};"
                    f" expected names that begin with {', '.join(parts)}"
                )
            own[prefix][name.removeprefix(prefix)] = value
        for prefix, part in parts.items():
            try:
                part.load_state_dict(own[prefix])
            except GraphError as error:
                raise GraphError(f"{prefix.rstrip('.')}: {error}") from None

    def __call__(
        self, src: Any, mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool | None = None
    ) -> Specimen:
        """Output: out."""
        call = Call("transformer_encoder", title=f"nn.TransformerEncoder, {len(self.layers)} layers")
        first = self.layers[0]
        x = first.attention._tokens(call, "src", src)
        batch = x.shape[:-2]
        masks = _of_encoder(call, first, x, mask, src_key_padding_mask, is_causal or False, "mask")
        for i, layer in enumerate(self.layers):
            with call.graph.scope(f"layers{i}"):
                x = layer.put(call, x, *masks)
        if self.norm is not None:
            with call.graph.scope("norm"):
                x = self.norm.put(call, x, "y")
        return call.specimen(out=first.attention._as_given(call.graph, x, batch, "out"))


def _of_encoder(
    call: Call, layer: TransformerEncoderLayer, x: Tensor, mask: Any, padding: Any, is_causal: bool, name: str
) -> tuple[Tensor | None, bool, bool]:
    """One mask, whether it has heads, and whether the layers hide what comes later by themselves."""
    if flag("is_causal", is_causal) and mask is None:
        raise GraphError(f"is_causal=True is a hint in PyTorch's encoders; expected {name} with it")
    causal = is_causal and padding is None
    n = x.shape[-2]
    mask = None if causal else mask
    names = (name, "src_key_padding_mask")
    return *masks_of(call, mask, padding, x.shape[:-2], layer.attention.heads, n, n, names), causal
