"""verify, cost, dead code, bind, common subexpressions, constant folding: what each promises."""

import random
from dataclasses import replace

import graph_laws
import pytest
from every_op import every_op

from graphattn import Graph, GraphError, run
from graphattn.core.graph import Ref, Scope
from graphattn.core.op import find
from graphattn.passes.bind import bind
from graphattn.passes.common_subexpressions import common_subexpressions
from graphattn.passes.constant_folding import constant_folding
from graphattn.passes.cost import cost
from graphattn.passes.dead_code import dead_code
from graphattn.passes.rename import rename
from graphattn.passes.verify import verify


def block(n=4, d=8, heads=2):
    g = Graph("block")
    x = g.input("X", (n, d), ("token", "feature"))
    w = {name: g.parameter(name, (d, d), ("feature", "feature")) for name in ("w_q", "w_k", "w_v", "w_o")}
    g.output(y=g.block(x, heads=heads, causal=True, name="block", **w))
    return g


def feeds(g, seed=1):
    rng = random.Random(seed)
    return {
        name: [[rng.gauss(0, 1) for _ in range(spec.shape[1])] for _ in range(spec.shape[0])]
        for name, spec in g.inputs.items()
    }


# ---------------------------------------------------------------- verify


@pytest.mark.parametrize("level", ["block", "head", "op", "primitive"])
def test_a_built_graph_keeps_every_rule(level):
    report = verify(block().at(level))
    assert report.ok and report.notes == () and str(report) == "graph 'block': 0 problems, 0 notes"
    report.check()


def test_every_broken_rule_is_in_one_report():
    g = Graph("broken")
    x = g.input("x", (2, 3))
    g.exp(x, name="y")
    y = g.node("y")
    g.adopt(replace(y, name="late"))
    g.adopt(replace(y, name="later", operands=(Ref("x"),)))
    g._dag.nodes["late"]["node"] = replace(y, name="late", operands=(Ref("later"),))
    g.adopt(replace(y, name="port", operands=(Ref("x", 3),)))
    g.adopt(replace(y, name="shape", outputs=(replace(y.outputs[0], shape=(9, 9)),)))
    g.adopt(replace(y, name="lost", scope="nowhere"))
    g.adopt_scope(Scope("inside", parent="outside"))
    g._dag.remove_edge("x", "later")
    report = verify(g)
    assert [str(finding) for finding in report.problems] == [
        "late: operand x is 'later', which comes later: the graph has a cycle or is out of order",
        "late: has edges [('x', 0, 0)] in the DAG; its operands say [('later', 0, 0)]",
        "later: has edges [] in the DAG; its operands say [('x', 0, 0)]",
        "port: operand x is output 3 of 'x', which has 1",
        "shape: output 0 is recorded as 9 × 9; exp gives 2 × 3",
        "lost: is in scope 'nowhere', which does not exist",
        "scope inside: is inside 'outside', which does not exist",
    ]
    with pytest.raises(GraphError, match="7 problems, 0 notes"):
        report.check()


def test_the_laws_find_every_pass():
    known = {"dead_code", "common_subexpressions", "constant_folding"}
    assert known <= {found.__name__ for found in graph_laws.PASSES}


def test_nodes_that_are_renamed():
    g = Graph("a")
    x = g.input("x", (2,))
    with g.scope("part"), g.scope("inner"):
        y = g.relu(x, name="y")
    g.adopt_alias("part.inner.also", y.ref)
    g.output(out=g.negate(y, name="z"))
    moved = rename(g, {"part.inner.y": "part.named"}, "part")
    assert list(moved.nodes) == ["x", "part.named", "z"] and list(moved.scopes) == ["part"]
    assert moved.nodes["part.named"].scope == "part" and "part.inner.also" not in moved.aliases
    assert run(moved, {"x": [-1.0, 2.0]}).outputs == run(g, {"x": [-1.0, 2.0]}).outputs
    assert verify(moved).ok and list(g.nodes) == ["x", "part.inner.y", "z"]
    with pytest.raises(GraphError, match="taken"):
        rename(g, {"part.inner.y": "x"}, "part")


