"""How exact numbers are: short ones may have been rounded, float64 may be right as float32 computes."""

import math
from array import array
from random import Random

import pytest
from op_laws import mapped

from graphattn import Graph, diagnose, run
from graphattn.builtin import specimen
from graphattn.core import nested
from graphattn.core.rounded import FLOAT32


@pytest.fixture(scope="module")
def small():
    """Three tokens of two features, as in the README: too few cells to show with how many decimals they are
    printed."""
    g = Graph("attention")
    q, k, v = (g.input(name, shape=(3, 2), axes=("token", "feature")) for name in "QKV")
    scores = g.matmul(q, k.T, name="scores")
    masked = g.mask(g.scale(scores, sqrt=2, name="scaled"), g.causal_mask(3), name="masked")
    g.output(out=g.matmul(g.softmax(masked, name="weights"), v, name="out"))
    x = [[1.0, 0.5], [-0.5, 2.0], [0.25, -1.0]]
    feeds = {"Q": x, "K": x, "V": x}
    right = run(g, feeds)
    wrong = run(g, feeds, patch={"scaled": right["scores"]})
    return g, feeds, right["out"], wrong["out"]


def rounded(tensor, places):
    return mapped(lambda cell: round(cell, places), tensor)


@pytest.mark.parametrize("places", [2, 3, 4, 6, 8])
def test_right_numbers_that_were_typed_with_few_decimals(small, places):
    graph, feeds, right, _ = small
    found = diagnose(graph, feeds, {"out": rounded(right, places)})
    told = f"right: yours is what this graph gives in out, to the {places} decimals, if they were rounded\n"
    assert found.verdict == "right" and found.tried == 0 and str(found).startswith(told)


@pytest.mark.slow
@pytest.mark.parametrize("places", [3, 6])
def test_a_mistake_that_was_typed_with_few_decimals(small, places):
    graph, feeds, _, wrong = small
    found = diagnose(graph, feeds, {"out": rounded(wrong, places)})
    assert (found.verdict, found.findings[0].phrase) == ("mistake", "without the scale scaled (÷ √2)")
    assert found.accuracy == f"the {places} decimals, if they were rounded" and found.supposed
    told = f"mistake: yours is this graph without the scale scaled (÷ √2), to {found.accuracy}\n"
    assert found.text(width=200).startswith(told)
    assert diagnose(graph, feeds, {"out": rounded(wrong, places)}, precision=places).findings


@pytest.mark.slow
def test_numbers_that_are_wrong_beyond_rounding_are_not_right(small):
    graph, feeds, right, _ = small
    moved = rounded(right, 4)
    moved[1][0] += 0.0002
    found = diagnose(graph, feeds, {"out": rounded(moved, 4)}, pairs=False)
    assert found.verdict == "unexplained" and not found.findings


def test_an_exact_mistake_is_told_before_one_that_rounding_would_explain():
    g = Graph("line")
    x, w, b = g.input("x", (2, 2)), g.parameter("w", (2, 2)), g.parameter("b", (2,))
    g.output(y=g.linear(x, w, b, name="y"))
    feeds = {"x": [[0.5, 1.5], [2.5, -0.5]], "w": [[1.0, 0.5], [0.25, 2.0]], "b": [0.125, 0.5]}
    plain = mapped(lambda c: c, run(g, {**feeds, "b": [0.0, 0.0]})["y"])
    found = diagnose(g, feeds, {"y": plain})
    assert (found.verdict, found.accuracy, found.supposed) == ("mistake", "float64", False)
    assert "without b (b) in the linear y" in found.findings[0].phrase


def test_so_few_digits_that_chance_explains_them_name_nothing():
    g = Graph("share")
    x, w = g.input("x", (1, 3)), g.parameter("w", (2, 3))
    g.output(y=g.softmax(g.linear(x, w, name="h"), name="y"))
    feeds = {"x": [[0.3, -1.1, 0.7]], "w": [[0.4, 0.9, -0.2], [1.2, -0.6, 0.35]]}
    found = diagnose(g, feeds, {"y": [[0.2, 0.8]]}, pairs=False)
    assert found.verdict in ("undecided", "unexplained") and not found.findings
    if found.suspects:
        assert "precision=1 says that they were rounded" in found.notes[0]
    (share, _), = run(g, feeds)["y"]  # fmt: skip
    right = diagnose(g, feeds, {"y": [[round(share, 1), round(1 - share, 1)]]}, pairs=False)
    assert right.verdict == "undecided" and any("precision=1" in note for note in right.notes)


