"""What explanations look like: the sample of DESIGN.md, masks, long sums, labels, patches, infinities."""

from __future__ import annotations

import math
import re

import pytest
from why_laws import problems

from graphattn import Graph, run
from graphattn.builtin import specimen
from graphattn.dumps.table import width
from graphattn.insight.why.formula import joined
from graphattn.weights.toy_induction import toy_induction


def symbols(why):
    """The formula on one line."""
    return joined(why.lines()[0].segments[0])


def test_the_sample_of_the_design(head, golden):
    why = head().why("head0.weights", "sat", "cat", depth=3)
    assert why.text(101, parts=False) + "\n" == (
        'head0.weights[sat, cat] = exp(scaled[sat, cat] − max) / Σ exp        softmax over row "sat"\n'
        "                        = exp(-1.839392 − 2.530655) / 1.025952 = 0.012651 / 1.025952 = 0.012331\n"
        "  scaled[sat, cat]      = scores[sat, cat] / √2 = -2.601293 / 1.414214 = -1.839392\n"
        "    scores[sat, cat]    = Σ q[sat, j] · k[cat, j]"
        " = (-1.622201)(1.603558) + (0.973320)(0) = -2.601293\n"
    )
    golden("why-design.txt", f"{why}\n")
    golden("why-design.md", why.markdown())


def test_the_toy_model(golden):
    trace = toy_induction("qmxbzqmxbz").run()
    pieces = [
        trace.why("layer1.attention.head0.weights", 10, 6, depth=2),
        trace.why("layer1", 10, 6, depth=2),
        trace.why("layer1.attention.head0.out", 10, 6, depth=2),
        trace.why("x", "x₃", 4, depth="all"),
    ]
    golden("why-toy.txt", "\n\n".join(map(str, pieces)) + "\n")


def test_a_masked_cell_names_its_mask(head):
    assert str(head().why("head0.weights", "the", "cat", depth=2)) == (
        "head0.weights[the, cat] = exp(masked[the, cat] − max) / Σ exp\n"
        "                        = exp(−∞ − 2.194421) / 1 = 0 / 1 = 0\n"
        '                          softmax over row "the"\n'
        "  — hidden by visible[0, 1], which is false: 1 ≤ 0 does not hold (causal mask)\n"
        "  max                   = max masked[the, k] = max(2.194421, −∞, −∞) = 2.194421\n"
        "  Σ exp                 = Σ exp(masked[the, k] − max) = 1 + 0 + 0 = 1\n"
        "  masked[the, cat]      = −∞"
    )


def hidden_by(mask, kind="float", **attributes):
    graph = Graph("g")
    q = graph.input("q", (2, 2))
    m = graph.input("m", (2, 2), kind=kind)
    graph.attention(q, q, q, m, name="a", **attributes)
    trace = run(graph, {"q": [[1.0, 0.5], [0.25, -1.0]], "m": mask}, allow_nonfinite=True)
    return trace.why("a.weights", 0, 1).lines()[0].remarks


def test_masks_of_every_kind():
    inf = -math.inf
    assert hidden_by([[True, False], [True, True]], "bool") == ("hidden by m[0, 1], which is false (input)",)
    assert hidden_by([[0.0, inf], [0.0, 0.0]]) == ("hidden by m[0, 1], which is −∞ (input)",)
    assert hidden_by([[0.0, 0.0], [0.0, 0.0]], causal=True) == (
        "hidden by visible[0, 1], which is false: 1 ≤ 0 does not hold (causal mask)",
    )
    assert hidden_by([[0.0, 0.0], [0.0, 0.0]], window=(0, 0)) == (
        "hidden by visible[0, 1], which is false: 0 − 0 ≤ 1 ≤ 0 + 0 does not hold (window mask)",
    )
    assert hidden_by([[0.0, -1e9], [0.0, 0.0]]) == ()  # a large bias hides nothing


def test_combined_and_constant_masks():
    graph = Graph("g")
    x = graph.input("x", (2, 2))
    keep = graph.constant([[True, False], [True, True]], name="keep")
    both = graph.logical_and(graph.causal_mask(2, name="causal"), keep, name="both")
    graph.softmax(graph.mask(x, both), name="a")
    graph.softmax(graph.add(x, graph.constant([[0.0, -math.inf], [0.0, 0.0]], name="bias")), name="b")
    trace = run(graph, {"x": [[1.0, 2.0], [3.0, 4.0]]})
    assert trace.why("a", 0, 1).lines()[0].remarks == (
        "hidden by both[0, 1], which is false: causal[0, 1] and keep[0, 1] does not hold (logical and)",
    )
    assert trace.why("b", 0, 1).lines()[0].remarks == ("hidden by bias[0, 1], which is −∞ (constant)",)


