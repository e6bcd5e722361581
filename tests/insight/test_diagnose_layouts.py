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


def sizes(build):
    g = Graph("sizes")
    build(g)
    return Intended(g.at("op"), random_feeds(g, 1)).sizes


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

    names = [
        ("d_k", 3),
        ("d_model", 12),
        ("h", 4),
        ("d_model/kv_heads", 6),
        ("kv_heads·d_k", 6),
        ("kv_heads", 2),
    ]
    assert sizes(grouped)[:6] == names
    assert not {"h", "d_k", "d_model"} & dict(sizes(gated)).keys()


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
