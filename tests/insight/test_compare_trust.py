"""compare never says "the same" of wrong numbers, nor "different" of right ones: one small input of each kind.

`trust.py` counts both over thousands of runs; here is a small count of it.
"""

import math
import random
from array import array

import pytest
import trust
from op_laws import mapped

from graphattn import Graph, GraphError, diagnose, run
from graphattn.builtin import random_feeds, specimen
from graphattn.core.rounded import BFLOAT16, FORMATS
from graphattn.insight.compare import compare
from graphattn.insight.compare.cell_classes import Rules, Tolerance, measure
from graphattn.insight.compare.printed import (
    EXACT,
    Print,
    before_float32,
    fits,
    print_of_numbers,
    print_of_texts,
)
from graphattn.insight.compare.recording import Recorded
from graphattn.passes.gradient import gradient
from graphattn.testing import assert_close


def normal(*shape, seed=1):
    draw = random.Random(f"{seed}{shape}")

    def make(left):
        return [make(left[1:]) for _ in range(left[0])] if left else draw.gauss(0, 1)

    return make(shape)


class Array:
    """As arrays of frameworks are: with a type, and `.tolist()`."""

    def __init__(self, value, dtype="float64"):
        self.value, self.dtype = value, dtype

    def tolist(self):
        return self.value


def softmax_graph(rows=1, columns=2):
    g = Graph("a")
    g.output(w=g.softmax(g.input("x", (rows, columns)), name="w"))
    return g


def as_text(tensors, form, path):
    def written(value):
        return f"[{', '.join(map(written, value))}]" if isinstance(value, list) else form % value

    path.write_text("".join(f"{name} = {written(value)}\n" for name, value in tensors.items()), "utf-8")
    return path


# ---------------------------------------------------------------- never the same of wrong numbers


def test_inputs_alone_say_nothing_of_what_is_computed():
    """Nor does what only moves them, or what the graph makes without any."""
    s = specimen("block", n=3, d=4, heads=2, causal=True)
    t = s.run()
    inputs = {name: t[name] for name in t.graph.inputs}
    see = next(n for n in t.names if t.spec(n).kind == "bool")
    for given in (inputs, {"X": t["X"]}, {**inputs, see: t[see]}):
        found = compare(t, given)
        assert found.verdict == found.data()["verdict"] == "undecided" and not found.agrees, str(found)
        line = "undecided: only what goes in was compared ("
        assert str(found).startswith(line) and found.data()["headline"].startswith(line)
        assert f"<b>{line}" in found._repr_html_() and found.data()["headline"].endswith("; record Y too")
        with pytest.raises(AssertionError, match="undecided: only what goes in was compared"):
            assert_close(t, given)
    assert compare(s.graph, inputs).verdict == "undecided"
    assert compare(t, {**inputs, "norm": t["norm"]}).agrees
    assert compare(t, {**inputs, "X": [[1.0] * 4] * 3}).verdict == "different"
    g = Graph("moved")
    x, y = g.input("x", (2, 3)), g.input("y", (3, 2))
    turned = g.transpose(x, name="turned")
    fed = {"x": normal(2, 3), "y": normal(3, 2)}
    columns = [list(column) for column in zip(*fed["x"], strict=True)]
    result = g.add(turned, y, name="sum")
    assert compare(run(g, fed), {"x": fed["x"], "turned": columns}).verdict == "undecided"
    g.output(result=result)
    assert compare(run(g, fed), {"x": fed["x"], "turned": columns}).verdict == "undecided"
    g.output(turned=turned)
    assert compare(run(g, fed), {"x": fed["x"], "turned": columns}).agrees  # it is a result
    g = Graph("nothing_is_computed")
    g.output(x=g.input("x", (2, 3)))
    assert compare(run(g, {"x": fed["x"]}), {"x": fed["x"]}).agrees


