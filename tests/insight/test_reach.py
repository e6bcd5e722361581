"""Which later cells a cell touches: against why-trees, causality, slopes, and what it looks like."""

from __future__ import annotations

import json
import math

import pytest
from every_op import every_op
from op_laws import calls
from why_laws import cells

from graphattn import Graph, GraphError, run
from graphattn.core import nested
from graphattn.dumps.table import width
from graphattn.weights.toy_induction import toy_induction


def test_what_it_looks_like(head, golden):
    found = head().reach("k", "cat", 0)
    golden("reach-design.txt", f"{found}\n")
    golden("reach-design.md", found.markdown())


@pytest.mark.slow
def test_causality_is_visible():
    trace = toy_induction("qmxbz").run()
    for token in range(6):
        found = trace.reach("x", token, 3)
        for name in ("layer0", "layer1", "logits"):
            rows = {index[0] for index in found[name].cells}
            assert rows == set(range(token, 6)), (token, name)
    assert "rows x…z" in str(trace.reach("x", "x", 3))


def test_heads_do_not_touch_each_other():
    graph = Graph("g")
    x = graph.input("x", (3, 4))
    graph.multi_head(x, x, x, heads=2, name="m")
    trace = run(graph, {"x": [[0.5, -1.0, 2.0, 0.1], [1.0, 0.3, -0.2, 0.7], [0.0, 1.0, 1.5, -2.0]]})
    found = trace.reach("x", 1, 3)
    assert not found["m.head0.weights"].cells and len(found["m.head1.weights"].cells) == 9
    assert "not touched: " in str(found) and "m.head0.scores" in str(found)


@pytest.mark.parametrize("op", every_op(lambda op: op.samples and op.kernel))
def test_agrees_with_the_why_trees(op):
    """A cell is touched if and only if the cell is among those that explain it, or a zero absorbs it."""
    for c in list(calls(op))[:3]:
        trace = run(c.graph, c.feeds, allow_nonfinite=True)
        for fed in c.feeds:
            if c.graph.tensor(fed).kind != "float":
                continue
            for cell in cells(trace, fed, 2, f"{c.what} {fed}"):
                if not math.isfinite(nested.at(trace[fed], cell)):
                    continue
                found = trace.reach(fed, *cell)
                for tensor in c.names:
                    for index in cells(trace, tensor, 3, tensor):
                        mask = trace.masked(tensor)
                        if mask is not None and nested.at(mask, index):
                            continue
                        want = nested.at(trace[tensor], index)
                        if isinstance(want, float) and want != want:
                            continue
                        listed = trace.why(tensor, *index, depth="all").data()["cells"]
                        explained = any((one["tensor"], tuple(one["index"])) == (fed, cell) for one in listed)
                        touched = index in found[tensor].cells
                        assert touched <= explained, (c.what, fed, cell, tensor, index)
                        absorbed = c.node.attributes.get("absorb_zeros")
                        assert touched == explained or absorbed or not isinstance(want, float)


def test_slopes_are_derivatives(head):
    trace = head()
    found = trace.reach("q", "sat", 1)
    h = 1e-6
    moved = [
        run(trace.graph, {name: [[x + s * h if (name, i, j) == ("q", 2, 1) else x for j, x in enumerate(row)]
            for i, row in enumerate(trace[name])] for name in "qkv"}) for s in (1, -1)
    ]  # fmt: skip
    for (i, j), slope in found["head0.out"].cells.items():
        want = (moved[0]["head0.out"][i][j] - moved[1]["head0.out"][i][j]) / (2 * h)
        assert math.isclose(slope, want, rel_tol=1e-5, abs_tol=1e-9)


def test_a_weight_that_cannot_change(head):
    """The first token sees only itself: its score goes in, and changes nothing."""
    weights = head().reach("q", "the", 0)["head0.weights"]
    assert weights.cells == {(0, 0): 0.0}


