"""Softmax, layer norm and attention with care, where the textbook's steps fail, beside 50 digits and more."""

import math
import random

import mpmath
import pytest

from graphattn import GraphError
from graphattn.conventions import careful
from graphattn.core import nested

mpmath.mp.dps = 800  # 1e308 and 5e-324 in one sum

ROWS = {
    "usual": [0.5, -1.25, 2.0, 0.75],
    "1e8 and a few ulps": [1e8, 1e8 + 2**-26, 1e8 + 3 * 2**-26],
    "1e15 and integers": [1e15 + i * i for i in range(7)],
    "the largest, alternating": [1.7e308, -1.7e308, 1.7e308, -1.7e308, 0.0],
    "the largest, all but one": [1.7e308] * 5 + [-1.7e308],
    "denormals": [5e-324, 1e-323, -5e-324, 2e-320],
    "1e-160": [1e-160, 3e-160, -2e-160],
    "1e160": [1e160, 3e160, -2e160],
    "constant": [0.1] * 7,
    "one large": [1e300, 1.0, -1.0],
    "one cell": [3.0],
}


def near(got, want, ulps):
    error = abs(mpmath.mpf(got) - want)
    return error <= ulps * math.ulp(float(want)) or error <= 5e-324


@pytest.mark.parametrize("eps", [0.0, 1e-12, 1e-05, 1.0])
@pytest.mark.parametrize("what", ROWS)
def test_layer_norm(what, eps):
    row = ROWS[what]
    exact = [mpmath.mpf(v) for v in row]
    mean = mpmath.fsum(exact) / len(row)
    variance = mpmath.fsum([(v - mean) ** 2 for v in exact]) / len(row)
    got = careful.layer_norm(row, eps=eps).run()["y"]
    if variance + mpmath.mpf(eps) == 0:
        assert all(v != v for v in got)
        return
    root = mpmath.sqrt(variance + mpmath.mpf(eps))
    for v, mine in zip(exact, got):
        want = (v - mean) / root
        assert near(mine, want, 4) or abs(mine - want) <= 4 * 2.0**-53 * min(1, max(abs(v), mean) / root), (
            v,
            mine,
        )


def test_rows_have_their_own_powers():
    both = careful.layer_norm(
        [ROWS["denormals"], [1e160, 3e160, -2e160, 0.0]], [1.0, 2.0, 1.0, 1.0], eps=0
    ).run()
    alone = [careful.layer_norm(row, [1.0, 2.0, 1.0, 1.0], eps=0).run()["y"] for row in
             (ROWS["denormals"], [1e160, 3e160, -2e160, 0.0])]  # fmt: skip
    assert both["y"] == alone
    assert all(map(math.isfinite, nested.flat(both["y"])))


def test_nothing_finite_stays_nothing_finite():
    assert repr(careful.layer_norm([math.inf, 1.0]).run()["y"]) == "[nan, nan]"
    assert repr(careful.layer_norm([math.nan, 1.0]).run()["y"]) == "[nan, nan]"
    assert careful.layer_norm([[], []]).run()["y"] == [[], []]


@pytest.mark.parametrize("seed", range(12))
def test_attention(seed):
    dice = random.Random(seed)
    n_q, n_k, d = dice.randint(1, 3), dice.randint(1, 5), dice.choice((1, 3, 8))
    q, k, v = ([[dice.gauss(0, 1) for _ in range(d)] for _ in range(n)] for n in (n_q, n_k, n_k))
    if seed % 3 == 0:
        v = [[cell * (1e300 if i % 2 else -1e300) for cell in row] for i, row in enumerate(v)]
    mask = [[-1e9 + dice.gauss(0, 1) for _ in range(n_k)] for _ in range(n_q)] if seed % 2 else None
    if mask and n_k > 1:
        mask[0][0] = -math.inf
    causal = seed % 4 == 0
    trace = careful.attention(q, k, v, mask, is_causal=causal).run()
    for i in range(n_q):
        raised = []
        for j in range(n_k):
            score = mpmath.fsum([mpmath.mpf(a) * mpmath.mpf(b) for a, b in zip(q[i], k[j])]) / mpmath.sqrt(d)
            hidden = (causal and j > i) or (mask and mask[i][j] == -math.inf)
            raised.append(
                mpmath.mpf(0) if hidden else mpmath.exp(score + (mpmath.mpf(mask[i][j]) if mask else 0))
            )
        weights = [r / mpmath.fsum(raised) for r in raised]
        for got, want in zip(trace["weights"][i], weights):
            assert near(got, want, 8)
        for c, got in enumerate(trace["out"][i]):
            terms = [w * mpmath.mpf(v[j][c]) for j, w in enumerate(weights)]
            assert abs(got - mpmath.fsum(terms)) <= 8 * 2.0**-53 * mpmath.fsum(map(abs, terms))


@pytest.mark.parametrize("seed", range(20))
def test_softmax(seed):
    """Within 3 ulps, the smallest weight too."""
    dice = random.Random(100 + seed)
    row = [dice.gauss(0, 10.0 ** (seed % 4 - 1)) for _ in range(12)] + [-math.inf] * (seed % 2)
    raised = [mpmath.exp(mpmath.mpf(v)) if v > -math.inf else mpmath.mpf(0) for v in row]
    total = mpmath.fsum(raised)
    for got, e in zip(careful.softmax(row).run()["y"], raised):
        assert near(got, e / total, 3)


def test_softmax_at_the_edges():
    assert careful.softmax([1.7e308, -1.7e308]).run()["y"] == [1.0, 0.0]
    assert careful.softmax([[1.0, -math.inf], [2.0, 2.0]], 1).run()["y"] == [[1.0, 0.0], [0.5, 0.5]]
    assert repr(careful.softmax([-math.inf, -math.inf]).run()["y"]) == "[nan, nan]"
    assert careful.softmax([[0.0, 1.0], [0.0, 1.0]], 0).run()["y"] == [[0.5, 0.5], [0.5, 0.5]]


def test_values_that_cancel():
    v = [[1e300], [1.0], [-1e300]]
    assert careful.attention([[0.0]], [[1.0]] * 3, v).run()["out"] == [[1 / 3]]


def test_a_query_that_sees_nothing_gets_zeros():
    trace = careful.attention([[1.0]], [[1.0], [2.0]], [[3.0], [math.nan]], [[-math.inf, -math.inf]]).run()
    assert (trace["weights"], trace["out"]) == ([[0.0, 0.0]], [[0.0]])


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: careful.layer_norm(1.0), "input has rank 0; expected rank 1 or more"),
        (lambda: careful.layer_norm([1.0, 2.0], [1.0]), "weight is 1; expected 2"),
        (lambda: careful.attention([1.0], [[1.0]], [[1.0]]), "q has rank 1; expected rank 2"),
        (
            lambda: careful.attention([[1.0]], [[1.0, 2.0]], [[1.0]]),
            "q has 1 features and k has 2; expected as many",
        ),
        (lambda: careful.attention([[1.0]], [[1.0]], [[1.0]], [[1]]), "attn_mask holds integers"),
    ],
)
def test_what_is_refused(call, words):
    with pytest.raises(GraphError) as told:
        call().run()
    assert words in str(told.value)
