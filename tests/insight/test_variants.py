"""Variants: what is evaluated below a change is what the variant's own graph computes, cell by cell."""

from collections import Counter
from functools import partial

import mistaken
import pytest

from graphattn import Graph, GraphError, run
from graphattn.builtin import specimen
from graphattn.core import nested
from graphattn.insight.variants import Intended, evaluate, explanations, merged, variants
from graphattn.insight.variants.evaluation import sifted
from graphattn.insight.variants.evaluation.node_by_node import NodeByNode
from graphattn.insight.variants.evaluation.sieve import Sieve
from graphattn.insight.variants.variant import the


def same(a, b):
    return repr(a) == repr(b)


def agrees(a, b):
    if nested.shape_of(a) != nested.shape_of(b):
        return False
    pairs = zip(nested.flat(a), nested.flat(b), strict=True)
    return all(x == y or abs(x - y) <= 1e-9 * max(1.0, abs(y)) for x, y in pairs)


@pytest.fixture(scope="module")
def multi_head():
    given = specimen("multi-head", n=3, d=4, causal=True)
    return Intended(given.graph.at("op"), given.feeds), given.feeds


@pytest.mark.slow
def test_a_variant_is_a_graph_that_computes_what_was_evaluated(multi_head):
    intended, feeds = multi_head
    out, kinds, refused = intended.graph.resolve("Y"), set(), 0
    for variant in list(variants(intended))[::7]:
        try:
            (value,) = evaluate(intended, variant.rewrite, [out])
        except GraphError:
            refused += 1
            with pytest.raises(GraphError):
                run(variant.rewrite.graph(intended.graph), feeds)
            continue
        graph = variant.rewrite.graph(intended.graph)
        assert same(run(graph, feeds)["Y"], value), variant.phrase
        kinds.add(variant.kind)
    assert len(kinds) > 9 and refused > 3


def test_one_row_is_that_row_of_the_whole(multi_head):
    intended, _ = multi_head
    out, seen = intended.graph.resolve("Y"), 0
    for variant in list(variants(intended))[3::11]:
        try:
            (whole,) = evaluate(intended, variant.rewrite, [out])
        except GraphError:
            continue
        if nested.shape_of(whole) == (3, 4):
            (row,) = evaluate(intended, variant.rewrite, [out], row=1)
            assert same(row, [whole[1]]), variant.phrase
            seen += 1
    assert seen > 50


def computed(function):
    try:
        return repr(function())
    except GraphError:
        return "no graph"


@pytest.mark.parametrize("level", ["op", "primitive"])
def test_what_is_planned_gives_the_bits_of_node_by_node(multi_head, level):
    """Whatever is planned once: what lies between changed nodes, whole composites, single rows."""
    intended, feeds = multi_head
    op = intended.graph
    intended = Intended(op.at(level), feeds, coarse=op)
    assert bool(intended.wholes) == (level == "primitive")
    out = intended.graph.resolve("Y")
    for variant in list(variants(intended))[5::29]:
        rewrite, ref = variant.rewrite, variant.rewrite.now(out)
        for row in (None, 1):
            planned = computed(partial(evaluate, intended, rewrite, [out], row))
            known = computed(partial(NodeByNode(intended, rewrite.nodes).values, [ref], row))
            assert planned == known, variant.phrase


@pytest.mark.slow
@pytest.mark.parametrize("linear", [True, False])
def test_what_a_sieve_refuses_is_not_what_was_observed(multi_head, linear):
    """Of a change within one head it refuses all within the other, and of all others those that are off where
    the first head is known; and, what is linear or not, what is not it the second time."""
    intended, _ = multi_head
    out, own = intended.graph.resolve("Y"), intended.values[intended.graph.resolve("Y")][1]
    every = list(variants(intended, rest=True))
    wrong = next(v for v in every if v.nodes == ("head0.weights",) and "axis" in v.phrase)
    ((theirs,),) = evaluate(intended, wrong.rewrite, [out], 1)
    difference = [y - x for x, y in zip(own, theirs, strict=True)] if linear else None
    sieve = Sieve(intended, 1, False, difference, 1e-9)

    def near(row):
        return len(row) == 4 and all(abs(x - y) <= 1e-9 for x, y in zip(row, theirs, strict=True))

    def is_it(variant):
        try:
            value = sifted(intended, variant.rewrite, out, 1, sieve)
        except GraphError:
            return "no graph"
        if value is None:
            return "refused"
        if near(value[0]):
            return "it"
        sieve.refuse()
        return "not it"

    told = {variant: is_it(variant) for variant in every}
    assert told[wrong] == "it" and is_it(wrong) == "it"
    for variant in (variant for variant, what in told.items() if what == "refused"):
        try:
            ((row,),) = evaluate(intended, variant.rewrite, [out], 1)
        except GraphError:
            continue
        assert not near(row), variant.phrase
    within = [v for v in every if "Y" not in v.rewrite.nodes and v.rewrite.now(out) == out]
    if linear:
        kinds = Counter(told[variant] for variant in within)
        assert (
            kinds["refused"] > 999 and kinds["it"] and kinds["not it"] < kinds["refused"] / 20
        )  # of those that change shapes all is computed
        beside = Counter(told[v] for v in within if all(name.startswith("head1.") for name in v.rewrite.nodes))
        assert beside["refused"] > 9 and not beside["it"]
        assert beside["not it"] < beside["refused"] / 50
    else:
        again = [is_it(variant) for variant, what in told.items() if what == "not it"]
        assert again.count("refused") > 0.8 * len(again) > 9  # all but those that change the result itself


