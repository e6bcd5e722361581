"""Mistakes of kinds that are easily made and hard to see, each written as another graph, are named first."""

import math
from functools import partial
from random import Random

import pytest

from graphattn import Graph, diagnose, run
from graphattn.builtin import random_feeds
from graphattn.passes.gradient import gradient

N, D = 4, 6
WIDE, H = 4, 2
"""Of a block with heads."""


def inputs(g, *names, shape=(N, D)):
    return [g.input(name, shape, ("token", "feature") if len(shape) == 2 else None) for name in names]


def weights(g, *names, shape=(D, D)):
    return [g.parameter(name, shape) for name in names]


def first(build, **feeds):
    """What is said first of the numbers of `build(g, True)` where `build(g, False)` was meant."""
    right, wrong = Graph("right"), Graph("wrong")
    build(right, False)
    build(wrong, True)
    given = {**random_feeds(right, 3), **feeds}
    values = run(wrong, {k: v for k, v in given.items() if k in wrong.inputs}, allow_nonfinite=True)
    found = diagnose(right, given, {"y": values["y"]}, pairs=False, budget=60)
    assert found.verdict == "mistake", found
    return found


def said(build, **feeds):
    return first(build, **feeds).findings[0].phrase


# ------------------------------------------------------------ masks


LEFT_PADDED = [[False, True, True, True]]


def test_rows_that_see_nothing_are_uniform_by_the_fill_alone():
    def build(g, bad):
        q, k, v = inputs(g, "q", "k", "v")
        see = g.logical_and(g.input("mask", (1, N), kind="bool"), g.causal_mask(N), name="see")
        scaled = g.scale(g.matmul(q, k.T), sqrt=D, name="scaled")
        masked = g.where(see, scaled, g.constant(-1e9)) if bad else g.mask(scaled, see, name="masked")
        g.output(y=g.matmul(g.softmax(masked, name="weights"), v))

    found = first(build, mask=LEFT_PADDED)
    assert found.findings[0].phrase == "with hidden cells at −1e9 in the mask masked"
    assert not any("and with" in p for f in found.findings for p in (f.phrase, *f.equals))


@pytest.mark.parametrize("fill", [-1.0, -10.0, 1e9])
def test_an_added_mask_hides_with_another_number(fill):
    def build(g, bad):
        q, k, v = inputs(g, "q", "k", "v")
        added = g.constant([[0.0, 0.0, 0.0, fill if bad else -10000.0]], name="added")
        scores = g.add(g.matmul(q, k.T), added, name="masked")
        g.output(y=g.matmul(g.softmax(scores), v))

    assert said(build).startswith(f"with {fill:g} instead of -10000 in the hidden cells of the constant added")


def pooled(g, x, mask):
    g.output(y=g.divide(g.reduce_sum(x * mask, axis=0), g.reduce_sum(mask, axis=0)))


def test_a_mask_of_numbers_that_hides_nothing():
    def build(g, bad):
        (x,) = inputs(g, "x")
        mask = g.input("mask", (N, 1))
        pooled(g, x, g.constant([[1.0]] * N) if bad else mask)

    assert said(build, mask=[[1.0], [1.0], [0.0], [0.0]]) == "with mask hiding nothing: 1 everywhere"


def test_padding_on_the_other_side():
    def build(g, bad):
        (x,) = inputs(g, "x")
        mask = g.input("mask", (1, N), kind="bool")
        mask = g.constant([[True, True, True, False]]) if bad else mask
        weights = g.softmax(g.mask(g.matmul(x, x.T), mask))
        g.output(y=g.matmul(weights, x))

    assert "with mask from its other end" in said(build, mask=LEFT_PADDED)


SHOWN = {
    "in blocks of 2 tokens that do not see each other": lambda i, j: j <= i and i // 2 == j // 2,
    "in blocks of 2 tokens that see all of themselves and of those before": lambda i, j: j // 2 <= i // 2,
    "showing, of the keys it should, every 2nd back from the query": lambda i, j: j <= i and not (i - j) % 2,
    "showing the first 3 keys to all queries too": lambda i, j: j <= i or j < 3,
    "hiding the first 2 keys from others": lambda i, j: j == i or 2 <= j < i,
}


