"""Models of several layers: what is done to all of them is looked at first; and what is found does not depend
on how fast a machine is."""

from array import array
from importlib import import_module
from random import Random

import pytest

from graphattn import Graph, diagnose, run
from graphattn.builtin import random_feeds, specimen
from graphattn.core.packed import Packed
from graphattn.insight.compare.reading import read
from graphattn.insight.diagnose.accuracy import accuracy_of
from graphattn.insight.diagnose.classes import classes
from graphattn.insight.diagnose.levels import levels
from graphattn.insight.diagnose.observed import read_observed
from graphattn.insight.diagnose.search import Search
from graphattn.insight.variants import Intended, evaluate, variants
from graphattn.insight.variants.variant import LAYER

N, D = 3, 4


def layernorm(g, x, gamma, beta):
    return g.layernorm(x, gamma, beta, eps="0.001", name="norm")


def without_beta(g, x, gamma, beta):
    return g.layernorm(x, gamma, eps="0.001", name="norm")


def eps_outside(g, x, gamma, beta):
    away = g.subtract(x, g.reduce_mean(x, axis=-1))
    root = g.sqrt(g.reduce_mean(g.multiply(away, away), axis=-1))
    return g.add(g.multiply(g.divide(away, g.add(root, g.constant(0.001))), gamma), beta)


def model(norm=layernorm):
    """Two layers in scopes of their own, and a last norm outside of them."""
    g = Graph("model")
    rows = {name: g.parameter(name, (D,)) for name in ("g0", "b0", "g1", "b1", "g2", "b2")}
    weights = [g.parameter(f"w{i}", (D, D)) for i in range(2)]
    x = g.input("x", (N, D), ("token", "feature"))
    for i, w in enumerate(weights):
        with g.scope(f"layer{i}"):
            x = g.add(x, g.linear(norm(g, x, rows[f"g{i}"], rows[f"b{i}"]), w, name="linear"), name="residual")
    with g.scope("last"):
        g.output(y=norm(g, x, rows["g2"], rows["b2"]))
    return g


@pytest.mark.slow
@pytest.mark.parametrize("wrong, words", [
    (without_beta, "without beta (b*) in every LayerNorm"),
    pytest.param(eps_outside, "with every sqrt of every LayerNorm on layer*.norm.variance.quotient and",
                 marks=pytest.mark.slow),
])  # fmt: skip
def test_what_is_wrong_in_all_layers_and_after_them(wrong, words):
    graph = model()
    feeds = random_feeds(graph)
    found = diagnose(graph, feeds, {"y": run(model(wrong), feeds)["y"]}, pairs=False)
    assert words in found.findings[0].phrase


def test_all_layers_are_looked_at_before_one_of_them():
    graph = model()
    first = [
        v for v in variants(Intended(graph, random_feeds(graph))) if v.kind == "skip" and "linear" in v.phrase
    ]
    later = {v.nodes: v.rank - v.price for v in first}
    assert later[("layer0.linear", "layer1.linear")] == 0
    assert later[("layer0.linear",)] == later[("layer1.linear",)] == pytest.approx(LAYER)


@pytest.mark.slow
def test_a_slow_machine_finds_the_same(monkeypatch):
    given = specimen("block", n=3, d=4, causal=True)
    right = run(given.graph, given.feeds)
    patch = {f"head{i}.scaled": right[f"head{i}.scores"] for i in range(2)}
    theirs = run(given.graph, given.feeds, patch=patch)["Y"]
    usual = diagnose(given.graph, given.feeds, {"Y": theirs})
    monkeypatch.setattr(Search, "seconds", property(lambda search: 10.0 * search.tried))
    slow = diagnose(given.graph, given.feeds, {"Y": theirs}, budget=1e9)
    assert slow.tried == usual.tried > 200
    assert str(slow) == str(usual)


@pytest.mark.slow
def test_in_a_guise_what_gives_the_same_without_it_is_not_tried_again():
    given = specimen("block", n=3, d=4, causal=True)
    noise = [[Random(7).gauss(0, 1) for _ in range(4)] for _ in range(3)]
    reading = read_observed(given.graph.at("op"), read({"Y": noise}), given.feeds, (), {})
    accuracy = accuracy_of([o.theirs for o in reading.observed], None)
    every = list(levels(given.graph, reading.observed, reading.fed, accuracy, True, ()))
    about = {name for level in every if level.name == "guise" for v in level.variants() for name in v.nodes}
    assert about and "attention.q" not in about and "attention.proj" not in about and "norm" not in about
    assert {"attention.head0.visible", "attention.head0.weights"} <= about
    assert any(name.startswith("attention.head0.masked.") for name in about)


