"""Ways in which a graph may have been written wrong, each a graph that can be run.

    intended = Intended(graph.at("op"), feeds)
    for variant in variants(intended):
        variant.phrase                       "without the scale head*.scaled (÷ √6)"
        variant.rewrite.graph(graph)         the intended graph with that mistake in it
        evaluate(intended, variant.rewrite, [ref])

Generators know no op and no list of mistakes: each of the small files of this room does one thing to any
node (skip it, do it twice, change an attribute, take another operand, …). Where none reaches, an op declares
its own (`Op.mistakes`). `explanations` asks of one step alone which variants of it give what was observed.
"""

from __future__ import annotations

from .declared import guises
from .draft import Draft, Rewrite, merged
from .evaluate import evaluate
from .generators import GENERATORS, NUMBERS, UNLIKELY, variants
from .groups import Group, spoken
from .intended import Intended
from .repeat import TWICE
from .solve import solved
from .step import Explanation, explanations
from .variant import Variant

__all__ = [
    "GENERATORS",
    "NUMBERS",
    "TWICE",
    "UNLIKELY",
    "Draft",
    "Explanation",
    "Group",
    "Intended",
    "Rewrite",
    "Variant",
    "evaluate",
    "explanations",
    "guises",
    "merged",
    "solved",
    "spoken",
    "variants",
]