@pytest.mark.parametrize("words", SHOWN)
def test_a_mask_of_another_pattern(words):
    rows = [[SHOWN[words](i, j) for j in range(N)] for i in range(N)]
    assert said(partial(masked, rows)) == f"with the mask visible {words}"


def masked(rows, g, bad):
    q, k, v = inputs(g, "q", "k", "v")
    see = g.constant(rows) if bad else g.causal_mask(N, name="visible")
    scaled = g.scale(g.matmul(q, k.T, name="scores"), sqrt=D, name="scaled")
    g.output(y=g.matmul(g.softmax(g.mask(scaled, see, name="masked"), name="weights"), v))


@pytest.mark.parametrize("seed", range(4))
def test_any_other_mask_is_found_query_by_query(seed):
    random = Random(seed)
    rows = [[random.random() < 0.5 for _ in range(N)] for _ in range(N)]
    (shown,) = [
        node.attributes["value"] for node in first(partial(masked, rows)).findings[0].graph.nodes.values()
        if node.op.name == "constant" and node.outputs[0].kind == "bool"
    ]  # fmt: skip
    assert [list(row) for row in shown] == rows


@pytest.mark.slow
def test_another_mask_is_told_by_distance_or_by_query():
    band = [[j - i in (0, 2) for j in range(N)] for i in range(N)]
    words = "with another mask before the softmax weights, by which"
    assert said(partial(masked, band)) == f"{words} query i sees the keys i, i + 2"
    last = [[j <= i and (i, j) != (3, 1) for j in range(N)] for i in range(N)]
    assert said(partial(masked, last)) == f"{words} query 3 sees 0, 2, 3"


def test_a_mask_where_none_was_meant():
    def build(g, bad):
        q, k, v = inputs(g, "q", "k", "v")
        scaled = g.scale(g.matmul(q, k.T, name="scores"), sqrt=D, name="scaled")
        if bad:
            scaled = g.mask(scaled, g.constant([[j != i for j in range(N)] for i in range(N)]))
        g.output(y=g.matmul(g.softmax(scaled, name="weights"), v))

    assert said(build) == "with another mask before the softmax weights, by which query i sees all keys but i"


@pytest.mark.parametrize("xor, words", [(False, ""), (True, ", but not both,")])
def test_two_masks_joined_by_or(xor, words):
    def build(g, bad):
        q, k, v = inputs(g, "q", "k", "v")
        mask, see = g.input("mask", (1, N), kind="bool"), g.causal_mask(N, name="see")
        scores = g.matmul(q, k.T)
        if bad:
            either = g.logical_or(mask, see)
            both = g.logical_not(g.logical_and(mask, see))
            scores = g.mask(scores, g.logical_and(either, both) if xor else either)
        else:
            scores = g.mask(g.mask(scores, mask), see, name="masked")
        g.output(y=g.matmul(g.softmax(scores), v))

    told = said(build, mask=[[True, True, True, False]])
    assert told.startswith(f"with what mask or see lets through{words} in the mask masked")


def test_masked_weights_are_renormalized_over_the_queries():
    def build(g, bad):
        q, k, v = inputs(g, "q", "k", "v")
        scores = g.scale(g.matmul(q, k.T), sqrt=D)
        see = g.causal_mask(N)
        if bad:
            kept = g.multiply(g.softmax(scores), g.where(see, g.constant(1.0), g.constant(0.0)))
            weights = g.divide(kept, g.reduce_sum(kept, axis=-2))
        else:
            weights = g.softmax(g.mask(scores, see, name="masked"), name="weights")
        g.output(y=g.matmul(weights, v))

    assert "onto weights instead of the mask masked, and columns that sum to 1" in said(build)


