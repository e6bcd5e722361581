"""diagnose with intermediates: what was observed is rounded too, nothing explains itself, and what is partly
explained is said to be."""

import math
import warnings
from random import Random

import pytest
from op_laws import mapped

from graphattn import Graph, GraphError, diagnose, run
from graphattn.builtin import specimen
from graphattn.core.rounded import FORMATS
from graphattn.insight.compare import compare

PRINTS = {"4 decimals": lambda c: round(c, 4), "6 digits": lambda c: float(f"{c:.6g}")}


@pytest.fixture(scope="module")
def block():
    given = specimen("block", n=4, d=8, heads=2, causal=True)
    return given.graph, given.feeds, run(given.graph, given.feeds)


@pytest.mark.slow
@pytest.mark.parametrize("printed", PRINTS)
@pytest.mark.parametrize("seen", [
    ("attention.q",), ("norm", "attention.head1.scores"), ("attention.head0.weights", "residual"),
    ("attention.q", "attention.k", "attention.v", "attention", "residual"),
])  # fmt: skip
def test_right_numbers_that_were_printed_are_right(block, printed, seen):
    graph, feeds, right = block
    found = diagnose(graph, feeds, {name: mapped(PRINTS[printed], right[name]) for name in (*seen, "Y")})
    assert found.verdict == "right" and not found.findings


@pytest.mark.parametrize("printed", PRINTS)
def test_a_mistake_in_printed_numbers_is_named_still(block, printed):
    graph, feeds, right = block
    wrong = run(
        graph, feeds, patch={f"attention.head{h}.scaled": right[f"attention.head{h}.scores"] for h in (0, 1)}
    )
    seen = {
        name: mapped(PRINTS[printed], wrong[name]) for name in ("attention.q", "attention.head0.weights", "Y")
    }
    found = diagnose(graph, feeds, seen)
    assert found.findings[0].phrase == "without the scale attention.head*.scaled (÷ √4)"


def head(**options):
    g = Graph("head")
    q, k, v = (g.input(name, (6, 4), ("token", "feature")) for name in "qkv")
    bias = g.reshape(g.alibi_bias(1, 6), (6, 6)) if options.pop("alibi", False) else None
    g.output(out=g.attention(q, k, v, bias=bias, name="attention", **options)[0])
    feeds = {
        name: [[math.sin(5 * i + 7 * j + len(name) + ord(name)) for j in range(4)] for i in range(6)]
        for name in "qkv"
    }
    return g, feeds


def observed(feeds, change):
    """By hand: what `change(i, j, score)` makes of the scaled scores, the weights, and the result."""
    rows = [
        [change(i, j, sum(a * b for a, b in zip(q, k, strict=True)) / 2) for j, k in enumerate(feeds["k"])]
        for i, q in enumerate(feeds["q"])
    ]
    weights = []
    for row in rows:
        raised = [math.exp(cell - max(row)) for cell in row]
        weights.append([cell / sum(raised) for cell in raised])
    columns = list(zip(*feeds["v"], strict=True))
    out = [[sum(w * c for w, c in zip(row, column, strict=True)) for column in columns] for row in weights]
    return {"attention.masked": rows, "attention.weights": weights, "out": out}