def test_few_digits_of_an_array_excuse_nothing():
    x = [[2.0, 0.0]]
    assert not compare(softmax_graph(), {"x": Array(x), "w": Array([[1.0, 0.0]])}).agrees
    assert not compare(softmax_graph(), {"x": x, "w": [[1.0, 0.0]]}).agrees


def test_few_digits_of_a_text_leave_it_undecided(tmp_path):
    trace = run(softmax_graph(), {"x": [[0.3, 0.1]]})
    shown = {"x": [[0.3, 0.1]], "w": [[0.5, 0.5]]}  # 0.549…, 0.450…
    found = compare(trace, as_text(shown, "%.1f", tmp_path / "t.txt"))
    assert found.verdict == "undecided" and not found.agrees
    assert str(found).startswith("undecided: 1 of 2 tensors cannot be told from rounding: w")


@pytest.mark.slow
def test_another_shape_under_an_alias_is_reported():
    s = specimen("multi-head", n=3, d=4, projections=False)
    t = run(s.graph, s.feeds)
    theirs = {**s.feeds, "Y": [[(r[0] + r[2]) / 2, (r[1] + r[3]) / 2] for r in t["Y"]]}
    found = compare(t, theirs)
    assert not found.agrees and "has another shape" in str(found).splitlines()[0]


def test_an_unsummed_gradient_is_reported():
    g = Graph("l")
    g.output(y=g.linear(g.input("x", (3, 2)), g.parameter("w", (2, 2)), g.parameter("b", (2,)), name="y"))
    t = run(
        gradient(g, of="y"), {"x": normal(3, 2), "w": normal(2, 2), "b": normal(2), "d_y": normal(3, 2, seed=2)}
    )
    assert compare(t, {"x": t["x"], "d_b": t["d_b"]}).agrees
    assert not compare(t, {"x": t["x"], "d_b": normal(3, 2, seed=2)}).agrees


def test_a_row_that_sees_nothing_is_no_excuse():
    g = Graph("a")
    m = g.input("m", (2, 2), kind="bool")
    g.output(w=g.softmax(g.mask(g.input("x", (2, 2)), m, name="masked"), name="w"))
    feeds = {"x": [[1.0, 2.0], [3.0, 4.0]], "m": [[True, False], [False, False]]}
    theirs = {"masked": [[1.0, -1e9], [-1e9, -1e9]], "w": [[1.0, 0.0], [0.5, 0.5]]}
    assert not compare(run(g, feeds), theirs).agrees
    assert compare(run(g, feeds), theirs, empty="uniform").agrees


def test_what_nothing_was_compared_with_is_said_first():
    trace = specimen("attention", n=3, d=4).run()
    tensors = {"Q": trace["Q"], "out": trace["out"], "cache": normal(2, 5), "step": [3.0]}
    found = compare(trace, tensors)
    assert found.uncompared == ["cache", "step"]
    assert str(found).splitlines()[0].endswith("nothing was compared with 2 of yours: cache, step")
    with pytest.raises(
        AssertionError, match="nothing was compared with 2 of the observed tensors: cache, step"
    ):
        assert_close(trace, tensors)
    assert assert_close(trace, tensors, ignore=["cache", "st*"]).agrees


@pytest.mark.parametrize("last", ["x", "y"])
def test_a_result_that_nothing_is_known_to_be_leaves_the_verdict_open(last):
    """Wrong, and by no relation: that it is missing beside all that agrees is not agreement."""
    g = Graph("two_layers")
    x = g.input("x", (3, 4))
    hidden = g.tanh(x, name="hidden")
    g.output(out=g.matmul(g.softmax(hidden, name="weights"), g.parameter("w", (4, 5)), name="out"))
    trace = run(g, random_feeds(g, seed=1))
    wrong = [[math.sin(17 * i + 5 * j) for j in range(5)] for i in range(3)]
    theirs = {name: trace[name] for name in ("x", "w", "hidden", "weights")}
    for spare in ("o", "y"):
        theirs[spare] = wrong
    theirs[last] = theirs.pop(last)
    found = compare(trace, theirs)
    assert not found.agrees and found.verdict == ("different" if last == "y" else "undecided")
    if last == "x":
        assert found.open_results == {"out": ["o", "y"]}
        assert str(found).startswith(
            "undecided: 4 tensors agree, but which of yours is the result out is not known"
        )
        assert compare(trace, theirs, names={"out": "y"}).verdict == "different"
        assert compare(trace, {name: t for name, t in theirs.items() if name not in ("o", "y")}).agrees


