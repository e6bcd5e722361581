"""Mistakes before the results are named from the gradients alone."""

from functools import partial
from random import Random

import everyday
import pytest
from diagnose_report import same_tensors

from graphattn import Graph, diagnose, run
from graphattn.builtin import random_feeds
from graphattn.core import nested
from graphattn.insight.diagnose.forward import becoming
from graphattn.passes.gradient import gradient


def head(g, wrong, n=4, d=4):
    q, k, v = (g.input(name, (n, d), ("token", "feature")) for name in "qkv")
    scaled = g.scale(g.matmul(q, k.T, name="scores"), sqrt=d, name="scaled")
    weights = g.softmax(scaled, axis=-2 if wrong == "columns" else -1, name="weights")
    mixed = g.matmul(weights, k if wrong == "keys" else v, name="mixed")
    g.output(y=g.reduce_mean(mixed, name="pooled") if wrong == "pooled" else mixed)


def built(wrong=None):
    g = Graph("head")
    head(g, wrong)
    return g


def from_gradients(build, wrong, feeds, other, names=None):
    """The diagnosis of what the wrong graph gives as gradients, and whether its first finding gives the same on
    other feeds."""
    right, bad = build(), build(wrong)
    names = [name for name, spec in right.inputs.items() if spec.kind == "float"] if names is None else names
    wrongly = gradient(bad, of="y", wrt=[name for name in names if name in bad.inputs])
    given, others = ({**own, "d_y": cotangent(right, seed)} for seed, own in enumerate((feeds, other)))

    def observed(own):
        trace = run(wrongly, {name: value for name, value in own.items() if name in wrongly.inputs})
        return {name: trace[name] for name in wrongly.outputs if name.startswith("d_")}

    found = diagnose(right, given, observed(given), pairs=False, budget=60)
    assert found.verdict == "mistake", found
    graph = found.findings[0].graph
    trace = run(graph, {name: others[name] for name in graph.inputs})
    expected = observed(others)
    return found, same_tensors({name: trace[name] for name in expected}, expected)


def cotangent(graph, seed):
    random = Random(seed)
    return nested.build(graph.outputs["y"].shape, lambda *_: round(random.gauss(0, 1), 2))


@pytest.mark.slow
@pytest.mark.parametrize("wrong, words", [("columns", "with axis=-2 instead of -1"), ("keys", "instead of v")])
@pytest.mark.parametrize("names", [None, ["q", "k"]])
def test_what_is_computed_before_is_told_by_its_derivative(wrong, words, names):
    found, same = from_gradients(built, wrong, *(random_feeds(built(), seed) for seed in (3, 4)), names)
    assert same and words in found.findings[0].phrase


def test_what_makes_another_graph_of_one():
    right, wrong = (gradient(built(what), of="y", wrt=["q", "k"]) for what in (None, "columns"))
    made = becoming(right, wrong).graph(right)
    feeds = {**random_feeds(built()), "d_y": cotangent(built(), 1)}
    names = list(wrong.outputs)
    assert [run(made, feeds)[name] for name in names] == [run(wrong, feeds)[name] for name in names]


PARTS = {part.__name__: part for part in everyday.WRONG}
SHOWN = (
    "multi: heads reversed", "multi: weights turned", "multi: mask after", "norms: layernorm",
    "norms: from norm", "rope: q only", "grouped: tiled",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("what", SHOWN)
def test_a_mistake_of_every_day_is_named_from_its_gradients(what):
    part, wrong = what.split(": ")
    build = PARTS[part]
    found, same = from_gradients(build, wrong, *map(partial(everyday.feeds, build), (0, 1)))
    assert same, found.findings[0].phrase
