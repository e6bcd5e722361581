"""Stacks of transformer layers: builder functions over `encoder_layer` and `decoder_layer`.

A stack is not an op: its layers stay nodes of their own, named layer0, layer1, …, each of which can be
zoomed into.

>>> from graphattn.core.graph import Graph
>>> g = Graph("stack")
>>> x = g.input("x", shape=(3, 4), axes=("token", "feature"))
>>> w = {name: g.parameter(name, shape=(4, 4), axes=("feature", "feature")) for name in ("w_in", "w_out")}
>>> encoder(g, x, [w, w], heads=2, causal=True)
layer1: token 3 × feature 4
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .core.errors import GraphError
from .core.graph import Graph, Tensor
from .core.nested import shown

Parameters = Mapping[str, Tensor]


def encoder(
    g: Graph,
    x: Tensor,
    layers: Sequence[Parameters],
    mask: Tensor | None = None,
    final_norm: Parameters | None = None,
    **attributes: Any,
) -> Tensor:
    """x through each layer in turn; with `final_norm` (gamma, beta) through a norm at the end.

    layers: for each layer its parameters by the names of `encoder_layer` (w_q, gamma_1, w_in, …). The
    attributes (heads, causal, norm_first, activation, …) go to every layer. A layer that GPT-2 or Llama
    would call a decoder's is this with causal=True: it attends to nothing but its own input.
    """
    for i, parameters in enumerate(_some(layers, "encoder")):
        x = g.encoder_layer(x, mask, **parameters, **attributes, name=f"layer{i}", title=f"Layer {i}")
    return _finished(g, x, final_norm, attributes)


def decoder(
    g: Graph,
    x: Tensor,
    memory: Tensor,
    layers: Sequence[Parameters],
    mask: Tensor | None = None,
    memory_mask: Tensor | None = None,
    final_norm: Parameters | None = None,
    **attributes: Any,
) -> Tensor:
    """x through each layer in turn, each of which also attends to `memory`, an encoder's output.

    layers: for each layer its parameters by the names of `decoder_layer`. Otherwise as `encoder`.
    """
    for i, parameters in enumerate(_some(layers, "decoder")):
        x = g.decoder_layer(
            x, memory, mask, memory_mask, **parameters, **attributes, name=f"layer{i}", title=f"Layer {i}"
        )
    return _finished(g, x, final_norm, attributes)


def _some(layers: Sequence[Parameters], what: str) -> Sequence[Parameters]:
    if not isinstance(layers, Sequence) or isinstance(layers, str) or not layers:
        raise GraphError(
            f"{what}: layers is {shown(layers)}; expected a list of one dict of parameters or more"
        )
    for i, parameters in enumerate(layers):
        if not isinstance(parameters, Mapping):
            raise GraphError(f"{what}: layers[{i}] is {shown(parameters)}; expected a dict of parameters")
    return layers


def _finished(g: Graph, x: Tensor, norm: Parameters | None, attributes: Mapping[str, Any]) -> Tensor:
    if norm is None:
        return x
    more = {"eps": attributes["eps"]} if "eps" in attributes else {}
    return g.apply(attributes.get("norm", "layernorm"), x, **norm, **more, name="final_norm")