@pytest.mark.slow
def test_float64_that_something_computed_in_float32_went_into():
    given = specimen("block", n=3, d=4)
    right = run(given.graph, given.feeds)["Y"]
    single = mapped(lambda cell: array("f", [cell])[0], right)
    promoted = [[cell + 0.0 if i else cell * (1 + 1e-7) for i, cell in enumerate(row)] for row in right]
    found = diagnose(given.graph, given.feeds, {"Y": promoted})
    assert (found.verdict, found.findings) == ("undecided", []) and found.tried < 3000
    told = str(found).replace("\n  ", " ")
    assert "undecided: yours agrees with this graph in Y to 7 digits, as float32 computes" in told
    assert 'precision="float32" calls it right' in told
    assert diagnose(given.graph, given.feeds, {"Y": promoted}, precision="float32").verdict == "right"
    assert diagnose(given.graph, given.feeds, {"Y": single}).verdict == "right"


def test_a_mistake_of_a_millionth_is_still_named():
    g = Graph("norm")
    x = g.input("x", (3, 4))
    g.output(y=g.rmsnorm(x, g.parameter("gamma", (4,)), eps=1e-6, name="y"))
    feeds = {"x": [[0.5, -1.25, 2.0, 0.75], [1.5, 1.0, -3.0, 0.25], [-0.5, 0.1, 0.4, -1.0]], "gamma": [1.0] * 4}
    wrong = [[cell / math.sqrt(sum(c * c for c in row) / 4 + 1e-5) for cell in row] for row in feeds["x"]]
    found = diagnose(g, feeds, {"y": wrong})
    assert found.verdict == "mistake" and "1e-05" in found.findings[0].phrase


@pytest.mark.slow
def test_what_rows_columns_and_sums_say_where_nothing_fits():
    given = specimen("multi-head", n=5, d=6, heads=2, causal=True)
    right = run(given.graph, given.feeds)["Y"]
    wrong = {
        "only row 4 of Y differs": [*right[:4], [math.sin(9 * cell) for cell in right[4]]],
        "only columns 0 to 2 of Y differ": [[*map(math.sin, row[:3]), *row[3:]] for row in right],
        "Y of yours is what this graph gives but for 6 cells that are infinite in yours (row 0)": [
            [math.inf] * 6, *right[1:]
        ],
        "Y of yours is what this graph gives + X": [
            [a + b for a, b in zip(*rows, strict=True)] for rows in zip(right, given.feeds["X"], strict=True)
        ],
    }  # fmt: skip
    for told, theirs in wrong.items():
        found = diagnose(given.graph, given.feeds, {"Y": theirs}, pairs=False, budget=0.2)
        untried = [note for note in found.notes if "left untried" in note]  # in so little time
        assert (found.verdict, found.notes) == ("unexplained", [told, *untried])


@pytest.mark.slow
def test_a_loss_that_is_a_round_number_has_no_name():
    graph = Graph("loss")
    x, targets = graph.input("x", (3, 4)), graph.input("targets", (3, 4))
    picked = graph.reduce_sum(graph.multiply(graph.log_softmax(x, name="log_p"), targets), axis=-1)
    graph.output(loss=graph.negate(graph.reduce_mean(picked, axis=-2), name="loss"))
    feeds = {"x": [[0.5, -1.25, 2.0, 0.75], [1.5, 1.0, -3.0, 0.25], [-0.5, 0.1, 0.4, -1.0]]}
    feeds["targets"] = [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 0.0]]
    for number in (0.0, 1.0):
        found = diagnose(graph, feeds, {"loss": [[number]]}, pairs=False)
        assert not found.findings and found.verdict in ("undecided", "unexplained")
        assert found.verdict == "unexplained" or found.notes[0].startswith("with so few digits")
    doubled = diagnose(graph, feeds, {"loss": [[2 * run(graph, feeds)["loss"][0][0]]]}, pairs=False)
    assert doubled.verdict == "mistake"


@pytest.mark.slow
def test_what_fits_better_is_named_though_something_likelier_fits_too():
    """In float32, √variance + eps is within what rounding may do of twice that eps inside the root."""
    random = Random(8)
    graph = Graph("norm")
    x, w = graph.input("x", (3, 16)), graph.parameter("w", (16, 16))
    graph.output(y=graph.linear(graph.layernorm(x, name="norm"), w))
    given = {"x": (3, 16), "w": (16, 16)}
    feeds = {
        name: nested.build(shape, lambda *_: FLOAT32.round(random.gauss(0, 1))) for name, shape in given.items()
    }
    fine = run(graph, feeds, level="primitive")
    variance, centred = fine["norm.variance"], fine["norm.deviation"]
    outside = [[c / (math.sqrt(v) + 1e-5) for c in row] for row, (v,) in zip(centred, variance, strict=True)]
    wrong = mapped(FLOAT32.round, run(graph, feeds, patch={"norm": outside})["y"])
    found = diagnose(graph, feeds, {"y": wrong}, pairs=False)
    assert found.findings[0].phrase == "with norm.eps added after norm.root instead"
