"""Test the tester: a fault planted in a pass, in the interpreter or in the names must be caught by the
law of graphs that guards against it."""

from dataclasses import replace

import graph_laws
import pytest
from op_laws import mapped
from random_graphs import Move, build

import graphattn.core.run
from graphattn import Graph, Trace
from graphattn.core.axes import Spec
from graphattn.core.graph import Ref
from graphattn.core.op import OPS, Kernel
from graphattn.passes.bind import bind
from graphattn.passes.dead_code import dead_code
from graphattn.passes.rebuild import Rebuild
from graphattn.passes.zoom import fuse, zoom


@pytest.fixture
def case():
    """Scores, a softmax, a difference, attention: composites and primitives, some that nothing needs."""
    return build(
        [
            Move("matmul", 0, (None, None), True, False),
            Move("softmax", 0, (2,), True, False),
            Move("subtract", 0, (3, 2), False, True),
            Move("attention", 1, (None, None, None), True, False),
            Move("layernorm", 1, (3, None, None), False, False),
        ]
    )


@pytest.mark.parametrize("law", graph_laws.LAWS, ids=lambda law: law.__name__)
def test_the_graph_without_faults_obeys(case, law):
    assert list(law(case)) == []


def rebuilt(graph, change):
    """The graph with each node as `change` makes it (None leaves it out)."""
    rebuild = Rebuild(graph)
    for node in graph.nodes.values():
        new = change(node)
        if new is not None:
            rebuild.keep(node) if new is node else rebuild.replace(node, new)
    return rebuild.finish()


@pytest.mark.parametrize("place", range(len(graph_laws.CHANGES)))
def test_what_is_kept_beyond_a_change_is_caught(case, monkeypatch, place):
    monkeypatch.setattr(graph_laws, "CHANGES", graph_laws.CHANGES[place : place + 1])
    assert list(graph_laws.changing(case)) == []
    monkeypatch.setattr(Graph, "_changed", lambda graph: graph._names.changed())
    monkeypatch.setattr(Graph, "_insert", kept_after(Graph._insert))
    assert list(graph_laws.changing(case))


def kept_after(insert):
    """A graph to which a node is added, but that keeps what it was asked for before."""

    def wrong(graph, node):
        kept = dict(graph._cache)
        insert(graph, node)
        graph._cache.update(kept)

    return wrong


# ---------------------------------------------------------------- passes


def test_a_zoom_that_swaps_operands_is_caught(case):
    def swapping(graph, level="primitive"):
        def swap(node):
            return replace(node, operands=node.operands[::-1]) if node.op is OPS["subtract"] else node

        return rebuilt(zoom(graph, level), swap)

    assert list(graph_laws.zooming(case, zoom=swapping))


def test_a_zoom_that_loses_outputs_is_caught(case):
    def losing(graph, level="primitive"):
        fine = rebuilt(zoom(graph, level), lambda node: node)
        fine._names.outputs.clear()
        return fine

    assert any("outputs" in told for told in graph_laws.zooming(case, zoom=losing))


def test_a_zoom_that_records_a_wrong_shape_is_caught(case):
    def misshaping(graph, level="primitive"):
        fine = rebuilt(zoom(graph, level), lambda node: node)
        name = next(n for n, node in fine.nodes.items() if n in ("n1", "n1.peak"))
        fine._dag.nodes[name]["node"] = replace(fine.nodes[name], outputs=(Spec((9, 9)),))
        return fine

    assert any("recorded as" in told for told in graph_laws.zooming(case, zoom=misshaping))


def test_a_zoom_that_changes_its_argument_is_caught(case):
    def changing(graph, level="primitive"):
        if "extra" not in graph.nodes:
            graph.constant(1.0, name="extra")
        return zoom(graph, level)

    assert "a pass changed the graph that it was given" in list(graph_laws.zooming(case, zoom=changing))


def test_a_fuse_that_leaves_scopes_is_caught(case):
    told = list(graph_laws.zooming(case, fuse=lambda graph: graph))
    assert any("fuse does not give the graph back" in one for one in told)


def test_a_fuse_that_renames_is_caught(case):
    def renaming(graph):
        back = fuse(graph)
        return back if back is graph else rebuilt(back, lambda n: replace(n, title="fused"))

    assert any("fuse does not give the graph back" in one for one in graph_laws.zooming(case, fuse=renaming))


