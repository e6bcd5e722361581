"""What the report says, and by which rules: tolerances, precisions, masks, NaN, rows that see nothing."""

import json
import math

import pytest
import recorded

from graphattn import Graph, GraphError, run
from graphattn.builtin import specimen
from graphattn.core.rounded import BFLOAT16, FLOAT16, FLOAT32
from graphattn.insight.compare import compare
from graphattn.insight.compare.masked_cells import is_masked


def small(**options):
    return specimen("block", n=4, d=8, heads=2, causal=True).run(**options)


def doubled(x):
    return [[2 * v for v in row] for row in x]


def recorded_by(trace, change=lambda name, value: value):
    """The float tensors of a trace as a dict."""
    return {
        name: change(name, trace[name]) for name in trace.names if trace.spec(name).kind == "float"
    }  # fmt: skip


def test_the_first_lines_say_what_is_wrong_and_where(golden):
    wrong = small(patch={"attention.head0.scaled": doubled, "attention.head1.scaled": doubled})
    comparison = compare(small(), wrong)
    assert str(comparison).startswith(
        "different: attention.head0.scaled is the first to differ; its inputs agree\n"
        "  yours is the reference × 2, which is √d_k (d_k = 4)"
    )
    golden("compare_scale.txt", str(comparison))


def test_agreement_is_said_first():
    assert str(compare(small(), small())).startswith("the same: 32 tensors, every cell equal")
    assert compare(small(), small()).first is None


def test_float32_is_rounding_and_nothing_else():
    trace = small()
    for yours in (
        small(numbers="float32", level="primitive"),
        recorded_by(small(), lambda name, x: [[FLOAT32.round(v) for v in row] for row in x]),
    ):
        comparison = compare(trace, yours)
        assert str(comparison).startswith("the same but for rounding to float32: ")
        assert comparison.agrees and not comparison.harmless and comparison.precision.name == "float32"
        strict = compare(trace, yours, precision="float64")
        assert not strict.agrees
        for divergence in strict.divergences:
            assert [relation.kind for relation in divergence.relations] == ["rounding"], divergence.key
            assert "float32" in divergence.relations[0].text


@pytest.mark.parametrize("fmt", [FLOAT32, FLOAT16, BFLOAT16], ids=lambda fmt: fmt.name)
@pytest.mark.parametrize("seed", range(4))
def test_a_run_in_a_short_format_agrees(fmt, seed):
    made = specimen("block", n=6, d=12, heads=2, causal=seed % 2 == 0, seed=seed)
    feeds = dict(made.feeds)
    if seed == 1:  # one token much larger than the others
        feeds["X"] = [[30 * v if i == 0 else v for v in row] for i, row in enumerate(feeds["X"])]
    if seed == 2:  # weights near 0 and 1
        feeds["w_q"] = [[20 * v for v in row] for row in feeds["w_q"]]
    comparison = compare(
        run(made.graph, feeds), run(made.graph, feeds, numbers=fmt.name, level="primitive"), precision=fmt.name
    )
    assert comparison.agrees, str(comparison)


def test_the_precision_is_read_off_the_numbers():
    trace = small()
    for fmt in (FLOAT32, FLOAT16, BFLOAT16):
        yours = recorded_by(trace, lambda name, x, fmt=fmt: [[fmt.round(v) for v in row] for row in x])
        assert compare(trace, yours).precision.name == fmt.name
    printed = recorded_by(trace, lambda name, x: [[round(v, 4) for v in row] for row in x])
    comparison = compare(trace, printed)
    assert comparison.agrees and "4 decimals" in comparison.tolerance_text
    for name in ("attention.head0.weights", "attention.head0.out", "attention.concat"):
        printed[name] = doubled(printed[name])
    printed["attention.proj"], printed["residual"] = printed["residual"], printed["attention.proj"]
    assert compare(trace, printed).first.comparison.name == "attention.head0.weights"


def test_one_short_tensor_in_a_longer_recording_agrees():
    trace = small()
    yours = recorded_by(trace, lambda name, x: [[FLOAT32.round(v) for v in row] for row in x])
    yours["attention.head0.weights"] = [
        [BFLOAT16.round(v) for v in row] for row in yours["attention.head0.weights"]
    ]
    assert compare(trace, yours).agrees