def test_a_tensor_does_not_explain_itself():
    graph, feeds = head(window=(2, 0))
    seen = observed(feeds, lambda i, j, s: s if j <= i and j // 3 == i // 3 else -math.inf)
    for finding in diagnose(graph, feeds, seen, pairs=False, budget=1).findings:
        assert not finding.missed and run(finding.graph, feeds, allow_nonfinite=True)  # no cycle


@pytest.mark.slow
def test_what_compare_calls_harmless_is_harmless():
    graph, feeds = head(causal=True, alibi=True)
    seen = observed(feeds, lambda i, j, s: s + j / 256 if j <= i else -math.inf)
    found = diagnose(graph, feeds, seen, budget=1)
    assert (found.verdict, found.findings) == ("harmless", []) and found.agrees
    assert "harmless: attention.masked: yours is the reference with an offset" in str(found)


def two(last=None):
    g = Graph("two")
    x = g.input("x", (3, 4))
    a = g.softmax(g.scale(x, sqrt=4, name="scaled"), name="weights")
    y = (
        g.relu(g.scale(a, multiply=3, name="tripled"), name="y0")
        if last is None
        else g.apply(last, a, name="y0")
    )
    g.output(y=y)
    feeds = {"x": [[0.5, -1.25, 2.0, 0.75], [1.5, 1.0, -3.0, 0.25], [-0.5, 0.1, 0.4, -1.0]]}
    return g, feeds, run(g, feeds, patch={"scaled": feeds["x"]})["weights"]


@pytest.mark.slow
def test_a_second_mistake_further_down_is_found_and_both_are_one_finding():
    graph, feeds, weights = two()
    theirs = {"weights": weights, "y": mapped(lambda c: 6 * c, weights)}
    found = diagnose(graph, feeds, theirs, budget=60)
    first, second = "without the scale scaled (÷ √4)", "with multiply=6 instead of 3 in the scale tripled (· 3)"
    assert (found.verdict, found.together) == ("mistake", False)
    (both,) = found.findings
    assert (both.phrase, both.given) == (f"{first} and {second}", ("weights", "y"))
    again = run(both.graph, feeds)
    assert {name: again[name] for name in theirs} == theirs
    told = found.text(width=300).split("\n")
    assert told[0] == f"mistake: yours is exactly this graph {first} and {second}; 2 mistakes at once"
    assert told[1:10] == [
        "  where    scaled",
        "  right    scaled[1, 2] = x[1, 2] / √4 = -3 / 2 = -1.5",
        "  yours    scaled[1, 2] = -3 (input)",
        "  where    tripled",
        "  right    tripled[0, 2] = weights[0, 2] · 3 = (0.645824)(3) = 1.937472",
        "  yours    tripled[0, 2] = weights[0, 2] · 6 = (0.645824)(6) = 3.874945",
        "  mend     scaled = x / math.sqrt(4)",
        "  mend     tripled = weights * 3",
        "  match    every cell, to float64; no difference is left",
    ]


@pytest.mark.slow
def test_mistakes_at_two_magnifications_are_told_one_by_one():
    graph, feeds, _ = two(last="gelu")
    shares = [[math.exp((cell - max(row)) / 2) for cell in row] for row in feeds["x"]]  # no total
    quick = mapped(lambda c: c / (1 + math.exp(-1.702 * c)), shares)  # a declared mistake: of the op alone
    found = diagnose(graph, feeds, {"weights": shares, "y": quick}, budget=60)
    assert (found.verdict, found.together) == ("mistake", True)
    assert [finding.given for finding in found.findings] == [("weights",), ("y",)]
    told = found.text(width=300).split("\n")
    first = "without the divide quotient of the softmax weights"
    assert told[0] == f"mistake: yours is exactly this graph {first}; 2 mistakes at once"
    assert "  match    every cell of weights, from what was observed before it, to float64;" in str(found)
    assert any(line.startswith("and: yours is this graph with x · sigmoid(1.702 x)") for line in told)
    assert any(line.endswith("its own inputs, and its graph has no change but that one") for line in told)


@pytest.mark.slow
def test_mistakes_of_one_magnification_are_one_finding():
    graph, feeds, _ = two()
    shares = [[math.exp((cell - max(row)) / 2) for cell in row] for row in feeds["x"]]  # no total
    found = diagnose(graph, feeds, {"weights": shares, "y": mapped(lambda c: 6 * c, shares)}, budget=60)
    (both,) = found.findings
    assert both.phrase == (
        "without the divide quotient of the softmax weights and with 6 instead of 3 as the constant factor "
        "of the scale tripled"
    )
    again = run(both.graph, feeds)
    assert again["y"] == mapped(lambda c: 6 * c, shares)


@pytest.mark.slow
def test_what_explains_a_part_says_so():
    graph, feeds, weights = two()
    found = diagnose(
        graph, feeds, {"weights": weights, "y": mapped(lambda c: math.sin(1000 * c), weights)}, budget=2
    )
    (best, *_) = found.findings
    assert (best.given, best.missed) == (("weights",), ("y",))
    assert best.exactly == "yours is this graph without the scale scaled (÷ √4), but that does not explain y"
    assert run(best.graph, feeds)["weights"] == weights and found.data()["findings"][0]["missed"] == ["y"]


FILLS = {"−1e9 added": -1e9, "−3e4 added": -3e4, "the least float16": -65504.0}


@pytest.mark.parametrize("fill", FILLS)
def test_what_hides_is_one_class(fill):
    graph, feeds = head(causal=True)
    right = observed(feeds, lambda i, j, s: s if j <= i else s + FILLS[fill])
    assert diagnose(graph, feeds, right).verdict == "right"
    wrong = observed(feeds, lambda i, j, s: s if j >= i else s + FILLS[fill])
    found = diagnose(graph, feeds, wrong)
    assert found.findings[0].phrase.startswith("with the mask attention.visible transposed"), found.findings[0]


@pytest.mark.slow
def test_a_mask_that_is_added_and_inverted_is_named():
    graph, feeds = head(causal=True)
    wrong = observed(feeds, lambda i, j, s: s + (-1e9 if j <= i else 0.0))  # the last row: all of it hidden
    for seen in (wrong, {"out": wrong["out"]}):
        found = diagnose(graph, feeds, seen)
        assert "with −1e9 added to hidden cells and" in found.findings[0].phrase
        assert "inverted" in found.findings[0].phrase


@pytest.mark.slow
@pytest.mark.parametrize("printed", PRINTS)
def test_inputs_that_were_printed_are_rounded_too(printed):
    graph, feeds = random_block()
    right = run(graph, feeds)
    seen = {name: mapped(PRINTS[printed], value) for name, value in {**feeds, "Y": right["Y"]}.items()}
    assert diagnose(graph, None, seen).verdict == "right"
    seen["attention.q"] = mapped(PRINTS[printed], right["attention.q"])
    assert diagnose(graph, None, seen).verdict == "right"
    seen["Y"] = mapped(lambda c: PRINTS[printed](2 * c), right["Y"])
    assert diagnose(graph, None, seen, budget=0.3, pairs=False).verdict != "right"


def random_block():
    given, draw = specimen("block", n=4, d=8, heads=2, causal=True), Random(1)
    feeds = {name: mapped(lambda c: c + draw.gauss(0.0, 0.1), value) for name, value in given.feeds.items()}
    return given.graph, feeds


def test_numbers_of_tokens_in_yours_are_fed():
    g = Graph("tokens")
    table, ids = g.parameter("table", (4, 2)), g.input("ids", (3,), kind="int")
    g.output(y=g.embedding(table, ids, name="rows"))
    rows = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.5]]
    seen = {"ids": [1.0, 3.0, 0.0], "table": rows, "y": [rows[1], rows[3], rows[0]]}
    assert diagnose(g, None, seen).verdict == "right"
    found = diagnose(g, None, {**seen, "y": [rows[1], rows[3], rows[1]]}, budget=1, pairs=False)
    assert not found.agrees