def test_nan_in_an_input_hides_no_leak_after_it():
    g = Graph("n")
    x = g.input("x", (2, 2))
    g.output(y=g.relu(g.negate(x, name="minus"), name="y"))
    feeds = {"x": [[math.nan, 1.0], [2.0, -3.0]]}
    trace = run(g, feeds, allow_nonfinite=True)
    assert compare(trace, {"x": feeds["x"], "y": trace["y"]}, nan_equal=True).agrees
    theirs = {"x": feeds["x"], "minus": trace["minus"], "y": [[math.nan, math.nan], [0.0, 3.0]]}
    found = compare(trace, theirs, nan_equal=True)
    assert found.first.comparison.name == "y"


def test_a_short_format_needs_evidence():
    g = Graph("m")
    g.output(y=g.matmul(g.input("x", (2, 2)), g.input("z", (2, 2)), name="y"))
    feeds = {"x": [[0.5, 1.5], [-0.25, 2.0]], "z": [[1.0, 0.5], [0.75, -1.25]]}
    wrong = [[c * 1.015625 for c in row] for row in run(g, feeds)["y"]]  # short numbers, 1.6 % off
    assert not compare(g, {**feeds, "y": wrong}).agrees


# ---------------------------------------------------------------- never different of right numbers


@pytest.mark.parametrize("form", ("%.4f", "%.6g", "%.3f", "%.5e"))
def test_everything_printed_with_few_digits(form, tmp_path):
    s = specimen("block", n=4, d=8, heads=2)
    feeds = {name: normal(*spec.shape, seed=name) for name, spec in s.graph.inputs.items()}
    t = run(s.graph, feeds)
    shown = {**feeds, "norm": t["norm"], "Y": t["Y"]}
    found = compare(s.graph, as_text(shown, form, tmp_path / "t.txt"))
    assert found.agrees and "that were printed" in str(found), str(found)
    wrong = {**shown, "Y": [[1.3 * v for v in row] for row in t["Y"]]}
    assert not compare(s.graph, as_text(wrong, form, tmp_path / "w.txt")).agrees


def test_numbers_that_were_float32_when_they_were_printed_or_read(tmp_path):
    """np.round(x, 4).tolist() of float32, and `tensor(…, dtype=torch.float16)`, which was computed so."""
    s = specimen("attention", n=4, d=6)
    trace = run(s.graph, s.feeds)
    printed = {
        n: mapped(lambda x: FORMATS["float32"].round(round(x, 4)), trace[n]) for n in ("Q", "K", "V", "out")
    }
    assert compare(s.graph, printed).agrees
    assert not compare(s.graph, {**printed, "out": mapped(lambda x: x + 0.01, printed["out"])}).agrees
    half = FORMATS["float16"].round
    fed = {n: mapped(half, x) for n, x in s.feeds.items()}
    out = run(s.graph, fed, numbers="float16", level="primitive")["out"]
    text = "".join(
        f"{n}: tensor({x}, dtype=torch.float16)\n"
        for n, x in {**fed, "out": mapped(lambda x: round(x, 4), out)}.items()
    )
    (tmp_path / "t.txt").write_text(text, "utf-8")
    assert compare(s.graph, tmp_path / "t.txt").agrees
    assert diagnose(s.graph, None, tmp_path / "t.txt").verdict == "right"


