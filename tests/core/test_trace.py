"""Runs and traces: steps, look-up, targets, keep, patch, listeners, labels, warnings, restore, equality."""

import math

import pytest

import graphattn.core.interpreter
from graphattn import Graph, GraphError, Trace, run, steps
from graphattn.core.graph import Ref

inf, nan = math.inf, math.nan
X = [[0.5, -1.0, 2.0, 0.25], [1.5, 1.0, -3.0, 0.75], [-0.5, 0.1, 0.4, -1.0]]


def says(words, function, *args, **kwargs):
    with pytest.raises(GraphError) as caught:
        function(*args, **kwargs)
    assert str(caught.value) == words


@pytest.fixture
def g():
    g = Graph("g")
    x = g.input("x", (3, 4), ("token", "feature"))
    out, weights = g.attention(x, x, x, causal=True, name="head")
    g.output(out=out, weights=weights)
    return g


@pytest.fixture
def trace(g):
    return run(g, {"x": X}, labels={"token": ["the", "cat", "sat"]})


NAMES = [
    "x", "head.keys", "head.scores", "head.scaled", "head.visible", "head.masked", "head.weights", "head.out"
]  # fmt: skip


# ---------------------------------------------------------------- steps and look-up


def test_every_step_in_order(trace):
    assert [step.name for step in trace.steps] == NAMES == trace.names == list(trace)
    assert len(trace) == 8
    step = trace.steps[2]
    assert (step.name, step.op.name, step.operands) == ("head.scores", "matmul", ("x", "head.keys"))
    assert dict(step.attributes) == {"absorb_zeros": False}
    assert (step.shape, step.axes, step.names) == ((3, 3), ("token", "token"), ("head.scores",))
    assert step.value is step.outputs[0] is trace["head.scores"]
    assert step.node is trace.graph.nodes["head.scores"]
    assert repr(step) == "<step head.scores = matmul(x, head.keys)>"
    assert repr(trace) == "<trace of 'g': 8 steps, 8 tensors>"


def test_tensors_by_name_alias_output_ending_and_handle(g, trace):
    for name in ("head.weights", "weights", g.outputs["weights"], "head.weights"):
        assert trace[name] is trace["head.weights"]
    assert trace["scaled"] is trace["head.scaled"]
    assert "scaled" in trace and "scored" not in trace and None not in trace and 3 not in trace
    assert trace.outputs == {"out": trace["head.out"], "weights": trace["head.weights"]}
    assert trace.spec("out").axes == ("token", "feature")
    says("graph 'g' has no tensor 'scoers'; did you mean 'scores'?", lambda: trace["scoers"])


def test_a_step_by_node_or_by_tensor(g):
    trace = run(g, {"x": X}, level="block")
    assert trace.step("head").names == ("head.out", "head.weights")
    assert trace.step("out").name == "head"
    says("graph 'g' has no tensor 'z'", trace.step, "z")
    part = run(g, {"x": X}, targets=["head.scores"])
    says("this trace has no step 'head.out'; expected a node that was evaluated", part.step, "head.out")


def test_several_outputs():
    g = Graph()
    g.split(g.input("x", (1, 3)), (1, 2), name="parts")
    trace = run(g, {"x": [[1, 2, 3]]})
    assert trace.names == ["x", "parts.part0", "parts.part1"]
    assert trace["parts.part1"] == [[2.0, 3.0]]
    assert trace.step("parts").outputs == ([[1.0]], [[2.0, 3.0]])
    says("node 'parts' has several outputs; expected one of parts.part0, parts.part1", lambda: trace["parts"])


def test_the_dag_with_values(trace):
    dag = trace.dag
    assert list(dag) == NAMES
    assert dag.nodes["head.scores"]["value"] is trace["head.scores"]
    assert dag.nodes["head.scores"]["step"].name == "head.scores"
    assert dag.nodes["head.scores"]["outputs"] == (trace["head.scores"],)