def test_tolerances_may_be_given():
    trace = small()
    yours = recorded_by(trace, lambda name, x: [[v + 1e-6 if name == "norm" else v for v in row] for row in x])
    assert compare(trace, yours, atol=2e-6).agrees
    assert list(compare(trace, yours, rtol=1e-9, atol=1e-7).harmless) == ["norm"]
    comparison = compare(trace, yours)
    assert list(comparison.harmless) == ["norm"] and comparison.agrees
    assert comparison.harmless["norm"].relations[0].kind == "offset"


@pytest.mark.parametrize("x, masked", [
    (-math.inf, True), (-1e9, True), (-1e9 + 12.5, True), (-999292928.0, True), (-3.4028234663852886e38, True),
    (-3.3895313892515355e38, True), (-1.7976931348623157e308, True), (-65504.0, True), (-1e10, True),
    (-1e12, True), (-65503.0, False), (-1e5, False), (-5e9, False), (0.0, False), (math.inf, False),
])  # fmt: skip
def test_what_is_masked(x, masked):
    assert is_masked(x) is masked


def test_where_the_user_draws_the_line():
    def filled(value):
        return recorded_by(small(), lambda n, x: [[value if v == -math.inf else v for v in row] for row in x])

    assert compare(small(), filled(-100.0)).harmless != {}
    assert compare(small(), filled(-100.0), masked_below=-90.0).harmless == {}
    assert compare(small(), filled(-1e4)).harmless == {}  # a softmax makes it 0


def test_a_result_is_never_harmless():
    made = specimen("attention", n=3, d=4)
    trace = made.run()
    yours = {**recorded_by(trace), "weights": doubled(trace["weights"])}
    assert compare(trace, yours).first.comparison.name == "weights"


def test_masked_cells_are_compared_by_position():
    def shown(name, x):
        return [[0.0 if v == -math.inf and j == 1 else v for j, v in enumerate(row)] for row in x]

    trace = small()
    yours = recorded_by(trace, lambda name, x: shown(name, x) if name == "attention.head1.masked" else x)
    for name in ("attention.head1.weights", "attention.head1.out", "attention.concat"):
        yours[name] = doubled(yours[name])
    yours["attention.proj"], yours["residual"] = yours["residual"], yours["attention.proj"]
    first = compare(trace, yours).first
    assert (
        first.comparison.name == "attention.head1.masked" and first.comparison.difference.masked_reference == 1
    )


def test_huge_numbers_that_are_no_masks_are_compared():
    a, b = [[-2e9, -3e9]], [[-2e9, -4e9]]
    assert not compare({"a": a}, {"a": b}).agrees


def test_nan_never_passes():
    a = {"a": [[1.0, math.nan]], "b": [[1.0, 2.0]]}
    comparison = compare(a, {**a, "a": [[1.0, math.nan]]})
    assert not comparison.agrees and comparison.first.comparison.difference.nan == 1
    same = a["a"]
    assert not compare({"a": same}, {"a": same}).agrees  # the very same list, too
    assert compare(a, {**a}, nan_equal=True).agrees
    assert not compare(a, {"a": [[1.0, 2.0]], "b": a["b"]}, nan_equal=True).agrees
    assert not compare({"a": [[1.0, 2.0]]}, {"a": [[1.0, math.inf]]}).agrees
    assert compare({"a": [[1.0, math.inf]]}, {"a": [[1.0, math.inf]]}).agrees


def blind(empty="zero", fill=None):
    """Attention whose second query sees nothing."""
    g = Graph("blind")
    q, k, v = (g.input(name, (3, 2)) for name in "qkv")
    see = g.constant([[True, False, True], [False] * 3, [True] * 3], name="see")
    weights = g.softmax(
        g.mask(g.scale(q @ k.T, sqrt=2, name="scaled"), see, name="masked"), empty=empty, name="weights"
    )
    g.output(out=g.matmul(weights, v, absorb_zeros=empty == "zero", name="out"))
    feeds = {name: [[0.5 * i - j + n for j in range(2)] for i in range(3)] for n, name in enumerate("qkv")}
    patch = None if fill is None else {"weights": lambda w: [w[0], [fill] * 3, w[2]]}
    return run(g, feeds, patch=patch)


