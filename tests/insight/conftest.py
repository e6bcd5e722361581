"""Traces that the tests of explanations share."""

from __future__ import annotations

import pytest

from graphattn import Graph, run

X = [[0.5, -1.0, 0.25, 0.75], [1.5, 0.0, -0.5, -1.0], [-0.75, 1.25, 1.0, 0.5]]
TOKENS = {"token": ["the", "cat", "sat"]}


def normed(row):
    """LayerNorm of one row."""
    mean = sum(row) / len(row)
    deviations = [x - mean for x in row]
    root = (sum(x * x for x in deviations) / len(row) + 1e-05) ** 0.5
    return [x / root for x in deviations]


ROWS = [normed(row)[:2] for row in X]


def one_head(**attributes):
    """The head of DESIGN.md, section 6."""
    graph = Graph("head")
    q, k, v = (graph.input(name, (3, 2), ("token", "feature")) for name in "qkv")
    graph.attention(q, k, v, causal=True, name="head0", **attributes)
    return graph


@pytest.fixture
def head():
    """head(**options) -> a trace of the head of DESIGN.md."""
    return lambda **options: run(one_head(), {"q": ROWS, "k": ROWS, "v": ROWS}, **{"labels": TOKENS, **options})