def test_names_of_weights_in_one_word():
    s = specimen("multi-head", n=3, d=4, heads=2)
    names = {"w_q": "Wq", "w_k": "layer.Wk", "w_v": "WV", "w_o": "Wo", "X": "x"}
    trace = run(s.graph, s.feeds)
    assert compare(s.graph, {**{names[n]: trace[n] for n in s.feeds}, "Y": trace["Y"]}).verdict == "the same"


@pytest.mark.parametrize("op, mean", [("gelu", -4.0), ("silu", -4.0), ("layernorm", 100.0), ("softmax", 0.0)])
@pytest.mark.parametrize("short", ("bfloat16", "float16", "float32"))
def test_rounding_inside_of_a_step_counts(op, mean, short):
    """1 + erf(x) is a small difference of numbers near 1; so is x − mean(x) of a row that lies far from 0."""
    draw = random.Random(f"{op}{short}")
    for n, m in ((1, 3), (2, 4), (4, 6)):
        g = Graph("a")
        g.output(out=getattr(g, op)(g.input("x", (n, m)), name="y"))
        x = [[FORMATS[short].round(draw.gauss(mean, 1.5)) for _ in range(m)] for _ in range(n)]
        theirs = run(g, {"x": x}, numbers=short, level="primitive")
        found = compare(run(g, {"x": x}), {"x": x, "y": theirs["y"]}, precision=short)
        assert found.verdict != "different", str(found)
        twice = [[2.5 * c - 0.5 for c in row] for row in theirs["y"]]
        assert compare(run(g, {"x": x}), {"x": x, "y": twice}, precision=short).verdict != "the same"


def test_a_row_beside_a_huge_one_is_not_excused_by_it():
    """bfloat16, one token a thousand times as large as the others, whose numbers are wrong."""
    g = Graph("a")
    g.output(out=g.linear(g.input("x", (4, 8)), g.parameter("w", (8, 8)), name="y"))
    fed = {"x": normal(4, 8), "w": normal(8, 8, seed=2)}
    fed["x"][0] = [1000 * c for c in fed["x"][0]]
    fed = {name: [[BFLOAT16.round(c) for c in row] for row in rows] for name, rows in fed.items()}
    right = run(g, fed, numbers="bfloat16", level="primitive")["y"]
    assert compare(run(g, fed), {**fed, "y": right}, precision="bfloat16").agrees
    wrong = [right[0], right[2], right[1], right[3]]
    assert compare(run(g, fed), {**fed, "y": wrong}, precision="bfloat16").verdict == "different"


def test_cells_at_a_flip_are_undecided_one_by_one(tmp_path):
    """The sign of what was printed as 0.00 is not known; the signs of the others are."""
    g = Graph("a")
    g.output(out=g.is_positive(g.input("x", (2, 6)), name="y"))
    x = [[0.004, -1.25, 2.13, 0.75, -0.31, 1.07], [-0.003, 1.5, -0.66, 0.12, 0.98, -2.4]]
    y = run(g, {"x": x})["y"]
    for flipped in (False, True):
        theirs = [row.copy() for row in y]
        if flipped:
            theirs[0][0] = 1 - theirs[0][0]
        file = as_text({"x": x, "y": theirs}, "%.2f", tmp_path / f"{flipped}.txt")
        found = compare(g, file)
        assert found.verdict != "different", str(found)
        if found.find("y").reach is not None:
            assert found.verdict == "undecided" and found.find("y").reach.open == 1
            assert "1 of 12 cells cannot be told" in str(found)
    theirs[0][1] = 1 - theirs[0][1]
    assert compare(g, as_text({"x": x, "y": theirs}, "%.2f", tmp_path / "w.txt")).verdict == "different"


