"""The small ops against somebody else's numbers, and what only a run can tell: values from other formulas
(complex numbers, 50 digits, the paper's list of slopes), warnings, errors that depend on the values fed."""

import cmath
import math
import random

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphattn import Graph, GraphError, run
from graphattn.core import nested

INF = math.inf


def value(op, *operands, level=None, **attributes):
    """What an op gives for nested lists, at a level."""
    graph, feeds = Graph("one"), {}
    tensors = []
    for i, operand in enumerate(operands):
        kinds = {type(cell) for cell in nested.flat(operand)}
        kind = "bool" if kinds == {bool} else "int" if kinds == {int} else "float"
        tensors.append(graph.input(f"x{i}", nested.shape_of(operand), kind=kind))
        feeds[f"x{i}"] = operand
    made = graph.apply(op, *tensors, **attributes, name="y")
    trace = run(graph, feeds, allow_nonfinite=True, level=level)
    return [trace[t.name] for t in made] if isinstance(made, tuple) else trace[made.name]


def warnings(op, operand, **attributes):
    graph = Graph("one")
    graph.apply(op, graph.input("x", nested.shape_of(operand)), **attributes, name="y")
    return run(graph, {"x": operand}, allow_nonfinite=True).warnings


def axes(op, shape, names, *args, **attributes):
    graph = Graph("one")
    return graph.apply(op, graph.input("x", shape, names), *args, **attributes).axes


def ulps(got, want):
    """How far a float is from a 50-digit number, in units in the last place of that number."""
    want = mpmath.mpf(want)
    return float(abs(mpmath.mpf(got) - want) / math.ulp(float(want)))


def matrix(seed, rows, columns):
    dice = random.Random(seed)
    return [[dice.gauss(0.0, 2.0) for _ in range(columns)] for _ in range(rows)]


# ---------------------------------------------------------------- functions


@pytest.mark.parametrize("x", [-740.0, -709.9, -100.5, -37.0, -1.3, -1e-9, 0.7, 36.9, 37.5, 709.9, 1e4])
def test_sigmoid_and_silu_keep_their_digits_far_out(x):
    with mpmath.workdps(400):
        exact = 1 / (1 + mpmath.exp(-mpmath.mpf(x)))
        assert ulps(value("sigmoid", [x])[0], exact) <= 2
        if x > -700:  # below, σ(x) itself has few digits left
            assert ulps(value("silu", [x])[0], exact * x) <= 3


def test_silu_at_the_infinities():
    assert repr(value("silu", [INF, -INF, -1000.0, -0.0])) == "[inf, nan, -0.0, -0.0]"


def test_log_softmax_is_the_logarithm_of_softmax():
    x = matrix(1, 3, 5)
    logs, weights = value("log_softmax", x), value("softmax", x)
    for log_row, row in zip(logs, weights, strict=True):
        for log, weight in zip(log_row, row, strict=True):
            assert log == pytest.approx(math.log(weight), rel=1e-14)


def test_log_softmax_of_a_weight_too_small_to_be_written():
    assert value("softmax", [0.0, -800.0])[1] == 0.0
    assert value("log_softmax", [0.0, -800.0])[1] == -800.0


def test_log_softmax_of_hidden_cells_and_rows():
    logs = value("log_softmax", [[0.5, -INF], [-INF, -INF], [INF, 1.0]])
    assert repr(logs) == "[[0.0, -inf], [nan, nan], [nan, nan]]"
    assert warnings("log_softmax", [[0.5, -INF], [-INF, -INF]]) == [
        "y: nothing is visible in row [1]: all its logarithms are NaN"
    ]


def test_layernorm_is_rmsnorm_of_the_centred_row():
    x = matrix(2, 2, 6)
    centred = [[v - math.fsum(row) / 6 for v in row] for row in x]
    assert value("rmsnorm", centred, eps=1e-3) == value("layernorm", x, eps=1e-3)


def test_rmsnorm_without_eps_makes_the_mean_square_one():
    for row in value("rmsnorm", matrix(3, 4, 7), eps=0):
        assert math.fsum(v * v for v in row) / 7 == pytest.approx(1.0, rel=1e-15)


def test_softcap_bounds_and_keeps_small_numbers():
    assert value("softcap", [1e-9, 1e9, -1e9], cap=30) == [1e-9, 30.0, -30.0]


def test_softcap_of_hidden_cells_warns():
    assert warnings("softcap", [0.5, -INF, -INF], cap=30) == [
        "y: 2 hidden cells (−∞) become -30, which a softmax sees; the mask belongs after softcap"
    ]
    assert warnings("softcap", [0.5, 2.0], cap=30) == []


# ---------------------------------------------------------------- rotary positions


def test_rope_angles_against_50_digits():
    cos, sin = value("rope_angles", n=5, d=8, base=500000, offset=7)
    with mpmath.workdps(50):
        for p in range(5):
            for i in range(4):
                angle = (p + 7) * mpmath.mpf(500000) ** (mpmath.mpf(-2 * i) / 8)
                assert cos[p][i] == pytest.approx(float(mpmath.cos(angle)), abs=1e-14)
                assert sin[p][i] == pytest.approx(float(mpmath.sin(angle)), abs=1e-14)


