"""zoom and fuse: the same graph at four magnifications, and back."""

from dataclasses import replace

import pytest

from graphattn import Graph, GraphError, run
from graphattn.core.graph import Ref
from graphattn.core.op import LEVELS, OPS
from graphattn.passes.rebuild import Rebuild
from graphattn.passes.verify import verify
from graphattn.passes.zoom import fuse, zoom

X = [[0.5, -1.0, 2.0, 0.25], [1.5, 1.0, -3.0, 0.75], [-0.5, 0.1, 0.4, -1.0]]


def block():
    g = Graph("g", "a block")
    x = g.input("x", (3, 4), ("token", "feature"))
    g.output(y=g.block(x, heads=2, causal=True, name="block", title="the block"))
    return g


def changed(graph, change):
    """The graph with each node as `change` makes it."""
    rebuild = Rebuild(graph)
    for node in graph.nodes.values():
        new = change(node)
        rebuild.keep(node) if new is node else rebuild.replace(node, new)
    return rebuild.finish()


# ---------------------------------------------------------------- zoom


def test_the_levels_of_a_block():
    g = block()
    assert zoom(g, "block") is g
    assert [node.op.name for node in zoom(g, "head").nodes.values()] == [
        "input", "layernorm", "split", "split", "split", "attention", "attention", "concat", "add"
    ]  # fmt: skip
    names = [node.op.name for node in zoom(g, "op").nodes.values()]
    assert names.count("softmax") == 2 and "attention" not in names and "exp" not in names
    names = {node.op.name for node in zoom(g, "primitive").nodes.values()}
    assert {"exp", "reduce_sum", "divide", "reduce_max", "sqrt", "where"} <= names
    assert not {"softmax", "layernorm", "mask", "scale", "reduce_mean"} & names


def test_a_scope_records_the_composite():
    fine = zoom(block(), "op")
    assert list(fine.scopes) == ["block", "block.attention", "block.attention.head0", "block.attention.head1"]
    scope = fine.scopes["block"]
    assert (scope.op, scope.title, scope.parent) == (OPS["block"], "the block", None)
    assert scope.operands == (Ref("x"),)
    assert scope.outputs == (Ref("block.residual"),)
    assert scope.attributes["heads"] == 2
    head = fine.scopes["block.attention.head1"]
    assert head.ports == ("out", "weights")
    assert head.outputs == (Ref("block.attention.head1.out"), Ref("block.attention.head1.weights"))
    assert head.operands == tuple(Ref(f"block.attention.{p}_heads", 1) for p in "qkv")
    assert fine.nodes["block.attention.head1.weights"].scope == "block.attention.head1"


def test_names_of_a_composite_live_on():
    fine = zoom(block(), "op")
    assert fine.resolve("block") == Ref("block.residual") == fine.resolve("y")
    assert fine.resolve("block.attention") == Ref("block.attention.concat")
    assert zoom(fine, "primitive").resolve("block.norm") == Ref("block.norm.normalized")
    assert list(fine.outputs) == ["y"] and fine.outputs["y"].name == "block.residual"


def test_zooming_by_steps_is_zooming_at_once():
    g = block()
    assert zoom(zoom(zoom(g, "head"), "op"), "primitive") == zoom(g)
    assert zoom(zoom(g), "head") == zoom(g)


def test_the_graph_itself_is_not_changed():
    g, twin = block(), block()
    zoom(g)
    assert g == twin


def test_zoom_keeps_every_value():
    g = block()
    traces = [run(zoom(g, level), {"x": X}, level="block") for level in LEVELS]
    assert all(trace["y"] == traces[0]["y"] for trace in traces)
    assert traces[2]["head1.weights"] == traces[3]["head1.weights"] == traces[1]["head1.weights"]


