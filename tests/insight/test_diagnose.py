"""diagnose names the mistake from the final output alone, and names none where there is none."""

import json
from pathlib import Path
from random import Random

import mistaken
import pytest
from diagnose_report import same

from graphattn import Graph, GraphError, diagnose, run
from graphattn.builtin import random_feeds, specimen
from graphattn.insight.variants import Intended, variants

with open(Path(__file__).parent.parent / "data" / "mistakes.json", encoding="utf-8") as file:
    MISTAKES = {m["id"]: m for m in json.load(file) if "base" in m}
HIDDEN = {"S0", "M2", "M19", "M25", "N1"}
"""What the final output does not show: no mistake in value."""


def wrong(identity):
    base = MISTAKES[identity]["base"]
    feeds = mistaken.feeds(base)
    observed = run(mistaken.build(base, identity), feeds, allow_nonfinite=True)["y"]
    return mistaken.build(base), feeds, observed


@pytest.fixture(scope="module")
def block():
    given = specimen("block", n=3, d=4, causal=True)
    return given.graph, given.feeds


@pytest.mark.parametrize("identity, words", [
    ("S1", "without the scale head*.scaled"),
    ("S3", "with sqrt=d_model = 12 instead of 6"),
    ("M1", "the mask multiplied onto weights"),
    ("M3", "head*.visible inverted"),
    ("M9", "head*.visible transposed"),
    ("X1", "axis=-2"),
    ("X2", "along the heads"),
    ("H1", "q_heads, k_heads and v_heads"),
    ("P1", "without the linear proj"),
    ("P6", "in each other's place"),
    ("L6", "eps=0.001"),
    ("L12", "after residual instead"),
    ("R1", "without X in the add residual"),
])  # fmt: skip
@pytest.mark.slow
def test_a_mistake_is_named_from_the_output_alone(identity, words):
    graph, feeds, observed = wrong(identity)
    found = diagnose(graph, feeds, {"y": observed}, budget=60)
    assert found.verdict == "mistake" and not found.agrees
    told = [found.findings[0].phrase, *found.findings[0].equals]
    assert any(words in phrase for phrase in told), told
    again = run(found.findings[0].graph, feeds, allow_nonfinite=True)["y"]
    assert same(again, observed)


@pytest.mark.slow
def test_two_mistakes_at_once_though_one_of_them_is_unlikely():
    graphs = right, both = Graph("right"), Graph("both")
    for g in graphs:
        x = g.input("x", (3, 4))
        w_q, w_k, w_v = (g.parameter(f"w_{name}", (4, 4)) for name in "qkv")
        w_v = g.transpose(w_v) if g is both else w_v  # of three alike one alone
        q, k, v = (g.linear(x, w, name=name) for w, name in zip((w_q, w_k, w_v), "qkv", strict=True))
        out, _ = g.attention(q, k, v, name="attention")
        r = g.add(x, out, name="r")
        g.output(y=g.gelu(r if g is both else g.layernorm(r, name="norm")))
    feeds = random_feeds(right, 3)
    found = diagnose(right, feeds, {"y": run(both, feeds)["y"]})
    words = "with w_v transposed in the linear v and without the LayerNorm norm (eps=1e-05)"
    assert found.findings[0].phrase == words


@pytest.mark.parametrize("identity", sorted(HIDDEN))
def test_what_is_no_mistake_in_value_is_right(identity):
    graph, feeds, observed = wrong(identity)
    assert diagnose(graph, feeds, {"y": observed}).verdict == "right"


@pytest.mark.slow
def test_noise_has_no_name(block):
    graph, feeds = block
    noise = [[Random(7).gauss(0, 1) for _ in range(4)] for _ in range(3)]
    found = diagnose(graph, feeds, {"Y": noise}, pairs=False, budget=60)
    assert found.verdict == "unexplained" and found.finished and not found.findings
    assert str(found).startswith("unexplained: nothing that was tried explains all of Y\n")


@pytest.mark.slow
def test_two_mistakes_at_once(block):
    graph, feeds = block
    every = {v.name: v for v in variants(Intended(graph.at("op"), feeds), rest=False) if v.kind == "skip"}
    once = every["skip norm"].rewrite.graph(graph.at("op"))
    names = {v.name: v for v in variants(Intended(once, feeds), rest=False) if v.kind == "skip"}
    twice = names["skip attention.head*.scaled"].rewrite.graph(once)
    found = diagnose(graph, feeds, {"Y": run(twice, feeds)["Y"]}, budget=60)
    assert found.findings[0].name == "skip norm and skip attention.head*.scaled"


def test_a_finding_is_a_graph_and_says_where_and_how(block):
    graph, feeds = block
    planted = next(
        v for v in variants(Intended(graph.at("op"), feeds)) if v.kind == "skip" and "scale" in v.phrase
    )
    observed = run(planted.rewrite.graph(graph.at("op")), feeds)["Y"]
    found = diagnose(graph, feeds, {"Y": observed})
    best = found.findings[0]
    assert best.sentence == "yours is this graph without the scale attention.head*.scaled (÷ √2)"
    assert best.where == ("attention.head0.scaled", "attention.head1.scaled") and best.error == 0
    assert isinstance(best.graph, Graph) and run(best.graph, feeds)["Y"] == observed
    told = str(found)
    assert told.startswith(
        "mistake: yours is exactly this graph without the scale attention.head*.scaled (÷ √2)\n"
    )
    assert "  right    " in told and "  yours    " in told
    assert found.text("none") == "wrong, by a mistake that has a name\n"
    assert found.text("place").endswith("look at  attention.head*.scaled\n")
    assert found.markdown().startswith("**mistake: ")
    data = json.loads(json.dumps(found.data()))
    assert data["verdict"] == "mistake" and data["findings"][0]["sentence"] == best.sentence
    assert "findings" not in found.data("place") and "where" not in found.data("none")
    with pytest.raises(GraphError, match="reveal is 'all'; expected one of none, place, cause"):
        found.text("all")


def test_bad_input_is_told(block, tmp_path):
    graph, feeds = block
    with pytest.raises(GraphError, match=r"scores is 2 × 2 in yours; expected 3 × 3"):
        diagnose(graph, feeds, {"attention.head0.scores": [[1.0, 2.0], [3.0, 4.0]]})
    text = tmp_path / "mine.json"
    text.write_text('{"Y": "hello"}', encoding="utf-8")
    with pytest.raises(GraphError, match=r"Y is 'hello'; expected nested lists of numbers"):
        diagnose(graph, feeds, text)
    with pytest.raises(GraphError, match=r"the graph has no tensor 'Z'"):
        diagnose(graph, feeds, {"Z": [[1.0, 2.0], [3.0, 4.0]]})
    with pytest.raises(GraphError, match=r"yours did not record X, .*; expected feeds"):
        diagnose(graph, {}, {"Y": [[0.0] * 4] * 3})
    with pytest.raises(GraphError, match="unknown precision 'float8'"):
        diagnose(graph, feeds, {"Y": [[0.0] * 4] * 3}, precision="float8")