@pytest.mark.parametrize("at, words", [("x", "in x, not hidden as keys"), ("end", "in the add moved")])
def test_rows_of_padding_are_0(at, words):
    """Before everything instead of the mask, or behind everything besides."""

    def build(g, bad):
        (x,) = inputs(g, "x", shape=(3, WIDE))
        mask = g.input("keep", (1, 3), kind="bool")
        rows = g.where(g.transpose(mask), g.constant(1.0), g.constant(0.0)) if bad else None
        x = x * rows if bad and at == "x" else x
        scores = g.scale(g.matmul(x, x.T), sqrt=WIDE)
        scores = scores if bad and at == "x" else g.mask(scores, mask)
        y = g.add(g.matmul(g.softmax(scores), x), g.parameter("b", (WIDE,)), name="moved")
        g.output(y=y * rows if bad and at == "end" else y)

    assert said(build, keep=[[True, True, False]]) == f"with the rows that keep hides set to 0 {words}"


def exp_sum(g, x, top):
    return g.divide(top, g.reduce_sum(top))


SHARES = {
    "with a sigmoid of each score divided by the sum of its row": lambda g, x: exp_sum(g, x, g.sigmoid(x)),
    "with the square of each score divided by the sum of its row": lambda g, x: exp_sum(g, x, g.multiply(x, x)),
    "with each score divided by √Σ x² of its row": lambda g, x: g.divide(
        x, g.sqrt(g.reduce_sum(g.multiply(x, x)))
    ),
    "with relu of each score divided by the number of keys": lambda g, x: g.scale(g.relu(x), divide=N),
    "with the 2 largest of each row alone": lambda g, x: g.softmax(g.mask(x, among_largest(g, x))),
    "with the 2 largest weights of each row alone, which do not sum to 1,": lambda g, x: g.where(
        among_largest(g, x), g.softmax(x), g.constant(0)
    ),
}


def among_largest(g, x):
    largest = g.one_hot_argmax(x)
    return g.logical_or(largest, g.one_hot_argmax(g.mask(x, g.logical_not(largest))))


@pytest.mark.parametrize("words", SHARES)
def test_weights_that_are_no_softmax(words):
    def build(g, bad):
        q, k, v = inputs(g, "q", "k", "v")
        scaled = g.scale(g.matmul(q, k.T, name="scores"), sqrt=D, name="scaled")
        g.output(y=g.matmul(SHARES[words](g, scaled) if bad else g.softmax(scaled, name="weights"), v))

    assert said(build).startswith(f"{words} in the softmax weights")


@pytest.mark.parametrize("power, scaled", [(2, True), (2, False), (1, False)])
def test_distances_for_products(power, scaled):
    def build(g, bad):
        q, k, v = inputs(g, "q", "k", "v")
        scores = g.matmul(q, k.T, name="scores")
        if bad:
            squares = [g.reduce_sum(g.multiply(t, t)) for t in (q, k)]
            away = g.subtract(g.add(squares[0], squares[1].T), g.scale(scores, multiply=2))
            scores = g.negate(away if power == 2 else g.sqrt(away))
        scaled_scores = g.scale(scores, sqrt=D, name="scaled") if scaled or not bad else scores
        g.output(y=g.matmul(g.softmax(scaled_scores, name="weights"), v))

    told = "‖q − k‖²" if power == 2 else "‖q − k‖"
    words = f"with −{told}, a distance, in the place of the matmul scores"
    assert said(build) == words + (", not scaled" if not scaled else "")


SQUARE = {
    "with gamma as a column, not a row, in the multiply scaled of the LayerNorm norm": "gamma",
    "with b_q as a column, not a row, in the add biased of the linear q": "bias",
    "with mean and variance as rows, not columns (as without keepdims), in the LayerNorm norm": "mean",
    "with the sums as a row, not a column (as without keepdims), in the softmax weights": "sum",
}