def test_a_role_is_changed_as_one(multi_head):
    intended, _ = multi_head
    scales = [v for v in variants(intended) if v.kind == "skip" and "scale" in v.phrase]
    assert [v.nodes for v in scales] == [("head0.scaled", "head1.scaled"), ("head0.scaled",), ("head1.scaled",)]
    assert scales[0].price < scales[1].price
    assert scales[0].phrase == "without the scale head*.scaled (÷ √2)"
    squared = next(v for v in variants(intended) if "squared" in v.phrase and v.nodes == scales[0].nodes)
    assert squared.phrase == "with the scale head*.scaled (÷ √2) squared"


def test_a_step_is_called_as_people_call_it():
    given = specimen("multi-head", n=3, d=4, causal=True)
    intended = Intended(given.graph.at("op"), given.feeds)
    assert the(intended, ("head0.visible", "head1.visible")) == "the mask head*.visible (causal)"
    g = Graph("whole")
    x = g.input("x", (3, 4))
    g.output(y=g.multi_head(x, x, x, heads=2, causal=True, name="attention"))
    coarse = Intended(g, {name: nested.full(spec.shape, 1.0) for name, spec in g.fed.items()})
    assert the(coarse, ("attention",)) == "the multi-head attention attention (h=2, causal)"
    g = Graph("names")
    g.output(y=g.add(g.input("x", (3, 4)), g.positional_encoding(3, 4, name="positions")))
    assert the(Intended(g, {"x": nested.full((3, 4), 1.0)}), ("positions",)) == "the positions"
    fine = Intended(g.at("primitive"), {"x": nested.full((3, 4), 1.0)})
    assert the(fine, ("positions.exponents",)) == "the multiply exponents of the positions positions"


def test_a_node_may_read_what_comes_later_but_not_itself():
    g = Graph("late")
    x = g.input("x", (2, 2))
    first = g.relu(x, name="first")
    second = g.tanh(x, name="second")
    g.output(y=g.add(first, second, name="y"))
    intended = Intended(g, {"x": [[1.0, -2.0], [0.5, 3.0]]})
    phrases = [v.phrase for v in variants(intended, ["first"])]
    assert "with second instead of x as x of the relu first" in phrases
    assert not any("with y instead" in phrase for phrase in phrases)


def test_two_changes_are_one_where_they_are_not_at_odds(multi_head):
    intended, feeds = multi_head
    skipped = {v.name: v for v in variants(intended) if v.kind == "skip"}
    a, b = skipped["skip head*.scaled"], skipped["skip v"]
    both = merged(a.rewrite, b.rewrite, intended.graph)
    (value,) = evaluate(intended, both, [intended.graph.resolve("Y")])
    assert same(run(both.graph(intended.graph), feeds)["Y"], value)


@pytest.mark.parametrize("identity, node, words", [
    ("S1", "head0.scaled", "without the scale"),
    ("P2", "q", "with w_q transposed"),
    ("L11", "norm", "without the subtract"),
    ("L4", "norm", "with norm.eps added after norm.root instead"),
    ("X1", "head0.weights", "axis=-2"),
    ("P3", "v", "without b (b_v)"),
    ("H5", "concat", "exchanged"),
])  # fmt: skip
def test_one_step_is_explained(identity, node, words):
    graph, feeds = mistaken.build(), mistaken.feeds()
    right, wrong = run(graph, feeds), run(mistaken.build("plain", identity), feeds)
    names = [None if ref is None else graph.tensor_name(ref) for ref in graph.node(node).operands]
    operands = [None if name is None else wrong[name] if name in wrong else right[name] for name in names]
    found = explanations(graph, node, operands, wrong[node], agrees, budget=60)
    assert words in found[0].phrase
    assert explanations(graph, node, operands, right[node], agrees) == []


def test_what_is_done_to_one_node_is_done_once(multi_head):
    intended, _ = multi_head
    phrases = Counter(v.phrase for v in variants(intended) if v.kind == "operand" and len(v.nodes) == 1)
    assert len(phrases) > 100 and max(phrases.values()) == 1


def test_a_number_that_a_composite_does_not_use_is_left_alone():
    def told(**more):
        g = Graph("whole")
        x = g.input("x", (3, 4))
        given = {name: g.parameter(name, (2,)) for name in more.get("norms", ())}
        g.output(y=g.multi_head(x, x, x, heads=2, **given, name="attention"))
        feeds = {name: nested.full(spec.shape, 1.0) for name, spec in g.fed.items()}
        return [v.phrase for v in variants(Intended(g, feeds)) if "eps_qk" in v.phrase]

    assert not told()
    assert len(told(norms=("gamma_q", "gamma_k"))) > 9