def test_a_pruning_that_goes_too_far_or_not_far_enough_is_caught(case):
    def too_far(graph):
        return rebuilt(dead_code(graph), lambda node: None if node.name == "x0_1" else node)

    assert list(graph_laws.pruning(case, dead_code=lambda graph: graph))
    with pytest.raises(KeyError):  # something that was left needs what was taken
        list(graph_laws.pruning(case, dead_code=too_far))


def test_a_pass_that_changes_a_value_an_input_or_an_output_is_caught(case):
    def transposing(graph):
        def swap(node):
            return replace(node, operands=node.operands[::-1]) if node.op is OPS["subtract"] else node

        return rebuilt(graph, swap)

    def forgetting(graph):
        result = rebuilt(graph, lambda node: node)
        result._names.outputs.popitem()
        return result

    def adding(graph):
        result = rebuilt(graph, lambda node: node)
        result.input("more", ())
        return result

    def growing(graph):
        result = rebuilt(graph, lambda node: node)
        result.constant(1.0)
        return result

    changed_case = build([Move("subtract", 0, (None, None), True, False)])
    assert list(graph_laws.passing(changed_case, [transposing]))
    for fault, words in ((forgetting, "outputs"), (adding, "inputs"), (growing, "a second time")):
        assert any(words in told for told in graph_laws.passing(case, [fault])), fault.__name__


def test_a_binding_that_changes_a_value_is_caught(case):
    def doubling(graph, values):
        return bind(graph, {name: mapped(lambda v: 2 * v, value) for name, value in values.items()})

    assert list(graph_laws.binding(case, bind=doubling))
    assert list(graph_laws.binding(case, bind=lambda graph, values: graph))


# ---------------------------------------------------------------- runs


def test_targets_that_evaluate_everything_are_caught(case, monkeypatch):
    monkeypatch.setattr(Graph, "ancestors", lambda graph, *names: set(graph.nodes))
    assert any("with targets" in told for told in graph_laws.choosing(case))


def test_a_keep_that_forgets_nothing_is_caught(case, monkeypatch):
    monkeypatch.setattr(graphattn.core.run, "_last_uses", lambda plan, patterns: {})
    assert any("with keep" in told for told in graph_laws.choosing(case))


def test_a_patch_that_changes_something_is_caught(case, monkeypatch):
    read = graphattn.core.run._replacement

    def wrong(plan, place, name, new):
        right = read(plan, place, name, new)
        return lambda old: [row[::-1] for row in right(old)]

    monkeypatch.setattr(graphattn.core.run, "_replacement", wrong)
    assert any("patched" in told for told in graph_laws.patching(case))


def test_a_plan_that_shuffles_its_steps_is_caught(case, monkeypatch):
    walk = graphattn.core.run._walk
    monkeypatch.setattr(graphattn.core.run, "_walk", lambda *args: reversed(list(walk(*args))))
    assert list(graph_laws.repeating(case))


def test_a_restored_trace_that_lacks_something_is_caught(case, monkeypatch):
    restore = Trace.restore.__func__

    def lacking(cls, graph, values, labels=None, *args, **options):
        return restore(cls, graph, dict(list(values.items())[:-1]), labels, *args, **options)

    monkeypatch.setattr(Trace, "restore", classmethod(lacking))
    assert "a restored trace is not equal" in list(graph_laws.restoring(case))


def test_a_kernel_that_keeps_count_is_caught(monkeypatch):
    case = build([Move("relu", 0, (None,), True, False)])
    node, turns = case.graph.nodes["n0"], iter(range(10**6))
    counting = replace(node.op, kernel=lambda numbers, x: Kernel(lambda v: v + next(turns), 0))
    case.graph._dag.nodes["n0"]["node"] = replace(node, op=counting)
    assert "two runs differ" in list(graph_laws.repeating(case))


# ---------------------------------------------------------------- names


def test_names_that_count_all_nodes_are_caught(case, monkeypatch):
    monkeypatch.setattr(Graph, "_new_name", lambda self, op, operands, name: name or f"{op.name}{len(self)}")
    assert any("unrelated" in told for told in graph_laws.naming(case))


def test_a_dag_that_lacks_an_edge_is_caught(case):
    case.graph._dag.remove_edge(*next(iter(case.graph._dag.edges)))
    assert "the DAG does not say what the nodes say" in list(graph_laws.naming(case))


def test_a_name_that_finds_another_tensor_is_caught(case, monkeypatch):
    monkeypatch.setattr(Graph, "resolve", lambda self, name: Ref(next(iter(self.nodes))))
    assert any("finds" in told for told in graph_laws.naming(case))