def test_passes_that_may_give_up_some_nodes_only():
    g = Graph("a")
    x = g.input("x", (2,))
    g.relu(x, name="one"), g.relu(x, name="two"), g.relu(x, name="three")
    g.output(y=g.negate(g.tensor("one"), name="y"))
    assert "two" in common_subexpressions(g, {"three"}).nodes
    assert "three" not in common_subexpressions(g, {"three"}).nodes
    assert list(dead_code(g, {"two"}).nodes) == ["x", "one", "three", "y"]


def test_an_operand_that_does_not_exist():
    g = Graph("hole")
    g.input("x", (2,))
    node = g.infer(find("exp"), (Ref("x"),), {}, "y")
    g.adopt(node)
    g._dag.nodes["y"]["node"] = replace(node, operands=(Ref("ghost"),))
    assert "y: operand x is 'ghost', which does not exist" in map(str, verify(g).problems)


def test_what_may_be_meant_is_a_note():
    g = Graph("notes")
    a = g.input("a", (2, 2), ("token", "feature"))
    b = g.input("b", (2, 2), ("token", "head"))
    g.input("idle", (1,))
    g.exp(a, name="aside")
    g.output(y=g.add(a, b, name="sum"))
    report = verify(g)
    assert report.ok
    assert [str(note) for note in report.notes] == [
        "sum: axis 'feature' meets axis 'head'",
        "idle: must be fed but nothing uses it",
        "aside: is not needed by any output",
    ]


# ---------------------------------------------------------------- cost