def test_a_row_with_nothing_visible():
    graph = Graph("g")
    x = graph.input("x", (1, 2))
    graph.softmax(graph.mask(x, graph.constant([[False, False]], name="m"), name="masked"), name="w")
    line = run(graph, {"x": [[1.0, 2.0]]}).why("w", 0, 1).lines()[0]
    assert line.segments == ("0",)
    assert line.remarks == (
        "row 0 sees nothing: all of its 2 cells are hidden", "hidden by m[0, 1], which is false (constant)"
    )  # fmt: skip


def long_sum(n, width=80):
    graph = Graph("g")
    a, b = graph.input("a", (1, n)), graph.input("b", (n, 1))
    graph.matmul(a, b, name="y")
    feeds = {"a": [[float(k + 1) for k in range(n)]], "b": [[0.5] if k else [-1.0] for k in range(n)]}
    return run(graph, feeds).why("y", 0, 0, depth="all")


def test_long_sums_are_elided_in_the_middle_with_their_subtotal():
    why = long_sum(20)
    middle = sum(0.5 * (k + 1) for k in range(2, 18))
    assert f"[16 terms: {middle:g}]" in str(why)
    assert "[" not in long_sum(6).lines()[0].segments[1]
    assert "[3 terms: 6]" in long_sum(7).lines()[0].segments[1]
    assert "largest of 20 terms: a[0, 19] · b[19, 0] = 10; then a[0, 18] · b[18, 0] = 9.5" in str(why).replace(
        "\n    ", " "
    )


def test_sums_over_a_piece_of_an_axis_say_which():
    graph = Graph("g")
    x = graph.input("x", (2, 6))
    first, second = graph.split(x, 2, name="s")
    graph.matmul(second, first.T, name="y")
    graph.reduce_sum(graph.reshape(x, (3, 4)), axis=0, name="t")
    trace = run(graph, {"x": [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [0.5] * 6]})
    assert symbols(trace.why("y", 0, 1)) == "Σ(k = 3…5) x[0, k] · x[1, k − 3]"
    assert symbols(trace.why("t", 0, 1)) == "x[0, 1] + x[0, 5] + x[1, 3]"


def test_the_running_index_is_no_label():
    graph = Graph("g")
    a, b = (graph.input(name, (2, 2), ("letter", "letter")) for name in "ab")
    graph.matmul(a, b, name="y")
    m = [[1.0, 2.0], [3.0, 4.0]]
    trace = run(graph, {"a": m, "b": m}, labels={"letter": ["k", "j"]})
    assert symbols(trace.why("y", "k", "j")) == "Σ a[k, i] · b[i, j]"


def test_concatenated_heads_are_told_apart():
    trace = toy_induction("ab").run()
    assert (
        symbols(trace.why("layer0.attention", 1, 0))
        == "Σ head0.out[a, k] · w_o0[0, k] + Σ head1.out[a, k] · w_o0[0, k + 16]"
    )


def test_patched_tensors(head):
    trace = head(patch={"head0.scores": lambda scores: [[0.0] * 3] * 3})
    assert str(trace.why("head0.scores", "sat", 1)) == (
        "head0.scores[sat, cat] = 0\n  — patched: this number was put in its place; its operands give -2.601293"
    )
    assert "scores[sat, cat]    = 0        patched" in str(trace.why("head0.weights", 2, 1, depth=3))
    coarse = head(level="head", patch={"head0.out": [[1.0, 2.0]] * 3})
    assert coarse.why("head0.out", 0, 1).lines()[0].remarks == (
        "patched: this number was put in its place; its operands give -1.671240",
    )


def test_fed_and_constant_cells(head):
    assert str(head().why("q", "the", 0)) == "q[the, 0] = 0.557080        input"
    graph = Graph("g")
    c = graph.constant([1.5, 2.0], name="c")
    p = graph.parameter("w", (2,))
    graph.add(c, p, name="y")
    trace = run(graph, {"w": [0.5, 0.25]})
    assert str(trace.why("c", 0)) == "c[0] = 1.5        constant"
    assert str(trace.why("y", 1, depth=2)) == (
        "y[1]   = c[1] + w[1] = 2 + 0.25 = 2.25\n  c[1] = 2        constant\n  w[1] = 0.25        parameter"
    )


