"""Two changes in one graph: one beside the other, inside an op and on another, or one on top of the other."""

from random import Random

import pytest

from graphattn import Graph, GraphError
from graphattn.builtin import random_feeds, specimen
from graphattn.core import nested
from graphattn.insight.variants import Intended, evaluate, merged, variants
from graphattn.insight.variants.evaluation.planted import Beside, plant, reach_of
from graphattn.insight.variants.lifted import Lift


def agrees(a, b):
    if nested.shape_of(a) != nested.shape_of(b):
        return False
    pairs = zip(nested.flat(a), nested.flat(b), strict=True)
    return all(x == y or abs(x - y) <= 1e-9 * max(1.0, abs(y)) or (x != x and y != y) for x, y in pairs)


@pytest.fixture(scope="module")
def coarse():
    given = specimen("block", n=3, d=4, causal=True)
    return Intended(given.graph.at("op"), given.feeds)


@pytest.fixture(scope="module")
def lift(coarse):
    return Lift(Intended(coarse.graph.at("primitive"), coarse.feeds, coarse=coarse.graph), coarse)


@pytest.fixture(scope="module")
def inside(lift, coarse):
    """Variants inside the ops."""
    fresh = [name for name in lift.fine.nodes if name not in coarse.nodes]
    return [one for one in variants(lift.fine, fresh, thorough=False) if not one.throughout]


def value(intended, rewrite, row=None):
    """The result of a change; None where it has none."""
    try:
        return evaluate(intended, rewrite(), [intended.graph.resolve("Y")], row)[0]
    except GraphError:
        return None


def test_a_change_inside_an_op_is_the_same_in_the_graph(lift, inside):
    seen = 0
    for variant in inside[::23]:
        theirs = value(lift.fine, lambda variant=variant: variant.rewrite)
        lifted = value(lift.coarse, lambda variant=variant: lift(variant).rewrite)
        assert (theirs is None) or lifted is None or agrees(theirs, lifted), variant.phrase
        seen += theirs is not None and lifted is not None
    assert seen > 50


def test_a_change_of_an_op_is_the_same_in_its_steps(lift, coarse):
    seen = 0
    for variant in list(variants(coarse))[::41]:
        theirs = None if variant.throughout else value(coarse, lambda variant=variant: variant.rewrite)
        if theirs is not None:
            again = value(lift.fine, lambda variant=variant: lift.lowered(variant.rewrite))
            assert again is not None and agrees(theirs, again), variant.phrase
            seen += 1
    assert seen > 20


def test_beside_another_change_is_what_both_compute_in_one_graph(lift, coarse, inside):
    every = [variant for variant in variants(coarse) if not variant.throughout] + list(map(lift, inside[::5]))
    random, ref, seen = Random(1), coarse.graph.resolve("Y"), 0
    for _ in range(600):
        first, second, row = random.choice(every), random.choice(every), random.choice((None, 0, 2))
        try:
            if not reach_of(coarse, first.rewrite).before(reach_of(coarse, second.rewrite)):
                continue
            planted, beside = plant(coarse, first.rewrite, ref), Beside(coarse, second.rewrite, ref, row)
            both = merged(first.rewrite, second.rewrite, coarse.graph)
            if planted is None or both is None or not beside.fits:
                continue
            found = beside.value(planted)
        except GraphError:
            continue
        theirs = value(coarse, lambda both=both: both, row)
        assert theirs is not None and agrees(theirs, found), (first.phrase, second.phrase)
        seen += 1
    assert seen > 50


def chain():
    g = Graph("chain")
    x = g.input("x", (3, 3))
    g.output(y=g.add(x, g.tanh(x, name="bent"), name="sum"))
    return Intended(g, random_feeds(g, 3))


def both_of(intended, *phrases):
    every = {variant.phrase: variant for variant in variants(intended)}
    first, second = (every[phrase].rewrite for phrase in phrases)
    return merged(first, second, intended.graph)


@pytest.mark.parametrize("order", [1, -1])
def test_what_is_made_of_a_tensor_is_made_of_what_stands_in_its_place(order):
    intended = chain()
    both = both_of(intended, *["without x in the add sum", "with the add sum divided by √2"][::order])
    (y,) = evaluate(intended, both, [intended.graph.resolve("y")])
    bent = intended.values[intended.graph.resolve("bent")]
    assert agrees(y, [[cell / 2**0.5 for cell in row] for row in bent])


def test_two_that_put_different_tensors_in_one_place_are_at_odds():
    assert both_of(chain(), "without x in the add sum", "without bent in the add sum") is None