def test_an_empty_sum_is_0():
    g = Graph("e")
    g.output(m=g.matmul(g.input("a", (2, 0)), g.input("b", (0, 2)), name="m"))
    fed = {"a": [[], []], "b": []}
    assert compare(g, {**fed, "m": [[0.0, 0.0], [0.0, 0.0]]}).agrees
    assert compare(g, {**fed, "m": [[0.0, 0.0], [0.0, 1.0]]}).first.comparison.name == "m"


def test_zero_and_noise_are_the_same():
    g = Graph("ln")
    g.output(y=g.layernorm(g.input("x", (2, 4)), name="y"))
    t = run(gradient(g, of="y"), {"x": normal(2, 4), "d_y": [[1.0] * 4] * 2})
    assert compare(t, {"d_x": [[0.0] * 4] * 2}).agrees
    assert not compare(t, {"d_x": [[0.0, 0.0, 1e-6, 0.0], [0.0] * 4]}).agrees


@pytest.mark.parametrize("hidden", [-1e4, -3e4, -1e5, -1e8, -1e30])
def test_any_number_that_a_softmax_makes_0_hides(hidden):
    s = specimen("block", n=4, d=8, heads=2, causal=True)
    t = s.run()
    record = {n: t[n] for n in t.names if t.spec(n).kind == "float"}
    for name in [n for n in record if n.endswith("masked")]:
        record[name] = [[hidden if x == -math.inf else x for x in row] for row in record[name]]
    found = compare(t, record)
    assert found.agrees and not found.harmless, str(found)


@pytest.mark.slow
def test_what_is_no_form_of_the_reference_is_not_harmless_whatever_the_result():
    t = specimen("block", n=3, d=4, causal=True).run()
    absurd = {"head0.weights": [[9.0] * 3] * 3, "residual": t["residual"]}
    found = compare(t, absurd)
    assert found.verdict == "different" and found.first.comparison.name.endswith("head0.weights"), str(found)
    assert "its rows sum to 27, where the reference's sum to 1" in str(found)
    wide = specimen("block", n=4, d=8, heads=2).run()
    other = [[0.3 * math.sin(9.0 * i + 5.0 * j) for j in range(8)] for i in range(4)]
    assert not compare(wide, {"norm": other, "residual": wide["residual"]}).agrees
    early = [[v / 2 for v in row] for row in wide["attention.q"]]
    assert list(compare(wide, {"attention.q": early, "residual": wide["residual"]}).harmless) == ["attention.q"]


def test_a_small_tensor_that_nothing_explains_is_doubtful_though_the_result_agrees():
    given = specimen("attention", n=3, d=2, causal=True)
    trace = run(given.graph, given.feeds)
    right = {name: trace[name] for name in ("scores", "scaled", "weights", "out")}
    wrong = {**right, "scaled": [[0.3, 0.9, -0.2], [0.7, -0.4, 0.1], [-0.8, 0.6, 0.5]]}
    found = compare(trace, wrong)
    assert found.verdict == "undecided" and found.find("scaled").status == "doubtful"
    assert found.text(width=200).startswith(
        "undecided: scaled differs, though everything computed from it agrees"
    )
    assert found.data()["doubtful"] == ["scaled"] and not found.harmless
    halved = {**right, "scaled": [[cell / 2 for cell in row] for row in right["scaled"]]}  # another form
    assert list(compare(trace, halved).harmless) == ["scaled"]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_what_the_result_was_not_computed_from_is_not_harmless_in_short_numbers_either(dtype):
    trace = specimen("multi-head", n=4, d=6, heads=2, causal=True).run()
    right = {name: trace[name] for name in (*trace.graph.fed, "head0.weights", "head1.weights", "proj")}

    def seen(**more):
        tensors = {n: mapped(FORMATS[dtype].round, x) for n, x in {**right, **more}.items()}
        return compare(trace.graph, {n: Array(x, dtype) for n, x in tensors.items()}).verdict

    assert seen() == "the same"
    even = [[1.0 / 4] * 4] * 4
    assert seen(**{"head0.weights": even}) != "the same" != seen(**{"head1.weights": right["head0.weights"]})


