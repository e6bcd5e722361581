"""Names of tensors, whoever gave them: as sets of words."""

from __future__ import annotations

import re

from ..recording import Recorded, Recording

WORDS = re.compile(r"[A-Za-z]+|\d+")
SAME_WORD = {"h": "head", "heads": "head", "attn": "attention", "l": "layer", "layers": "layer"}
DROPPED = {"part", "of", "output"}


def words(name: str) -> frozenset[str]:
    """The words and numbers of a name, however it joins them."""
    found: list[str] = [word.lower() for word in WORDS.findall(name)]
    found = [SAME_WORD.get(word, word) for word in found]
    return frozenset(word for word in found if word not in DROPPED)


def endings(name: str) -> set[frozenset[str]]:
    """The words of each dotted ending of a name, heads aside."""
    parts = name.split(".")
    found = {words(".".join(parts[start:])) - {"head"} for start in range(len(parts))}
    return {ending for ending in found if ending}


def unique_by_words(recording: Recording) -> dict[frozenset[str], Recorded]:
    """Each tensor by the words of its name, and of each ending of its name, where no other has them."""
    found: dict[frozenset[str], Recorded | None] = {}
    names = dict(recording.tensors.items())
    if recording.trace is not None:
        graph = recording.trace.graph
        for alias, ref in (*graph.aliases.items(), *((n, t.ref) for n, t in graph.outputs.items())):
            tensor = recording.tensors.get(graph.tensor_name(ref))
            if tensor is not None:
                names.setdefault(alias, tensor)
    for name, tensor in names.items():
        parts = name.split(".")
        for key in {words(".".join(parts[start:])) for start in range(len(parts))}:
            if key and found.setdefault(key, tensor) is not tensor:
                found[key] = None
    exact = {words(name): tensor for name, tensor in recording.tensors.items()}
    return {
        key: tensor
        for key, tensor in {**found, **{k: t for k, t in exact.items() if k}}.items()
        if tensor is not None
    }