def test_flops_of_a_block_by_hand():
    n, d, h = 4, 8, 2
    g = block(n, d, h)
    found = cost(g.at("op"))
    assert found["block.attention.q"].flops == 2 * n * d * d
    assert found["block.attention.head1.scores"].flops == 2 * n * n * (d // h)
    assert found["block.attention.head0.scaled"].flops == n * n
    assert found["block.attention.head0.masked"].flops == 0
    assert found["block.attention.head0.weights"].bytes == 2 * 8 * n * n
    assert found["block.attention.head0.masked"].bytes == 2 * 8 * n * n + n * n
    assert found.flops == sum(node.flops for node in found) and found.bytes == sum(n.bytes for n in found)
    assert next(iter(found.by_op())) == "linear" and found.by_op()["linear"][0] == 4 * 2 * n * d * d
    with pytest.raises(KeyError):
        found["ghost"]


def test_a_composite_costs_what_its_parts_do():
    g = block()
    assert cost(g).flops == cost(g.at("head")).flops == cost(g.at("op")).flops


@pytest.mark.parametrize("op", every_op(lambda op: op.cost and op.expand))
def test_the_rule_of_an_op_is_near_the_sum_of_its_primitives(op):
    for sample in op.samples:
        g = Graph("sample")
        if not sample.operands:  # known before a run: it costs nothing
            continue
        operands = [None if o is None else g.constant(o) for o in sample.operands]
        try:
            g.apply(op, *operands, **sample.attributes, name="y")
        except GraphError:  # a sample whose operands no constant can be
            continue
        whole = next(node.flops for node in cost(g) if node.name == "y")
        parts = cost(g.at("primitive")).flops
        assert whole <= 3 * parts + 12 and parts <= 3 * whole + 60


def test_cost_grows_as_the_sizes_say():
    small, large = (cost(block(n, 8).at("op")) for n in (8, 16))
    assert large["block.attention.head0.scores"].flops == 4 * small["block.attention.head0.scores"].flops
    assert large["block.attention.q"].flops == 2 * small["block.attention.q"].flops


def test_the_table_ends_in_the_total():
    g = Graph("tiny")
    g.output(y=g.add(g.input("a", (2, 3), ("token", "feature")), 1, name="y"))
    assert str(cost(g)) == (
        "node   op   shape                flops  bytes\n"
        "y      add  token 2 × feature 3      6    104\n"
        "total                                6    104\n"
    )


# ---------------------------------------------------------------- dead code


def test_dead_code_goes_and_the_rest_stays():
    g = block()
    g.exp(g.tensor("X"), name="unused")
    pruned = dead_code(g)
    assert "unused" not in pruned.nodes and len(pruned) == len(g) - 1
    assert pruned.notes == ("dead_code: removed 1 of 7 nodes: unused",)
    assert run(pruned, feeds(g)).outputs == run(g, feeds(g)).outputs
    assert dead_code(pruned) is pruned


def test_dead_code_without_outputs_keeps_all():
    g = Graph("open")
    g.exp(g.input("x", (1,)))
    assert dead_code(g) is g


def test_a_scope_that_lost_a_node_is_a_group():
    g = block().at("op")
    assert dead_code(g) is g  # nothing in a block is dead
    h = Graph("half")
    x = h.input("x", (2, 2))
    _, weights = h.attention(x, x, x, name="head")
    h.output(weights=weights)
    pruned = dead_code(h.at("op"))
    assert "head.out" not in pruned.nodes and pruned.scopes["head"].op is None
    assert verify(pruned).ok


# ---------------------------------------------------------------- bind


def test_bound_weights_are_part_of_the_graph():
    g = block()
    given = feeds(g)
    weights = {name: value for name, value in given.items() if name != "X"}
    bound = bind(g, weights)
    assert list(bound.inputs) == ["X"] and bound.notes == ("bind: w_q, w_k, w_v, w_o became constant",)
    assert run(bound, {"X": given["X"]}).outputs == run(g, given).outputs
    assert bound.node("w_q").outputs == g.node("w_q").outputs
    assert verify(bound).ok


def test_bind_names_what_is_wrong():
    g = block()
    with pytest.raises(GraphError, match="graph 'block' has no input 'w_p'; did you mean 'w_"):
        bind(g, {"w_p": [[1.0]]})
    with pytest.raises(GraphError, match=r"w_q has 1 rows; expected 8 \(w_q is feature 8 × feature 8\)"):
        bind(g, {"w_q": [[1.0]]})


# ---------------------------------------------------------------- common subexpressions, constant folding


@pytest.mark.parametrize("level", ["op", "primitive"])
@pytest.mark.parametrize("rewrite", [common_subexpressions, constant_folding])
def test_a_rewritten_block_gives_the_same(rewrite, level):
    g = block().at(level)
    given = feeds(g)
    once = rewrite(g)
    assert run(once, given, level=level).outputs == run(g, given, level=level).outputs
    assert run(once, given, level=level)["head1.weights"] == run(g, given, level=level)["head1.weights"]
    assert rewrite(once) is once and verify(once).ok


def test_equal_nodes_are_computed_once():
    g = Graph("twice")
    x = g.input("x", (2, 2))
    a, b = g.exp(x, name="a"), g.exp(x, name="b")
    c, d = g.scale(a, sqrt=2, name="c"), g.scale(b, sqrt=2.0, name="d")
    g.output(y=g.add(c, d, name="y"), b=b)
    merged = common_subexpressions(g)
    assert list(merged.nodes) == ["x", "a", "c", "d", "y"]  # √2 and √2.0 are not the same text
    assert merged.notes == ("common_subexpressions: merged 1: b is a",)
    trace = run(merged, {"x": [[0.5, 1.0], [2.0, -1.0]]})
    assert trace["b"] == trace["a"] and trace.outputs["b"] == trace["a"]


def test_inputs_are_never_merged():
    g = Graph("inputs")
    g.output(y=g.add(g.input("a", (1,)), g.input("b", (1,))))
    assert common_subexpressions(g) is g


def test_minus_zero_and_zero_are_not_merged():
    g = Graph("zeros")
    g.output(y=g.divide(1, g.constant(0.0, name="plus")), z=g.divide(1, g.constant(-0.0, name="minus")))
    merged = run(common_subexpressions(g))
    assert (merged["y"], merged["z"]) == (float("inf"), float("-inf"))


def test_what_no_feed_reaches_is_computed_beforehand():
    g = Graph("known")
    x = g.input("x", (2, 2))
    root = g.sqrt(g.constant(8, name="eight"), name="root")
    parts = g.split(g.constant([[1.0, 2.0, 3.0, 4.0]], name="row"), 2, name="halves")
    g.output(y=g.add(g.divide(x, root, name="scaled"), parts[1], name="y"), first=parts[0])
    folded = constant_folding(g)
    assert [node.op.name for node in folded.nodes.values()] == ["input", *["constant"] * 5, "divide", "add"]
    assert folded.notes == ("constant_folding: computed 2: root, halves",)
    given = {"x": [[1.0, 2.0], [3.0, 4.0]]}
    assert run(folded, given).outputs == run(g, given).outputs
    assert run(folded, given)["halves.part1"] == [[3.0, 4.0]]