def test_seconds_are_told_for_what_ran(g, trace):
    assert trace.step("x").seconds == 0.0 == trace.step("head.visible").seconds
    assert all(step.seconds >= 0 for step in trace.steps)
    assert sum(step.seconds for step in trace.steps) > 0
    walked = [step.seconds for step in steps(g, {"x": X})]
    assert len(walked) == 8 and sum(walked) > 0


# ---------------------------------------------------------------- targets and keep


def test_targets_evaluate_only_what_they_need(g):
    part = run(g, {"x": X}, targets=["scaled"])
    assert part.names == ["x", "head.keys", "head.scores", "head.scaled"]
    says(
        "tensor 'weights' was not evaluated in this run;"
        " expected one of x, head.keys, head.scores, head.scaled",
        lambda: part["weights"],
    )  # fmt: skip
    assert part.outputs == {}
    assert run(g, {"x": X}, targets=[]).names == []


def test_keep_records_only_what_is_asked(g, trace):
    kept = run(g, {"x": X}, keep=["*.weights", "x"])
    assert kept.names == ["x", "head.weights"]
    assert kept["weights"] == trace["weights"]
    assert len(kept.steps) == 8
    assert kept.step("head.scores").value is None
    says(
        "tensor 'head.scores' was not kept in this run; expected one of x, head.weights",
        lambda: kept["head.scores"],
    )
    assert run(g, {"x": X}, keep=["out"]).names == ["head.out"]
    assert run(g, {"x": X}, keep=[]).names == []
    fine = run(g, {"x": X}, keep=["weights.*"], level="primitive")  # an ending of head.weights.peak, …
    assert fine.names and all(name.startswith("head.weights.") for name in fine.names)
    assert fine.stats("weights.*").data() == fine.stats("head.weights.*").data()
    assert run(g, {"x": X}, keep=["*"]) == run(g, {"x": X})
    assert kept.masked("weights") == trace.masked("weights")


def test_keep_bounds_what_is_held():
    """Along a chain, at most the operand and the result are held at any time."""
    g = Graph()
    y = g.input("x", (1,))
    for _ in range(20):
        y = g.relu(y)
    held = []
    run(
        g,
        {"x": [1]},
        keep=[],
        listeners=[lambda s: held.append(sum(v is not None for v in s.trace.recording.values))],
    )
    assert max(held) <= 3


# ---------------------------------------------------------------- steps() and listeners


def test_one_step_at_a_time(g, trace):
    walk = steps(g, {"x": X})
    first = next(walk)
    assert (first.name, first.value, first.trace.names) == ("x", X, ["x"])
    rest = list(walk)
    assert [step.name for step in rest] == NAMES[1:]
    assert rest[-1].trace["out"] == trace["out"]


def test_listeners_see_each_step_as_it_happens(g):
    seen = []
    run(g, {"x": X}, listeners=[lambda s: seen.append((s.name, len(s.trace))), lambda s: seen.append(s.name)])
    assert seen[:4] == [("x", 1), "x", ("head.keys", 2), "head.keys"]
    assert len(seen) == 16


def test_what_a_listener_raises_is_its_own():
    class Stop(Exception):
        pass

    def stop(step):
        if step.name == "b":
            raise Stop

    g = Graph()
    g.relu(g.relu(g.input("a", ()), name="b"), name="c")
    with pytest.raises(Stop):
        run(g, {"a": 1}, listeners=[stop])


# ---------------------------------------------------------------- patch


def test_patch_by_a_tensor_and_by_a_function(g, trace):
    ones = [[1.0, 0.0, 0.0]] * 3
    patched = run(g, {"x": X}, patch={"weights": ones})
    assert patched["out"] == [X[0]] * 3
    assert patched.patched == ["head.weights"]
    assert patched.step("head.weights").patched and not patched.step("head.out").patched
    assert patched["head.masked"] == trace["head.masked"]
    doubled = run(g, {"x": X}, patch={"head.scaled": lambda v: [[2 * c for c in row] for row in v]})
    assert doubled["head.scaled"] == [[2 * c for c in row] for row in trace["head.scaled"]]
    assert run(g, {"x": X}) == run(g, {"x": X})
    assert patched != trace