@pytest.mark.slow
def test_of_several_tensors_of_one_shape_none_is_taken_for_the_result_unasked():
    given = specimen("multi-head", n=3, d=4, heads=2)
    right = run(given.graph, given.feeds)
    seen = {**given.feeds, "context_layer": right["concat"], "attn_output": right["proj"]}
    assert diagnose(given.graph, None, seen).verdict == "right"
    wrong = {**seen, "attn_output": mapped(lambda x: 1.5 * x, right["proj"])}
    found = diagnose(given.graph, None, wrong, pairs=False, budget=0.2)
    assert not found.agrees and set(found.observed) == {"concat", "Y"}


@pytest.mark.parametrize("told", [", dtype=float32", ""])
def test_a_text_of_float32_is_right_or_undecided(told, tmp_path):
    given = specimen("attention", n=4, d=6)
    single = FORMATS["float32"].round
    fed = {name: mapped(single, value) for name, value in given.feeds.items()}
    out = run(given.graph, fed, numbers="float32", level="primitive")["out"]
    text = "".join(
        f"{name} = array({mapped(lambda x: float(f'{x:.8g}'), value)}{told})\n"
        for name, value in {**fed, "out": out}.items()
    )
    (tmp_path / "t.txt").write_text(text, "utf-8")
    found = diagnose(given.graph, None, tmp_path / "t.txt", pairs=False)
    assert found.verdict in ("right", "right" if told else "undecided") and not found.findings, str(found)


