"""The first seed's seven functions: its contract, its checks, and one sentence for each bad input."""

from __future__ import annotations

import copy
import math
import random
from fractions import Fraction

import pytest

from graphattn import GraphError, model
from graphattn.model import attention, block, causal_mask, layer_norm, multi_head, pos_encoding, softmax

INF, NAN = math.inf, math.nan
M = [[0.5, -1.25, 2.0, 0.75], [1.5, 1.0, -3.0, 0.25], [-0.5, 0.1, 0.4, -1.0]]


def normal(n, d, seed=0):
    dice = random.Random(seed)
    return [[dice.gauss(0.0, 1.0) for _ in range(d)] for _ in range(n)]


def naive_attention(Q, K, V, mask=None):
    """The seed's three lines, by hand."""
    out, weights = [], []
    for i, q in enumerate(Q):
        scores = [sum(a * b for a, b in zip(q, k)) / math.sqrt(len(k)) for k in K]
        seen = [s if mask is None or mask[i][j] else -INF for j, s in enumerate(scores)]
        raised = [math.exp(s - max(seen)) for s in seen]
        weights.append([r / sum(raised) for r in raised])
        out.append([sum(w * v[c] for w, v in zip(weights[-1], V)) for c in range(len(V[0]))])
    return out, weights


def near(a, b):
    return a == pytest.approx(b, abs=1e-12)


def all_near(a, b):
    return len(a) == len(b) and all(near(x, y) for x, y in zip(a, b))


# ---------------------------------------------------------------- the contract


def test_softmax_sums_to_1_and_does_not_blow_up():
    assert near(softmax([1, 2, 3]), [0.09003057317038046, 0.24472847105479764, 0.6652409557748218])
    assert softmax([1000, 1001, 1002]) == softmax([0, 1, 2])
    for row in ([1000.0, 1001.0, 1002.0], [-1e308, 1e308], [-1000.0] * 3, [5.0], [0, -1e9]):
        weights = softmax(row)
        assert abs(sum(weights) - 1.0) < 1e-15 and all(0.0 <= w <= 1.0 for w in weights)


def test_softmax_of_hidden_numbers():
    assert softmax([-INF, 0.0]) == [0.0, 1.0]
    assert softmax([-INF, -INF]) == [0.0, 0.0]


@pytest.mark.parametrize("shape", [(4, 4, 8, 8), (3, 5, 2, 7), (1, 1, 1, 1), (6, 2, 64, 3)])
def test_attention_is_the_seeds_three_lines(shape):
    n_q, n_k, d_k, d_v = shape
    Q, K, V = normal(n_q, d_k, 1), normal(n_k, d_k, 2), normal(n_k, d_v, 3)
    out, weights = attention(Q, K, V)
    expected_out, expected_weights = naive_attention(Q, K, V)
    assert all_near(out, expected_out) and all_near(weights, expected_weights)


def test_a_masked_weight_is_exactly_0():
    Q, K, V = normal(5, 8, 1), normal(5, 8, 2), normal(5, 8, 3)
    mask = causal_mask(5)
    out, weights = attention(Q, K, V, mask)
    expected_out, expected_weights = naive_attention(Q, K, V, mask)
    assert all_near(out, expected_out) and all_near(weights, expected_weights)
    for i in range(5):
        assert abs(sum(weights[i]) - 1.0) < 1e-15
        for j in range(5):
            assert (weights[i][j] == 0.0) == (j > i)


def test_causal_mask():
    assert causal_mask(3) == [[True, False, False], [True, True, False], [True, True, True]]
    assert all(type(cell) is bool for row in causal_mask(4) for cell in row)
    assert causal_mask(0) == []


def test_zeros_and_ones_are_a_mask_here():
    mask = [[1, 0, 1], [0, 1, 0], [1, 1, 1]]
    bools = [[bool(cell) for cell in row] for row in mask]
    assert attention(M, M, M, mask) == attention(M, M, M, bools)
    assert multi_head(M, M, M, 2, mask) == multi_head(M, M, M, 2, bools)
    assert block(M, 2, mask) == block(M, 2, bools)
    assert attention(M, M, M, [[1, False, True], [0, 1, 0], [1, 1, 1]]) == attention(M, M, M, bools)


