"""Numbers that a user's own reshapes and transposes read in another order; sizes by their true names."""

import pytest
from test_diagnose_kinds import inputs, said, weights

from graphattn import Graph
from graphattn.builtin import random_feeds
from graphattn.insight.variants import Intended

D, N, H = 8, 3, 2


def test_a_fused_projection_cut_head_by_head():
    def build(g, bad):
        (x,) = inputs(g, "x", shape=(N, D))
        (w,) = weights(g, "w", shape=(3 * D, D))
        qkv = g.linear(x, w)
        if bad:
            parts = g.split(g.reshape(qkv, (N, H, 3, D // H)), 3, axis=-2)
        else:
            parts = g.split(qkv, 3, name="cut")
        q, k, v = (g.transpose(g.reshape(part, (N, H, D // H)), perm=(1, 0, 2)) for part in parts)
        g.output(y=g.attention(q, k, v)[0])

    assert said(build) == "with the split cut read as (heads, 3, d_k), not as (3, heads, d_k)"


def test_the_order_of_a_fused_projection():
    def build(g, bad):
        (x,) = inputs(g, "x", shape=(N, D))
        (w,) = weights(g, "w", shape=(3 * D, D))
        q, k, v = g.split(g.linear(x, w), 3, name="cut")
        k, v = (v, k) if bad else (k, v)
        cut = (g.transpose(g.reshape(part, (N, H, D // H)), perm=(1, 0, 2)) for part in (q, k, v))
        g.output(y=g.attention(*cut)[0])

    assert said(build) == "with the parts of the split cut handed out in the order 0, 2, 1"


PATCHES = [
    ((1, 3, 2, 4, 0), "", "with perm=(1, 3, 2, 4, 0) instead of (1, 3, 0, 2, 4) in the transpose"),
    ((1, 3, 0, 2, 4), "::-1", "with image in reverse order along axis 0 (of 3)"),
    ((1, 3, 0, 2, 4), ":, :, ::-1", "with image in reverse order along axis 2 (of 4)"),
]


@pytest.mark.parametrize(("perm", "at", "words"), PATCHES)
def test_an_image_in_another_order(perm, at, words):
    def build(g, bad):
        image, w = g.input("image", (3, 4, 4)), g.parameter("w", (2, 12))
        if bad and at:
            image = g.slice(image, at)
        cut = g.reshape(image, (3, 2, 2, 2, 2))
        moved = g.transpose(cut, perm=perm if bad else (1, 3, 0, 2, 4), name="moved")
        g.output(y=g.linear(g.reshape(moved, (4, 12)), w))

    assert said(build).startswith(words)


def sizes(build, level="op"):
    g = Graph("sizes")
    build(g)
    return Intended(g.at(level), random_feeds(g, 1)).sizes


def test_sizes_have_their_true_names():
    def grouped(g):
        (x,) = inputs(g, "x", shape=(N, 12))
        w = {"w_q": (12, 12), "w_k": (6, 12), "w_v": (6, 12), "w_o": (12, 12)}
        p = {name: g.parameter(name, shape) for name, shape in w.items()}
        g.output(y=g.multi_head(x, x, x, heads=4, kv_heads=2, **p))

    def gated(g):
        (x,) = inputs(g, "x", shape=(N, 6))
        gate, up = g.split(g.linear(x, g.parameter("w", (16, 6))), 2)
        g.output(y=g.silu(gate) * up)

    def turned_in_pairs(g):
        (x,) = inputs(g, "x", shape=(N, 8))
        cos, sin = g.rope_angles(N, 8)
        g.output(y=g.rope(x, cos, sin, interleaved=True) + g.positional_encoding(N, 8))

    names = [
        ("d_k", 3),
        ("d_model", 12),
        ("h", 4),
        ("d_model/kv_heads", 6),
        ("kv_heads·d_k", 6),
        ("kv_heads", 2),
    ]
    assert sizes(grouped)[:6] == names
    for none in (sizes(gated), sizes(turned_in_pairs, "primitive")):
        assert not {"h", "d_k", "d_model"} & dict(none).keys()


# ------------------------------------------------------------ positions


def turned(g, x, n, heads, width, made=None):
    """x (n, heads, width), turned by angles that are made for so many features."""
    cos, sin = (g.reshape(t, (n, 1, t.shape[-1])) for t in g.rope_angles(n, made or width, base=100))
    return g.rope(x, cos[:, :, : width // 2], sin[:, :, : width // 2]) if made else g.rope(x, cos, sin)


def by_head(g, x):
    return g.transpose(turned(g, g.transpose(x, perm=(1, 0, 2)), H, N, D), perm=(1, 0, 2))


def at_once(g, x):
    return g.reshape(turned(g, g.reshape(x, (N, 1, H * D)), N, 1, H * D), (N, H, D))


ANGLES = [
    (by_head, "by the number of the head, not by position"),
    (at_once, "over the full width, before the heads are cut"),
    (lambda g, x: turned(g, x, N, H, D, H * D), f"made for d=d_model = {H * D}, not {D}"),
]


@pytest.mark.parametrize(("wrong", "words"), ANGLES)
def test_angles_of_heads(wrong, words):
    def build(g, bad):
        (x,) = inputs(g, "x", shape=(N, H * D))
        (w,) = weights(g, "w", shape=(H * D, H * D))
        q = g.reshape(x, (N, H, D), name="q")
        q = wrong(g, q) if bad else turned(g, q, N, H, D)
        g.output(y=g.softmax(g.linear(g.reshape(q, (N, H * D)), w)))

    assert words in said(build)


def looked_up(g, ids_for_places=False, exchanged=False, more=False):
    """Rows of a table by ids, and rows 0, 1, 2 of another for their places."""
    ids, table, pos = g.input("ids", (N,), kind="int"), g.parameter("table", (5, D)), g.parameter("pos", (6, D))
    if exchanged:
        return g.add(g.slice(table, "0:3"), g.embedding(pos, ids))
    if more:
        table = g.concat(table[1:], table[:1], axis=0)
    places = g.embedding(pos, ids) if ids_for_places else g.slice(pos, "0:3", name="places")
    return g.add(g.embedding(table, ids, name="tokens"), places, name="placed")


IDS = [
    ({"ids_for_places": True}, "with ids in the place of positions for pos"),
    ({"exchanged": True}, "with ids and positions exchanged: pos by ids, table by position"),
    ({"more": True}, "with ids one more in the embedding tokens, around the end of table"),
]


@pytest.mark.parametrize(("wrong", "words"), IDS)
def test_ids_and_positions(wrong, words):
    def build(g, bad):
        g.output(y=g.softmax(looked_up(g, **(wrong if bad else {}))))

    assert said(build, ids=[4, 0, 2]) == words


def test_sinusoids_of_ids():
    def build(g, bad):
        ids, x = g.input("ids", (N,), kind="int"), *inputs(g, "x", shape=(N, D))
        table = g.positional_encoding(N if not bad else 5, D, name="places")
        g.output(y=g.add(x, g.embedding(table, ids) if bad else table))

    assert said(build, ids=[4, 0, 2]).startswith("with ids, not positions, as the constant positions of the")


CLASS_TOKEN = [
    (lambda g, pos: g.pad(pos[1:], before=1, after=0, axis=0), "from row 1 on, nothing to row 0"),
    (lambda g, pos: g.pad(pos[:-1], before=1, after=0, axis=0), "from row 1 on, its row 0 to row 1"),
    (lambda g, pos: pos[:1], "with row 0 of pos added to every row in the add placed"),
]


@pytest.mark.parametrize(("wrong", "words"), CLASS_TOKEN)
def test_positions_of_a_class_token(wrong, words):
    def build(g, bad):
        (x,) = inputs(g, "x", shape=(N, D))
        pos = g.parameter("pos", (N + 1, D))
        tokens = g.concat(g.parameter("cls", (1, D)), x, axis=0)
        g.output(y=g.softmax(g.add(tokens, wrong(g, pos) if bad else pos, name="placed")))

    assert words in said(build)


BUCKETS = [
    (lambda k: max(-k, 0), "the same after the diagonal as on it"),
    (lambda k: 3 * (k >= 0) + min(abs(k), 2), "counting the diagonal with what comes after it"),
    (lambda k: 3 * (k > 0) + min(abs(k), 1), "counted one by one on either side, up to 1"),
    (lambda k: min(abs(k), 2), "the same on both sides, as before the diagonal"),
]


@pytest.mark.parametrize(("wrong", "words"), BUCKETS)
def test_buckets_by_another_rule(wrong, words):
    def build(g, bad):
        (scores,) = inputs(g, "scores", shape=(N, N))
        rule = wrong if bad else lambda k: 3 * (k > 0) + min(abs(k), 2)
        buckets = g.constant([[rule(j - i) for j in range(N)] for i in range(N)], name="buckets")
        bias = g.reshape(g.embedding(g.parameter("table", (6, 1)), buckets), (N, N))
        g.output(y=g.softmax(g.add(scores, bias)))

    assert said(build) == f"with the constant buckets {words}"


@pytest.mark.slow
def test_cross_attention_with_the_weights_of_self_attention():
    def build(g, bad):
        x, memory = inputs(g, "x", "memory", shape=(N, D))
        own, theirs = (
            {w: g.parameter(f"{w}_{i}", (D, D)) for w in ("w_q", "w_k", "w_v", "w_o")} for i in (1, 2)
        )
        y = g.multi_head(x, x, x, heads=H, name="self", **own)
        g.output(y=g.multi_head(y, memory, memory, heads=H, name="cross", **(own if bad else theirs)))

    assert said(build) == "with the parameters of self in cross too"


def test_a_norm_of_queries_before_the_heads_are_cut():
    def build(g, bad):
        (x,) = inputs(g, "x", shape=(N, H * D))
        gamma, (w,) = g.parameter("gamma", (D,)), weights(g, "w", shape=(H * D, H * D))
        if bad:
            y = g.rmsnorm(x, g.concat(gamma, gamma))
        else:
            q = g.reshape(x, (N, H, D), axes=("token", "head", None))
            y = g.reshape(g.rmsnorm(q, gamma, name="norm"), (N, H * D))
        g.output(y=g.softmax(g.linear(y, w)))

    assert "over the full width, before the heads are cut" in said(build)


def test_a_bias_that_is_not_scaled():
    def build(g, bad):
        x, keys = inputs(g, "x", "keys", shape=(N, D))
        w, b = g.parameter("w", (4, D)), g.parameter("b", (4,))
        k = g.linear(keys, g.parameter("w_k", (4, D)), name="k")
        q = g.linear(x, g.scale(w, sqrt=4) if bad else w, b, name="q")
        scores = g.matmul(q, g.transpose(k), name="scores")
        g.output(y=g.softmax(scores if bad else g.scale(scores, sqrt=4, name="scaled")))

    assert said(build) == "with the scale scaled (÷ √4) on x instead"  # or on w: one function


def test_a_number_that_is_a_size_by_chance_is_told_alone():
    def build(g, bad):
        (x,) = inputs(g, "x", shape=(N, 8))
        g.parameter("other", (6, 6))
        g.output(y=g.divide(x, g.constant(6.0 if bad else 4.0, name="d")))

    assert "size" not in said(build)