@pytest.mark.parametrize("policy, yours", [
    ("nan", blind("nan")), ("uniform", blind(fill=1 / 3)), ("zero", blind()), ("any", blind("nan")),
    ("any", blind(fill=1 / 3)),
])  # fmt: skip
def test_rows_that_see_nothing_follow_the_policy(policy, yours):
    reference = blind()
    assert compare(reference, yours, empty=policy).agrees
    if policy in ("nan", "uniform"):
        first = compare(reference, yours).first
        assert first.comparison.name == "weights"
        assert first.relations[0].kind == ("NaN" if policy == "nan" else "one row")
        assert not compare(reference, yours, empty="zero").agrees


def test_a_policy_excuses_no_other_row():
    yours = blind(fill=1 / 3)
    record = {name: yours[name] for name in yours.names if yours.spec(name).kind == "float"}
    record["out"] = [[9.0, 9.0], *record["out"][1:]]
    assert compare(blind(), record, empty="uniform").first.comparison.name == "out"


def test_the_data_are_json_and_tell_the_same():
    wrong = small(patch={"attention.head1.weights": doubled})
    data = json.loads(json.dumps(compare(small(), wrong).data(), allow_nan=False))
    assert data["agrees"] is False and data["first"]["tensor"] == "attention.head1.weights"
    assert data["first"]["relations"][0]["detail"]["factor"] == 2.0
    assert {t["name"]: t["status"] for t in data["tensors"]}["attention.proj"] == "differs"
    nan = compare({"a": [math.nan]}, {"a": [1.0]}).data()
    json.dumps(nan, allow_nan=False)


def test_the_table_is_right():
    comparison = compare({"a": [[1.0, 4.0], [0.5, 2.0]]}, {"a": [[1.0, 4.5], [0.75, 2.0]]})
    difference = comparison.find("a").difference
    assert (difference.absolute, comparison.find("a").index) == (0.5, (0, 1))
    assert difference.relative == 0.5 and difference.ulps == 0.25 / math.ulp(0.5)
    assert (difference.cells, difference.over, difference.unequal) == (4, 2, True)
    with pytest.raises(GraphError, match="tensor 'b' was not compared; expected one of a"):
        comparison.find("b")


def test_what_was_not_recorded_between_is_said():
    trace, _ = recorded.traced(recorded.PATHS[1])
    comparison = compare(trace, {"x": trace["x"], "norm": trace["norm"], "y": doubled(trace["y"])})
    text = " ".join(str(comparison).split())
    assert "the mistake may be in any of these steps" in text and "agrees before it: x, block.norm" in text


def test_lines_are_not_endless():
    trace, _ = recorded.traced(recorded.PATHS[-1])
    yours = {name: trace[name] for name in trace.names}
    yours["w_q"] = doubled(yours["w_q"])
    assert max(map(len, str(compare(trace, yours)).splitlines())) <= 120


# ---------------------------------------------------------------- for people


def test_nan_and_infinity_of_the_reference_itself_are_said():
    g = Graph("log")
    g.output(y=g.log(g.input("x", (2, 6)), name="y"))
    x = [[1.0, -1.0, 2.0, 3.0, 0.5, 7.0], [1.5, 3.0, 4.0, math.inf, 2.5, 6.0]]
    t = run(g, {"x": x}, allow_nonfinite=True)
    theirs = [row.copy() for row in t["y"]]
    found = compare(t, {"x": x, "y": theirs})
    assert (
        "  the reference itself holds infinity in x (1 of 12 cells, the first at [1, 3]); not only there: y\n"
        in str(found)
    )
    assert "yours is the reference, NaN in the same cells, which agrees with nothing unasked" in str(found)
    assert compare(t, {"x": x, "y": theirs}, nan_equal=True).agrees
    assert "itself holds" in str(compare(t, {"x": x, "y": theirs}, nan_equal=True))
    theirs[0][1], theirs[1][3] = 5.0, 6.0
    found = compare(t, {"x": x, "y": theirs})
    assert found.first.relations[0].text == "the reference but for columns 1, 3", str(found)
    assert "itself holds" not in str(compare(small(), small()))  # masked cells are no infinities