def test_an_offset_of_rope_angles_is_a_later_start():
    late, whole = value("rope_angles", n=2, d=6, offset=3), value("rope_angles", n=5, d=6)
    assert late == [table[3:] for table in whole]


@pytest.mark.parametrize("level", ["op", "primitive"])
@pytest.mark.parametrize("interleaved", [False, True])
def test_rope_turns_pairs_as_complex_numbers(interleaved, level):
    x, half, rest = matrix(4, 3, 7), 3, 1
    angles = matrix(5, 3, half)
    cos, sin = ([[f(a) for a in row] for row in angles] for f in (math.cos, math.sin))
    y = value("rope", x, cos, sin, interleaved=interleaved, level=level)
    for row, turns, got in zip(x, angles, y, strict=True):
        assert got[-rest:] == row[-rest:]
        for i, angle in enumerate(turns):
            at, other = (2 * i, 2 * i + 1) if interleaved else (i, i + half)
            want = complex(row[at], row[other]) * cmath.exp(1j * angle)
            assert (got[at], got[other]) == pytest.approx((want.real, want.imag), rel=1e-13, abs=1e-13)


@pytest.mark.parametrize("interleaved", [False, True])
def test_scores_after_rope_depend_on_the_distance_alone(interleaved):
    q, k = matrix(6, 1, 8), matrix(7, 1, 8)

    def score(at_q, at_k):
        turned = [
            value("rope", x, *value("rope_angles", n=1, d=8, offset=at), interleaved=interleaved)[0]
            for x, at in ((q, at_q), (k, at_k))
        ]
        return math.fsum(a * b for a, b in zip(*turned, strict=True))

    assert score(2, 5) == pytest.approx(score(11, 14), rel=1e-12)
    assert abs(score(2, 5) - score(2, 6)) > 1e-3


@pytest.mark.parametrize(
    ("cos", "sin", "hidden"),
    [(0.6, 0.8, [1, 3]), (0.6, -0.8, [1]), (-0.6, 0.8, [3]), (0.0, 0.0, [])],  # +∞ and NaN are seen again
)
def test_rope_hides_what_stays_hidden_of_a_pair(cos, sin, hidden):
    graph = Graph("one")
    x = graph.mask(graph.input("x", (1, 6)), graph.constant(((True, False, True, True, True, True),)), name="m")
    graph.rope(x, graph.input("cos", (1, 2)), graph.input("sin", (1, 2)), name="y")
    feeds = {"x": [[1.0] * 6], "cos": [[0.5, cos]], "sin": [[0.5, sin]]}
    for level in ("op", "primitive"):
        found = run(graph, feeds, level=level).masked("y")
        assert [j for j in range(6) if found and found[0][j]] == hidden


# ---------------------------------------------------------------- moves


def test_repeat_gives_each_group_of_heads_its_key():
    heads = [[[1.0]], [[2.0]]]
    assert value("repeat", heads, times=3, axis=0) == [[[1.0]]] * 3 + [[[2.0]]] * 3


sizes = st.lists(st.integers(1, 4), max_size=4).map(tuple)


@pytest.mark.slow
@given(sizes, st.randoms(use_true_random=False))
def test_reshape_keeps_the_order_of_cells(shape, dice):
    count = iter(range(math.prod(shape)))
    x = nested.build(shape, lambda *_: float(next(count)))
    left, new = math.prod(shape), []
    while left > 1:
        size = dice.choice([s for s in range(1, left + 1) if left % s == 0])
        new.append(size)
        left //= size
    y = value("reshape", x, shape=tuple(new))
    assert nested.shape_of(y) == tuple(new)
    assert list(nested.flat(y)) == list(nested.flat(x))
    assert value("reshape", y, shape=shape) == x


@pytest.mark.parametrize(
    ("old", "new", "kept"),
    [
        ((2, 3, 8), (2, 3, 2, 4), ("b", "n", None, None)),
        ((2, 3, 8), (6, 8), (None, "d")),
        ((2, 3, 8), (2, 24), ("b", None)),
        ((2, 3, 8), (2, 1, 3, 8), ("b", None, "n", "d")),
        ((1, 3, 8), (3, 8), ("n", "d")),
        ((2, 3, 8), (3, 2, 8), (None, None, "d")),
        ((2, 3, 8), (2, 3, 8), ("b", "n", "d")),
        ((0, 3, 8), (0, 5), ("b", None)),
    ],
)
def test_reshape_keeps_the_names_of_axes_that_line_up(old, new, kept):
    assert axes("reshape", old, ("b", "n", "d"), new) == kept