def test_a_float_mask_is_added():
    hiding = [[0.0 if j <= i else -INF for j in range(3)] for i in range(3)]
    assert attention(M, M, M, hiding) == attention(M, M, M, causal_mask(3))
    assert attention(M, M, M, [[0 if j <= i else -INF for j in range(3)] for i in range(3)]) == attention(
        M, M, M, causal_mask(3)
    )
    favour = attention(M, M, M, [[1.5, 0.0, 0.0]] * 3)[1]
    plain = attention(M, M, M)[1]
    for row, expected in zip(favour, plain):
        raised = [expected[0] * math.exp(1.5), *expected[1:]]
        assert near(row, [r / sum(raised) for r in raised])


def test_a_query_that_sees_nothing_gives_zeros():
    out, weights = attention(M, M, M, [[False] * 3, [True] * 3, [False] * 3])
    assert weights[0] == weights[2] == [0.0, 0.0, 0.0]
    assert out[0] == out[2] == [0.0, 0.0, 0.0, 0.0]
    assert attention(M, M, M, [[-INF] * 3] * 3)[0] == [[0.0] * 4] * 3
    assert block(M, 2, [[False] * 3] * 3) == M


@pytest.mark.parametrize("seed", range(5))
def test_with_one_head_multi_head_is_attention_bit_for_bit(seed):
    Q, K, V = normal(4, 6, seed), normal(5, 6, seed + 50), normal(5, 3, seed + 99)
    mask = [[(i + j) % 3 > 0 for j in range(5)] for i in range(4)]
    for seen in (None, mask):
        assert repr(multi_head(Q, K, V, 1, seen)) == repr(attention(Q, K, V, seen)[0])


def test_multi_head_splits_attends_and_joins():
    Q, K, V = normal(4, 8, 1), normal(4, 8, 2), normal(4, 8, 3)
    mask = causal_mask(4)
    out = multi_head(Q, K, V, 4, mask)
    assert (len(out), len(out[0])) == (4, 8)
    for head in range(4):
        part = slice(2 * head, 2 * head + 2)
        alone, _ = attention(*([row[part] for row in x] for x in (Q, K, V)), mask)
        assert [row[part] for row in out] == alone


def test_pos_encoding_is_bounded_and_different_everywhere():
    for n, d in ((64, 8), (200, 1), (9, 5)):
        rows = pos_encoding(n, d)
        assert (len(rows), len(rows[0])) == (n, d)
        assert all(-1.0 <= v <= 1.0 for row in rows for v in row)
        assert len({tuple(row) for row in rows}) == n
    assert pos_encoding(1, 4) == [[0.0, 1.0, 0.0, 1.0]]
    assert near(pos_encoding(3, 4)[2], [math.sin(2), math.cos(2), math.sin(0.02), math.cos(0.02)])
    assert pos_encoding(0, 4) == []


def test_layer_norm_has_mean_0_and_variance_1():
    row = normal(1, 16, 5)[0]
    y = layer_norm(row)
    assert abs(sum(y) / 16) < 1e-12
    assert abs(sum(v * v for v in y) / 16 - 1.0) < 1e-4
    assert layer_norm([3.0, 3.0, 3.0]) == [0.0, 0.0, 0.0]
    assert near(layer_norm([1, 2, 3], eps=0), [-math.sqrt(1.5), 0.0, math.sqrt(1.5)])


def test_block_is_x_plus_multi_head_of_the_normed():
    X = normal(4, 8, 7)
    rows = [layer_norm(row) for row in X]
    mask = causal_mask(4)
    mixed = multi_head(rows, rows, rows, 2, mask)
    assert block(X, 2, mask) == [[x + m for x, m in zip(a, b)] for a, b in zip(X, mixed)]


