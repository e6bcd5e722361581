"""Mistakes in what comes from elsewhere: memory, a cache, tables of angles, targets."""

import math

import pytest

from graphattn import Graph, diagnose, run
from graphattn.builtin import random_feeds

N, D = 3, 4


def said(build, bad, words, **feeds):
    """`words` are said first of the numbers of `build(bad)` where `build("")` was meant."""
    right, wrong = build(""), build(bad)
    given = {**random_feeds(right, 3), **feeds}
    y = run(wrong, {name: given[name] for name in wrong.inputs})["y"]
    found = diagnose(right, given, {"y": y}, pairs=False, budget=60)
    assert found.verdict == "mistake"
    assert found.findings[0].phrase == words


def parameters(g, prefix, **shapes):
    return {name: g.parameter(f"{prefix}{name}", shape) for name, shape in shapes.items()}


def memory(bad):
    g = Graph("memory")
    x, source = g.input("x", (N, D), ("token", "feature")), g.input("memory", (5, D), ("token", "feature"))
    given = parameters(g, "", w_q=(D, D), w_k=(D, D), w_v=(D, D), w_o=(D, D))
    source = x if bad else source
    g.output(y=g.multi_head(x, source, source, heads=1, **given, name="attention"))
    return g


@pytest.mark.slow
def test_attention_to_memory_is_fed_the_own_stream():
    said(memory, "own", "with x instead of memory as x of the linear attention.k and attention.v")


PAST = 3


def cache(bad):
    g = Graph("cache")
    x = g.input("x", (2, D), ("token", "feature"))
    given = parameters(g, "", w_q=(D, D), w_k=(D, D), w_v=(D, D))
    k, v = (g.input(name, (PAST, D), ("token", "feature")) for name in ("past_k", "past_v"))
    if bad == "again":
        k = g.concat(*(g.rope(part, *g.rope_angles(PAST, D // 2)) for part in g.split(k, 2)))
    if bad == "stale":
        k, v = (g.concat(t[0:2], t[1:2], axis=0) for t in (k, v))
    if bad == "heads":
        k, v = (g.concat(*reversed(g.split(t, 2))) for t in (k, v))
    y = g.multi_head(
        x, x, x, past_k=k, past_v=v, heads=2, causal=True, offset=PAST, rotary=10000, **given, name="attention"
    )
    g.output(y=y)
    return g


@pytest.mark.slow
@pytest.mark.parametrize("bad, words", [
    ("again", "with the earlier rows through the rotary once more, from position 0, in attention.k_all"),
    ("stale", "with the last earlier row not written, the one before it in its slot, in attention.k_all and"
     " attention.v_all"),
    ("heads", "with the heads of the earlier rows in reverse order in attention.k_all and attention.v_all"),
])  # fmt: skip
def test_earlier_rows(bad, words):
    said(cache, bad, words)


def turned(bad):
    """Rotary positions, slowed down by 4, given as numbers."""
    g = Graph("turned")
    x = g.input("x", (N, D), ("token", "feature"))
    slow = {"forgotten": 1.0, "other": 3.0}.get(bad, 4.0)
    at = [[p * rate / slow for rate in (1.0, 0.01)] for p in range(N)]
    cos, sin = (g.constant([[f(a) for a in row] for row in at], name=f.__name__) for f in (math.cos, math.sin))
    q = g.rope(x, cos, sin, name="q")
    g.output(y=g.matmul(g.softmax(g.matmul(q, q.T), name="weights"), x))
    return g


@pytest.mark.parametrize("bad, words", [
    ("forgotten", "with cos and sin of unscaled angles p / 10000^(2i/d)"),
    ("other", "with the angles of cos and sin times 1/0.75"),
])  # fmt: skip
def test_tables_of_angles(bad, words):
    said(turned, bad, words.replace("times 1/", "divided by "))


def targets(bad):
    g = Graph("targets")
    x, ids = g.input("x", (N, D), ("token", "feature")), g.input("ids", (N,), ("token",), kind="int")
    ids = g.slice(g.concat(ids[1:], ids[2:], axis=0), ":3") if bad else ids
    hot = g.embedding(g.constant([[float(i == j) for j in range(D)] for i in range(D)], name="classes"), ids)
    g.output(y=g.reduce_sum(g.multiply(g.log_softmax(x, name="logp"), hot, name="own"), name="by_token"))
    return g


def test_targets_of_the_place_after():
    said(targets, "after", "with ids those of the place after each, the last repeated", ids=[2, 0, 3])


def pooled(bad):
    """A sum over the features of one row, or of others."""
    g = Graph("pooled")
    x = g.input("x", (4, D), ("token", "feature"))
    made = g.linear(g.tanh(x, name="act"), g.parameter("w", (D, D)), name="made")
    if bad == "residual":
        made = g.add(made, x)
    if bad == "norm":
        made = g.rmsnorm(made)
    if bad == "unit":
        made = g.divide(made, g.sqrt(g.reduce_sum(g.multiply(made, made))))
    if bad == "last":
        row = g.slice(made, "3:4")
    elif bad in ("mean", "others"):
        row = g.reduce_mean(made if bad == "mean" else g.slice(made, "1:"), axis=0)
    else:
        row = g.slice(made, "0:1", name="row")
    mean = g.reduce_mean(g.slice(made, "1:") if bad == "but one" else made, axis=0, name="mean")
    g.output(y=g.concat(row, mean))
    return g


@pytest.mark.parametrize("bad, words", [
    ("last", "with the last row of made as the slice row ([0:1])"),
    ("mean", "with the mean of all rows of made as the slice row ([0:1])"),
    ("others", "with the mean of all rows but the first of made as the slice row ([0:1])"),
    ("but one", "with the reduce_mean mean over all but the first"),
    ("residual", "with x added to the linear made too"),
    ("norm", "with RMSNorm, without parameters, of the linear made"),
    ("unit", "with the rows of the linear made divided by their length"),
])  # fmt: skip
def test_other_rows_a_residual_and_a_norm_too_many(bad, words):
    said(pooled, bad, words)
