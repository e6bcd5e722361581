"""What heads are known to do, each as a score of an attention map: formulas, and who named them.

A[i, j] is the weight that query i gives to key j; t are the tokens. A score is a mean over the rows in which
the pattern can be seen at all: a row whose target is hidden by a mask, or that sees one key alone, says
nothing, and a score without rows is meaningless ("–"). So each function gives the rows' values.

>>> A = [[1.0, 0.0, 0.0], [0.9, 0.1, 0.0], [0.1, 0.8, 0.1]]
>>> causal = [[j > i for j in range(3)] for i in range(3)]
>>> rows = Map(A, ("a", "b", "a"), causal)
>>> previous(rows), following(rows), induction(rows)
([0.9, 0.8], [], [0.8])
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

SEPARATORS = frozenset(("[SEP]", "</s>", "<sep>", "<eos>", "<|endoftext|>", "<|end_of_text|>", "<|eot_id|>"))
"""Tokens that end a sentence or a text."""


@dataclass(frozen=True)
class Map:
    """One attention map (n × n), the tokens, and which cells are hidden (None: none)."""

    weights: Sequence[Sequence[float]]
    tokens: Sequence[str]
    hidden: Any = None

    @cached_property
    def visible(self) -> list[list[int]]:
        """The keys that each query sees."""
        n = range(len(self.weights))
        return [[j for j in n if self.hidden is None or not self.hidden[i][j]] for i in n]

    def rows(self, targets: Callable[[int], Iterable[int]]) -> list[float]:
        """For each row that could do otherwise: how much it gives to its targets, as far as it sees them."""
        found = []
        for i, (row, seen) in enumerate(zip(self.weights, self.visible, strict=True)):
            wanted = set(targets(i)).intersection(seen)
            if wanted and len(seen) > 1:
                found.append(math.fsum(row[j] for j in wanted))
        return found

    def even(self) -> Map:
        """The map of a head that gives the same to every key it sees."""
        n = range(len(self.weights))
        even = [[1 / len(seen) if j in seen else 0.0 for j in n] for seen in map(set, self.visible)]
        return Map(even, self.tokens, self.hidden)


def previous(a: Map) -> list[float]:
    """A[i, i−1] (Vig 2019; Clark et al. 2019, "What does BERT look at?", section 3.1)."""
    return a.rows(lambda i: [i - 1] if i else [])


def following(a: Map) -> list[float]:
    """A[i, i+1] (Clark et al. 2019, section 3.1)."""
    return a.rows(lambda i: [i + 1])


def same(a: Map) -> list[float]:
    """Σⱼ A[i, j] over all j with tⱼ = tᵢ, j = i among them (Clark et al. 2019, section 3.1)."""
    return a.rows(lambda i: [j for j, token in enumerate(a.tokens) if token == a.tokens[i]])


def duplicate(a: Map) -> list[float]:
    """Σⱼ A[i, j] over the j < i with tⱼ = tᵢ (Wang et al. 2023, "Interpretability in the wild", section 3)."""
    return a.rows(lambda i: _before(a.tokens, i))


def induction(a: Map) -> list[float]:
    """Σⱼ A[i, j+1] over the j < i with tⱼ = tᵢ: what came after this token before (Olsson et al. 2022,
    "In-context learning and induction heads")."""
    return a.rows(lambda i: [j + 1 for j in _before(a.tokens, i) if j + 1 < i])


def first(a: Map) -> list[float]:
    """A[i, 0], rows other than the first ([CLS], or where nothing else is wanted: Xiao et al. 2024,
    "attention sinks")."""
    return a.rows(lambda i: [0] if i else [])


def separator(a: Map) -> list[float]:
    """Σⱼ A[i, j] over the tokens that end a sentence, [SEP] and its kin (Clark et al. 2019, section 3.2)."""
    return a.rows(lambda i: [j for j, token in enumerate(a.tokens) if token in SEPARATORS])


def punctuation(a: Map) -> list[float]:
    """Σⱼ A[i, j] over tokens of nothing but punctuation marks (Clark et al. 2019, section 3.2)."""
    return a.rows(lambda i: [j for j, token in enumerate(a.tokens) if _is_mark(token)])


def diffuse(a: Map) -> list[float]:
    """−Σⱼ A[i, j] ln A[i, j] / ln n, n the keys that i sees: 1 where all get the same (Clark et al. 2019,
    section 3.3)."""
    return [
        -math.fsum(p * math.log(p) for p in row if p > 0.0) / math.log(len(seen))
        for row, seen in zip(a.weights, a.visible, strict=True)
        if len(seen) > 1
    ]


def _before(tokens: Sequence[str], i: int) -> list[int]:
    return [j for j in range(i) if tokens[j] == tokens[i]]


@cache
def _is_mark(token: str) -> bool:
    text = token.removeprefix("##").strip("␣")
    return bool(text) and all(unicodedata.category(letter)[0] == "P" for letter in text)


PATTERNS: Mapping[str, Callable[[Map], list[float]]] = {
    "previous": previous,
    "next": following,
    "same": same,
    "duplicate": duplicate,
    "induction": induction,
    "first": first,
    "separator": separator,
    "punctuation": punctuation,
    "diffuse": diffuse,
}
"""Every score, by the name of its column."""