def test_another_tensor_that_is_there_too_is_not_harmless():
    trace = specimen("multi-head", n=4, d=6, heads=2, causal=True).run()
    right = {name: trace[name] for name in ("head0.weights", "head1.weights", "proj")}
    found = compare(trace, {**right, "head1.weights": right["head0.weights"]})
    assert found.verdict == "undecided" and found.find("head1.weights").status == "doubtful", str(found)
    swapped = {"head0.weights": right["head1.weights"], "head1.weights": right["head0.weights"]}
    assert set(compare(trace, {**right, **swapped}).harmless) == set(swapped)  # called otherwise


def test_what_is_nearly_the_same_takes_no_place_of_what_is_the_same():
    g = Graph("near")
    x = g.input("x", (3, 4))
    g.output(y=g.softmax(x, name="y"))
    t = run(g, {"x": normal(3, 4)})
    nearly = [[v * (1 + 1e-4) for v in row] for row in t["y"]]
    found = compare(t, {"a": normal(3, 4), "nearly": nearly, "result": t["y"]})
    assert [t.pair.other for t in found.tensors if t.name == "y"] == ["result", "nearly"], str(found)
    assert found.verdict == "different"  # it is no copy: it is y × 1.0001


def test_heads_before_tokens_are_found_by_value_though_there_are_as_many():
    g = Graph("turned")
    x = g.input("x", (2, 2, 4), ("token", "head", "feature"))
    g.output(y=g.reduce_sum(g.scale(x, divide=3, name="turned"), name="y"))
    t = run(g, {"x": normal(2, 2, 4)})
    own = t["turned"]
    heads = [[own[i][h] for i in range(2)] for h in range(2)]
    found = compare(t, {"k_rot": heads, "y": t["y"]})
    assert found.agrees and not found.harmless and not found.uncompared, str(found)


def test_inputs_that_were_not_recorded_are_not_said_to_agree():
    s = specimen("attention", n=3, d=4)
    t = s.run()
    scores = t.graph.tensor_name(t.graph.resolve("scores"))
    wrong = [[2 * v for v in row] for row in t[scores]]
    told = str(compare(t, {"Q": t["Q"], scores: wrong}))
    assert told.startswith(
        "different: scores is the first to differ; yours did not record K, which goes into it\n"
    )
    told = str(compare(t, {"Q": t["Q"], "K": t["K"], scores: wrong}))
    assert told.startswith("different: scores is the first to differ; its inputs agree\n")


def test_rows_that_were_rounded_in_print_are_not_said_to_sum_to_something_else(tmp_path):
    s = specimen("attention", n=5, d=8)
    t = s.run()
    wrong = s.run(patch={"scaled": lambda rows: [[3 * v for v in row] for row in rows]})
    record = {name: wrong[name] for name in ("Q", "K", "V", "weights")}
    found = compare(t, as_text(record, "%.4f", tmp_path / "run.txt"))
    assert found.first.comparison.name == "weights"
    assert "its rows sum" not in str(found), str(found)
    assert str(found).count("the reference:") == 0  # only yours has a name


def test_an_out_projection_is_no_head():
    s = specimen("multi-head", n=3, d=4, heads=1)
    t = s.run()
    proj, head = (next(n for n in t.names if n.endswith(ending)) for ending in ("proj", "head0.out"))
    found = compare(t, {"attn.out_proj": t[proj], "attn.context": t[head]}, by="name")
    assert {p.key: p.other for p in found.alignment.pairs} == {proj: "attn.out_proj", head: "attn.context"}


