"""Right code in many guises, and wrong gradients: of local rules, and of the engine that puts them together."""

import math
import struct
from random import Random

from graphattn import GraphError, diagnose, gradient, run
from graphattn.builtin import specimen
from graphattn.insight.variants import Intended, variants
from graphattn.passes.engine_mistakes import engine_mistakes


def _each(value, function):
    return [_each(v, function) for v in value] if isinstance(value, list) else function(value)


def _float32(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def _by_hand(base, feeds, graph):
    import by_hand

    return by_hand.layer(base, feeds)


RIGHT_GUISES = {
    "by hand": _by_hand,
    "primitive": lambda base, feeds, graph: run(graph, feeds, level="primitive")["y"],
    "float32": lambda base, feeds, graph: run(graph, feeds, numbers="float32", level="primitive")["y"],
    "float16": lambda base, feeds, graph: run(graph, feeds, numbers="float16", level="primitive")["y"],
    "bfloat16": lambda base, feeds, graph: run(graph, feeds, numbers="bfloat16", level="primitive")["y"],
    "rounded to float32": lambda base, feeds, graph: _each(_by_hand(base, feeds, graph), _float32),
    "renormalized": lambda base, feeds, graph: __import__("by_hand").layer(base, feeds, "M2"),
    "6 decimals": lambda base, feeds, graph: _each(_by_hand(base, feeds, graph), lambda v: round(v, 6)),
    "4 decimals": lambda base, feeds, graph: _each(_by_hand(base, feeds, graph), lambda v: round(v, 4)),
}
"""Ways to come to the right output: other code, other orders of sums, other precisions."""

WRT = ("X", "w_q", "w_k", "w_v", "w_o")
NAMES = tuple(f"d_{name}" for name in WRT)


def differentiated(n=4, d=6, heads=2):
    given = specimen("block", n=n, d=d, heads=heads, causal=True)
    random = Random(3)
    feeds = dict(given.feeds)
    feeds["d_Y"] = [[round(random.gauss(0, 1), 2) for _ in range(d)] for _ in range(n)]
    return given.graph, feeds


def local_rules(graph, feeds):
    """(what, gradients) for usual mistakes on the backward nodes of all heads."""
    backward = gradient(graph.at("op"), of="Y", wrt=WRT)
    intended = Intended(backward, feeds)
    for variant in variants(intended, rest=False):
        if variant.price <= 1.2 and all(name.startswith("backward.") for name in variant.nodes):
            try:
                trace = run(variant.rewrite.graph(backward), feeds)
                yield variant.phrase, {name: trace[name] for name in NAMES}
            except GraphError:
                continue


def engines(graph, feeds):
    for mistake in engine_mistakes(graph.at("op"), ("Y",), WRT):
        trace = run(mistake.graph(), feeds)
        yield mistake.phrase, {name: trace[name] for name in NAMES}


def report(say):
    graph, feeds = differentiated()
    right = run(gradient(graph.at("op"), of="Y", wrt=WRT), feeds)
    for what, cases in (
        ("local rules", list(local_rules(graph, feeds))[::3]),
        ("engine", list(engines(graph, feeds))),
    ):
        named = seen = 0
        for phrase, given in cases:
            if all(_near(given[name], right[name]) for name in NAMES):
                continue
            found = diagnose(graph, feeds, given, budget=120, pairs=False)
            seen += 1
            named += found.verdict == "mistake"
            if found.verdict != "mistake":
                say(f"  {phrase}: {found.verdict}")
        say(f"gradients, {what}: {named} of {seen}")


def _near(a, b):
    if isinstance(a, list):
        return len(a) == len(b) and all(map(_near, a, b))
    return a == b or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)