def test_nothing_leaks_through_a_mask(head):
    found = head().reach("v", "sat", 0)
    assert set(found["head0.out"].cells) == {(2, 0)}


def test_moves_are_named_apart(head):
    text = str(head().reach("k", 0, 0))
    assert "only moved to: head0.keys" in text and "\nhead0.keys" not in text


def test_patched_runs_stay_patched(head):
    found = head(patch={"head0.scores": [[0.0] * 3] * 3}).reach("q", 2, 0)
    assert not found["head0.weights"].cells and not found["head0.scores"].cells


def test_at_every_level_and_in_other_numbers(head):
    want = head().reach("k", "cat", 0)["head0.out"].cells
    for options in ({"level": "head"}, {"level": "primitive"}, {"numbers": "mpmath"}, {"numbers": "value"}):
        found = head(**options).reach("k", "cat", 0)["head0.out"].cells
        assert found.keys() == want.keys()
        assert all(math.isclose(found[i], want[i], rel_tol=1e-6, abs_tol=1e-9) for i in want)
    rough = head(numbers="float16").reach("k", "cat", 0)["head0.out"]
    assert rough.cells.keys() == want.keys()


def test_bools_and_integers():
    graph = Graph("g")
    x, m, i = graph.input("x", (2,)), graph.input("m", (2,), kind="bool"), graph.input("i", (2,), kind="int")
    graph.mask(x, m, name="masked")
    graph.embedding(graph.input("t", (3, 2)), i, name="row")
    trace = run(
        graph, {"x": [1.0, 2.0], "m": [True, True], "i": [0, 2], "t": [[1.0, 2.0], [3.0, 4.0], [5.0, 5.0]]}
    )
    assert set(trace.reach("m", 1)["masked"].cells) == {(1,)}
    assert set(trace.reach("i", 1)["row"].cells) == {(1, 0), (1, 1)}
    assert not trace.reach("i", 1)["masked"].cells


def test_fractions_have_no_nan():
    graph = Graph("g")
    graph.reduce_sum(graph.input("x", (2, 2)), name="y")
    found = run(graph, {"x": [[1, 2], [3, 4]]}, numbers="fraction").reach("x", 0, 1)
    assert set(found["y"].cells) == {(0, 0)} and found["y"].cells[0, 0] == 1.0


def test_the_json_form(head):
    data = json.loads(head().reach("k", "cat", 0).json())
    assert (data["format"], data["tensor"], data["index"]) == ("graphattn reach 1", "k", [1, 0])
    scores = next(tensor for tensor in data["tensors"] if tensor["name"] == "head0.scores")
    assert scores["cells"] == [[0, 1], [1, 1], [2, 1]] and len(scores["slopes"]) == 3


def test_the_last_tensor_touches_nothing(head):
    assert str(head().reach("head0.out", 0, 0)) == (
        "head0.out[the, 0] = 0.557080 touches 0 of 0 later cells, in 0 of 0 tensors"
    )


@pytest.mark.parametrize("limit", [60, 80, 120])
def test_every_width(limit):
    trace = toy_induction("abcab").run()
    for line in trace.reach("layer0", 2, 0).text(limit).splitlines():
        assert width(line) <= limit or limit < 80


def test_refusals(head):
    found = head().reach("k", "cat", 0)
    for call, words in (
        (lambda: found.text(10), "width is 10; expected a whole number of 40 or more"),
        (lambda: found["nope"], "'nope' is no tensor after k[cat, 0]; expected one of head0.keys, head0.scores,"
         " head0.scaled, head0.visible, head0.masked, head0.weights, head0.out"),
        (lambda: head(keep=["head0.weights"]).reach("head0.weights", 1, 1),
         "reach runs the graph again, and input 'q' was not kept; expected a run that kept its feeds"),
    ):  # fmt: skip
        with pytest.raises(GraphError) as told:
            call()
        if "nope" in words:
            assert str(told.value).startswith(words[:60])
        else:
            assert str(told.value) == words
