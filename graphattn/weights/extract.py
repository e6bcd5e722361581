"""One attention head out of a trained model, as a graph: from a file with its weights.

    x ─ linear(w_q, b_q) ─ q ─┐
    x ─ linear(w_k, b_k) ─ k ─┼─ attention ─ weights, out
    x ─ linear(w_v, b_v) ─ v ─┘

The file (any that `tensor_file` reads) holds x (n, d) and w_q, w_k, w_v stored (out, in), with
b_q, b_k, b_v where there are any; or q, k, v themselves. Q is read as q, W_q as w_q. Its metadata
may hold `tokens` (texts, or a JSON list of them), `sentence` or `title`, `causal`. Results that it
records (q, k, v, scores, weights, out) are kept beside the graph; recorded scores are divided by √d_k
already, as `scaled` is here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..core import nested
from ..core.errors import GraphError
from ..core.graph import Graph, Tensor
from ..core.specimen import Specimen
from ..core.tensor_file import TensorFile, read_tensors

WEIGHTS = ("x", "w_q", "w_k", "w_v")
PROJECTED = ("q", "k", "v")
RECORDED = {"scores": "head.scaled", "weights": "head.weights", "out": "head.out"}


def is_extract(tensors: Mapping[str, Any]) -> bool:
    """Whether these are the tensors of one head."""
    return all(name in tensors for name in WEIGHTS) or all(name in tensors for name in PROJECTED)


def extract(file: str | Path | TensorFile) -> Specimen:
    """The head in a file as a graph, fed and labelled.

    Tensors by name: `q`, `k`, `v`, `head.scores`, `head.scaled`, `head.weights`, `head.out`. Raises
    a `GraphError` where a tensor is missing or of a shape that does not fit.
    """
    if not isinstance(file, TensorFile):
        file = read_tensors(file)
    tensors = {**{name.lower(): tensor for name, tensor in file.tensors.items()}, **file.tensors}
    if not is_extract(tensors):
        file.need_numbers([name for name in file.metadata if name.lower() in {*WEIGHTS, *PROJECTED}])
        missing = ", ".join(name for name in WEIGHTS if name not in tensors)
        raise GraphError(
            f"{file.path} has no {missing}; expected {', '.join(WEIGHTS)}, or {', '.join(PROJECTED)}"
        )
    projected = all(name in tensors for name in WEIGHTS)
    graph = Graph("head", _title(file))
    feeds: dict[str, Any] = {}

    def declare(kind: Any, name: str, *axes: str, title: str | None = None) -> Tensor:
        shape = nested.shape_of(tensors[name], f"{file.path}: {name}")
        if len(shape) != len(axes):
            raise GraphError(f"{file.path}: {name} has shape {list(shape)}; expected {' × '.join(axes)}")
        feeds[name] = tensors[name]
        return kind(name, shape, axes, title=title)

    try:
        if projected:
            x = declare(graph.input, "x", "token", "feature")
            parts = [
                graph.linear(
                    x,
                    declare(graph.parameter, f"w_{p}", "feature", "feature", title=f"W_{p}"),
                    declare(graph.parameter, f"b_{p}", "feature", title=f"b_{p}")
                    if f"b_{p}" in tensors
                    else None,
                    name=p,
                    title=p.upper(),
                )
                for p in PROJECTED
            ]
        else:
            parts = [declare(graph.input, p, "token", "feature", title=p.upper()) for p in PROJECTED]
        out, weights = graph.attention(*parts, causal=_causal(file), name="head", title="Attention head")
        graph.output(out=out, weights=weights)
    except GraphError as error:
        told = str(error)
        raise GraphError(told if told.startswith(file.path) else f"{file.path}: {told}") from None
    recorded = {name: tensors[name] for name in PROJECTED if projected and name in tensors}
    recorded |= {ours: tensors[theirs] for theirs, ours in RECORDED.items() if theirs in tensors}
    labels = _tokens(file)
    return Specimen(graph, feeds, {} if labels is None else {"token": labels}, recorded)


def _title(file: TensorFile) -> str:
    said = [file.metadata.get(key) for key in ("title", "sentence", "source", "model")]
    return next((text for text in said if isinstance(text, str)), "")


def _causal(file: TensorFile) -> bool:
    return file.metadata.get("causal") in (True, "true", "True", "1")


def _tokens(file: TensorFile) -> list[str] | None:
    """The token labels in the metadata; safetensors holds texts only, so there they are JSON."""
    tokens = file.metadata.get("tokens")
    if isinstance(tokens, str):
        try:
            tokens = json.loads(tokens)
        except (ValueError, RecursionError):
            raise GraphError(
                f"{file.path}: tokens are {tokens[:60]!r}; expected a JSON list of texts"
            ) from None
    if tokens is not None and not (isinstance(tokens, list) and all(isinstance(t, str) for t in tokens)):
        raise GraphError(f"{file.path}: tokens are {str(tokens)[:60]}; expected a list of texts")
    return tokens