NONFINITE = {
    ("exp", 1000.0): ("y = exp(x) = exp(1000) = ∞", "exp(1000) = ∞: larger than any number of its type"),
    ("log", 0.0): ("y = ln(x) = ln(0) = −∞", "ln(0) = −∞"),
    ("log", -2.0): ("y = ln(x) = ln(-2) = NaN", "ln(-2) = NaN"),
    ("sqrt", -2.0): ("y = √x = √(-2) = NaN", "√(-2) = NaN"),
    ("exp", math.inf): ("y = exp(x) = exp(∞) = ∞", "comes from x = ∞, which was fed so"),
}


@pytest.mark.parametrize("op, x", NONFINITE)
def test_infinities_and_nan_say_where_they_come_from(op, x):
    graph = Graph("g")
    graph.apply(op, graph.input("x", ()), name="y")
    why = run(graph, {"x": x}, allow_nonfinite=True).why("y")
    text, remark = NONFINITE[op, x]
    assert str(why) == f"{text}\n  — {remark}"


def test_where_nan_comes_from_far_away():
    graph = Graph("g")
    x = graph.input("x", ())
    y = graph.exp(x, name="big")
    for turn in range(5):
        y = graph.add(y, x, name=f"y{turn}")
    graph.subtract(y, y, name="z")
    graph.negate(graph.tanh(y, name="t"), name="n")
    trace = run(graph, {"x": 1000.0})
    assert trace.why("y4").lines()[0].remarks == ("exp(1000) = ∞: larger than any number of its type in big",)
    assert trace.why("z").lines()[0].remarks == ("∞ − ∞ = NaN",)
    assert trace.why("n").lines()[0].remarks == ()


def test_absorbed_zeros(head):
    graph = Graph("g")
    q, v = graph.input("q", (2, 2)), graph.input("v", (2, 1))
    graph.attention(q, q, v, causal=True, name="a")
    trace = run(graph, {"q": [[1.0, 0.0], [0.0, 1.0]], "v": [[2.0], [math.nan]]}, allow_nonfinite=True)
    line = trace.why("a.out", 0, 0).lines()[0]
    assert line.segments[-1] == "2"
    assert line.remarks == ("0 · NaN counts as 0: what stands behind a weight of exactly 0 does not leak",)
    assert trace.why("a.out", 1, 0).lines()[0].remarks == ("comes from v[1, 0] = NaN, which was fed so",)


def test_branches_say_what_decided():
    graph = Graph("g")
    graph.relu(graph.input("x", (2,)), name="y")
    trace = run(graph, {"x": [-1.5, 2.0]})
    assert str(trace.why("y", 0)) == "y[0] = 0\n  — since x[0] ≥ 0 does not hold: -1.5 ≥ 0"
    assert str(trace.why("y", 1)) == "y[1] = x[1] = 2\n  — since x[1] ≥ 0 holds: 2 ≥ 0"


def test_looked_up_rows():
    trace = toy_induction("ab").run()
    assert (
        str(
            trace.why(
                "token_embedding",
                "b",
                3,
                depth=2,
            )
        )
        .splitlines()[0]
        .startswith("token_embedding[b, 3] = tok[ids[b], 3] = ")
    )


def test_a_number_that_its_operands_do_not_give_says_so(head):
    from graphattn import Trace

    trace = head()
    values = {name: trace[name] for name in trace}
    values["head0.scaled"] = [[0.5] * 3] * 3
    found = Trace.restore(trace.graph, values).why("head0.scaled", 2, 1)
    assert found.lines()[0].remarks == ("recorded so, but its operands give -1.839392",)


def test_what_was_not_kept_is_a_question_mark(head):
    text = str(head(keep=["head0.weights"]).why("head0.weights", "sat", "cat"))
    assert "max masked[sat, k] = ?" in text and "0.012331" in text


def test_inside_a_composite(head):
    coarse, fine = head(level="head"), head()
    for name, index in (("head0.weights", (2, 1)), ("head0.out", (1, 0)), ("head0.scores", (2, 2))):
        assert str(coarse.why(name, *index, depth=3)) == str(fine.why(name, *index, depth=3))


def test_the_digits(head):
    trace = head()
    assert trace.why("head0.weights", 2, 1).text(digits=2, parts=False) == (
        "head0.weights[sat, cat] = exp(scaled[sat, cat] − max) / Σ exp\n"
        "                        = exp(-1.84 − 2.53) / 1.03 = 0.01 / 1.03 = 0.01\n"
        '                          softmax over row "sat"'
    )
    assert "0.012330635508" in trace.why("head0.weights", 2, 1).text(digits=12)


