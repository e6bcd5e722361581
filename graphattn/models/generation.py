"""What comes next: the likeliest tokens, and a text continued token by token with a cache of keys and values.

    trace = pretrained(folder, text="the cat").run()
    next_tokens(trace)                     the table of what may follow
    for step in generate(folder, text="the cat", count=5): ...

With the cache, each step reads one token: its graph is fed the keys and values that earlier steps computed
(`past_of`), and every tensor in it equals the rows of a pass over the whole text.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core import words
from ..core.errors import GraphError
from ..core.trace import Trace
from . import Folder, Past, pretrained


@dataclass(frozen=True)
class NextToken:
    """A token that may follow: its id, its label where there is one, logit and probability."""

    id: int
    label: str
    logit: float
    probability: float


@dataclass(frozen=True)
class Continuation:
    """One step of a generation: the token that was chosen, and the trace that it was chosen from."""

    token: NextToken
    trace: Trace


def next_tokens(trace: Trace, count: int = 10) -> list[NextToken]:
    """The likeliest tokens after the last one: softmax of the last row of the logits, largest first."""
    if "logits" not in trace:
        raise GraphError(
            f"graph {trace.graph.name!r} has no logits; expected a model that continues a text, with all layers"
        )
    row = trace["logits"][-1]
    peak = max(row)
    total = math.fsum(math.exp(logit - peak) for logit in row)
    labels = trace.labels.get("vocabulary", ())
    best = sorted(range(len(row)), key=lambda i: (-row[i], i))[:count]
    return [
        NextToken(i, labels[i] if len(labels) == len(row) else str(i), row[i], math.exp(row[i] - peak) / total)
        for i in best
    ]


def next_text(tokens: Sequence[NextToken]) -> str:
    """The table of what may follow."""
    rows = [["token", "id", "logit", "probability"]]
    rows += [[t.label, str(t.id), f"{t.logit:.4f}", f"{t.probability:.4f}"] for t in tokens]
    return "\n".join(words.aligned(rows)) + "\n"


def past_of(trace: Trace) -> Past:
    """The keys and values of a run, those that it was fed included, for the tokens that follow."""
    layers = []
    while True:
        inside = f"layer{len(layers)}.attention"
        pair = [
            next((trace[full] for name in names if (full := f"{inside}.{name}") in trace), None)
            for names in (("k_all", "k_rows", "k"), ("v_all", "v"))
        ]
        if None in pair:
            break
        layers.append((pair[0], pair[1]))
    if not layers:
        raise GraphError(f"graph {trace.graph.name!r} has no keys and values of layers; expected a model's")
    return Past(len(layers[0][0]), layers)


def generate(
    folder: str | Path | Folder,
    text: str | None = None,
    ids: Sequence[int] | None = None,
    count: int = 20,
    **options: Any,
) -> Iterator[Continuation]:
    """Continue a text with the likeliest token each time, `count` times. Options are those of `pretrained`."""
    folder = folder if isinstance(folder, Folder) else Folder(folder)  # opened once for all steps
    trace = pretrained(folder, text, ids, **options).run()
    for turn in range(count):
        token = next_tokens(trace, 1)[0]
        yield Continuation(token, trace)
        if turn + 1 < count:
            trace = pretrained(folder, ids=[token.id], past=past_of(trace), **options).run()
