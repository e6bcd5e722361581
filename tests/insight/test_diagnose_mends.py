"""How to mend it: in words of the generator or the op, or as the line of PyTorch that the step should be."""

import math

import pytest

from graphattn import Graph, diagnose, run
from graphattn.builtin import random_feeds, specimen
from graphattn.insight.variants.generators.reading import HEADS


@pytest.fixture(scope="module")
def block():
    made = specimen("block", n=3, d=4, causal=True)
    return made.graph.at("op"), made.feeds


def mends(graph, feeds, observed, **options):
    found = diagnose(graph, feeds, observed, budget=60, **options)
    assert found.verdict == "mistake"
    assert found.data()["findings"][0]["mend"] == found.findings[0].mends
    assert found.findings[0].mend == " ".join(found.findings[0].mends)
    return found.findings[0].mends


def patched(graph, feeds, changed):
    return {"Y": run(graph, feeds, patch=changed)["Y"]}


def test_a_step_that_was_left_out_is_written_out(block):
    graph, feeds = block
    heads = ["attention.head0", "attention.head1"]
    right = run(graph, feeds)
    undivided = patched(graph, feeds, {f"{head}.scaled": right[f"{head}.scores"] for head in heads})
    assert mends(graph, feeds, undivided) == ["scaled = scores / math.sqrt(2)"]
    unmasked = patched(graph, feeds, {f"{head}.masked": right[f"{head}.scaled"] for head in heads})
    assert mends(graph, feeds, unmasked) == [
        'masked = scaled.masked_fill(~torch.ones(3, 3, dtype=torch.bool).tril(), float("-inf"))'
    ]


def test_a_step_inside_of_an_op_is_mended_by_the_op(block):
    graph, feeds = block
    rows = [[c / 3 for c in row] for row in feeds["X"]]
    mean = [math.fsum(row) / 4 for row in rows]
    biased = [
        [(c - m) / math.sqrt(math.fsum((v - m) ** 2 for v in row) / 3 + 1e-5) for c in row]
        for row, m in zip(rows, mean, strict=True)
    ]
    found = mends(graph, {**feeds, "X": rows}, {"norm": biased}, pairs=False)
    assert found == ["norm = F.layer_norm(X, (4,), eps=1e-05)"]


def test_words_of_an_op_stand_before_its_line():
    g = Graph("weights")
    x = g.input("x", (3, 3))
    g.output(y=g.softmax(x, name="weights"))
    feeds = random_feeds(g, seed=3)
    observed = [[math.exp(c) for c in row] for row in feeds["x"]]
    words, line = mends(g, feeds, {"y": observed})
    assert words.startswith("exp is divided by the sum") and line == "weights = x.softmax(dim=-1)"


def test_heads_that_were_reshaped_are_mended_by_a_transpose(block):
    graph, feeds = block
    right = run(graph, feeds)
    cells = [c for head in (0, 1) for row in right[f"attention.head{head}.out"] for c in row]
    joined = [cells[start : start + 4] for start in range(0, 12, 4)]
    observed = patched(graph, feeds, {"attention.concat": joined})
    assert mends(graph, feeds, observed) == [HEADS]


def test_a_line_is_in_the_words_of_the_graph_that_is_meant():
    """Not in those of the guise in which yours is written: −1e9 where the graph has −∞."""
    g = Graph("heads")
    q, k, v = (g.input(name, (2, 3, 2), ("head", "token", "feature")) for name in "qkv")
    g.output(out=g.attention(q, k, v, causal=True, name="att")[0])
    feeds = random_feeds(g, seed=1)
    scaled = run(g, feeds)["att.scaled"]
    filled = [[[c if j <= i else -1e9 for j, c in enumerate(row)] for i, row in enumerate(h)] for h in scaled]
    along = [[[1 / (1 + math.exp(b - a)) for a, b in zip(*rows)] for rows in zip(*order)]
             for order in (filled, filled[::-1])]  # fmt: skip
    observed = {"out": run(g, feeds, patch={"att.weights": along})["out"]}
    found = diagnose(g, feeds, observed, budget=60).findings[0]
    assert found.variants[0].guise and found.mends == ["weights = masked.softmax(dim=-1)"]


def test_the_report_has_a_line_for_each(block):
    graph, feeds = block
    undivided = patched(
        graph,
        feeds,
        {f"attention.head{i}.scaled": run(graph, feeds)[f"attention.head{i}.scores"] for i in (0, 1)},
    )
    found = diagnose(graph, feeds, undivided, budget=60)
    assert "\n  mend     scaled = scores / math.sqrt(2)\n" in found.text()
    assert "- mend: scaled = scores / math.sqrt(2)\n" in found.markdown()
    assert "math.sqrt" not in found.text("place")