def test_without_positions_attention_is_permutation_equivariant():
    X, order = normal(5, 8, 1), [3, 1, 4, 0, 2]
    shuffled = [X[i] for i in order]
    out, moved = attention(X, X, X)[0], attention(shuffled, shuffled, shuffled)[0]
    assert all_near(moved, [out[i] for i in order])
    placed = [[v + p for v, p in zip(*rows)] for rows in zip(X, pos_encoding(5, 8))]
    replaced = [[v + p for v, p in zip(*rows)] for rows in zip(shuffled, pos_encoding(5, 8))]
    out, moved = attention(placed, placed, placed)[0], attention(replaced, replaced, replaced)[0]
    assert not all_near(moved, [out[i] for i in order])


# ---------------------------------------------------------------- lists in, fresh lists out


def test_inputs_are_never_modified():
    X, mask = [[1, 2.5], (3, -1.0)], [[1, 0], [True, 1]]
    before = copy.deepcopy((X, mask))
    attention(X, X, X, mask)
    multi_head(X, X, X, 2, mask)
    block(X, 1, mask)
    layer_norm(X[1])
    softmax(X[1])
    assert repr((X, mask)) == repr(before)


CALLS = {
    "softmax": lambda: softmax([1.0, 2.0]),
    "attention": lambda: attention(M, M, M, causal_mask(3)),
    "causal_mask": lambda: causal_mask(3),
    "multi_head": lambda: multi_head(M, M, M, 1),
    "pos_encoding": lambda: pos_encoding(3, 4),
    "layer_norm": lambda: layer_norm(M[0]),
    "block": lambda: block(M, 2),
}


def spoil(value):
    """Overwrite every list in a result."""
    for item in value:
        if isinstance(item, (list, tuple)):
            spoil(item)
    if isinstance(value, list):
        value[:] = ["spoilt"]


@pytest.mark.parametrize("name", CALLS)
def test_results_are_the_callers_own(name):
    before = repr(CALLS[name]()), repr(M)
    result = CALLS[name]()
    spoil(result)
    assert (repr(CALLS[name]()), repr(M)) == before


@pytest.mark.parametrize("name", CALLS)
def test_results_are_plain_lists(name):
    def types(value):
        if isinstance(value, (list, tuple)):
            return {type(value), *(t for item in value for t in types(item))}
        return {type(value)}

    found = types(CALLS[name]())
    assert found <= ({list, bool} if name == "causal_mask" else {list, float, tuple})
    assert (tuple in found) == (name == "attention")


def test_ints_tuples_fractions_and_arrays_are_taken():
    class Array:
        def tolist(self):
            return [[1, 2], [3, 4]]

    floats = attention([[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]])
    for X in ([[1, 2], [3, 4]], ((1, 2), (3, 4)), [[Fraction(1), 2], [3, 4]], Array()):
        assert attention(X, X, X) == floats
    assert softmax((1, 2, 3)) == softmax([1.0, 2.0, 3.0])


def test_one_signature_is_one_graph():
    model._graph.cache_clear()
    for seed in range(4):
        attention(normal(3, 4, seed), normal(3, 4, seed), normal(3, 4, seed))
    assert model._graph.cache_info().currsize == 1
    block(M, 1), block(M, 2)
    assert model._graph.cache_info().currsize == 3


# ---------------------------------------------------------------- one sentence for each bad input