def test_numbers_that_were_rounded_and_then_float32_are_printed_inputs_too():
    given = specimen("attention", n=4, d=6)
    right = {**given.feeds, "out": run(given.graph, given.feeds)["out"]}
    printed = {
        name: mapped(lambda x: FORMATS["float32"].round(round(x, 4)), value) for name, value in right.items()
    }
    assert diagnose(given.graph, None, printed).verdict == "right"


@pytest.mark.slow
def test_names_that_compare_knows_are_known(block):
    graph, feeds, right = block
    heads = {which: [right[f"attention.head{h}.{which}"] for h in (0, 1)] for which in ("scores", "weights")}
    seen = {"scores": heads["scores"], "self_attn.q_proj": right["attention.q"], "elsewhere": [[1.0, 2.5]]}
    found = diagnose(graph, feeds, {**seen, "last": right["Y"]})
    assert found.verdict == "right" and found.notes == [
        "not looked at, for the graph has no such tensor: elsewhere"
    ]
    assert list(found.observed) == ["attention.q", "attention.head0.scores", "attention.head1.scores", "Y"]
    unscaled = {f"attention.head{h}.scaled": right[f"attention.head{h}.scores"] for h in (0, 1)}
    wrong = run(graph, feeds, patch=unscaled)
    weights = [wrong[f"attention.head{h}.weights"] for h in (0, 1)]
    found = diagnose(graph, feeds, {**seen, "w": weights, "Y": wrong["Y"]}, names={"head*.weights": "w"})
    assert found.findings[0].phrase == "without the scale attention.head*.scaled (÷ √4)"


@pytest.mark.parametrize("options, told", [
    ({"names": {"Y": "nowhere"}}, "has no tensor 'nowhere'"),
    ({"names": {"nowhere": "Y"}}, "has no tensor 'nowhere'"),
    ({"names": {3: "Y"}}, "names holds 3"), ({"names": ["Y"]}, "names is a list"),
    ({"feeds": ["X"]}, "feeds is a list"), ({"feeds": {3: 4}}, "feeds, or these|no input 3"),
])  # fmt: skip
@pytest.mark.parametrize("ask", [compare, lambda g, y, feeds, **names: diagnose(g, feeds, y, **names)])
def test_what_names_and_feeds_may_be_is_the_same_in_compare_and_diagnose(block, ask, options, told):
    """A name of nothing is an error, though all else is found."""
    graph, feeds, right = block
    with pytest.raises(GraphError, match=told):
        ask(graph, {"Y": right["Y"], "norm": right["norm"]}, **{"feeds": feeds, **options})


def test_the_ending_of_a_name_is_known_inside_too():
    g = Graph("gated")
    x, w = g.input("x", (3, 4)), g.parameter("w", (4, 4))
    inner = g.linear(x, w, name="layer.gate")
    g.output(y=g.gelu(inner, name="layer.act.gate_of"))
    feeds = {"x": [[0.5, -1.25, 2.0, 0.75]] * 3, "w": [[1.0, 0.5, -0.5, 0.25]] * 4}
    right = run(g, feeds)
    assert diagnose(g, feeds, {"gate": right["layer.gate"], "y": right["y"]}).observed == ["layer.gate", "y"]


@pytest.mark.slow
def test_variants_warn_nobody():
    g = Graph("cached")
    x = g.input("x", (2, 4), ("token", "feature"))
    past = [g.input(name, (3, 4)) for name in ("past_k", "past_v")]
    w = {f"w_{n}": g.parameter(f"w_{n}", (4, 4)) for n in "qkvo"}
    g.output(out=g.multi_head(
        x, x, x, **w, past_k=past[0], past_v=past[1], heads=2, causal=True, offset=3, name="mha"
    ))  # fmt: skip
    draw = Random(3)
    feeds = {
        n: [[draw.gauss(0.0, 1.0) for _ in range(s.shape[1])] for _ in range(s.shape[0])]
        for n, s in g.inputs.items()
    }
    seen = run(g, feeds)["out"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        text = str(diagnose(g, feeds, {"out": mapped(lambda c: c + 0.5, seen)}, budget=0.5, pairs=False))
    assert text.startswith("unexplained")
