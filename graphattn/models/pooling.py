"""One vector for a sentence: what sentence-transformers writes beside a model, as graph.

    mean = Σ over tokens / n;  embedding = mean / |mean|

modules.json lists what stands behind the transformer: a pooling (its settings in a folder of its own)
and perhaps a normalization to unit length.
"""

from __future__ import annotations

from collections.abc import Callable

from ..core.errors import GraphError
from ..core.graph import Graph, Tensor
from .folder import Folder


def mean_row(g: Graph, x: Tensor) -> Tensor:
    """The mean over the tokens of the sentence, [CLS] and [SEP] among them."""
    return g.reduce_mean(x, axis=-2, name="mean_token", title="mean over tokens")


def first_row(g: Graph, x: Tensor) -> Tensor:
    """The row of the first token, [CLS]."""
    return g.embedding(x, g.constant((0,), name="first"), name="first_token", title="first token")


POOLINGS: dict[str, Callable[[Graph, Tensor], Tensor]] = {"mean": mean_row, "cls": first_row}


def pooling_of(folder: Folder) -> tuple[str | None, bool]:
    """Which pooling the folder asks for ("mean", "cls", or none), and whether to unit length."""
    if not folder.has("modules.json"):
        return None, False
    kinds = []
    pooling = None
    for module in folder.json("modules.json", list):
        if not isinstance(module, dict) or not all(isinstance(module.get(k), str) for k in ("type", "path")):
            raise GraphError(f"{folder.path / 'modules.json'} holds no list of modules; expected type and path")
        kind = module["type"].rpartition(".")[2]
        kinds.append(kind)
        if kind == "Pooling":
            settings = folder.json(f"{module['path']}/config.json")
            asked = [key for key, on in settings.items() if key.startswith("pooling_mode_") and on is True]
            known = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}
            if settings.get("pooling_mode") in POOLINGS:
                asked = [f"pooling_mode_{settings['pooling_mode']}"]
                known = {f"pooling_mode_{name}": name for name in POOLINGS}
            if len(asked) != 1 or asked[0] not in known:
                raise GraphError(
                    f"{folder.path / module['path']}: config.json asks for {', '.join(asked) or 'no pooling'};"
                    f" expected one of {', '.join(known)}"
                )
            pooling = known[asked[0]]
        elif kind not in ("Transformer", "Normalize"):
            raise GraphError(
                f"{folder.path / 'modules.json'} has a {kind[:40]}; expected Transformer, Pooling and Normalize"
            )
    return pooling, "Normalize" in kinds


def pool(g: Graph, x: Tensor, pooling: str, unit: bool) -> Tensor:
    """The vector of a sentence from the rows of its tokens (n, d) → (d)."""
    row = POOLINGS[pooling](g, x)
    pooled = g.reshape(row, x.shape[-1:], axes=x.axes[-1:], name="pooled", title=f"{pooling} pooling")
    if not unit:
        return pooled
    square = g.reduce_sum(g.multiply(pooled, pooled), name="square", title="|x|²")
    return g.divide(pooled, g.sqrt(square, name="length", title="|x|"), name="unit", title="unit length")
