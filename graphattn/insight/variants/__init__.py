"""Ways in which a graph may have been written wrong, each a graph that can be run.

    intended = Intended(graph.at("op"), feeds)
    for variant in variants(intended):
        variant.phrase                       "without the scale head*.scaled (÷ √6)"
        variant.rewrite.graph(graph)         the intended graph with that mistake in it
        evaluate(intended, variant.rewrite, [ref])

Generators know no op and no list of mistakes: each of the small files in `generators` does one thing to any
node (skip it, do it twice, change an attribute, take another operand, …). Where none reaches, an op declares
its own (`Op.mistakes`). `structure` reads of a graph what there is to change, `evaluation` computes variants;
`explanations` asks of one step alone which variants of it give what was observed.
"""

from __future__ import annotations

from .draft import Draft, Rewrite, merged
from .evaluation import evaluate
from .generators import GENERATORS, NUMBERS, UNLIKELY, variants
from .generators.declared import guises
from .generators.repeat import TWICE
from .intended import Intended
from .seen import seen
from .solve import solved
from .step import Explanation, explanations
from .structure.groups import Group, spoken
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
    "seen",
    "solved",
    "spoken",
    "variants",
]