@pytest.mark.parametrize("second", ["proj", "res"])
def test_in_a_guise_that_gives_otherwise_all_is_tried(second):
    """A row that sees nothing: its weights are alike where hidden cells are −1e9, and 0 where they are −∞."""

    def attention(fill):
        g = Graph("attention")
        x, w, mask = g.input("x", (4, 4)), g.input("w", (4, 4)), g.input("mask", (4, 4), kind="bool")
        scores = g.matmul(x, x.T, name="scores")
        hidden = g.where(mask, scores, g.constant(-1e9)) if fill else g.mask(scores, mask, name="masked")
        out = g.matmul(g.matmul(g.softmax(hidden), x, name="mixed"), w, name="proj")
        g.output(y=g.add(out, x, name="res"))
        return g

    feeds = random_feeds(attention(False), 1)
    feeds["mask"] = [[j <= i for j in range(4)] for i in range(3)] + [[False] * 4]
    right = run(attention(True), feeds)
    theirs = run(attention(True), feeds, patch={second: right["mixed" if second == "proj" else "proj"]})["y"]
    found = diagnose(attention(False), feeds, {"y": theirs}, pairs=False)
    assert found.findings[0].phrase.startswith("with hidden cells at −1e9 in the mask masked and without") or (
        found.findings[0].phrase.startswith("with hidden cells at −1e9 and without")
    )


def stack(layers=3, heads=4):
    g = Graph("stack")
    x = g.input("x", (N, D), ("token", "feature"))
    for i in range(layers):
        with g.scope(f"layer{i}"):
            parts = g.split(g.linear(x, g.parameter(f"w{i}", (D, D)), name="q"), heads, name="parts")
            made = []
            for h, part in enumerate(parts):
                with g.scope(f"head{h}"):
                    scaled = g.scale(g.matmul(part, part.T, name="scores"), sqrt=D, name="scaled")
                    made.append(g.matmul(g.softmax(scaled, name="weights"), part, name="out"))
            x = g.add(x, g.concat(*made, name="concat"), name="residual")
    g.output(y=x)
    return g


@pytest.mark.parametrize("row", [None, 1])
def test_a_change_in_every_layer_computes_each_step_once(row):
    graph = stack()
    intended = Intended(graph, random_feeds(graph))
    called = []

    def counted(function):
        return lambda *operands: called.append(function) or function(*operands)

    for name in (name for name, node in graph.nodes.items() if not node.op.fed):
        call = intended.call_of(name)
        for one in (call, call.by_row[1]) if call.by_row else (call,):
            if "counted" not in vars(one):
                vars(one).update(function=counted(one.function), counted=True)
    scales = tuple(name for name in graph.nodes if name.endswith("scaled"))
    (variant,) = [v for v in variants(intended) if v.kind == "skip" and set(v.nodes) == set(scales)]
    (value,) = evaluate(intended, variant.rewrite, [graph.resolve("y")], row)
    whole = run(variant.rewrite.graph(graph), intended.feeds)["y"]
    assert value == (whole if row is None else [whole[row]])
    below = sum(intended.below[scales[0]] >> place & 1 for place in range(len(graph.nodes)))
    assert below / 2 < len(called) <= below


def test_the_budget_is_asked_after_every_variant():
    """One of a large model takes seconds."""

    class Clock:
        seconds = 0.0

    told, clock = [], Clock()
    graph, feeds = model(), random_feeds(model())
    found = run(model(without_beta), feeds)["y"]
    reading = read_observed(graph.at("op"), read({"y": found}), feeds, (), {})
    accuracy = accuracy_of([o.theirs for o in reading.observed], None)
    search = Search(0.0, told.append, clock=clock)

    def look(level, variants):
        search.tried += 1
        clock.seconds += 3.0

    search.look = look
    search.start(10.0)
    assert not search.singles(list(levels(graph, reading.observed, reading.fed, accuracy, True, ())))
    assert search.tried == 4 and not search.finished and search.left > 100
    assert told == [f"{count} variant{'s' * (count != 1)} tried" for count in range(5)]


def test_one_explanation_needs_no_other_inputs(monkeypatch):
    """To draw the weights of a large model takes longer than to run it."""
    monkeypatch.setattr(import_module(classes.__module__), "other_feeds", None)
    hit = object()
    assert classes([hit], {}) == [([hit], None)]
    assert classes([], {}) == []


@pytest.mark.slow
def test_weights_as_they_lie_in_a_file_are_numbers_like_others():
    given = specimen("attention", n=3, d=4)
    packed = {
        name: Packed((3, 4), memoryview(array("d", [cell for row in rows for cell in row])))
        for name, rows in given.feeds.items()
    }
    noise = [[Random(7).gauss(0, 1) for _ in range(4)] for _ in range(3)]
    usual = diagnose(given.graph, given.feeds, {"out": noise}, pairs=False)
    assert usual.verdict == "unexplained"
    assert str(diagnose(given.graph, packed, {"out": noise}, pairs=False)) == str(usual)