@pytest.mark.parametrize("a, b, words", [
    ([1.0, math.nan], [1.0, 2.0], ["NaN"]), ([1.0, -math.inf], [1.0, 2.0], ["mask"]),
    ([1.0, math.inf], [1.0, 2.0], ["infinite"]), ([1.0, 0.0], [1.0, 2.0], ["2", "from 0", "no digit"]),
    ([1.0, 1e-30], [1.0, 2.0], ["2", "2e+30", "no digit"]), ([1.0, 2.0], [1.0, -2.0], ["4", "2", "no digit"]),
    ([1.0, 2.0], [1.0, 2.0000001], ["1e-07", "5e-08", "2.25e+08"]),
])  # fmt: skip
def test_what_no_number_tells_is_said_in_a_word(a, b, words):
    found = compare({"s": [a]}, {"s": [b]}, rtol=0.0)
    line = next(line for line in str(found).splitlines() if line.startswith("s  "))
    assert line.split("differs")[1].split("[")[0].split() == " ".join(words).split()
    assert "inf " not in line and line.endswith("[0, 1]")


def test_infinity_on_one_side_is_no_rounding_and_no_factor():
    a = [[0.3 * i - 1.1 * j + 0.7 for j in range(6)] for i in range(4)]
    for own, other in ((math.inf, 2.0), (2.0, math.inf)):
        mine, theirs = [row.copy() for row in a], [[2 * v for v in row] for row in a]
        mine[1][2], theirs[1][2] = own, other
        assert compare({"s": mine}, {"s": theirs}).first.relations == []
        theirs = [row.copy() for row in a]
        theirs[1][2] = other
        assert [r.text for r in compare({"s": mine}, {"s": theirs}).first.relations] == [
            "the reference but for [1, 2]"
        ]


def test_cells_are_shown_with_their_labels():
    tokens = {"token": ["the", "cat", "2 sat"]}
    s = specimen("block", n=3, d=4, heads=2, causal=True)
    labelled, plain = s.run(labels=tokens), s.run()
    record = recorded_by(plain)
    record["attention.head1.scores"] = [[v + (i == 2 and j == 1) for j, v in enumerate(row)]
                                        for i, row in enumerate(record["attention.head1.scores"])]  # fmt: skip
    cell = '["2 sat", cat]'
    for mine, theirs in ((labelled, record), (labelled, plain), (plain, labelled)):
        if theirs is not record:
            patch = {"attention.head1.scores": record["attention.head1.scores"]}
            theirs = s.run(patch=patch, labels=tokens if theirs is labelled else None)
        found = compare(mine, theirs)
        tensor = found.find("attention.head1.scores")
        assert tensor.at == cell and tensor.index == (2, 1)
        assert f"  at {cell}   the reference" in str(found)
        (data,) = [t for t in found.data()["tensors"] if t["name"] == "attention.head1.scores"]
        assert data["at"] == [2, 1] and data["cell"] == cell
        assert "[&quot;2 sat&quot;, cat]" in found._repr_html_()
    assert compare(plain, record).find("attention.head1.scores").at == "[2, 1]"
    stacked = {"scores": [labelled[f"attention.head{h}.scores"] for h in (0, 1)]}
    stacked["scores"] = [[[2 * v for v in row] for row in head] for head in stacked["scores"]]
    assert compare(labelled, stacked).find("attention.head0.scores").at.count(",") == 1


def test_a_scalar_has_no_place():
    assert "\n  the reference 5   yours 7   1 of 1 cells differ\n" in str(compare({"a": 5.0}, {"a": 7.0}))
    assert compare({"a": 5.0}, {"a": 7.0}).data()["tensors"][0]["cell"] == ""


def test_a_result_is_called_as_it_was_recorded():
    graph = Graph("attention")
    x = graph.input("x", (2, 2))
    graph.output(out=graph.softmax(graph.negate(x, name="minus"), name="mixed"))
    trace = run(graph, {"x": [[1.0, 2.0], [3.0, 5.0]]})
    out = [[1 - cell for cell in row] for row in trace["out"]]
    found = compare(trace, {"x": trace["x"], "minus": trace["minus"], "out": out})
    text = str(found)
    assert text.startswith("different: out is the first to differ") and "yours calls it" not in text
    assert "mixed = softmax(minus)" in text and "\nout     2 × 2  differs" in text and "\nmixed" not in text
    assert found.find("out") is found.find("mixed") and found.data()["first"]["tensor"] == "mixed"
    assert "\nmixed   2 × 2  differs" in str(compare(trace, {"mixed": out}))
