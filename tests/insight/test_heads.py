"""Heads are found without being told where they are: in the toy, and in MiniLM where its folder is there."""

from __future__ import annotations

import os
import random
from string import ascii_lowercase

import pytest

from graphattn.core.errors import GraphError
from graphattn.core.graph import Graph
from graphattn.core.run import run
from graphattn.insight.heads import heads, is_part
from graphattn.insight.heads.patterns import PATTERNS, Map
from graphattn.weights.toy_induction import toy_induction

MINILM = os.environ.get("GRAPHATTN_MINILM")


@pytest.mark.slow
def test_the_heads_of_the_toy_on_repeated_random_texts():
    """12 random letters, twice, 20 of them; as measured when the model was trained."""
    found: dict[tuple[str, str], list[float]] = {}
    draw = random.Random(7)
    for _ in range(20):
        text = "".join(draw.sample(ascii_lowercase, 12)) * 2
        for head in heads(toy_induction(text).run()):
            assert head.scores["next"] is None  # a causal mask hides it
            for pattern in ("previous", "induction"):
                score = head.scores[pattern]
                assert score is not None
                found.setdefault((head.name, pattern), []).append(score)
    mean = {key: sum(values) / len(values) for key, values in found.items()}
    assert mean["layer1.attention.head0", "induction"] == pytest.approx(0.988, abs=0.01)
    assert mean["layer1.attention.head1", "induction"] == pytest.approx(0.984, abs=0.01)
    assert mean["layer0.attention.head1", "previous"] == pytest.approx(0.601, abs=0.01)


def test_a_text_without_tokens_has_no_heads():
    g = Graph("empty")
    x = g.input("x", (0, 4))
    g.output(out=g.attention(x, x, x, name="head").out)
    with pytest.raises(GraphError, match="has no head whose queries and keys are the same tokens"):
        heads(run(g, {"x": []}))


def test_what_the_heads_of_the_toy_do():
    found = heads(toy_induction("qmxbzqmxbz").run())
    assert [(head.name, head.does) for head in found] == [
        ("layer0.attention.head0", "–"),
        ("layer0.attention.head1", "previous"),
        ("layer1.attention.head0", "induction"),
        ("layer1.attention.head1", "induction"),
    ]
    assert found["layer0.head1"].does == "previous"
    assert found.ranked("previous")[0].name == "layer0.attention.head1"


def test_taking_the_previous_token_head_away_destroys_the_induction_heads():
    model = toy_induction("qmxbzqmxbz")
    zero = {"layer0.attention.head1.out": lambda out: [[0.0] * len(row) for row in out]}
    assert {h.does for h in heads(model.run()) if h.name.startswith("layer1")} == {"induction"}
    for head in heads(model.run(patch=zero)):
        if head.name.startswith("layer1"):
            assert head.scores["induction"] < 0.4 and head.does != "induction"


def test_an_even_head_is_even():
    n = 5
    even = Map([[1 / n] * n for _ in range(n)], tuple("abaac"))
    for name, score in PATTERNS.items():
        assert score(even) == pytest.approx(score(even.even())), name
    hidden = [[j > i for j in range(n)] for i in range(n)]
    assert PATTERNS["diffuse"](Map(even.weights, even.tokens, hidden).even()) == pytest.approx([1.0] * 4)


@pytest.mark.parametrize("level", ["op", "head", "primitive"])
def test_a_head_of_any_graph(level):
    g = Graph("own")
    x = g.input("x", (3, 2), ("token", "feature"))
    g.output(out=g.multi_head(x, x, x, heads=2, name="mine"))
    trace = run(g, {"x": [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]}, level=level)
    assert [head.name for head in heads(trace)] == ["mine.head0", "mine.head1"]


def test_a_graph_without_heads():
    g = Graph("plain")
    g.softmax(g.input("x", (3, 3)))
    with pytest.raises(GraphError, match="has no head whose queries and keys are the same tokens"):
        heads(run(g, {"x": [[0.0] * 3] * 3}))


def test_names_by_their_parts():
    assert is_part("layer0.head2", "layer0.attention.head2") and is_part("head2", "layer0.attention.head2")
    assert not is_part("head2.layer0", "layer0.attention.head2")
    found = heads(toy_induction("abab").run())
    with pytest.raises(GraphError, match="there is no head 'layer7'"):
        found["layer7"]
    with pytest.raises(GraphError, match="'prev' is no score; expected one of previous"):
        found.ranked("prev")


@pytest.mark.slow
@pytest.mark.skipif(not MINILM, reason="GRAPHATTN_MINILM names no folder (tools/fetch_minilm.py fetches it)")
def test_the_heads_of_minilm():
    from graphattn.models import pretrained

    text = "when mary and john went to the store, john gave a drink to mary."
    found = heads(pretrained(MINILM, text=text).run(targets=["layer4"]))
    top = {pattern: [head.name for head in found.ranked(pattern)[:3]] for pattern in PATTERNS}
    assert top["previous"][0] == "layer0.attention.head2"
    assert top["next"][0] == "layer1.attention.head8"
    assert "layer2.attention.head9" in top["same"]
    assert "layer4.attention.head5" in top["first"]
