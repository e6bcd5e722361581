"""What each head of a trace does: every attention map scored, ranked, and drawn small.

    heads(trace)  ->  Heads;  print(heads(trace))

Attention maps are found by what ops say of their outputs (the role "weights"), so a head of any graph is
seen, not only those of `graphattn.models`. `patterns` has the scores with their formulas; `corpus` sums them
over many texts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from ...core import nested
from ...core.errors import GraphError, suggest
from ...core.graph import Graph
from ...core.trace import Trace
from ...core.words import typed
from .patterns import PATTERNS, Map

CLEAR = 0.5
"""From which part of the way between even attention and all of it a head is said to do something."""
Scores = Mapping[str, tuple[float, int]]
"""(Σ over rows, number of rows) by pattern."""


@dataclass(frozen=True)
class Head:
    """A head, its scores and those of an even head in its place: means over rows, None where meaningless."""

    name: str
    scores: Mapping[str, float | None]
    even: Mapping[str, float | None]
    weights: Any = None
    """Its map, where there is one text."""

    def excess(self, pattern: str) -> float:
        """How far it is from even attention to nothing but this pattern: 0 even, 1 all of it."""
        score, even = self.scores[pattern], self.even[pattern]
        if score is None or even is None or even >= 1.0 - 1e-9:
            return -math.inf
        return (score - even) / (1.0 - even)

    @property
    def best(self) -> str:
        """The pattern in which it stands out most."""
        return max(PATTERNS, key=self.excess)

    @property
    def does(self) -> str:
        """What it does, in a word: a pattern, diffuse, or – for none that is clear."""
        if self.excess(self.best) >= CLEAR:
            return self.best
        return "diffuse" if (self.scores["diffuse"] or 0.0) >= 0.9 else "–"


class Heads:
    """The heads of a model by name, in order. `tokens` are those of the text, where there is one."""

    def __init__(self, found: Iterable[Head], tokens: tuple[str, ...] = (), texts: int = 1) -> None:
        self.tokens = tokens
        self.texts = texts
        self._heads = {head.name: head for head in found}

    def __iter__(self) -> Iterator[Head]:
        return iter(self._heads.values())

    def __len__(self) -> int:
        return len(self._heads)

    def __getitem__(self, name: str) -> Head:
        """A head by its name, or by its parts of it: layer0.head2."""
        if name in self._heads:
            return self._heads[name]
        fitting = [head for full, head in self._heads.items() if is_part(name, full)]
        if len(fitting) != 1:
            raise GraphError(f"there is no head {name!r}{suggest(name, self._heads)}")
        return fitting[0]

    def ranked(self, by: str | None = None) -> list[Head]:
        """The heads that stand out most first: in one pattern, or each in its best."""
        if by is not None and by not in PATTERNS:
            known = ", ".join(PATTERNS) + suggest(by, PATTERNS)
            raise GraphError(f"{by!r} is no score; expected one of {known}")
        if by == "diffuse":
            return sorted(self, key=lambda head: -(head.scores[by] or 0.0))
        return sorted(self, key=lambda head: -head.excess(by or head.best))

    def text(
        self, by: str | None = None, limit: int | None = None, thumbnails: int = 6, width: int | None = None
    ) -> str:
        """A table of all heads, or the first `limit`, and small pictures of the first ones; `width` is how long
        a line may be."""
        from .heads_text import heads_text

        return heads_text(self, by, limit, thumbnails, width)

    def record(self) -> dict[str, Any]:
        """Tokens, and by head what it does and its scores, as JSON takes it."""
        return {
            "tokens": list(self.tokens),
            "texts": self.texts,
            "heads": {
                head.name: {"does": head.does, "scores": dict(head.scores), "even": dict(head.even)}
                for head in self
            },
        }

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<{len(self)} heads>"


def is_part(name: str, full: str) -> bool:
    """Whether the parts of a dotted name stand in a longer one, in this order: layer0.head2 in
    layer0.attention.head2."""
    rest = iter(full.split("."))
    return all(part in rest for part in name.split("."))


def heads(trace: Trace) -> Heads:
    """Every head of a trace with its scores. Raises a `GraphError` where it has none with a square map."""
    if not isinstance(trace, Trace):
        raise GraphError(f"heads got {typed(trace)}; expected a Trace, what run(graph, feeds) gives")
    tokens = tokens_of(trace)
    found = []
    for name, value, sums, even in scores(trace, tokens):
        found.append(Head(name, means(sums), means(even), value))
    if not found:
        raise GraphError(
            f"graph {trace.graph.name!r} has no head whose queries and keys are the same tokens;"
            " expected one or more"
        )
    return Heads(found, tokens)


def tokens_of(trace: Trace) -> tuple[str, ...]:
    """The labels of the tokens; without any, each token is one of its own."""
    n = max((len(value) for _, value, _ in maps(trace)), default=0)
    labels = trace.labels.get("token", ())
    return tuple(labels) if len(labels) == n else tuple(f"#{i}" for i in range(n))


def scores(trace: Trace, tokens: Sequence[str]) -> Iterator[tuple[str, Any, Scores, Scores]]:
    """(head, its weights, its sums, those of an even head in its place) for every map."""
    even: dict[Any, Scores] = {}  # one for all heads that see the same keys
    for name, value, hidden in maps(trace):
        a = Map(value, tokens, hidden)
        seen = None if hidden is None else tuple(map(tuple, hidden))
        if seen not in even:
            even[seen] = measure(a.even())
        yield name, value, measure(a), even[seen]


def maps(trace: Trace) -> Iterator[tuple[str, Any, Any]]:
    """(head, its weights, which of them are hidden) for every square attention map that was recorded. Where
    the heads of an attention are an axis of its weights, the i-th is `attention.head{i}`, and that of the
    j-th text of several `attention.batch{j}.head{i}`."""
    for name, weights in attention_maps(trace.graph):
        *lead, n, m = trace.spec(weights).shape
        if n == 0 or n != m or weights not in trace:
            continue
        value, hidden = trace[weights], trace.masked(weights)
        for index in product(*map(range, lead)):
            part = None if hidden is None else nested.at(hidden, index)
            yield f"{name}{_told(index, lead)}", nested.at(value, index), part


def _told(index: Sequence[int], sizes: Sequence[int]) -> str:
    """Where a map stands among the leading axes: of heads, before them of texts; none of size 1 is told."""
    kinds = ("head", *("batch",) * (len(sizes) - 1))[: len(sizes)][::-1]
    return "".join(f".{kind}{i}" for kind, i, size in zip(kinds, index, sizes, strict=True) if size > 1)


def attention_maps(graph: Graph) -> Iterator[tuple[str, str]]:
    """(head, name of its weights): nodes, or what they were expanded into, with an output of that role."""
    for node in graph.nodes.values():
        for place, port in enumerate(node.ports):
            if port and node.op.roles.get(port) == "weights":
                yield node.name, node.tensor_name(place)
    for scope in graph.scopes.values():
        for ref, port in zip(scope.outputs, scope.ports, strict=True):
            if scope.op is not None and port and scope.op.roles.get(port) == "weights":
                yield scope.name, graph.tensor_name(ref)


def measure(a: Map) -> dict[str, tuple[float, int]]:
    """(Σ, number of rows) of every score of a map."""
    rows = {name: score(a) for name, score in PATTERNS.items()}
    return {name: (math.fsum(values), len(values)) for name, values in rows.items()}


def means(sums: Scores) -> dict[str, float | None]:
    """Each score as a mean over its rows; None where it has none."""
    return {name: total / count if count else None for name, (total, count) in sums.items()}


__all__ = ["Head", "Heads", "attention_maps", "heads", "is_part", "maps", "means", "scores"]