def test_patch_inputs_constants_and_one_of_several_outputs():
    g = Graph()
    x, c = g.input("x", (1, 2)), g.constant([[1.0, 0.0], [0.0, 1.0]], name="c")
    a, b = g.split(x @ c, 2, name="parts")
    g.output(y=a + b, z=x @ c.T)
    five = [[5, 0], [0, 5]]
    assert run(g, {"x": [[1, 2]]}, patch={"x": lambda v: [[v[0][0], 7]]})["y"] == [[8.0]]
    assert run(g, {"x": [[1, 2]]}, patch={"c": five}).outputs == {"y": [[15.0]], "z": [[5.0, 10.0]]}
    assert run(g, {"x": [[1, 2]]}, patch={"c": lambda v: [[3 * c for c in r] for r in v]})["y"] == [[9.0]]
    assert run(g, {"x": [[1, 2]]}, patch={"parts.part1": [[100]]})["y"] == [[101.0]]
    assert run(g, {"x": [[1, 2]]}).outputs == {"y": [[3.0]], "z": [[1.0, 2.0]]}


def test_a_patch_function_gets_its_own_copy(g, trace):
    def clear(value):
        for row in value:
            row[:] = [0.0] * len(row)
        return value

    patched = run(g, {"x": X}, patch={"head.scaled": clear})
    assert patched["head.scaled"] == [[0.0] * 3] * 3
    assert run(g, {"x": X}) == run(g, {"x": X})


def test_patches_may_bring_infinities(g):
    patched = run(g, {"x": X}, patch={"head.scaled": [[nan, inf, -inf]] * 3})
    assert repr(patched["head.scaled"][0]) == "[nan, inf, -inf]"


# ---------------------------------------------------------------- labels


def test_labels_apply_where_their_number_fits(trace):
    assert trace.labels == {"token": ("the", "cat", "sat")}
    assert trace.labels_of(trace.spec("weights")) == [("the", "cat", "sat")] * 2
    assert trace.labels_of(trace.spec("x")) == [("the", "cat", "sat"), None]
    g = Graph("two")
    g.input("long", (3,), ("token",)), g.input("short", (2,), ("token",))
    both = run(g, {"long": [1, 2, 3], "short": [1, 2]}, labels={"token": ["a", "b"]})
    assert both.labels_of(both.spec("long")) == [None]
    assert both.labels_of(both.spec("short")) == [("a", "b")]


@pytest.mark.parametrize(
    "labels, words",
    [
        (
            {"tokens": ["a", "b", "c"]},
            "labels are given for axis 'tokens', which no tensor has; expected token, feature;"
            " did you mean 'token'?",
        ),
        ({"token": ["a", "b"]}, "axis 'token' has 2 labels; expected 3"),
        ({"token": ["a", "b", "c"], "feature": []}, "axis 'feature' has 0 labels; expected 4"),
    ],
)
def test_labels_that_match_nothing_are_refused(g, labels, words):
    says(words, run, g, {"x": X}, labels=labels)
    with pytest.raises(GraphError, match=words[:20]):
        next(steps(g, {"x": X}, labels=labels))


def test_labels_are_any_text(g):
    odd = ['<b>"', "a\nb\u2028c", "主의"]
    assert run(g, {"x": X}, labels={"token": odd}).labels["token"] == tuple(odd)
    assert run(g, {"x": X}, labels={"token": (t for t in odd)}).labels["token"] == tuple(odd)


# ---------------------------------------------------------------- warnings


def warnings_of(build, feeds, **options):
    g = Graph()
    build(g)
    return run(g, feeds, **options).warnings


def test_what_becomes_infinite_is_told():
    told = warnings_of(lambda g: g.exp(g.input("x", (2, 2)), name="y"), {"x": [[1000, 0], [1, 2000]]})
    assert told == ["y: 2 cells are not finite, though the operands are: inf at [0, 0]"]
    told = warnings_of(lambda g: g.log(g.input("x", (2,)), name="y"), {"x": [1, 0]})
    assert told == ["y: 1 cell is not finite, though the operands are: -inf at [1]"]
    told = warnings_of(lambda g: g.divide(g.input("x", ()), 0, name="y"), {"x": 0})
    assert told == ["y: 1 cell is not finite, though the operands are: nan at []"]
    told = warnings_of(lambda g: g.sqrt(g.input("x", ()), name="y"), {"x": -1})
    assert told == ["y: 1 cell is not finite, though the operands are: nan at []"]


