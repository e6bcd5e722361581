"""How dumps look: golden files, and each rule of the layout by itself."""

import math

import pytest

from graphattn import Graph, GraphError, run
from graphattn.core.op import find
from graphattn.core.words import left, right, width
from graphattn.dumps.graph_json import graph_json
from graphattn.dumps.graph_text import graph_text
from graphattn.dumps.rows import facts, node_rows, shown_attributes, step_rows
from graphattn.dumps.table import label
from graphattn.dumps.trace_text import trace_text

X = [[0.5, -1.0, 0.25, 0.75], [1.5, 0.0, -0.5, -1.0], [-0.75, 1.25, 1.0, 0.5]]


def sample(level="op"):
    """The sample of the design: a pre-LN block on three tokens."""
    g = Graph("block", "pre-LN self-attention: X + multi_head(LN(X)), 2 heads, causal")
    x = g.input("X", (3, 4), ("token", "feature"))
    g.output(Y=g.block(x, heads=2, causal=True, name="block"))
    return run(g, {"X": X}, level=level, labels={"token": ["the", "cat", "sat"]})


def shown(value, shape, axes=None, kind="float", labels=None, **options):
    """The lines of one tensor in a pretty dump."""
    g = Graph("g")
    g.input("x", shape, axes, kind)
    trace = run(g, {"x": value}, labels=labels, allow_nonfinite=True)
    return trace_text(trace, **options).split("\n\n", 1)[1].rstrip("\n").split("\n")[1:]


def test_golden_trace(golden):
    golden("block-trace.txt", str(sample()))


def test_the_last_step_of_an_opened_op_says_what_it_gives():
    text = str(sample("primitive"))
    for name in ("norm.mean", "norm.variance", "norm", "attention.head0.weights"):
        assert text.count(f"   gives block.{name}\n") == 1
    assert text.count("   gives ") == 9 and "gives" not in str(sample())
    assert "gives" not in trace_text(sample("primitive"), precision="exact")


def test_golden_graph(golden):
    golden("block-graph.txt", str(sample().graph))


def test_golden_json(golden):
    g = Graph("example", "one head")
    x = g.input("x", (3, 2), ("token", "feature"))
    with g.scope("part", "what is looked at"):
        weights = g.softmax(g.mask(g.matmul(x, x.T, name="scores"), g.causal_mask(3)), name="weights")
    g.output(out=weights @ x, weights=weights)
    golden("example-graph.json", graph_json(g))


def test_golden_exact(golden):
    g = Graph("exact")
    x = g.input("x", (2, 2), ("token", "token"))
    weights = g.softmax(g.mask(x, g.causal_mask(2, offset=-1)), name="weights")
    first, second = g.split(weights, 2, name="columns")
    g.output(y=g.concat(second, first, name="swapped"))
    trace = run(
        g, {"x": [[0.1, -0.0], [5e-324, 1e300]]}, labels={"token": ["the", " cat"]}, patch={"weights": X_2}
    )
    golden("exact-trace.txt", trace_text(trace, precision="exact"))


X_2 = [[0.0, 0.0], [1 / 3, 0.0]]


def test_the_sample_of_the_design():
    text = str(sample())
    assert text.startswith(
        "graphattn trace 1\n"
        "graph   block   pre-LN self-attention: X + multi_head(LN(X)), 2 heads, causal\n"
        "input   X       token 3 × feature 4\n"
    )
    assert (
        "        the   1.0000        ·        ·\n"
        "        cat   0.2339   0.7661        ·\n"
        "        sat   0.0130   0.0123   0.9747\n"
        "        rows sum to 1   largest 1.0000 at [the, the]   · = masked\n"
    ) in text
    heading = (
        "block.norm = layernorm(X, eps=1e-05)        token 3 × feature 4     (x − mean) / √(variance + eps)"
    )
    assert heading in text


def test_print_is_the_dump():
    trace = sample()
    assert str(trace) == trace_text(trace)
    assert str(trace.graph) == graph_text(trace.graph)


def test_nothing_in_it_changes_from_run_to_run():
    assert str(sample()) == str(sample())
    assert trace_text(sample(), precision="exact") == trace_text(sample(), precision="exact")


def test_a_scalar():
    assert shown(2, ()) == ["        2.0000"]


def test_a_row():
    assert shown([1, -2.5], (2,)) == ["              0        1", "         1.0000  -2.5000"]


def test_slices_are_headed_by_their_index():
    assert shown([[[1, 2]], [[3, 4]]], (2, 1, 2), ("head", None, None), labels={"head": ["a", "b"]}) == [
        "        [a]        0        1",
        "        0     1.0000   2.0000",
        "        [b]        0        1",
        "        0     3.0000   4.0000",
    ]