def test_heads_apart_and_together_again():
    """Split by reshape and transpose, as PyTorch does, is the same as split into column blocks."""
    x = matrix(8, 3, 6)
    apart = value("transpose", value("reshape", x, shape=(3, 2, 3)), perm=(1, 0, 2))
    assert apart == value("split", x, parts=2)
    together = value("transpose", value("stack", *apart), perm=(1, 0, 2))
    assert value("reshape", together, shape=(3, -1)) == x


def test_pad_hides_what_it_adds_where_that_is_minus_infinity():
    graph = Graph("one")
    graph.pad(graph.input("x", (2,)), 1, 0, value=-INF, name="y")
    graph.pad(graph.input("z", (2,)), 1, 0, name="zeros")
    trace = run(graph, {"x": [1.0, 2.0], "z": [1.0, 2.0]})
    assert trace["y"] == [-INF, 1.0, 2.0]
    assert trace.masked("y") == [True, False, False]
    assert trace.masked("zeros") is None


# ---------------------------------------------------------------- masks


def test_trilu_lets_nothing_through_where_it_cuts():
    x = [[1.0, math.nan], [INF, 4.0]]
    assert value("trilu", [[1.0, math.nan], [3.0, 4.0]], upper=False) == [[1.0, 0.0], [3.0, 4.0]]
    assert value("trilu", x, k=1, upper=False)[0][1] != 0.0
    assert value("trilu", [[1, 2], [3, 4]]) == [[1, 2], [0, 4]]


@pytest.mark.parametrize("offset", [-1, 0, 2])
def test_masks_of_positions_agree(offset):
    """The causal mask is a window, a triangle, and two windows at once make a narrower one."""
    causal = value("causal_mask", n=4, n_k=6, offset=offset)
    assert value("window_mask", n=4, n_k=6, right=0, offset=offset) == causal
    assert value("trilu", [[True] * 6] * 4, k=offset, upper=False) == causal
    past = value("window_mask", n=4, n_k=6, left=1, offset=offset)
    narrow = value("window_mask", n=4, n_k=6, left=1, right=0, offset=offset)
    assert value("logical_and", past, causal) == narrow
    either = value("logical_or", value("logical_not", past), value("logical_not", causal))
    assert value("logical_not", either) == narrow


def test_a_sliding_window_of_three():
    rows = value("window_mask", n=5, left=2, right=0)
    assert [sum(row) for row in rows] == [1, 2, 3, 3, 3]
    assert rows[4] == [False, False, True, True, True]


@pytest.mark.parametrize("length", [-1, 4, 10**30])
def test_a_length_outside_the_keys_is_an_error_when_it_is_met(length):
    graph = Graph("one")
    graph.padding_mask(graph.input("lengths", (2,), kind="int"), 3, name="real")
    with pytest.raises(GraphError) as error:
        run(graph, {"lengths": [3, length]})
    assert str(error.value) == f"padding_mask 'real': length {length} does not fit into 3 keys; expected 0 to 3"


@pytest.mark.parametrize(
    ("heads", "exponents"),
    [  # what get_slopes of the paper's repository (fairseq/models/transformer.py) lists
        (1, [8]),
        (4, [2, 4, 6, 8]),
        (8, [1, 2, 3, 4, 5, 6, 7, 8]),
        (12, [1, 2, 3, 4, 5, 6, 7, 8, 0.5, 1.5, 2.5, 3.5]),
        (16, [0.5 * k for k in range(1, 17)]),
        (3, [4, 8, 2]),
        (6, [2, 4, 6, 8, 1, 3]),
    ],
)
def test_the_slopes_of_alibi(heads, exponents):
    bias = value("alibi_bias", heads=heads, n=1, n_k=2)
    slopes = [-head[0][1] for head in bias]
    assert slopes == pytest.approx([2.0**-e for e in exponents], rel=1e-15)
    assert all(slope == 2.0**-e for slope, e in zip(slopes, exponents, strict=True) if e == int(e))


def test_alibi_is_the_papers_on_the_visible_side_and_mirrored_beyond():
    (bias,) = value("alibi_bias", heads=1, n=3)
    slope = 2.0**-8
    assert [[bias[i][j] for j in range(i + 1)] for i in range(3)] == [
        [slope * (j - i) for j in range(i + 1)] for i in range(3)
    ]
    assert bias == [list(column) for column in zip(*bias, strict=True)]
    (decoding,) = value("alibi_bias", heads=1, n=1, n_k=3, offset=2)
    assert decoding == bias[2:]


@pytest.mark.parametrize("columns", [4, 4096])
def test_a_large_product_has_the_bits_of_small_ones(columns):
    """Each column of it is that of a product with this column alone."""
    dice = random.Random(0)
    a, b = ([[dice.gauss(0, 1) for _ in range(m)] for _ in range(n)] for n, m in ((3, 5), (5, columns)))

    def product(b):
        g = Graph("product")
        g.output(y=g.matmul(g.input("a", (3, 5)), g.input("b", (5, len(b[0])))))
        return run(g, {"a": a, "b": b})["y"]

    y = product(b)
    for j in range(0, columns, columns // 4):
        assert [row[j : j + 1] for row in y] == product([row[j : j + 1] for row in b])