def test_it_is_told_once_where_it_begins():
    def build(g):
        g.relu(g.exp(g.input("x", (1,)), name="y"), name="z")

    assert [told.split(":")[0] for told in warnings_of(build, {"x": [1000]})] == ["y"]
    assert warnings_of(build, {"x": [inf]}, allow_nonfinite=True) == []


def test_rows_that_see_nothing_are_told():
    def build(g):
        x = g.input("x", (2, 2))
        g.attention(x, x, x, g.input("mask", (2, 2), kind="bool"), name="head")

    feeds = {"x": [[1, 2], [3, 4]], "mask": [[False, False], [True, False]]}
    told = warnings_of(build, feeds)
    assert told == ["head.weights: nothing is visible in row [0]: all its weights are 0"]
    assert warnings_of(build, feeds, level="block") == [
        "head: weights: nothing is visible in row [0]: all its weights are 0"
    ]
    assert warnings_of(build, feeds, level="primitive") == [
        "head.weights.quotient: nothing is visible in row [0]: all its weights are 0"
    ]
    assert warnings_of(build, {**feeds, "mask": [[True, False], [True, False]]}) == []


def test_hidden_infinities_are_no_news(g):
    """A causal mask puts −∞ into the scores: that is what it is for."""
    assert run(g, {"x": X}).warnings == []
    assert run(g, {"x": X}, level="primitive").warnings == []


def test_large_but_finite_is_no_news():
    assert warnings_of(lambda g: g.relu(g.input("x", (2,))), {"x": [1e308, 1e308]}) == []


# ---------------------------------------------------------------- restore and equality


def test_a_trace_restored_from_its_tensors_is_equal(g, trace):
    again = Trace.restore(trace.graph, {name: trace[name] for name in trace.names}, trace.labels)
    assert again == trace
    assert again.masked("weights") == trace.masked("weights")
    assert again.warnings == trace.warnings
    assert again.step("out").seconds == 0.0


def test_a_part_restored(g):
    part = run(g, {"x": X}, targets=["scaled"])
    again = Trace.restore(part.graph, {name: part[name] for name in part.names})
    assert again.names == part.names
    assert [step.name for step in again.steps] == [step.name for step in part.steps]


def test_patches_are_restored(g):
    patched = run(g, {"x": X}, patch={"weights": [[1.0, 0.0, 0.0]] * 3})
    values = {name: patched[name] for name in patched.names}
    assert Trace.restore(patched.graph, values, patched=["head.weights"]) == patched
    assert Trace.restore(patched.graph, values) != patched


def test_what_cannot_be_restored(g):
    fine = g.at("op")
    says("graph 'g' has no tensor 'zz'", Trace.restore, fine, {"zz": 1})
    says("x has 1 rows; expected 3 (x is token 3 × feature 4)", Trace.restore, fine, {"x": [[1]]})
    says("x[0][0] is 'a'; expected a number", Trace.restore, fine, {"x": [["a"] * 4] * 3})
    says("values is a list; expected a dict of tensors by name", Trace.restore, fine, [X])
    says(
        'labels is a list; expected a dict of lists by axis name, like {"token": ["the", "cat"]}',
        Trace.restore,
        fine,
        {"x": X},
        ["a"],
    )