def test_a_part_that_the_user_named_keeps_its_place():
    g = Graph("g")
    x = g.input("x", (3, 4))
    with g.scope("encoder", title="encoder"):
        y = g.softmax(x, name="weights")
    g.output(y=y)
    fine = zoom(g)
    assert [(s.name, s.parent) for s in fine.scopes.values()] == [
        ("encoder", None), ("encoder.weights", "encoder")
    ]  # fmt: skip
    assert fuse(fine) == g
    assert fine.scopes["encoder"].op is None


def test_unknown_levels():
    for function in (zoom, fuse):
        with pytest.raises(GraphError) as caught:
            function(block(), "heads")
        assert str(caught.value) == (
            "unknown level 'heads'; expected one of block, head, op, primitive; did you mean 'head'?"
        )


# ---------------------------------------------------------------- fuse


@pytest.mark.parametrize("level", LEVELS)
def test_fuse_is_the_way_back(level):
    g = block()
    assert fuse(zoom(g, level)) == g
    assert fuse(zoom(g), level) == zoom(g, level)
    assert fuse(zoom(g, level)).notes == ()


def test_what_was_changed_inside_stays_and_it_is_said_why():
    def rescale(node):
        if node.name != "block.attention.head0.scaled":
            return node
        return replace(node, attributes={**node.attributes, "sqrt": 3})

    fine = changed(zoom(block(), "op"), rescale)
    back = fuse(fine)
    assert back.notes == (
        "fuse: block stays expanded: block.attention inside it stays",
        "fuse: block.attention stays expanded: block.attention.head0 inside it stays",
        "fuse: block.attention.head0 stays expanded: its content is not what attention expands to",
    )
    assert "block.attention.head1" in back.nodes and "block.attention.head0.scaled" in back.nodes
    assert run(back, {"x": X})["y"] == run(fine, {"x": X})["y"] != run(block(), {"x": X})["y"]
    assert verify(back).ok


def test_what_is_used_outside_stays():
    fine = zoom(block(), "op")
    fine.relu(fine.tensor("head1.scores"), name="extra")
    back = fuse(fine)
    assert back.notes[-1] == (
        "fuse: block.attention.head1 stays expanded: block.attention.head1.scores is used outside"
    )
    assert run(back, {"x": X})["extra"] == run(fine, {"x": X})["extra"]


def test_an_output_of_a_composite_may_be_used_outside():
    """The weights are an output of attention, so a head with them as a result collapses; the block,
    which has no such output, does not."""
    fine = zoom(block(), "op")
    fine.output(weights=fine.tensor("head1.weights"))
    back = fuse(fine)
    assert "block.attention.head1" in back.nodes
    assert back.outputs["weights"].name == "block.attention.head1.weights"
    assert back.notes[-1] == (
        "fuse: block.attention stays expanded: block.attention.head1.weights is used outside"
    )


def test_a_node_that_stands_between_keeps_a_scope_open():
    fine = zoom(block(), "op")
    rebuild = Rebuild(fine)
    for node in fine.nodes.values():
        rebuild.keep(node)
        if node.name == "block.attention.head0.scores":
            rebuild.graph.constant(1.0, name="between")
    back = fuse(rebuild.finish())
    assert "fuse: block.attention.head0 stays expanded: its nodes do not stand together" in back.notes
    assert verify(back).ok
    assert run(back, {"x": X})["y"] == run(block(), {"x": X})["y"]


def test_a_title_that_was_changed_stays():
    fine = changed(zoom(block(), "op"), lambda n: replace(n, title="mine") if n.name == "block.norm" else n)
    assert fuse(fine).nodes["block.norm"].title == "mine"


def test_fusing_again_changes_nothing_and_says_nothing_twice():
    fine = zoom(block(), "op")
    fine.relu(fine.tensor("head1.scores"))
    once = fuse(fine)
    twice = fuse(once)
    assert twice == once and twice.notes == once.notes
    assert len(set(once.notes)) == len(once.notes)


def test_what_was_fused_can_be_zoomed_again():
    g = block()
    assert zoom(fuse(zoom(g))) == zoom(g)
