"""Edits of single nodes side by side: what they are one after the other, and what is known of their shapes."""

import pytest

from graphattn import GraphError
from graphattn.builtin import specimen
from graphattn.insight.variants import Draft, Intended, variants
from graphattn.insight.variants.edit import Edit, made, side_by_side
from graphattn.insight.variants.evaluation.node_by_node import NodeByNode


@pytest.fixture(scope="module")
def rewrites(three_heads):
    near = [name for name in three_heads.nodes if "head" in name]
    return [variant.rewrite for variant in variants(three_heads, near)]


@pytest.fixture(scope="module")
def three_heads():
    given = specimen("multi-head", n=2, d=3, heads=3, causal=True)
    return Intended(given.graph.at("op"), given.feeds)


def one_after_the_other(intended, edits):
    draft = Draft(intended)
    for edit in edits:
        edit.apply(draft, edit.node)
    return draft.done()


def told(rewrite):
    return rewrite.nodes, rewrite.went, rewrite.open


def test_edits_side_by_side_are_edits_one_after_the_other(three_heads, rewrites):
    several = [rewrite for rewrite in rewrites if len(rewrite.edits) > 1]
    assert len(several) > 1000
    for rewrite in several:
        assert told(rewrite) == told(one_after_the_other(three_heads, rewrite.edits))


def test_an_edit_that_asks_what_another_made_comes_after_it(three_heads):
    """The second step takes what stands for the result of the first, a record of it, or what it reads."""
    nodes, out = three_heads.nodes, three_heads.graph.resolve("head0.out")
    scaled, weights = nodes["head0.scaled"], nodes["head0.weights"]

    def doubled(draft, node):
        ref = type(out)(node.name)
        twice = draft.add("scale", [ref], {"multiply": 2}, near=node, name="twice")
        draft.redirect(ref, twice, apart_from=(twice.node,))

    def as_it_is_now(draft, node):
        draft.operand(node, 0, draft.now(type(out)(scaled.name)))

    def as_it_reads_now(draft, node):
        draft.operand(node, 0, draft.node("head0.masked").operands[0])

    for then in (as_it_is_now, as_it_reads_now):
        edits = [Edit(three_heads, scaled, doubled), Edit(three_heads, weights, then)]
        assert side_by_side(edits) is None
        assert told(made(edits)) == told(one_after_the_other(three_heads, edits))
        assert made(edits).nodes[weights.name].operands[0].node == "head0.scaled_twice"
    again = [Edit(three_heads, weights, as_it_is_now), Edit(three_heads, scaled, doubled)]
    assert told(made(again)) == told(one_after_the_other(three_heads, again))


def test_what_is_said_to_keep_its_shapes_does(three_heads, rewrites):
    kept = [rewrite for rewrite in rewrites if rewrite.keeps]
    assert len(kept) > 1000
    for rewrite in kept[::3]:
        below = NodeByNode(three_heads, rewrite.nodes)
        try:
            below.prepare([name for name in rewrite.nodes if name in three_heads.nodes])
        except GraphError:
            continue
        assert below.reshaped <= rewrite.nodes.keys() - three_heads.nodes.keys()