def test_equality_is_bit_for_bit():
    g = Graph()
    g.negate(g.input("x", (2,)))
    plus, minus = run(g, {"x": [0.0, 1.0]}), run(g, {"x": [-0.0, 1.0]})
    assert plus["x"] == minus["x"] and plus != minus
    odd = {"x": [nan, inf]}
    assert run(g, odd, allow_nonfinite=True) == run(g, odd, allow_nonfinite=True)
    assert run(g, {"x": [0.1 + 0.2, 1]}) != run(g, {"x": [0.3, 1]})
    h = Graph()
    h.negate(h.input("x", (2,), ("token",)))
    assert run(h, {"x": [0.0, 1.0]}) != run(h, {"x": [0.0, 1.0]}, labels={"token": ["a", "b"]})
    assert plus != run(g, {"x": [0.0, 1.0]}, level="op", patch={"x": [0.0, 1.0]})
    assert plus != "trace"
    other = Graph("other")
    other.negate(other.input("x", (2,)))
    assert run(other, {"x": [0.0, 1.0]}) != plus


# ---------------------------------------------------------------- plans


def test_the_plan_is_made_once_per_graph(monkeypatch):
    g = Graph()
    y = g.relu(g.input("x", (1,)), name="y")
    made = []
    init = graphattn.core.interpreter.Plan.__init__

    def counting(self, *args, **kwargs):
        made.append(args)
        init(self, *args, **kwargs)

    monkeypatch.setattr(graphattn.core.interpreter.Plan, "__init__", counting)
    for _ in range(3):
        run(g, {"x": [1]})
    assert len(made) == 1
    run(g, {"x": [1]}, targets=["y"])
    run(g, {"x": [1]}, targets=["y"])
    assert len(made) == 2
    g.relu(y, name="z")
    assert run(g, {"x": [1]})["z"] == [1.0]
    assert len(made) == 3


def test_constants_are_computed_while_planning():
    g = Graph()
    g.causal_mask(2, name="m")
    plan = graphattn.core.interpreter.plan_of(g)
    assert plan.constants[plan.places[Ref("m")]] == [[True, False], [True, True]]
    assert plan.program == []


def test_runs_do_not_share_what_they_recorded(g):
    one = run(g, {"x": X})
    one["head.weights"][0][0] = 99.0
    assert run(g, {"x": X})["head.weights"][0][0] == 1.0


def test_a_composite_that_is_evaluated_whole_records_its_results(g, trace):
    whole = run(g, {"x": X}, level="block")
    assert whole.names == ["x", "head.out", "head.weights"]
    assert whole["out"] == trace["out"] and whole["weights"] == trace["weights"]
    assert whole.masked("weights") == trace.masked("weights")


@pytest.mark.parametrize("op", ["concat", "split", "pad", "stack", "repeat"])
def test_what_is_done_to_a_trace_reaches_no_later_run(op):
    g = Graph()
    table = g.constant([[1.0, 2.0], [3.0, 4.0]], name="table")
    rows = {
        "concat": lambda: g.concat(table, table, axis=0),
        "split": lambda: g.split(table, 2, axis=0)[1],
        "pad": lambda: g.pad(table, 0, 1, axis=0),
        "stack": lambda: g.stack(table, table),
        "repeat": lambda: g.repeat(table, 2, axis=0),
    }
    g.output(table=table, rows=rows[op]())
    before = run(g)
    spoiled = run(g)
    for name in ("table", "rows"):
        row = spoiled[name]
        while isinstance(row[0], list):
            row = row[0]
        row[0] = 99.0
    assert run(g) == before != spoiled


def test_a_name_is_text(trace):
    with pytest.raises(GraphError, match=r"^a trace has tensors by name; trace.steps\[3\] is a step"):
        trace[3]
    for name in ([], {}, None):
        words = f"graph 'g' has no tensor {name!r}"
        says(words, trace.__getitem__, name)
        says(words, trace.step, name)
        assert name not in trace


def test_a_trace_knows_what_it_was_fed():
    graph = Graph("fed")
    x, w = graph.input("x", (2,)), graph.parameter("w", (2,))
    graph.output(y=graph.multiply(x, w))
    trace = run(graph, {"x": [1.0, 2.0], "w": [3.0, 4.0]})
    assert trace.feeds == {"x": [1.0, 2.0], "w": [3.0, 4.0]} and run(graph, trace.feeds) == trace
    assert run(graph, trace.feeds, keep=["y"]).feeds == {}