@pytest.mark.slow
@pytest.mark.parametrize("words", SQUARE)
def test_rows_for_columns_where_there_are_as_many_tokens_as_features(words):
    def build(g, bad):
        wrong = SQUARE[words] if bad else ""
        (x,) = inputs(g, "x", shape=(N, N))
        (w,), (gamma, b) = weights(g, "w_q", shape=(N, N)), weights(g, "gamma", "b_q", shape=(N,))
        column = (N, 1)
        if wrong == "mean":
            away = g.subtract(x, g.reduce_mean(x).T)
            root = g.sqrt(g.add(g.reduce_mean(g.multiply(away, away)).T, g.constant("1e-05")))
            norm = g.multiply(g.divide(away, root), gamma)
        elif wrong == "gamma":
            norm = g.multiply(g.layernorm(x, eps="1e-05"), g.reshape(gamma, column))
        else:
            norm = g.layernorm(x, gamma, eps="1e-05", name="norm")
        q = (
            g.add(g.linear(norm, w), g.reshape(b, column))
            if wrong == "bias"
            else g.linear(norm, w, b, name="q")
        )
        masked = g.mask(g.matmul(q, norm.T, name="scores"), g.causal_mask(N, name="visible"), name="masked")
        e = g.exp(masked)
        weights_ = g.divide(e, g.reduce_sum(e).T) if wrong == "sum" else g.softmax(masked, name="weights")
        g.output(y=g.matmul(weights_, norm, name="mixed"))

    assert said(build).startswith(words)


def test_two_norms_with_each_others_parameters():
    def build(g, bad):
        (x,) = inputs(g, "x")
        gains = [weights(g, f"gamma{i}", f"beta{i}", shape=(D,)) for i in (1, 2)]
        (w,) = weights(g, "w")
        one, two = reversed(gains) if bad else gains
        y = g.add(x, g.linear(g.layernorm(x, *one, name="norm1"), w, name="branch"), name="residual")
        g.output(y=g.layernorm(y, *two, name="norm2"))

    assert said(build) == "with the parameters of norm1 and norm2 in each other's place"


@pytest.mark.parametrize(
    "inner", ["√(2/π) (x + 0.044715 x²)", "√(2/π) x + 0.044715 x³", "√(2/π) (x + 0.44715 x³)"]
)
def test_the_tanh_of_a_gelu_with_a_slip_of_the_pen(inner):
    def build(g, bad):
        (x,) = inputs(g, "x")
        root, square = math.sqrt(2 / math.pi), g.multiply(x, x)
        cube, bend = g.multiply(square, x), 0.44715 if "0.44715" in inner else 0.044715
        bent = g.scale(square if "x²" in inner else cube, multiply=bend)
        outside = inner.startswith("√(2/π) x")
        whole = g.add(g.scale(x, multiply=root), bent) if outside else g.scale(g.add(x, bent), multiply=root)
        gelu = g.scale(g.multiply(x, g.add(g.tanh(whole), g.constant(1))), divide=2)
        g.output(y=g.scale(gelu if bad else g.gelu(x, name="act"), multiply=1))

    assert said(build) == f"with ½ x (1 + tanh({inner})), in the GELU act"


def test_a_norm_without_gain_and_bias():
    def build(g, bad):
        (x,) = inputs(g, "x", shape=(3, WIDE))
        gamma, beta = weights(g, "gamma", "beta", shape=(WIDE,))
        g.output(y=g.gelu(g.layernorm(x) if bad else g.layernorm(x, gamma, beta, name="norm")))

    assert said(build) == "without gamma (gamma) and beta (beta) in the LayerNorm norm (eps=1e-05)"


def test_a_scale_by_another_number_may_be_one_done_twice():
    def build(g, bad):
        q, k = inputs(g, "q", "k", shape=(3, WIDE))
        scores = g.matmul(g.scale(q, sqrt=WIDE) if bad else q, k.T)
        g.output(y=g.softmax(g.scale(scores, sqrt=WIDE, name="scaled")))

    found = first(build).findings[0]
    assert found.phrase == "with ÷ 4 instead of ÷ √4 in the scale scaled"
    assert "with the scale scaled (÷ √4) done twice" in found.equals