def test_small_and_large_numbers():
    graph = Graph("g")
    graph.multiply(graph.input("x", ()), graph.constant(1), name="y")
    for x, shown in ((1e-7, "1e-07"), (123456789012.5, "1.234568e+11"), (1 / 3e9, "3.333333e-10"),
                     (2**70, "1.180592e+21"), (-0.0, "0"), (0.1 + 0.2, "0.300000"), (0.3, "0.3")):  # fmt: skip
        assert run(graph, {"x": x}).why("y").lines()[0].segments[-1] == shown


@pytest.mark.parametrize("limit", [40, 60, 80, 100, 132])
def test_every_width(head, limit):
    trace = toy_induction("qmxbz").run()
    for why in (head().why("head0.out", "sat", 0, depth="all"), trace.why("layer1.attention", 3, 4, depth=4)):
        for line in why.text(limit).splitlines():
            assert width(line) <= limit or limit == 40


HOSTILE = [
    "a b",
    "`x`",
    "*",
    "[0]",
    "0",
    "-1",
    "",
    "\x1b[31m",
    "a\nb",
    "𝔘" * 50,
    "…",
    "\x00",
    "k",
    "|",
    '"',
    "q₁",
]


@pytest.mark.slow
def test_hostile_labels(head):
    graph = Graph("g")
    x = graph.input("x", (len(HOSTILE), 2), ("token", None))
    graph.softmax(graph.matmul(x, x.T, name="s"), name="w")
    feeds = {"x": [[0.1 * i, -0.2 * i] for i in range(len(HOSTILE))]}
    trace = run(graph, feeds, labels={"token": HOSTILE})
    for i in range(len(HOSTILE)):
        why = trace.why("w", i, -i - 1, depth="all")
        for text in (str(why), why.markdown()):
            assert all(c == "\n" or c.isprintable() for c in text), text
        assert len(str(why).splitlines()) < 40
        assert list(problems(trace, "w", (i, 0))) == []


def test_markdown_keeps_labels_from_being_markup(head):
    graph = Graph("g")
    graph.exp(graph.input("x", (2,), ("t",)), name="y")
    trace = run(graph, {"x": [0.0, 1.0]}, labels={"t": ["`a``b`", "<b>"]})
    assert trace.why("y", 0).markdown() == (
        "- ``` y[`a``b`] ``` = ``` exp(x[`a``b`]) ``` = `exp(0)` = **`1`**\n"
    )


@pytest.mark.slow
def test_a_deep_chain_does_not_recurse():
    graph = Graph("g")
    y = graph.input("x", ())
    for _ in range(3000):
        y = graph.add(y, y)
    graph.output(y=y)
    trace = run(graph, {"x": 1.0})
    why = trace.why("y", depth="all")
    assert len(why.data()["cells"]) == 3001  # 2^3000 paths
    assert len(why.lines(cells=100)) == 102
    assert len(why.lines()) == 14
    last = "\n…: 12 cells are written out, more than 2,000 further back are not; ask why of\n  any"
    assert why.text().endswith(last)


@pytest.mark.parametrize("cell", ["residual[2, 1]", "head0.out[2, 1]", "head1.weights[3, 0]"])
def test_to_any_depth_it_is_a_screenful(cell):
    trace = specimen("block", n=4, d=8).run()
    why = trace.why(cell, depth="all")
    text, whole = why.text(), why.text(cells=10**6)
    assert len(text.splitlines()) <= 64 < len(whole.splitlines())
    cells, folded = map(int, re.search(r"(\d+) cells are written out, (\d+) like these", text).groups())
    assert cells + folded == sum(len(line.segments) > 1 for line in why.lines(cells=10**6, parts=False))
    assert "like these" not in whole


def test_heads_and_rows_that_read_alike_are_written_out_once():
    text = specimen("block", n=4, d=8).run().why("residual[2, 1]", depth="all").text()
    assert "attention.head1.out[2, 3] = 1.195345        like attention.head0.out[2, 1]" in text
    assert re.search(r"norm\[0, 7\] +=.*like norm\[0, 3\]", text)
    assert text.count("ask why of any other") == 1 < text.count("… 6 more")
    near = specimen("block", n=4, d=8).run().why("residual[2, 1]", depth=3).text()
    assert "like" not in near  # what goes into a screenful is written out


def test_repeated_cells_are_written_once(head):
    graph = Graph("g")
    x = graph.exp(graph.input("x", ()), name="e")
    graph.add(graph.negate(x, name="a"), graph.negate(x, name="b"), name="y")
    assert str(run(graph, {"x": 0.0}).why("y", depth=3)).splitlines()[-1] == "    e = 1        as above"