def test_scores_that_a_softmax_makes_0_are_no_other_mask_where_the_visible_ones_differ():
    s = specimen("block", n=4, d=8, heads=2, causal=True)
    t = s.run()
    wrong = s.run(patch={"attention.head0.scaled": [[1.5, 2.0, -1.0, 0.5]] * 4})
    record = {n: wrong[n] for n in t.names if t.spec(n).kind == "float" and not n.endswith("head0.scaled")}
    for name in [n for n in record if n.endswith("masked")]:
        record[name] = [[-1e4 if x == -math.inf else x for x in row] for row in record[name]]
    found = compare(t, record)
    assert found.first.comparison.name.endswith("head0.masked"), str(found)
    assert not any(relation.kind == "masked cells" for relation in found.first.relations), str(found)
    assert found.first.comparison.difference.masked_reference == 0


def test_what_agrees_vouches_only_where_a_mistake_would_be_seen_or_makes_no_difference():
    g = Graph("residual")
    x, w = g.input("x", (4, 6)), g.parameter("w", (6, 6))
    g.output(y=g.add(x, g.linear(x, w, name="proj"), name="y"))
    feeds = {
        "x": [[1000 + v for v in row] for row in normal(4, 6)],
        "w": [[v / 999 for v in row] for row in normal(6, 6)],
    }
    trace = run(g, feeds)
    short = {name: trace[name] for name in ("x", "w", "y")}
    short["proj"] = [[1.5 * v for v in row] for row in trace["proj"]]  # far below one step of y in bfloat16
    found = compare(
        trace, {n: Array([[BFLOAT16.round(v) for v in row] for row in x], "bfloat16") for n, x in short.items()}
    )
    assert found.first.comparison.name == "proj" and not found.harmless, str(found)
    g = Graph("scores")
    q, k = g.input("q", (4, 6)), g.input("k", (4, 6))
    scores = g.scale(g.matmul(q, k.T, name="scores"), divide=2, name="scaled")
    g.output(weights=g.softmax(scores, name="weights"))
    trace = run(g, {"q": normal(4, 6, seed=2), "k": normal(4, 6, seed=3)})
    early = {**{n: trace[n] for n in ("q", "k", "scaled", "weights")}}
    early["scores"] = [[v / 2 for v in row] for row in trace["scores"]]
    early["scaled"] = [[v + 1 for v in row] for row in trace["scaled"]]
    found = compare(
        trace, {n: Array([[BFLOAT16.round(v) for v in row] for row in x], "bfloat16") for n, x in early.items()}
    )
    assert found.agrees and list(found.harmless) == ["scores", "scaled"], str(found)


@pytest.mark.slow
def test_many_runs_as_people_record_them():
    pytest.importorskip("numpy")
    for wrong in (False, True):
        verdicts, false = trust.count(40, wrong, 0, 0)
        assert false == 0, verdicts


def test_a_verdict_that_is_too_kind_is_counted(monkeypatch):
    monkeypatch.setattr(trust, "verdict", lambda case, seed, folder: ("the same", None))
    assert trust.count(3, True, 0, 0)[1] == 3
    monkeypatch.setattr(trust, "verdict", lambda case, seed, folder: ("different", None))
    assert trust.count(3, False, 0, 0)[1] == 3


# ---------------------------------------------------------------- how it was printed


@pytest.mark.parametrize("texts, printed", [
    (["0.10", "1.25", "3.00"], Print("fixed", 2)), (["0.125", "0.333"], Print("fixed", 3, False)),
    (["1.25e+00", "3.00e-01"], Print("significant", 3, False)), (["1", "0"], None), (["0.1", "0.25"], None),
])  # fmt: skip
def test_the_print_of_a_text(texts, printed):
    assert print_of_texts(texts) == printed