# ------------------------------------------------------------ heads, batches, caches


PROJECTIONS = ("w_q", "w_k", "w_v", "w_o")


def heads(g, x, causal=False, mask=None):
    w = dict(zip(PROJECTIONS, weights(g, *PROJECTIONS, shape=(WIDE, WIDE)), strict=True))
    return g.multi_head(x, x, x, mask=mask, heads=H, causal=causal, name="attention", **w)


@pytest.mark.slow
@pytest.mark.parametrize("causal", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("back", [False, True])
def test_heads_that_attend_to_each_other_within_a_token(causal, back):
    def build(g, bad):
        (x,) = inputs(g, "x", shape=(N, WIDE))
        if not bad:
            g.output(y=heads(g, x, causal))
            return
        w_q, w_k, w_v, w_o = weights(g, *PROJECTIONS, shape=(WIDE, WIDE))
        q, k, v = (g.reshape(g.linear(x, w), (N, H, WIDE // H)) for w in (w_q, w_k, w_v))
        out, _ = g.attention(q, k, v, causal=causal)
        out = g.transpose(out, perm=(1, 0, 2)) if back else out
        g.output(y=g.linear(g.reshape(out, (N, WIDE)), w_o))

    told = said(build)
    assert told.startswith("with heads that attend to each other within each token before the concat")
    assert ("reshaped" in told) is back


@pytest.mark.slow
def test_heads_that_attend_to_each_other_without_the_mask_of_tokens():
    def build(g, bad):
        (x,) = inputs(g, "x", shape=(3, WIDE))
        if not bad:
            g.output(y=heads(g, x, mask=g.input("mask", (1, 3), kind="bool")))
            return
        w_q, w_k, w_v, w_o = weights(g, *PROJECTIONS, shape=(WIDE, WIDE))
        q, k, v = (g.reshape(g.linear(x, w), (3, H, WIDE // H)) for w in (w_q, w_k, w_v))
        g.output(y=g.linear(g.reshape(g.attention(q, k, v)[0], (3, WIDE)), w_o))

    told = said(build, mask=[[True, True, False]])
    assert told.startswith("with heads that attend to each other within each token before the concat")
    assert told.endswith("attention.concat, without a mask")


@pytest.mark.slow
def test_weights_averaged_over_the_heads():
    def build(g, bad):
        (x,) = inputs(g, "x", shape=(N, WIDE))
        if not bad:
            g.output(y=heads(g, x))
            return
        w_q, w_k, w_v, w_o = weights(g, *PROJECTIONS, shape=(WIDE, WIDE))
        q, k, v = (g.split(g.linear(x, w), H) for w in (w_q, w_k, w_v))
        each = [g.softmax(g.scale(g.matmul(a, b.T), sqrt=WIDE // H)) for a, b in zip(q, k, strict=True)]
        mean = g.scale(each[0] + each[1], divide=H)
        g.output(y=g.linear(g.concat(*(g.matmul(mean, part) for part in v)), w_o))

    assert "with the mean over the heads in the place of the softmax attention.head*.weights" in said(build)


def test_attention_over_the_batch():
    def build(g, bad):
        q, k, v = inputs(g, "q", "k", "v", shape=(3, N, D))
        turn = {"perm": (1, 0, 2)}
        if bad:
            q, k, v = (g.transpose(x, **turn) for x in (q, k, v))
        out, _ = g.attention(q, k, v)
        g.output(y=g.transpose(out, **turn) if bad else out)

    assert said(build) == "with the first two axes of q, k and v exchanged: batch for tokens"


@pytest.mark.slow
def test_attention_over_the_batch_with_what_is_between():
    right, wrong = Graph("right"), Graph("wrong")
    for g in (right, wrong):
        (x,) = inputs(g, "x", shape=(3, N, D))
        turned = partial(g.transpose, perm=(1, 0, 2)) if g is wrong else lambda t: t
        q, k = (g.linear(x, w, name=name) for name, w in zip("qk", weights(g, "w_q", "w_k"), strict=True))
        out, _ = g.attention(turned(q), turned(k), turned(x), name="attention")
        proj = g.linear(turned(out), g.parameter("w_o", (D, D)), name="proj")
        g.output(y=g.softmax(g.add(x, proj)))
    given = random_feeds(right, 3)
    values = run(wrong, given)
    found = diagnose(right, given, {name: values[name] for name in ("q", "proj", "y")}, pairs=False)
    assert found.findings[0].phrase == "with the first two axes of x, q and proj exchanged: batch for tokens"
    assert not found.findings[0].missed


@pytest.mark.parametrize("more", [1, 5, 16 - N])
def test_empty_places_of_a_cache(more):
    def build(g, bad):
        q, k, v = inputs(g, "q", "k", "v")
        if bad:
            k, v = (g.pad(x, 0, more, axis=-2) for x in (k, v))
        g.output(y=g.attention(q, k, v, name="head")[0])

    assert said(build).startswith(f"with {more} empty place{'s' * (more > 1)} after the {N} of the softmax")


@pytest.mark.parametrize(
    "part, words",
    [
        (0, "with past_k alone, the new rows not yet there, in keys and values of k_all and v_all"),
        (1, "with past_k dropped, in keys and values"),
    ],
)
def test_one_part_of_a_cache_is_all_that_is_attended_to(part, words):
    def build(g, bad):
        (q,) = inputs(g, "q", shape=(2, D))
        k, v = (g.linear(q, w) for w in weights(g, "w_k", "w_v"))
        past = inputs(g, "past_k", "past_v")
        pairs = [(old, new) for old, new in zip(past, (k, v), strict=True)]
        if bad:
            k, v = (pair[part] for pair in pairs)
        else:
            k, v = (g.concat(*pair, axis=-2, name=f"{n}_all") for pair, n in zip(pairs, "kv", strict=True))
        g.output(y=g.attention(q, k, v, causal=not bad or part == 1, offset=0 if bad else N, name="head")[0])

    assert words in said(build)


def test_a_fused_projection_read_interleaved():
    def build(g, bad):
        (x,) = inputs(g, "x")
        gate, up = weights(g, "w_gate", "w_up", shape=(8, D))
        (down,) = weights(g, "w_down", shape=(D, 8))
        a, b = g.linear(x, gate, name="gate"), g.linear(x, up, name="up")
        if bad:
            both = g.concat(a, b)
            a, b = g.slice(both, "..., ::2"), g.slice(both, "..., 1::2")
        g.output(y=g.linear(g.silu(a) * b, down))

    assert said(build) == "with the features of gate and up dealt out in turn, not in blocks"


# ------------------------------------------------------------ inside the steps


def test_a_variance_without_the_squared_mean():
    def build(g, bad):
        (x,) = inputs(g, "x")
        (w,) = weights(g, "w")
        norm = g.layernorm(x, eps="1e-05", name="norm")
        if bad:
            root = g.sqrt(g.reduce_mean(x * x) + g.constant(1e-5))
            norm = g.divide(g.subtract(x, g.reduce_mean(x)), root)
        g.output(y=g.linear(norm, w))

    assert "with x, not norm.deviation, as both operands of the multiply squared of the LayerNorm norm" in said(
        build
    )


@pytest.mark.parametrize("slope", [0.01, 0.1, 0.2])
def test_a_leaky_relu(slope):
    def build(g, bad):
        (x,) = inputs(g, "x")
        (w,) = weights(g, "w")
        y = g.linear(x, w, name="hidden")
        g.output(y=g.where(g.is_positive(y), y, g.scale(y, multiply=slope)) if bad else g.relu(y, name="act"))

    assert said(build) == f"with {slope} x for x below 0, a leaky ReLU, in the relu act"


@pytest.mark.parametrize("step", [1, -1])
def test_token_ids_off_by_one(step):
    ids = [1, 3, 1, 2]

    def build(g, bad):
        table = g.parameter("table", (5, D))
        where = g.constant([i + step for i in ids]) if bad else g.input("ids", (N,), kind="int")
        g.output(y=g.gelu(g.embedding(table, where)))

    assert said(build, ids=ids) == f"with 1 {'more' if step > 0 else 'less'} in each place of ids"


def test_positions_along_the_features():
    def build(g, bad):
        (x,) = inputs(g, "x")
        table = g.positional_encoding(D, N).T if bad else g.positional_encoding(N, D, name="positions")
        g.output(y=g.softmax(x + table))

    assert said(build).startswith(
        "with positions along the features and features along the tokens in the positions"
    )


@pytest.mark.parametrize("shifted", [[2, 0, 3, 1], [3, 1, 4, 4]])
def test_targets_of_the_wrong_token(shifted):
    def build(g, bad):
        x = g.input("x", (N, 5), ("token", "feature"))
        targets = [[float(j == t) for j in range(5)] for t in (shifted if bad else [0, 3, 1, 4])]
        picked = g.reduce_sum(g.log_softmax(x) * g.constant(targets, name="targets"))
        g.output(y=g.negate(picked))

    place, told = (2, "before") if shifted[0] == 2 else (4, "after")
    assert said(build) == (
        f"with the constant targets those of the token {told} each, and {place} where there is none"
    )


@pytest.mark.parametrize("full", [False, True])
def test_a_binary_cross_entropy(full):
    def build(g, bad):
        x = g.input("x", (N, 5), ("token", "feature"))
        targets = g.constant([[float(j == t) for j in range(5)] for t in (0, 3, 1, 4)], name="targets")
        if not bad:
            picked = g.multiply(g.log_softmax(x, name="logarithms"), targets, name="picked")
        else:
            share, one = g.sigmoid(x), g.constant(1.0)
            picked = g.multiply(g.log(share), targets)
            picked = picked + (one - targets) * g.log(one - share) if full else picked
        g.output(y=g.negate(g.reduce_sum(picked)))

    alone = "with ln σ(x) for each score by itself, a binary cross entropy, in the log softmax logarithms"
    every = "with a binary cross entropy of every class in the place of the multiply picked"
    assert said(build) == (every if full else alone)


@pytest.mark.slow
@pytest.mark.parametrize("back", [False, True])
def test_heads_are_not_transposed(back):
    def build(g, bad):
        (x,) = inputs(g, "x", shape=(3, WIDE))
        w_q, w_k, w_v = weights(g, "w_q", "w_k", "w_v", shape=(WIDE, WIDE))
        q, k, v = (g.reshape(g.linear(x, w), (3, H, WIDE // H)) for w in (w_q, w_k, w_v))
        turn = {"perm": (1, 0, 2)}
        if not bad:
            q, k, v = (
                g.transpose(t, **turn, name=f"{n}_by_head") for t, n in zip((q, k, v), "qkv", strict=True)
            )
        out, _ = g.attention(q, k, v)
        out = g.transpose(out, **turn, name="back") if back or not bad else out
        g.output(y=g.reshape(out, (3, WIDE)))

    heads = "q_by_head, k_by_head and v_by_head" if back else "q_by_head, k_by_head, v_by_head and back"
    assert said(build) == f"without the transpose {heads} (perm (1, 0, 2))"


# ------------------------------------------------------------ gradients


def observed_gradient(graph, of, feeds, wrong):
    found = diagnose(gradient(graph, of="y", wrt=[of]), feeds, {f"d_{of}": wrong}, pairs=False, budget=60)
    return found.findings[0].phrase if found.findings else found.verdict


@pytest.mark.slow
def test_one_path_of_a_gradient_is_left():
    def build(values):
        g = Graph("self")
        (x,) = inputs(g, "x")
        w_q, w_k, w_v = weights(g, "w_q", "w_k", "w_v")
        kept = g.input("x_again", (N, D)) if values else x  # what the gradient does not go back through
        q, k = g.linear(kept, w_q, name="q"), g.linear(kept, w_k, name="k")
        g.output(y=g.attention(q, k, g.linear(x, w_v, name="v"), causal=True, name="head")[0])
        return g

    right = build(False)
    feeds = {**random_feeds(right, 3), "d_y": [[0.5, -1.0, 0.25, 1.5, -0.75, 2.0]] * N}
    fed = {**feeds, "x_again": feeds["x"]}
    wrong = run(gradient(build(True), of="y", wrt=["x"]), fed)["d_x"]
    told = observed_gradient(right, "x", feeds, wrong)
    assert told == "with backward.d_v alone in the matmul backward.d_x, without backward.d_k, backward.d_q"


def test_rows_of_one_index_are_written_over():
    g = Graph("embedded")
    g.output(y=g.embedding(g.parameter("table", (5, D)), g.input("ids", (N,), kind="int"), name="tokens"))
    ids, d_y = [1, 3, 1, 2], [[0.5 * i + j for j in range(D)] for i in range(N)]
    feeds = {**random_feeds(g, 3), "ids": ids, "d_y": d_y}
    wrong = [[0.0] * D for _ in range(5)]
    for row, index in zip(d_y, ids, strict=True):
        wrong[index] = row
    assert "with rows of one index written over, not summed" in observed_gradient(g, "table", feeds, wrong)


def test_a_relu_that_asks_what_comes_back_for_its_sign():
    g = Graph("gated")
    (x,) = inputs(g, "x")
    w, v = weights(g, "w", "v")
    g.output(y=g.linear(g.relu(g.linear(x, w, name="hidden"), name="act"), v))
    feeds = {**random_feeds(g, 3), "d_y": [[0.5, -1.0, 0.25, 1.5, -0.75, 2.0]] * N}
    trace = run(gradient(g, of="y", wrt=["w"]), feeds)
    back = [[max(cell, 0.0) for cell in row] for row in trace["backward.d_act"]]
    wrong = [
        [sum(b[i] * r[j] for b, r in zip(back, feeds["x"], strict=True)) for j in range(D)] for i in range(D)
    ]
    assert "with backward.d_act instead of hidden as x of" in observed_gradient(g, "w", feeds, wrong)


# ------------------------------------------------------------ the softmax


@pytest.mark.slow
def test_a_softmax_that_is_none_is_named_by_what_it_is_not_by_its_inner_masks():
    words = {
        "exp alone, never divided by its sum": lambda g, x: g.exp(x),
        "the scores themselves as weights": lambda g, x: g.where(g.is_visible(x), x, g.constant(0)),
        "the same weight for every visible cell": lambda g, x: g.softmax(g.scale(x, multiply=0)),
        "weight 1 for the largest score": lambda g, x: g.where(
            g.one_hot_argmax(x), g.constant(1), g.constant(0)
        ),
    }
    for told, of_scores in words.items():

        def build(g, bad, told=told, of_scores=of_scores):
            q, k, v = inputs(g, "q", "k", "v", shape=(3, 4))
            scores = g.scale(g.matmul(q, k.T), sqrt=4, name="scaled")
            scores = g.mask(scores, g.causal_mask(3), name="masked") if "scores them" in told else scores
            g.output(y=g.matmul(of_scores(g, scores) if bad else g.softmax(scores, name="weights"), v))

        found = first(build).findings[0]
        assert told in found.phrase and found.place == "weights"
        assert not any("mask" in words for words in found.equals)


def test_a_variant_of_fewer_axes_is_not_it():
    g = Graph("g")
    g.output(out=g.broadcast(g.input("x", (2,)), shape=(3, 2)))
    assert diagnose(g, {"x": [1.0, 2.0]}, {"out": [[2.31, 4.07]] * 3}).verdict == "unexplained"
