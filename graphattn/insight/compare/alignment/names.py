"""Names of tensors, whoever gave them: as sets of words."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from ..recording import Recorded, Recording

WORDS = re.compile(r"[A-Za-z]+|\d+")
GRADIENT = re.compile(r"d\d*_.+|d[A-Z].*|(.+_)?(grad|gradient|cotangent)s?(_.+)?|backward\d*|∂.*")
"""A part of a name that says of what it stands before that it is a gradient."""
SAME_WORD = {"h": "head", "heads": "head", "attn": "attention", "l": "layer", "layers": "layer"}
DROPPED = {"part", "of", "output"}
SAME_MEANING = {
    "query": "q", "queries": "q", "key": "k", "value": "v", "values": "v",
    "weight": "w", "kernel": "w", "bias": "b",
    "hidden": "x", "inputs": "x", "input": "x", "embeddings": "x",
    "ln": "norm", "layernorm": "norm", "rmsnorm": "norm", "att": "attention",
    "context": "out", "probs": "weights", "probabilities": "weights", "logits": "scores",
}  # fmt: skip
"""What libraries call things, in the words of this one."""
MEANINGS = frozenset(SAME_MEANING.values())
REMEMBERED = 2**14
"""The words of so many names are kept."""
JOINED = re.compile(r"[wb](?:[qkvo]|out)")
"""What stands for two words: Wq, bo."""
SAME_PHRASE = {
    frozenset({"norm", "w"}): ("gamma",), frozenset({"norm", "b"}): ("beta",),
    frozenset({"out", "w"}): ("w", "o"), frozenset({"out", "b"}): ("b", "o"),
}  # fmt: skip
"""The same of words together: the weight of a norm is its gain."""
PROJECTED = {"proj"}
"""What comes out of the last projection, unless another word says more."""
SILENT = {"proj", "states", "self", "linear", "layer", "attention", "mha", "model"}
"""Words that say where a tensor stands, not what it is."""


@lru_cache(REMEMBERED)
def is_gradient(name: str) -> bool:
    """Whether a name is that of a gradient: d_x, dX, x.grad, grad_x, backward.x."""
    return any(map(GRADIENT.fullmatch, name.split(".")))


@lru_cache(REMEMBERED)
def words(name: str) -> frozenset[str]:
    """The words and numbers of a name, however it joins them."""
    parts: list[str] = [word.lower() for word in WORDS.findall(name)]
    parts = [SAME_WORD.get(word, word) for word in parts]
    return frozenset(word for word in parts if word not in DROPPED)


@lru_cache(REMEMBERED)
def meaning(name: str) -> frozenset[str]:
    """The words of a name as this library has them, without those that say no more than where it stands."""
    apart = (part for w in words(name) for part in ((w[0], w[1:]) if JOINED.fullmatch(w) else (w,)))
    said = {SAME_MEANING.get(word, word) for word in apart}
    common = said - SILENT or said & PROJECTED
    if said >= PROJECTED | {"out"} and not said & {"w", "b"}:
        common = common - {"out"} | PROJECTED
    for library, own in SAME_PHRASE.items():
        if library <= common:
            common = (common - library) | {*own}
    return frozenset(common)


def unnumbered(meant: frozenset[str]) -> frozenset[str]:
    """Words without numbers."""
    return frozenset(word for word in meant if not word.isdigit())


@lru_cache(REMEMBERED)
def numbers_of(name: str) -> tuple[int, ...]:
    """The numbers of a name, in order."""
    return tuple(int(number) for number in re.findall(r"\d+", name))


@lru_cache(REMEMBERED)
def endings(name: str) -> set[frozenset[str]]:
    """The words of each dotted ending of a name, heads aside."""
    parts = name.split(".")
    endings = {words(".".join(parts[start:])) - {"head"} for start in range(len(parts))}
    return {ending for ending in endings if ending}


def unique_by_words(
    recording: Recording, reading: Callable[[str], frozenset[str]] = words
) -> dict[frozenset[str], Recorded]:
    """Each tensor by the words of its name, and of each ending of its name, where no other has them."""
    shared: dict[frozenset[str], Recorded | None] = {}
    names = dict(recording.tensors.items())
    if recording.trace is not None:
        graph = recording.trace.graph
        for alias, ref in (*graph.aliases.items(), *((n, t.ref) for n, t in graph.outputs.items())):
            tensor = recording.tensors.get(graph.tensor_name(ref))
            if tensor is not None:
                names.setdefault(alias, tensor)
    for name, tensor in names.items():
        for key in {reading(ending) for ending in dotted_endings(name)}:
            if key and shared.setdefault(key, tensor) is not tensor:
                shared[key] = None
    whole: dict[frozenset[str], Recorded | None] = {}
    for name, tensor in recording.tensors.items():
        if reading(name) and whole.setdefault(reading(name), tensor) is not tensor:
            whole[reading(name)] = None
    return {key: tensor for key, tensor in {**shared, **whole}.items() if tensor is not None}


def dotted_endings(name: str) -> list[str]:
    """`a.b.c`, `b.c`, `c`."""
    parts = name.split(".")
    return [".".join(parts[start:]) for start in range(len(parts))]
