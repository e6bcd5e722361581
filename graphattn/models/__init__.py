"""Trained models, read from the folders that people download, as graphs that are fed and labelled.

    pretrained(folder, text="the cat sat on the mat")  ->  Specimen

The folder holds config.json and model.safetensors (or shards with their index), as Hugging Face's
transformers writes them, and a tokenizer if there is a text to split. Which families are known stands in
`families`. Nothing is unpickled, nothing is fetched, nothing in the folder is executed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from ..core.errors import GraphError
from ..core.graph import Graph
from ..core.specimen import Specimen
from .assembly import Assembly, Past
from .checkpoint import Checkpoint
from .config import Config
from .families import family_of
from .folder import Folder, is_model_folder
from .pooling import POOLINGS, pool, pooling_of
from .tokens import tokens_of


def pretrained(
    folder: str | Path | Folder,
    text: str | None = None,
    ids: Sequence[int] | None = None,
    layers: int | None = None,
    pooling: str | None = None,
    ignore: Iterable[str] = (),
    past: Past | None = None,
) -> Specimen:
    """The model in a folder, ready to read a text, or token ids.

    layers: build only so many of its layers, from the first on, and nothing behind them. pooling: "mean" or
    "cls" for one vector of unit length for the sentence, where the folder itself does not say so. ignore:
    keys of config.json that you know to make no difference. past: keys and values of earlier tokens, which the
    text goes on from (`generation.past_of`). A `Folder` instead of its path is opened once for many texts.

    Tensors by name: `token_embedding`, `position_embedding`, … `x` (what enters the first layer),
    `layer0.attention.head0.weights` and so on, `layer0`, … (after each layer), `hidden` (the last hidden
    state), `embedding` where the rows are pooled, `logits` (token × vocabulary) for models that continue a
    text. Trained tensors are parameters of the graph. The graph's notes say which tensors of the folder are
    of no use to it.

    Raises a `GraphError` that names the file and what was expected: an unknown family, a setting that may
    change what is computed and is not known, a tensor that is missing or of another shape, a text without
    tokens or longer than the model reads.
    """
    place = folder if isinstance(folder, Folder) else Folder(folder)
    path = place.path
    config = Config(place.json("config.json"), str(path / "config.json"))
    family = family_of(config.get("model_type"), config.where)
    vocabulary = config.size("vocab_size", family.VOCABULARY)
    graph = Graph(_name(path), f"{config.values['model_type']}: {path.resolve().name}")
    weights = Checkpoint(place, family.PREFIXES)
    a = Assembly(graph, config, weights, tokens_of(place, text, ids, vocabulary), layers, past)
    x = family.build(a)
    config.finish(ignore)
    if past is not None and not a.continues:
        raise GraphError(f"{path} is no model that continues a text; expected no past")
    graph.output(hidden=x)
    own, unit = pooling_of(place)
    if pooling not in (None, *POOLINGS):
        raise GraphError(f"pooling is {pooling!r}; expected one of {', '.join(POOLINGS)}")
    if a.whole and (pooling or own):
        graph.output(embedding=pool(graph, x, pooling or own or "mean", unit or pooling is not None))
    unused = [] if not a.whole else weights.left_over()
    if unused:
        more = f" and {len(unused) - 6} more" if len(unused) > 6 else ""
        graph.notes += (f"{len(unused)} tensors of the folder are not used: {', '.join(unused[:6])}{more}",)
    return Specimen(graph, a.feeds, a.labels)


def read_text(folder: str | Path, text: str) -> Specimen:
    """The model in a folder with a text, as workers of a corpus call it: the folder is opened once."""
    return pretrained(_opened(folder), text)


@lru_cache(maxsize=1)
def _opened(folder: str | Path) -> Folder:
    return Folder(folder)


def _name(path: Path) -> str:
    """A graph's name from that of a folder."""
    name = "".join(c if c.isascii() and c.isalnum() else "_" for c in path.resolve().name)
    return f"model_{name}" if not name.isidentifier() else name


__all__ = ["Folder", "Past", "is_model_folder", "pretrained", "read_text"]
