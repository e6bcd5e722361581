"""Cells by number and by label, and what is said of those that are not there: word for word."""

from __future__ import annotations

import pytest

from graphattn import Graph, GraphError, run


def labelled(*names):
    graph = Graph("g")
    graph.exp(graph.input("x", (len(names),), ("token",)), name="y")
    return run(graph, {"x": [float(i) for i in range(len(names))]}, labels={"token": names})


def refused(call):
    with pytest.raises(GraphError) as told:
        call()
    assert "\n" not in str(told.value)
    return str(told.value)


@pytest.mark.parametrize(
    "index", [(2, 1), ("sat", "cat"), (-1, -2), ("2", "1"), ((2, 1),), ([2, "cat"],), ("-1", 1)]
)
def test_every_way_to_say_which_cell(head, index):
    why = head().why("head0.weights", *index)
    assert (why.index, why.cell) == ((2, 1), "head0.weights[sat, cat]")


def test_numpy_integers_are_numbers(head):
    class Whole:
        def __index__(self):
            return 2

    assert head().why("head0.weights", Whole(), 1).index == (2, 1)


def test_labels_that_stand_twice_carry_their_number():
    trace = labelled("a", "b", "a")
    assert [trace.why("y", i).cell for i in range(3)] == ["y[a₀]", "y[b]", "y[a₂]"]
    assert trace.why("y", "a₂").index == (2,)
    assert refused(lambda: trace.why("y", "a")) == (
        "label 'a' stands at places 0 and 2 of axis token of 'y'; expected one of these numbers"
    )


def test_labels_that_are_digits():
    trace = labelled("1", "0", "2")
    assert trace.why("y", '"1"').index == (0,) and trace.why("y", 1).index == (1,)
    assert trace.why("y", "2").index == (2,)  # number and label agree
    assert trace.why("y", "0₁").index == (1,)
    assert trace.why("y", 0).cell == 'y["1"]' and trace.why("y", '"1"').cell == 'y["1"]'
    assert refused(lambda: trace.why("y", "1")) == (
        "'1' is both a number and the label of place 0 on axis token of 'y';"
        ' expected "1" in its quotes for the label, or "0"₁'
    )
    assert trace.why("y", '"0"₁').index == (1,)


def test_what_is_shown_reads_back():
    names = ["a b", "", "·", "3", "-1", 'q"', "x₁", "x", "x", "日本", "…", "é", "\u200b", "[", "a,b"]
    trace = labelled(*names)
    for i in range(len(names)):
        shown = trace.why("y", i).cell.removeprefix("y[").removesuffix("]")
        assert trace.why("y", shown).index == (i,), shown


WORDS = {
    ("nope", 0, 0): "graph 'head' has no tensor 'nope'",
    ("head0.weihgts", 0, 0): "graph 'head' has no tensor 'head0.weihgts'; did you mean 'head0.weights'?",
    (
        "head0",
        0,
        0,
    ): "'head0' holds several tensors; expected one of head0.keys, head0.scores, head0.scaled, head0.visible,"
    " head0.masked, head0.weights, head0.out",
    ("head0.weights",): "'head0.weights' is token 3 × token 3; expected 2 indices, got 0",
    ("head0.weights", 1): "'head0.weights' is token 3 × token 3; expected 2 indices, got 1",
    ("head0.weights", 1, 1, 1): "'head0.weights' is token 3 × token 3; expected 2 indices, got 3",
    ("head0.weights", 3, 0): "3 is no place on axis token of 'head0.weights'; expected 0 to 2",
    ("head0.weights", 0, -4): "-4 is no place on axis token of 'head0.weights'; expected 0 to 2",
    (
        "head0.weights",
        10**50,
        0,
    ): "an enormous number is no place on axis token of 'head0.weights'; expected 0 to 2",
    ("head0.weights", "9" * 99, 0): "'999999999999999999999999999999999999999…' is no place on axis token of"
    " 'head0.weights'; expected a number below 3",
    (
        "head0.weights",
        True,
        0,
    ): "True is no place on axis token of 'head0.weights'; expected a number or a label",
    ("head0.weights", 1.5, 0): "1.5 is no place on axis token of 'head0.weights'; expected a number or a label",
    (
        "head0.weights",
        None,
        0,
    ): "None is no place on axis token of 'head0.weights'; expected a number or a label",
    ("head0.weights", "dog", 0): "there is no label 'dog' on axis token of 'head0.weights'; expected one of"
    " the, cat, sat, or a number",
    ("head0.weights", "cta", 0): "there is no label 'cta' on axis token of 'head0.weights'; expected one of"
    " the, cat, sat, or a number; did you mean 'cat'?",
    (
        "head0.out",
        0,
        "x",
    ): "axis feature of 'head0.out' has no labels, so 'x' is not among them; expected 0 to 1",
    (
        "head0.out",
        0,
        '"',
    ): "axis feature of 'head0.out' has no labels, so '\"' is not among them; expected 0 to 1",
    (
        "head0.out",
        0,
        '"x',
    ): "axis feature of 'head0.out' has no labels, so '\"x' is not among them; expected 0 to 1",
}


@pytest.mark.parametrize("call", WORDS, ids=str)
def test_refusals(head, call):
    assert refused(lambda: head().why(*call)) == WORDS[call]
    assert refused(lambda: head().reach(*call)) == WORDS[call]


def test_an_axis_without_a_name():
    graph = Graph("g")
    graph.exp(graph.input("x", (2, 0)), name="y")
    trace = run(graph, {"x": [[], []]})
    assert refused(lambda: trace.why("y", 0, 0)) == (
        "0 is no place on axis 1 of 'y'; expected none, since it has no cells"
    )
    assert refused(lambda: trace.why("y", 5, 0)) == "5 is no place on axis 0 of 'y'; expected 0 to 1"
    scalar = Graph("s")
    scalar.exp(scalar.input("x", ()), name="y")
    assert refused(lambda: run(scalar, {"x": 1.0}).why("y", 0)) == "'y' is scalar; expected no index, got 1"


DEPTHS = [0, -1, 1.0, True, "3", "al", None, "ALL", []]


@pytest.mark.parametrize("depth", DEPTHS, ids=repr)
def test_depths_that_are_none(head, depth):
    assert refused(lambda: head().why("q", 0, 0, depth=depth)) == (
        f"depth is {depth!r}; expected a whole number of 1 or more, or 'all'"
    )


def test_tensors_that_were_not_kept_or_evaluated(head):
    kept = head(keep=["head0.weights"])
    assert refused(lambda: kept.why("head0.scores", 0, 0)) == (
        "tensor 'head0.scores' was not kept in this run; expected one of head0.weights"
    )
    part = head(targets=["head0.scores"])
    assert refused(lambda: part.why("head0.weights", 0, 0)) == (
        "tensor 'head0.weights' was not evaluated in this run; expected one of q, k, head0.keys, head0.scores"
    )


def test_options_of_the_text(head):
    why = head().why("q", 0, 0)
    assert refused(lambda: why.text(39)) == "width is 39; expected a whole number of 40 or more"
    assert refused(lambda: why.text(digits=18)) == "digits is 18; expected an int from 0 to 17"
    assert refused(lambda: why.markdown(digits=True)) == "digits is True; expected an int from 0 to 17"
    assert refused(lambda: why.data(0)) == "limit is 0; expected a whole number of 1 or more"
