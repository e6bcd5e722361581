"""Right code in many guises, and wrong gradients: of local rules, and of the engine that puts them together."""

import math
import struct
from dataclasses import replace
from random import Random

import by_hand

from graphattn import GraphError, diagnose, gradient, run
from graphattn.core.elementwise import over, times, unbroadcast
from graphattn.insight.variants import Intended, variants
from graphattn.insight.variants.generators.derivatives import derivatives
from graphattn.insight.variants.generators.engine import engine
from graphattn.insight.variants.generators.handed import handed
from graphattn.passes.gradient import differentiate
from graphattn.passes.rebuild import Rebuild


def _each(value, function):
    return [_each(v, function) for v in value] if isinstance(value, list) else function(value)


def _float32(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def _by_hand(base, feeds, graph):
    return by_hand.layer(base, feeds)


RIGHT_GUISES = {
    "by hand": _by_hand,
    "primitive": lambda base, feeds, graph: run(graph, feeds, level="primitive")["y"],
    "float32": lambda base, feeds, graph: run(graph, feeds, numbers="float32", level="primitive")["y"],
    "float16": lambda base, feeds, graph: run(graph, feeds, numbers="float16", level="primitive")["y"],
    "bfloat16": lambda base, feeds, graph: run(graph, feeds, numbers="bfloat16", level="primitive")["y"],
    "rounded to float32": lambda base, feeds, graph: _each(_by_hand(base, feeds, graph), _float32),
    "renormalized": lambda base, feeds, graph: by_hand.layer(base, feeds, "M2"),
    "6 decimals": lambda base, feeds, graph: _each(_by_hand(base, feeds, graph), lambda v: round(v, 6)),
    "4 decimals": lambda base, feeds, graph: _each(_by_hand(base, feeds, graph), lambda v: round(v, 4)),
}
"""Ways to come to the right output: other code, other orders of sums, other precisions."""

WRT = ("X", "w_q", "b_q", "w_k", "w_v", "b_v", "w_o", "gamma1", "w_in", "b_in")
NAMES = tuple(f"d_{name}" for name in WRT)


def differentiated(base="plain", seed=0):
    """A layer, and what it is fed, the cotangent of its result included."""
    feeds, random = by_hand.feeds_of(base, seed), Random(100 + seed)
    feeds["d_y"] = [[round(random.gauss(0, 1), 2) for _ in range(by_hand.D)] for _ in range(by_hand.N)]
    return by_hand.intended(base), feeds


# ------------------------------------------------------------ rules as people get them wrong, by hand


def _softmax_product(g, dy, y, x, *, axis, empty):
    return (times(g, y, dy),)


def _softmax_diagonal(g, dy, y, x, *, axis, empty):
    return (times(g, times(g, y, g.constant(1) - y), dy),)


def _softmax_unweighted(g, dy, y, x, *, axis, empty):
    return (times(g, y, dy - g.reduce_sum(dy, axis=axis)),)


def _softmax_along_columns(g, dy, y, x, *, axis, empty):
    return (times(g, y, dy - g.reduce_sum(times(g, dy, y), axis=-2)),)


def _softmax_of_logits(g, dy, y, x, *, axis, empty):
    return (dy,)


def _normalized(g, x, eps):
    deviation = x - g.reduce_mean(x)
    variance = g.reduce_mean(deviation * deviation) + g.constant(str(eps))
    return deviation, variance, g.sqrt(variance)


def _norm(what):
    """LayerNorm's rule by hand, with one thing wrong."""

    def rule(g, dy, y, x, gamma, beta, *, eps):
        deviation, variance, root = _normalized(g, x, eps)
        n = g.divide(deviation, root)
        d_n = dy if what == "gamma" else times(g, dy, gamma)
        level, along = g.reduce_mean(d_n), times(g, n, g.reduce_mean(times(g, d_n, n)))
        if what == "sums":
            level, along = g.reduce_sum(d_n), times(g, n, g.reduce_sum(times(g, d_n, n)))
        inner = {
            "no mean": lambda: d_n - along, "no variance": lambda: d_n - level, "neither": lambda: d_n,
            "sign": lambda: d_n - level + along,
        }.get(what, lambda: d_n - level - along)()  # fmt: skip
        d_x = over(g, inner, variance if what == "root" else root)
        seen = {"input": x, "deviation": deviation, "result": y}.get(what, n)
        d_gamma = unbroadcast(g, dy if what == "d_gamma" else times(g, dy, seen), gamma)
        d_beta = unbroadcast(g, times(g, dy, gamma) if what == "d_beta" else dy, beta)
        return d_x, d_gamma, d_beta

    return rule


def _linear(what):
    def rule(g, dy, y, x, w, b):
        square = w.shape[0] == w.shape[1]
        d_x = g.matmul(dy, w.T if what == "turned" and square else w)
        d_w = g.matmul(dy.T, x)
        if what == "d_w turned" and square:
            d_w = g.matmul(x.T, dy)
        if what == "d_w mean":
            d_w = g.scale(d_w, divide=by_hand.N)
        d_b = unbroadcast(g, dy, b)
        if what == "bias mean":
            d_b = g.scale(d_b, divide=by_hand.N)
        if what == "bias from x" and x.shape == dy.shape:
            d_b = unbroadcast(g, x, b)
        return d_x, d_w, d_b

    return rule


def _matmul(what):
    def rule(g, dy, y, a, b, *, absorb_zeros):
        d_a, d_b = g.matmul(dy, b.T), g.matmul(a.T, dy)
        square = a.shape[0] == a.shape[1]  # weights · values
        if what == "weights not turned" and square:
            d_b = g.matmul(a, dy)
        if what == "second dropped":
            d_b = g.scale(d_b, multiply=0)
        if what == "first sign":
            d_a = -d_a
        if what == "turned result" and dy.shape[0] == dy.shape[1]:
            d_a = g.matmul(dy.T, b.T)
        return d_a, d_b

    return rule


def _scale(what):
    def rule(g, dy, y, x, *, sqrt, divide, multiply):
        if what == "none":
            return (dy,)
        if what == "other way":
            return (g.scale(dy, multiply=math.sqrt(sqrt)),)
        return (g.scale(dy, divide=sqrt),)

    return rule


def _gelu(what):
    def rule(g, dy, y, x, *, approximate):
        one, half = g.constant(1), g.constant("0.5")
        curve = half * (one + g.erf(x / g.sqrt(g.constant(2))))
        bell = g.exp(-(half * x * x)) / g.sqrt(g.constant(2 * math.pi))
        slope = {
            "curve": lambda: curve, "bell": lambda: curve + bell,
            "sigmoid": lambda: g.sigmoid(g.scale(x, multiply="1.702")), "minus": lambda: curve - x * bell,
            "one": lambda: None,
        }[what]()  # fmt: skip
        return (dy if slope is None else times(g, dy, slope),)

    return rule


def _add_minus(g, dy, y, a, b):
    return unbroadcast(g, dy, a), unbroadcast(g, -dy, b)


def _add_shared(g, dy, y, a, b):
    return g.scale(dy, divide=2), g.scale(dy, divide=2)


def _concat_reversed(g, dy, y, *xs, axis):
    parts = g.split(dy, tuple(x.shape[axis] for x in xs), axis=axis)
    return tuple(reversed(parts))


def _rope_forward(g, dy, y, x, cos, sin, *, interleaved):
    return g.rope(dy, cos, sin, interleaved=interleaved), None, None


def _rope_none(g, dy, y, x, cos, sin, *, interleaved):
    return dy, None, None


def _mask_through(g, dy, y, x, mask):
    return dy, None


RULES = {
    "softmax: y · dy": ("plain", "softmax", _softmax_product),
    "softmax: y (1 − y) dy": ("plain", "softmax", _softmax_diagonal),
    "softmax: Σ dy without y": ("plain", "softmax", _softmax_unweighted),
    "softmax: sum along columns": ("plain", "softmax", _softmax_along_columns),
    "softmax: passed through": ("plain", "softmax", _softmax_of_logits),
    **{f"layernorm: {what}": ("plain", "layernorm", _norm(what)) for what in (
        "gamma", "no mean", "no variance", "neither", "sign", "sums", "root", "input", "deviation", "result",
        "d_gamma", "d_beta",
    )},
    **{f"linear: {what}": ("plain", "linear", _linear(what)) for what in (
        "turned", "d_w turned", "d_w mean", "bias mean", "bias from x",
    )},
    **{f"matmul: {what}": ("plain", "matmul", _matmul(what)) for what in (
        "weights not turned", "second dropped", "first sign", "turned result",
    )},
    **{f"scale: {what}": ("plain", "scale", _scale(what)) for what in ("none", "other way", "twice")},
    **{f"gelu: {what}": ("plain", "gelu", _gelu(what)) for what in (
        "curve", "bell", "sigmoid", "minus", "one",
    )},
    "add: second minus": ("plain", "add", _add_minus),
    "add: halves": ("plain", "add", _add_shared),
    "concat: reversed": ("plain", "concat", _concat_reversed),
    "rope: turned forward": ("rope", "rope", _rope_forward),
    "rope: not turned": ("rope", "rope", _rope_none),
    "mask: passed through": ("plain", "mask", _mask_through),
}  # fmt: skip
"""{what: (layer, op, its rule with a mistake in it)}: a list that the generators do not know."""


def with_rule(graph, op, rule):
    """The graph with another gradient rule for all nodes of an op."""
    rebuild = Rebuild(graph)
    for node in graph.nodes.values():
        now = replace(node, operands=rebuild.operands(node))
        rebuild.replace(node, replace(now, op=replace(node.op, gradient=rule)) if node.op.name == op else now)
    return rebuild.finish()


def by_rule(what, seed=0):
    """(graph, feeds, gradients that the wrong rule gives)."""
    base, op, rule = RULES[what]
    graph, feeds = differentiated(base, seed)
    trace = run(gradient(with_rule(graph.at("op"), op, rule), of="y", wrt=WRT), feeds)
    return graph, feeds, {name: trace[name] for name in NAMES}


def unsummed(names=("q", "v", "fc"), seed=0):
    """The gradients of biases as they arrive: a row for each token."""
    graph, feeds = differentiated(seed=seed)
    trace = run(gradient(graph.at("op"), of="y", wrt=(*WRT, *names)), feeds)
    own = {"q": "d_b_q", "v": "d_b_v", "fc": "d_b_in"}
    return graph, feeds, {name: trace[name] for name in NAMES} | {own[n]: trace[f"d_{n}"] for n in names}


def local_rules(graph, feeds):
    """(what, gradients) for usual mistakes on the backward nodes of all heads."""
    backward = gradient(graph.at("op"), of="y", wrt=WRT)
    intended = Intended(backward, feeds)
    for variant in variants(intended, rest=False):
        if variant.price <= 1.2 and all(name.startswith("backward.") for name in variant.nodes):
            try:
                trace = run(variant.rewrite.graph(backward), feeds)
                yield variant.phrase, {name: trace[name] for name in NAMES}
            except GraphError:
                continue


def engines(graph, feeds):
    """(what, gradients) for engines and rules that go wrong everywhere."""
    made = differentiate(graph.at("op"), "y", WRT, apart=True)
    intended = Intended(made.graph, feeds, tape=made.tape)
    for variant in variants(intended, generators=(engine, handed, derivatives)):
        try:
            trace = run(variant.rewrite.graph(made.graph), feeds, targets=NAMES)
        except GraphError:  # no graph: a transposed gradient that does not fit
            continue
        yield variant.phrase, {name: trace[name] for name in NAMES}


def report(say, budget=120):
    graph, feeds = differentiated()
    right = {base: run(gradient(by_hand.intended(base).at("op"), of="y", wrt=WRT), differentiated(base)[1])
             for base in ("plain", "rope")}  # fmt: skip
    hand = [(what, *by_rule(what)) for what in RULES] + [("B7: bias not summed", *unsummed())]
    planted, random = list(local_rules(graph, feeds)), Random(1)
    random.shuffle(planted)
    for title, cases in (
        ("rules by hand", hand),
        ("rules by the generators", [(what, graph, feeds, given) for what, given in planted[:60]]),
        ("engine", [(what, graph, feeds, given) for what, given in engines(graph, feeds)]),
    ):
        named = seen = 0
        for what, own, fed, given in cases:
            base = "rope" if "angles" in own else "plain"
            if all(_near(given[name], right[base][name]) for name in NAMES):
                say(f"  {what}: cannot be seen")
                continue
            found = diagnose(own, fed, given, budget=budget, pairs=False)
            seen += 1
            named += found.verdict == "mistake"
            told = found.findings[0].phrase if found.findings else ""
            say(f"  {what}: {found.verdict} {found.seconds:.1f} s {told}")
        say(f"gradients, {title}: {named} of {seen}")


def _near(a, b):
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(_near, a, b))
    return not isinstance(b, list) and (a == b or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12))
