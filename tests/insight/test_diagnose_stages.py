"""Mistakes in the order and the number of sublayers and layers are named, whatever these are made of."""

import pytest

from graphattn import Graph, diagnose, run
from graphattn.builtin import random_feeds
from graphattn.insight.variants import Intended, evaluate, variants
from graphattn.insight.variants.generators.repeat import repeat
from graphattn.insight.variants.generators.stages import stages

N, D = 3, 4
SHAPES = {"gamma": (D,), "w": (D, D), "alpha": (D,), "u": (D, D), "delta": (D,), "t": (D, D)}


def attended(g, x, theirs, name, memory=None):
    gamma, w = (theirs["gamma"], theirs["w"]) if memory is None else (theirs["delta"], theirs["t"])
    y = g.rmsnorm(x, gamma)
    of = y if memory is None else memory
    return g.add(x, g.matmul(g.softmax(g.matmul(g.linear(y, w), g.transpose(of))), of), name=name)


def fed(g, x, theirs, name):
    return g.add(x, g.relu(g.linear(g.rmsnorm(x, theirs["alpha"]), theirs["u"])), name=name)


def stack(order, exchanged=()):
    """Sublayers one after another: "a0" is attention with the parameters of layer 0, "c0" that to a memory,
    "m0" the feed-forward. `exchanged` names two parameters that stand for each other."""
    g = Graph("stack")
    x, memory = (g.input(name, (N, D), ("token", "feature")) for name in ("x", "memory"))
    layers = [{k: g.parameter(f"{k}_{i}", s) for k, s in SHAPES.items()} for i in range(3)]
    for layer in layers:
        layer.update({a: layer[b] for a, b in zip(exchanged, exchanged[::-1], strict=True)})
    for place, (kind, layer) in enumerate(order):
        theirs, name = layers[int(layer)], f"{kind}{place}"
        if kind == "m":
            x = fed(g, x, theirs, name)
        else:
            x = attended(g, x, theirs, name, memory if kind == "c" else None)
    g.output(y=x)
    return g


def told(right, wrong, generator=stages):
    """What the variants say that give what the wrong graph gives; each also as a graph of its own."""
    feeds = random_feeds(right, 1)
    intended, y = Intended(right, feeds), run(wrong, feeds)["y"]
    found, made = [], list(variants(intended, generators=[generator]))
    assert len({variant.phrase for variant in made}) == len(made)
    for variant in made:
        (value,) = evaluate(intended, variant.rewrite, [right.resolve("y")])
        assert run(variant.rewrite.graph(right), feeds)["y"] == value, variant.phrase
        if value == y:
            found.append(variant.phrase)
    return found


TWO = ("a0", "m0", "a1", "m1")
THREE = (*TWO, "a2", "m2")
DECODER = ("a0", "c0", "m0")
FIRST, SECOND = "the steps rmsnorm_x_gamma_0 to m1", "the steps rmsnorm_m1_gamma_1 to m3"
CASES = [
    (TWO, "m0 a0 m1 a1", "to m1 before the steps rmsnorm_x_gamma_0 to a0, in every layer alike"),
    (TWO, "a0 m0 m1 a1", "to m3 before the steps rmsnorm_m1_gamma_1 to a2"),
    (TWO, "a1 m1 a0 m0", f"with {SECOND} before {FIRST}"),
    (TWO, "a0 m0 a0 m0", f"with the weights of {FIRST} in all of m*"),
    (TWO, "a1 m1 a1 m1", f"with the weights of {SECOND} in all of m*"),
    (TWO, "a0 m0 a0 m1", "with the weights of the steps rmsnorm_x_gamma_0 to a0 in a2 too"),
    (TWO, "a1 m1", f"without {FIRST}"),
    (TWO, "a0 m0 a1 m1 a1 m1", f"with {SECOND} run twice"),
    (TWO, "a0 a0 m0 a1 a1 m1", "to a0 run twice, in every layer alike"),
    (THREE, "a0 m0", f"with {FIRST} as the last of all of m*"),
    (THREE, "a2 m2 a1 m1 a0 m0", "with all of m* in reverse order"),
    (DECODER, "c0 a0 m0", "to c1 before the steps rmsnorm_x_gamma_0 to a0"),
    (DECODER, "a0 c0 c0 m0", "to c1 run twice"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("right", "wrong", "words"), CASES)
def test_layers_and_sublayers_in_another_order_or_number(right, wrong, words):
    (phrase, *_) = told(stack(right), stack(wrong.split()))
    assert words in phrase


def test_a_norm_goes_with_its_sublayer_or_stays():
    right = stack(["a0", "m0"])
    words = "with the steps rmsnorm_a0_alpha_0 to m1 before the steps rmsnorm_x_gamma_0 to a0"
    assert told(right, stack(["m0", "a0"])) == [words]
    stayed = f"{words}, but rmsnorm_x_gamma_0 and rmsnorm_a0_alpha_0 where they were"
    assert told(right, stack(["m0", "a0"], exchanged=("gamma", "alpha"))) == [stayed]


def encoder(order):
    g = Graph("layers")
    x = g.input("x", (N, D), ("token", "feature"))
    rows = ("gamma_1", "beta_1", "gamma_2", "beta_2")
    shapes = dict.fromkeys(rows, (D,)) | dict.fromkeys(("w_q", "w_k", "w_v", "w_o", "w_in", "w_out"), (D, D))
    own = [{name: g.parameter(f"{name}_{i}", s) for name, s in shapes.items()} for i in range(2)]
    for place, layer in enumerate(order):
        x = g.encoder_layer(x, heads=2, norm_first=False, name=f"layer{place}", **own[int(layer)])
    g.output(y=x)
    return g.at("op")


@pytest.mark.slow
def test_stages_are_called_by_their_composites():
    assert told(encoder("01"), encoder("011")) == ["with the encoder layer layer1 run twice"]


def test_self_attention_done_twice_takes_its_result_three_times():
    def build(wrong):
        g = Graph("attention")
        x = g.input("x", (N, D), ("token", "feature"))
        own = {name: g.parameter(name, (D, D)) for name in ("w_q", "w_k", "w_v", "w_o")}
        for name in ("first", "second")[: 1 + wrong]:
            x = g.multi_head(x, x, x, heads=2, name=name, **own)
        g.output(y=x)
        return g

    right, wrong = build(False), build(True)
    assert told(right, wrong, repeat) == ["with the multi-head attention first (h=2) done twice"]


@pytest.mark.slow
def test_diagnose_names_a_stage():
    right = stack(["a0", "m0"])
    feeds = random_feeds(right, 1)
    found = diagnose(right, feeds, {"y": run(stack(["m0", "a0"]), feeds)["y"]}, pairs=False)
    assert found.findings[0].where == ("a0", "m1")