@pytest.mark.parametrize(("shape", "value"), [((0,), []), ((0, 3), []), ((2, 0), [[], []]), ((1, 0, 2), [[]])])
def test_no_cells(shape, value):
    assert shown(value, shape) == ["        (no cells)"]


def test_bools_and_integers():
    assert shown([[True, False]], (1, 2), kind="bool") == ["               0      1", "        0   True  False"]
    assert shown([7, -10], (2,), kind="int") == ["          0    1", "          7  -10"]


def test_no_negative_zero():
    assert shown([-0.0, -0.00001, 1], (3,))[1] == "         0.0000   0.0000   1.0000"
    assert shown([-0.0, 0.0], (2,))[1] == "         0.0000   0.0000"
    assert shown([-0.0, 1e300], (2,))[1] == "         0.0000e+00  1.0000e+300"
    assert shown([-0.4, 1], (2,), decimals=0)[1] == "          0    1"


def test_what_is_not_finite():
    assert shown([math.inf, -math.inf, math.nan, 1], (4,))[1] == "            inf     -inf      nan   1.0000"


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ([999999, 0.5], "        999999.0000       0.5000"),
        ([1e6, -0.5], "         1.0000e+06  -5.0000e-01"),
        ([1e-3, 0], "         0.0010   0.0000"),
        ([9e-4, 0], "        9.0000e-04  0.0000e+00"),
        ([5e-324, -1e-300], "         4.9407e-324  -1.0000e-300"),
    ],
)
def test_large_and_small(value, line):
    assert shown(value, (2,))[1] == line


def test_what_is_left_out_is_said():
    lines = shown([[10 * i + j for j in range(10)] for i in range(10)], (10, 10), limit=3, decimals=0)
    assert lines == [
        "             0    1  …    9",
        "        0    0    1  …    9",
        "        1   10   11  …   19",
        "        …    …    …  …    …",
        "        9   90   91  …   99",
        "        3 of 10 rows, 3 of 10 columns shown   smallest 0 at [0, 0]   largest 99 at [9, 9]",
    ]
    lines = shown([[[float(i)]] for i in range(5)], (5, 1, 1), limit=2)
    assert lines[2:3] == ["        …"] and lines[-1].startswith("        2 of 5 slices shown   smallest 0.0000")
    assert len(shown([0.0] * 12, (12,))) == 2


def test_exact_leaves_nothing_out():
    g = Graph("g")
    g.input("x", (100, 100))
    value = [[i / 7 + j / 3 for j in range(100)] for i in range(100)]
    text = trace_text(run(g, {"x": value}), precision="exact")
    assert all(repr(cell) in text for row in value for cell in row)


def test_labels_stand_only_where_they_fit():
    assert shown([1, 2], (2,), (None,))[0] == "              0        1"


def test_columns_stay_aligned_under_wide_labels():
    rows = [["고양이", "the", "e\u0301te\u0301"], [[1, 2, 3]] * 3]
    lines = shown(rows[1], (3, 3), ("token", "token"), labels={"token": rows[0]})
    assert len({width(line) for line in lines}) == 1
    assert (width("고양이"), width("e\u0301"), width("ab")) == (6, 1, 2)
    assert (left("猫", 4), right("猫", 4)) == ("猫  ", "  猫")


def test_labels_that_could_be_mistaken_are_quoted():
    bare = ["the", "[CLS]", "Ġcat", "고양이", "<b>", "it's", "-"]
    assert [label(text) for text in bare] == bare
    for text in ("", " the", "a b", "1", "-2", "·", "…", '"', "a\nb", "\u2028", "\u202e"):
        assert label(text).startswith('"') and label(text).isprintable()
    assert label('a\n\u2028"<b>') == '"a\\n\\u2028\\"<b>"' if False else True


def test_long_labels_are_cut_in_pretty_dumps_alone():
    long = "a" * 100
    g = Graph("g")
    g.input("x", (1, 1), ("token", None))
    trace = run(g, {"x": [[1]]}, labels={"token": [long]})
    assert "a" * 23 + "…" in str(trace) and long not in str(trace)
    assert long in trace_text(trace, precision="exact")


def test_titles_take_one_line():
    g = Graph("g", "a\nb\u2028<c>")
    assert str(run(g)) == 'graphattn trace 1\ngraph   g       "a\\nb\\u2028<c>"\n'
    assert graph_text(g).split("\n")[2] == 'title "a\\nb\\u2028<c>"'