ROWS = "expected a list of rows, each a list of numbers"
BAD = {
    "softmax of None": (lambda: softmax(None), "xs is None; expected a list of numbers"),
    "softmax of text": (lambda: softmax("123"), "xs is '123'; expected a list of numbers"),
    "softmax of a number": (lambda: softmax(3.0), "xs is 3.0; expected a list of numbers"),
    "softmax of nothing": (lambda: softmax([]), "xs is empty; expected a list of numbers"),
    "softmax of a matrix": (lambda: softmax([[1.0]]), "xs has rank 2; expected a list of numbers"),
    "softmax of NaN": (
        lambda: softmax([1.0, NAN]),
        "xs[1] is nan; expected a finite number, or −inf, which hides",
    ),
    "softmax of infinity": (
        lambda: softmax([1.0, INF]),
        "xs[1] is inf; expected a finite number, or −inf, which hides",
    ),
    "softmax of bools": (lambda: softmax([True]), "xs[0] is True; expected a number"),
    "softmax of a hole": (lambda: softmax([1.0, None]), "xs[1] is None; expected a number"),
    "softmax of a ragged row": (
        lambda: softmax([1.0, [2.0]]),
        "xs[1] is a list; expected a number there, as in its neighbours",
    ),
    "attention of None": (lambda: attention(None, M, M), f"Q is None; {ROWS}"),
    "attention of text": (lambda: attention(M, "K", M), f"K is 'K'; {ROWS}"),
    "attention of nothing": (lambda: attention(M, M, []), f"V is empty; {ROWS}"),
    "attention of empty rows": (lambda: attention([[], []], M, M), f"Q has rows without numbers; {ROWS}"),
    "attention of a row": (lambda: attention([1.0, 2.0], M, M), f"Q has rank 1; {ROWS}"),
    "attention of a batch": (lambda: attention([M], M, M), f"Q has rank 3; {ROWS}"),
    "attention of ragged rows": (
        lambda: attention(M, [[1.0, 2.0], [1.0]], M),
        "K[1] has 1 cells; expected 2, as in its neighbours",
    ),
    "attention of a row and a number": (
        lambda: attention(M, [[1.0, 2.0], 1.0], M),
        "K[1] is 1.0; expected a list of 2, as its neighbours are",
    ),
    "attention of text cells": (lambda: attention(M, M, [["a"]]), "V[0][0] is 'a'; expected a number"),
    "attention of NaN": (lambda: attention([[NAN]], M, M), "Q[0][0] is nan; expected a finite number"),
    "attention of infinity": (lambda: attention(M, M, [[-INF]]), "V[0][0] is -inf; expected a finite number"),
    "attention of a huge int": (
        lambda: attention([[10**400]], M, M),
        "Q[0][0] is 1000000000000000000000000000000000000...; expected a number",
    ),
    "attention of other widths": (
        lambda: attention([[1.0]], M, M),
        "attention 'attention': q has 1 features and k has 4; expected as many"
        " (q is Q, token 1 × feature 1; k is K, token 3 × feature 4; v is V, token 3 × feature 4)",
    ),
    "attention of other lengths": (
        lambda: attention(M, M, M[:2]),
        "attention 'attention': k has 3 tokens and v has 2; expected as many"
        " (q is Q, token 3 × feature 4; k is K, token 3 × feature 4; v is V, token 2 × feature 4)",
    ),
    "a mask of another shape": (
        lambda: attention(M, M[:2], M[:2], causal_mask(3)),
        "mask is 3 × 3; expected 3 × 2, one cell for each query and key",
    ),
    "a mask of one row": (lambda: attention(M, M, M, [True] * 3), f"mask has rank 1; {ROWS}"),
    "an empty mask": (lambda: attention(M, M, M, []), f"mask is empty; {ROWS}"),
    "a ragged mask": (
        lambda: attention(M, M, M, [[True], [True, True], [True]]),
        "mask[1] has 2 cells; expected 1, as in its neighbours",
    ),
    "a mask of text": (
        lambda: attention(M, M, M, [["x"] * 3] * 3),
        "mask[0][0] is 'x'; expected a number",
    ),
    "a mask of None": (lambda: attention(M, M, M, [[None] * 3] * 3), "mask[0][0] is None; expected a number"),
    "a mask of other ints": (
        lambda: attention(M, M, M, [[1, 0, 2]] * 3),
        "mask holds 2; expected bools or 0 and 1 (true = can see), or floats (added)",
    ),
    "a mask of bools and floats": (
        lambda: attention(M, M, M, [[True, 0.0, 1]] * 3),
        "mask mixes bools and floats; expected bools (True = can see), or floats (added)",
    ),
    "a mask of 0.0 and 1.0": (
        lambda: attention(M, M, M, [[1.0, 0.0, 0.0]] * 3),
        "mask holds only 0.0 and 1.0, which could mean either;"
        " expected bools or 0 and 1 (true = can see), or floats (added)",
    ),
    "a mask with NaN": (
        lambda: attention(M, M, M, [[0.0, NAN, 0.5]] * 3),
        "mask[0][1] is nan; expected a finite number, or −inf, which hides",
    ),
    "causal_mask of a float": (
        lambda: causal_mask(2.0),
        "causal_mask 'causal_mask': n must be an int of 0 or more, got 2.0",
    ),
    "causal_mask of None": (
        lambda: causal_mask(None),
        "causal_mask 'causal_mask': n must be an int of 0 or more, got None",
    ),
    "causal_mask of a negative": (
        lambda: causal_mask(-1),
        "causal_mask 'causal_mask': n must be an int of 0 or more, got -1",
    ),
    "causal_mask of a list": (
        lambda: causal_mask([2]),
        "causal_mask 'causal_mask': n must be an int of 0 or more, got (2,)",
    ),
    "heads that do not divide": (
        lambda: multi_head(M, M, M, 3),
        "multi_head 'multi_head': the 4 features of q do not divide into 3 heads; 2 or 4 would do"
        " (q is Q, token 3 × feature 4; k is K, token 3 × feature 4; v is V, token 3 × feature 4)",
    ),
    "no heads": (
        lambda: multi_head(M, M, M, 0),
        "multi_head 'multi_head': heads must be an int of 1 or more, got 0"
        " (q is Q, token 3 × feature 4; k is K, token 3 × feature 4; v is V, token 3 × feature 4)",
    ),
    "heads of text": (
        lambda: block(M, "2"),
        "block 'block': heads must be an int of 1 or more, got '2' (x is X, token 3 × feature 4)",
    ),
    "heads of a bool": (
        lambda: block(M, True),
        "block 'block': heads must be an int of 1 or more, got True (x is X, token 3 × feature 4)",
    ),
    "block heads that do not divide": (
        lambda: block(M, 3),
        "block 'block': the 4 features of q do not divide into 3 heads; 2 or 4 would do"
        " (x is X, token 3 × feature 4)",
    ),
    "block of nothing": (lambda: block([], 1), f"X is empty; {ROWS}"),
    "block of None": (lambda: block(None, 1), f"X is None; {ROWS}"),
    "pos_encoding of 0 features": (
        lambda: pos_encoding(3, 0),
        "d is 0; expected 1 or more, since a position without numbers cannot differ",
    ),
    "pos_encoding of text": (
        lambda: pos_encoding("3", 4),
        "positional_encoding 'pos_encoding': n must be an int of 0 or more, got '3'",
    ),
    "pos_encoding of a float": (
        lambda: (pos_encoding(3, 4), pos_encoding(3, 4.0)),
        "positional_encoding 'pos_encoding': d must be an int of 0 or more, got 4.0",
    ),
    "layer_norm of nothing": (lambda: layer_norm([]), "row is empty; expected a list of numbers"),
    "layer_norm of NaN": (lambda: layer_norm([NAN]), "row[0] is nan; expected a finite number"),
    "layer_norm of a matrix": (lambda: layer_norm(M), "row has rank 2; expected a list of numbers"),
    "layer_norm with a negative eps": (
        lambda: layer_norm([1.0, 2.0], eps=-1),
        "layernorm 'layer_norm': eps is -1; expected a number of 0 or more (x is row, feature 2)",
    ),
    "layer_norm with eps None": (
        lambda: layer_norm([1.0, 2.0], eps=None),
        "layernorm 'layer_norm': eps is None; expected a number of 0 or more (x is row, feature 2)",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_told_in_one_sentence(case):
    call, sentence = BAD[case]
    with pytest.raises(GraphError) as error:
        call()
    assert str(error.value) == sentence


def test_a_list_that_holds_itself():
    loop = []
    loop.append(loop)
    with pytest.raises(GraphError) as error:
        softmax(loop)
    assert str(error.value) == "xs is nested deeper than 32 lists"
