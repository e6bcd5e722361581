"""Planted mistakes are named in whole models; an op that is added brings its diagnosis with it."""

import pytest

import graphattn.ops  # noqa: F401  (fills the registry)
from graphattn import Graph, GraphError, diagnose, run
from graphattn.builtin import random_feeds
from graphattn.core import nested
from graphattn.core.axes import Spec
from graphattn.core.op import OPS, Declared, Kernel, Op, register
from graphattn.insight.diagnose.probe import probe
from graphattn.insight.variants import Intended, variants
from graphattn.weights.toy_induction import toy_induction


def parameters(g, **shapes):
    return {name: g.parameter(name, shape) for name, shape in shapes.items()}


def llama(n=4, d=16, heads=4, groups=2):  # d_k = 4: with 2, both layouts of RoPE are one
    g = Graph("llama")
    x, wide = g.input("x", (n, d), ("token", "feature")), d // heads * groups
    p = parameters(
        g, gamma_1=(d,), gamma_2=(d,), w_q=(d, d), w_k=(wide, d), w_v=(wide, d), w_o=(d, d), w_in=(6, d),
        w_gate=(6, d), w_out=(d, 6),
    )  # fmt: skip
    norm = g.rmsnorm(x, p["gamma_1"], name="norm1")
    q = g.split(g.linear(norm, p["w_q"], name="q"), heads, name="q_heads")
    k = g.split(g.linear(norm, p["w_k"], name="k"), groups, name="k_heads")
    v = g.split(g.linear(norm, p["w_v"], name="v"), groups, name="v_heads")
    cos, sin = g.rope_angles(n, d // heads, name="angles")
    see, outs = g.causal_mask(n, name="visible"), []
    for i in range(heads):
        turned = [
            g.rope(t, cos, sin, name=f"{w}_turned{i}")
            for w, t in (("q", q[i]), ("k", k[i // (heads // groups)]))
        ]
        scaled = g.scale(
            g.matmul(turned[0], turned[1].T, name=f"head{i}.scores"), sqrt=d // heads, name=f"head{i}.scaled"
        )
        weights = g.softmax(g.mask(scaled, see, name=f"head{i}.masked"), name=f"head{i}.weights")
        outs.append(g.matmul(weights, v[i // (heads // groups)], name=f"head{i}.out"))
    y = g.add(x, g.linear(g.concat(*outs, name="concat"), p["w_o"], name="proj"), name="residual1")
    given = g.rmsnorm(y, p["gamma_2"], name="norm2")
    mlp = g.feed_forward(given, p["w_in"], None, p["w_out"], None, p["w_gate"], activation="silu", name="mlp")
    g.output(y=g.add(y, mlp, name="residual2"))
    return g


def gpt2(n=4, d=8):
    g = Graph("gpt2")
    x = g.input("x", (n, d), ("token", "feature"))
    p = parameters(g, **{f"{w}_{s}": (d, d) if w == "w" else (d,) for w in "wb" for s in "qkvo"},
                   **{f"{w}_{i}": (d,) for w in ("gamma", "beta") for i in (1, 2)},
                   w_in=(6, d), b_in=(6,), w_out=(d, 6), b_out=(d,))  # fmt: skip
    g.output(y=g.encoder_layer(x, heads=2, causal=True, activation="gelu_tanh", **p, name="layer"))
    return g


def decoder(n=3, d=4):
    g = Graph("decoder")
    x, memory = g.input("x", (n, d)), g.input("memory", (n + 1, d))
    p = parameters(g, **{f"w_{s}{i}": (d, d) for s in "qkvo" for i in ("", "2")},
                   w_in=(5, d), w_out=(d, 5), **{f"gamma_{i}": (d,) for i in (1, 2, 3)})  # fmt: skip
    g.output(y=g.decoder_layer(x, memory, heads=2, **p, name="layer"))
    return g


def past(n=2, d=4):
    g = Graph("past")
    x = g.input("x", (n, d))
    cache = {name: g.input(name, (3, d)) for name in ("past_k", "past_v")}
    p = parameters(g, **{f"w_{s}": (d, d) for s in "qkvo"})
    g.output(y=g.multi_head(x, x, x, heads=2, causal=True, offset=3, **p, **cache, name="attention"))
    return g


PLANTED = [
    (llama, "interleaved=True"), (llama, "without the rotary k_turned"), (llama, "handed out in turn"),
    (llama, "with the RMSNorm norm1"), (gpt2, "approximate=none"), (gpt2, "in each other's place"),
    (decoder, "without the scale"), (decoder, "without the softmax"), (past, "offset=0"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("build, words", PLANTED, ids=[f"{b.__name__}-{w}" for b, w in PLANTED])
def test_a_planted_mistake_is_named_in_a_model(build, words):
    graph = build()
    feeds = random_feeds(graph, seed=4)
    fine = graph.at("op")
    right = run(graph, feeds)["y"]
    for planted in variants(Intended(fine, feeds), rest=False):
        if words in planted.phrase:
            try:
                wrong = run(planted.rewrite.graph(fine), feeds, allow_nonfinite=True)["y"]
            except GraphError:
                continue
            if wrong != right:
                break
    else:
        pytest.fail(f"no variant of {graph.name} that can be seen says {words!r}")
    found = diagnose(graph, feeds, {"y": wrong}, budget=120, pairs=False)
    phrases = [p for f in found.findings for p in (f.phrase, *f.equals)]
    assert planted.phrase in phrases, (planted.phrase, phrases)


def _shape(x: Spec, *, factor: float = 2.0) -> Spec:
    return Spec(x.shape, x.axes)


def _cube(x, factor):
    return x * x * x * factor


@pytest.fixture
def cube():
    def expand(g, x, *, factor):
        squared = g.multiply(x, x, name="squared")
        cubed = g.multiply(squared, x, name="cubed")
        return g.multiply(cubed, g.constant(factor, name="factor"), name="scaled")

    def by_sign(g, x, *, factor):
        return g.scale(g.multiply(x, g.relu(x)), multiply=factor)

    op = Op(
        name="cube", title="cube", glyph="³", family="function", formula="y = x³ · factor", level="op",
        shape=_shape, kernel=lambda numbers, x, *, factor: Kernel(_cube, 0, factor=float(factor)),
        expand=expand,
        mistakes=(Declared("one side", "with the square of the positive side", by_sign),),
    )  # fmt: skip
    yield register(op)
    del OPS["cube"]


@pytest.mark.parametrize("wrong, words", [
    (lambda v: v * v * v, "factor=1.0 instead of 2.0 in the cube y"),
    (lambda v: 2 * v * v, "without x in the multiply cubed of the cube y"),
    (lambda v: 2 * v * max(v, 0.0), "with the square of the positive side in the cube y"),
])  # fmt: skip
def test_an_op_that_is_added_brings_its_diagnosis(cube, wrong, words):
    g = Graph("new")
    x = g.input("x", (3, 4))
    g.output(out=g.apply("cube", x, name="y"))
    feeds = {"x": [[0.5, -1.25, 2.0, 0.75], [1.5, 1.0, -3.0, 0.25], [-0.5, 0.1, 0.4, -1.0]]}
    found = diagnose(g, feeds, {"out": [[wrong(v) for v in row] for row in feeds["x"]]}, budget=60)
    told = [found.findings[0].phrase, *found.findings[0].equals]
    assert any(words in phrase for phrase in told), told


def kind_of(x):
    return {bool: "bool", int: "int"}.get(type(next(nested.flat(x), 0.0)), "float")


@pytest.mark.slow
def test_what_ops_declare_is_wrong_somewhere_and_fits_everywhere():
    seen = 0
    for op in OPS.values():
        for declared in (*op.mistakes, *op.guises):
            differs = []
            for sample in op.samples:
                g = Graph("sample")
                feeds = {f"x{i}": x for i, x in enumerate(sample.operands) if x is not None}
                given = [
                    None if x is None else g.input(f"x{i}", nested.shape_of(x), kind=kind_of(x))
                    for i, x in enumerate(sample.operands)
                ]
                right = g.apply(op, *given, **sample.attributes)
                attributes = {**op.defaults, **sample.attributes}
                given += [None] * (len(op.operands) - len(given))
                try:
                    wrong = declared.first(g, *given, **attributes)
                except GraphError:
                    continue
                if wrong is None:
                    continue
                rights, wrongs = ((t if isinstance(t, tuple) else (t,)) for t in (right, wrong))
                assert [t.shape for t in rights] == [t.shape for t in wrongs], (op.name, declared.name)
                trace = run(g, feeds, allow_nonfinite=True)
                differs += [
                    repr(trace[a.name]) != repr(trace[b.name]) for a, b in zip(rights, wrongs, strict=True)
                ]
            assert any(differs), (op.name, declared.name)
            seen += 1
    assert seen > 11


def test_a_probe_shows_what_a_single_head_cannot():
    g = Graph("one")
    q, k, v = (g.input(name, (3, 4)) for name in "qkv")
    g.output(y=g.attention(q, k, v, name="head")[0])
    found = probe(g, random_feeds(g))
    assert len(found.seen) > 40 and set(found.feeds) == {"q", "k", "v"}
    assert "can be seen on these inputs" in str(found)


@pytest.mark.slow
@pytest.mark.parametrize("words", ["without the scale layer*", "in each other's place", "handed out"])
def test_a_planted_mistake_is_named_in_the_toy_model(words):
    given = toy_induction("abcab")
    fine = given.graph.at("op")
    right = run(given.graph, given.feeds)["logits"]
    for planted in variants(Intended(fine, given.feeds), rest=False):
        if words in planted.phrase:
            wrong = run(planted.rewrite.graph(fine), given.feeds)["logits"]
            if wrong != right:
                break
    found = diagnose(given.graph, given.feeds, {"logits": wrong}, budget=120, pairs=False)
    assert planted.phrase in [p for f in found.findings for p in (f.phrase, *f.equals)]