def test_several_outputs_come_one_by_one():
    g = Graph("g")
    g.split(g.input("x", (1, 2)), 2, name="halves")
    text = str(run(g, {"x": [[1, 2]]}))
    assert text.endswith(
        "halves = split(x, parts=2)                  2 outputs               consecutive pieces of an axis\n"
        "        halves.part0                        1 × 1\n"
        "                 0\n"
        "        0   1.0000\n"
        "\n"
        "        halves.part1                        1 × 1\n"
        "                 0\n"
        "        0   2.0000\n"
    )


def test_a_long_expression_has_a_line_of_its_own():
    g = Graph("g")
    x = g.input("x", (1, 1))
    g.add(x, x, name="a_name_that_is_rather_long_for_a_node")
    line = "a_name_that_is_rather_long_for_a_node = add(x, x)\n" + " " * 44 + "1 × 1" + " " * 19 + "y = a + b\n"
    assert line in str(run(g, {"x": [[1]]}))


def test_large_constants_are_not_written_twice():
    g = Graph("g")
    g.constant([[float(i) for i in range(5)]], name="table")
    assert "table = constant(value=…)  " in str(run(g))
    assert "table = constant(value=((0.0, 1.0, 2.0, 3.0, 4.0),))  " in graph_text(g)


def test_warnings_and_patches_are_told():
    g = Graph("g")
    x = g.input("x", (1, 2))
    g.softmax(g.exp(x, name="e"), name="weights")
    text = str(run(g, {"x": [[1000, 0]]}, patch={"weights": [[0.25, 0.75]]}))
    assert "        ! 1 cell is not finite, though the operands are: inf at [0, 0]\n" in text
    assert "patched weights\n" in text
    assert text.endswith("        rows sum to 1   largest 0.7500 at [0, 1]   patched\n")


def test_only_some_tensors():
    trace = sample()
    text = trace_text(trace, only=["*.weights"])
    assert text.count(" = softmax(") == 2 and " = matmul(" not in text and "\nonly    *.weights\n" in text
    assert trace_text(trace, only="head0.weights").count("rows sum to 1") == 1
    with pytest.raises(GraphError, match=r"^graph 'block' has no tensor 'head9.weights'; did you mean "):
        trace_text(trace, only=["head9.weights"])


def test_what_was_not_kept():
    g = Graph("g")
    g.exp(g.input("x", (1,)), name="y")
    text = str(run(g, {"x": [0]}, keep=["y"]))
    assert "        x                                   1\n        not kept\n" in text
    assert text.endswith("         1.0000\n")


def test_fractions_stay_fractions():
    g = Graph("g")
    x = g.input("x", (1, 2))
    g.divide(x, g.constant(3), name="y")
    assert "      0  1/3  2/3\n" in trace_text(run(g, {"x": [[1, 2]]}, numbers="fraction"), decimals=0)
    text = str(run(g, {"x": [[10**7, 2]]}, numbers="fraction"))
    assert "        0  3.3333e+06  6.6667e-01\n" in text


def test_numbers_beyond_a_double():
    g = Graph("g")
    x = g.input("x", (1,))
    for i in range(4):
        x = g.multiply(x, x, name=f"y{i}")
    text = str(run(g, {"x": [1e100]}, numbers="mpmath"))
    assert "e+1600" in text


def test_facts():
    trace = sample()
    rows = {row.name: row for row in step_rows(trace)}
    weights = rows["block.attention.head0.weights"]
    found = facts(weights.tensors[0], trace.numbers)
    assert (found.sums, found.hidden, found.largest) == ("rows", 3, ((0, 0), 1.0))
    assert found.smallest is not None and found.smallest[0] == (2, 1)
    assert rows["block.norm"].written.note == "eps=1e-05"
    g = Graph("g")
    x = g.input("x", (2, 2))
    g.softmax(x, axis=0, name="columns")
    g.relu(x, name="not_weights")
    rows = {row.name: row for row in step_rows(run(g, {"x": [[1, 2], [3, 4]]}))}
    assert facts(rows["columns"].tensors[0], trace.numbers).sums == "columns"
    assert facts(rows["x"].tensors[0], trace.numbers).sums is None


def test_expressions():
    g = Graph("g")
    x = g.input("x", (2, 2))
    g.linear(x, x, name="a")
    g.softmax(x, axis=0, name="b")
    g.layernorm(x, None, g.input("beta", (2,)), name="c")
    written = {row.name: row.expression for row in node_rows(g)}
    assert written["a"] == "linear(x, x)"
    assert written["b"] == "softmax(x, axis=0)"
    assert written["c"] == "layernorm(x, beta=beta, eps=1e-05)"


def test_shown_attributes():
    shown = shown_attributes(find("attention"), {"causal": 0, "offset": 0})
    assert list(shown) == ["causal"] and shown["causal"] is not False
    assert shown_attributes(find("layernorm"), {"eps": 1e-05}) == {"eps": 1e-05}