def test_the_print_of_numbers():
    cells = [c for row in normal(8, 8) for c in row]
    assert print_of_numbers(cells) == EXACT
    for places in (2, 3, 4):
        assert print_of_numbers([round(c, places) for c in cells]) == Print("fixed", places)
        assert print_of_numbers([float(f"{c:.{places}e}") for c in cells]) == Print("significant", places + 1)
    assert print_of_numbers([1.0, 2.0, 3.0]) is None
    assert not print_of_numbers([0.25, 0.5]).sure
    assert Print("fixed", 2).half(9.0) == pytest.approx(0.005, rel=1e-4)
    assert Print("significant", 3).half(123.0) == pytest.approx(0.5, rel=1e-4)


def test_the_print_of_a_tensor_is_that_of_the_others_where_both_may_be():
    record = {"a": [[round(c, 4) for c in row] for row in normal(6, 6)]}
    record["w"] = [[round(0.11 + 0.8 * abs(math.sin(7 * i + j)), 4) for j in range(6)] for i in range(6)]
    near = {name: [[c + 4e-5 for c in row] for row in rows] for name, rows in record.items()}
    assert compare(near, record).agrees


def test_a_verdict_is_short():
    trace = specimen("block", n=4, d=8, heads=2).run()
    assert (
        repr(compare(trace, trace)) == "<comparison: the same: 32 tensors, every cell equal>"
        or len(repr(compare(trace, trace))) < 200
    )
    with pytest.raises(GraphError, match="was not compared"):
        compare(trace, trace).find("nothing")


def test_one_look_at_a_small_tensor_says_what_its_rows_say():
    draw, told = random.Random(0), 0
    for _ in range(2000):
        n, d, size = draw.randint(1, 4), draw.randint(1, 5), 10.0 ** draw.choice((-200, -3, 0, 0, 3, 200))
        wide = [draw.choice((1.0, 1.0, 1.0, 1e-9)) for _ in range(n)]
        flat = draw.choice((0.0, 0.0, 1.0))
        rows = [[size * (flat + w * draw.gauss(0.0, 1.0)) for _ in range(d)] for w in wide]
        hidden = draw.choice((None, None, -math.inf, -1e9, math.nan))
        if hidden is not None:
            rows = [[x if j <= i else hidden for j, x in enumerate(row)] for i, row in enumerate(rows)]
        rtol = draw.choice((1e-15, 1e-6, 1e-2))
        far = draw.choice((0.0, 0.1, 1.0, 3.0)) * rtol * size
        other = [[x + far * draw.uniform(-1.0, 1.0) for x in row] for row in rows]
        sides = Recorded("x", (n, d), rows), Recorded("y", (n, d), other)
        once = measure(*sides, Tolerance(rtol), Rules())
        by_row = measure(*sides, Tolerance(rtol), Rules(), skip=lambda i, a, b: False)
        assert (once.agrees, once.unequal, once.loose) == (by_row.agrees, by_row.unequal, by_row.loose), sides
        told += once.agrees and once.unequal
    assert told > 200


def test_a_sign_is_no_digit():
    assert fits(Print("significant", 6), [-1.23456, 1.5]) and not fits(Print("significant", 7), [-1.23456, 1.5])
    assert before_float32([array("f", (-0.123456,))[0], 2.0]) == [-0.123456, 2.0]


@pytest.mark.parametrize("precision", [None, "float32", "float16", "bfloat16"])
def test_a_fill_excuses_no_visible_cell_beside_it(precision):
    graph = Graph("bias")
    scores, bias = graph.input("scores", (3, 3)), graph.input("bias", (3, 3))
    graph.output(out=graph.softmax(graph.add(scores, bias, name="masked"), name="weights"))
    hidden = [[0.0 if j <= i else -1e4 for j in range(3)] for i in range(3)]
    feeds = {"scores": [[0.5, -1.25, 0.75], [1.5, 0.25, -0.5], [-0.1, 0.4, 1.0]], "bias": hidden}
    reference = run(graph, feeds)
    wrong = [list(row) for row in reference["masked"]]
    wrong[1][0] += 2.0
    assert not compare(reference, {"masked": wrong}, precision=precision).agrees
