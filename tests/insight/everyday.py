"""Mistakes of every day, by part of a model: small graphs, right, or with one of them, as people write them.

    CASES[what] = (build, wrong)      build() is the graph that was meant, build(wrong) the one that was written

Both take the same inputs and parameters. The generators know none of these.
"""

import math

from graphattn import Graph
from graphattn.builtin import random_feeds

N, D, H, G = 4, 8, 2, 2
D_K = D // H


def feeds(build, seed=0):
    given = random_feeds(build(), seed)
    if "ids" in given:
        given["ids"] = [[3, 0, 5, 1], [2, 2, 4, 0]][seed % 2]
    if "lengths" in given:
        given["lengths"] = [[3, 2, 4], [2, 4, 3]][seed % 2]
    return given


def _inputs(g, *names, n=N, d=D):
    return [g.input(name, (n, d), ("token", "feature")) for name in names]


def rope(wrong=None):
    """One head with rotary positions and a cache of three tokens before."""
    g, past, base = Graph("rope"), 3, 10000 if wrong != "base" else 500000
    q, k, v = _inputs(g, *"qkv")
    offset = 0 if wrong == "offset" else past + 1 if wrong == "from 1" else past
    cos, sin = g.rope_angles(N, D, base=base, offset=offset, name="angles")
    if wrong == "exchanged":
        cos, sin = sin, cos
    if wrong == "sign":
        sin = -sin
    if wrong == "rate":
        cos, sin = _angles(g, lambda i: 10000.0 ** (-i / D), offset)
    if wrong == "degrees":
        cos, sin = _angles(g, lambda i: 10000.0 ** (-2 * i / D) * math.pi / 180, offset)
    if wrong == "one rate":
        cos, sin = _angles(g, lambda i: 1.0, offset)
    if wrong == "rates from 1":
        cos, sin = _angles(g, lambda i: 10000.0 ** (-2 * (i + 1) / D), offset)
    if wrong == "reversed rates":
        cos, sin = _angles(g, lambda i: 10000.0 ** (-2 * (D // 2 - 1 - i) / D), offset)

    def turned(x, name):
        if wrong == "reflected":  # rotate_half without its minus
            first, second = g.split(x, 2)
            return g.concat(first * cos + second * sin, second * cos + first * sin, name=name)
        if wrong == "not crossed":  # without rotate_half
            first, second = g.split(x, 2)
            return g.concat(first * cos + first * sin, second * cos + second * sin, name=name)
        if wrong == "halves exchanged":
            first, second = g.split(x, 2)
            return g.concat(second * cos + first * sin, first * cos - second * sin, name=name)
        return g.rope(x, cos, sin, interleaved=wrong == "interleaved", name=name)

    q = q if wrong == "k only" else turned(q, "q_turned")
    k = k if wrong == "q only" else turned(k, "k_turned")
    v = turned(v, "v_turned") if wrong == "v too" else v
    if wrong == "twice":
        q, k = turned(q, "q_again"), turned(k, "k_again")
    g.output(y=_head(g, q, k, v, D))
    return g


def _angles(g, rate, offset):
    at = [[(p + offset) * rate(i) for i in range(D // 2)] for p in range(N)]
    return tuple(g.constant([[f(a) for a in row] for row in at]) for f in (math.cos, math.sin))


def _head(g, q, k, v, d, see=None, name="head"):
    scores = g.matmul(q, k.T, name=f"{name}.scores")
    scaled = g.scale(scores, sqrt=d, name=f"{name}.scaled")
    see = g.causal_mask(N, name=f"{name}.visible") if see is None else see
    weights = g.softmax(g.mask(scaled, see, name=f"{name}.masked"), name=f"{name}.weights")
    return g.matmul(weights, v, name=f"{name}.out")


def grouped(wrong=None):
    """Four query heads on two heads of keys and values, from one fused projection."""
    g, d_k = Graph("grouped"), 4
    (x,) = _inputs(g, "x")
    heads, groups = 4, 2
    widths = (heads * d_k, groups * d_k, groups * d_k)
    fused = g.linear(x, g.parameter("w", (sum(widths), D)), g.parameter("b", (sum(widths),)), name="fused")
    if wrong == "qvk":
        q, v, k = g.split(fused, widths)
    elif wrong == "kvq":
        k, v, q = g.split(fused, (widths[1], widths[2], widths[0]))
    else:
        q, k, v = g.split(fused, widths, name="qkv")
    qs, ks, vs = g.split(q, heads, name="q_heads"), g.split(k, groups, name="k_heads"), g.split(v, groups)
    if wrong == "interleaved":
        qs, ks, vs = (_interleaved(g, t, count) for t, count in ((q, heads), (k, groups), (v, groups)))
    if wrong == "queries interleaved":
        qs = _interleaved(g, q, heads)
    if wrong == "reshaped":
        qs, ks, vs = (_blocks(g, t, count) for t, count in ((q, heads), (k, groups), (v, groups)))
    repeat = [i % groups if wrong == "tiled" else i // groups for i in range(heads)]
    if wrong == "first group":
        repeat = [0] * heads
    if wrong == "groups reversed":
        repeat = repeat[::-1]
    outs = []
    for i in range(heads):
        value = vs[i % groups] if wrong == "values tiled" else vs[repeat[i]]
        outs.append(_head(g, qs[i], ks[repeat[i]], value, D if wrong == "d_model" else d_k, name=f"head{i}"))
    whole = g.concat(*outs, name="concat")
    if wrong == "merged":
        whole = g.reshape(g.stack(*outs), (N, heads * d_k))
    if wrong == "merged interleaved":
        whole = g.reshape(g.stack(*outs, axis=-1), (N, heads * d_k))
    if wrong == "merged by columns":
        whole = g.reshape(g.transpose(g.stack(*outs), perm=(1, 2, 0)), (N, heads * d_k))
    g.output(y=g.linear(whole, g.parameter("w_o", (D, heads * d_k)), name="proj"))
    return g


def _interleaved(g, x, count):
    pieces = g.split(g.reshape(x, (N, x.shape[-1] // count, count)), count)
    return [g.reshape(piece, (N, x.shape[-1] // count)) for piece in pieces]


def _blocks(g, x, count):
    pieces = g.split(g.reshape(x, (count, N, x.shape[-1] // count)), count, axis=0)
    return [g.reshape(piece, (N, x.shape[-1] // count)) for piece in pieces]


def multi(wrong=None):
    """Two heads from three projections with biases, and their output."""
    g = Graph("multi")
    (x,) = _inputs(g, "x")
    p = {name: g.parameter(name, (D, D)) for name in ("w_q", "w_k", "w_v", "w_o")}
    p |= {name: g.parameter(name, (D,)) for name in ("b_q", "b_k", "b_v", "b_o")}
    made = {}
    for part in "qkv":
        w, b = p[f"w_{part}"], p[f"b_{part}"]
        if wrong == "weights turned":
            made[part] = g.add(g.matmul(x, w), b, name=part)
        else:
            made[part] = g.linear(x, w, None if wrong == "no biases" else b, name=part)
    if wrong == "scaled before bias":
        made["q"] = g.add(g.scale(g.linear(x, p["w_q"]), sqrt=D_K), p["b_q"])
    if wrong == "k from q":
        made["k"] = made["q"]
    if wrong == "per head":  # [heads, 3, d_k] for [3, heads, d_k]
        pieces = g.split(g.concat(*made.values()), 3 * H)
        made = {part: g.concat(*[pieces[3 * i + c] for i in range(H)]) for c, part in enumerate("qkv")}
    if wrong == "interleaved parts":  # [d_k, 3] for [3, d_k]
        pieces = g.split(g.reshape(g.concat(*made.values()), (N, D, 3)), 3)
        made = {part: g.reshape(piece, (N, D)) for part, piece in zip("qkv", pieces, strict=True)}
    cut = {"blocks": _blocks, "interleaved": _interleaved}.get(wrong, lambda g, t, c: g.split(t, c))
    parts = {
        part: g.split(t, H, name=f"{part}_heads") if cut.__name__ == "<lambda>" else cut(g, t, H)
        for part, t in made.items()
    }
    outs = []
    for i in range(H):
        q, k, v = parts["q"][i], parts["k"][i], parts["v"][i]
        scores = g.matmul(q, k.T, name=f"head{i}.scores")
        if wrong == "scores turned":
            scores = scores.T
        scale = {"sqrt": D_K} if wrong not in ("scaled before bias", "scaled late") else {"multiply": 1}
        if wrong == "d_model":
            scale = {"sqrt": D}
        if wrong == "twice":
            scale = {"divide": D_K}
        if wrong == "times":
            scale = {"multiply": math.sqrt(D_K)}
        if wrong == "d_k":
            scale = {"multiply": D_K}
        scaled = g.scale(scores, **scale, name=f"head{i}.scaled")
        see = g.causal_mask(N, offset=1 if wrong == "sees one ahead" else 0, name=f"head{i}.visible")
        if wrong in ("inverted", "inverted -1e9"):
            see = g.logical_not(see)
        fill = {"-1e9": -1e9, "inverted -1e9": -1e9, "zero": 0.0, "1e-9": 1e-9, "-1": -1.0, "-10": -10.0}.get(
            wrong
        )
        if wrong in ("inverted", "inverted -1e9", "1e-9", "zero", "-1", "-10", "-1e9"):
            hidden = -math.inf if fill is None else fill
            masked = g.where(see, scaled, g.constant(hidden), name=f"head{i}.masked")
        elif wrong == "mask after":
            masked = scaled
        elif wrong == "mask before scale":
            masked = g.mask(scores, see)  # and the scale is gone
        else:
            masked = g.mask(scaled, see, name=f"head{i}.masked")
        axis = {"columns": 0}.get(wrong, -1)
        weights = g.softmax(masked, axis=axis, name=f"head{i}.weights")
        if wrong == "mask after":
            weights = g.where(see, weights, g.constant(0))
        if wrong == "renormalized after":
            weights = g.softmax(weights)
        if wrong == "weights turned":
            pass
        if wrong == "values by columns":
            weights = weights.T
        outs.append(g.matmul(weights, v, name=f"head{i}.out"))
    if wrong == "heads reversed":
        outs = outs[::-1]
    whole = g.concat(*outs, name="concat")
    if wrong == "merged":
        whole = g.reshape(g.stack(*outs), (N, D))
    if wrong == "heads added":
        whole = g.concat(*[g.add(*outs)] * H)
    proj = g.linear(whole, p["w_o"], p["b_o"], name="proj")
    if wrong == "bias in each head":
        proj = g.add(proj, p["b_o"])
    g.output(y=proj)
    return g


def biased(wrong=None):
    """Two heads with ALiBi, a window and a softcap."""
    g, n = Graph("biased"), N + 1
    qs, ks, vs = ([g.input(f"{w}{i}", (n, D_K)) for i in range(H)] for w in "qkv")
    bias = g.alibi_bias(H, n, name="alibi")
    slopes = [2.0 ** (-8 * (i + 1) / H) for i in range(H)]
    at = {
        "sign": lambda i, a, b: slopes[i] * abs(a - b),
        "reversed": lambda i, a, b: -slopes[H - 1 - i] * abs(a - b),
        "from 0": lambda i, a, b: -(2.0 ** (-8 * i / H)) * abs(a - b),
        "one slope": lambda i, a, b: -slopes[0] * abs(a - b),
        "no slope": lambda i, a, b: -float(abs(a - b)), "absolute": lambda i, a, b: slopes[i] * b,
        "squared": lambda i, a, b: -slopes[i] * (a - b) ** 2,
        "logarithm": lambda i, a, b: -slopes[i] * math.log1p(abs(a - b)),
    }.get(wrong)  # fmt: skip
    if at is not None:
        bias = g.constant([[[at(i, a, b) for b in range(n)] for a in range(n)] for i in range(H)])
    left = {"wide": 3, "narrow": 1}.get(wrong, 2)
    see = g.window_mask(n, left=left, right=1 if wrong == "both sides" else 0, name="visible")
    if wrong == "causal only":
        see = g.causal_mask(n)
    outs = []
    for i, (b, q, k, v) in enumerate(zip(g.split(bias, H, axis=0, name="slopes"), qs, ks, vs, strict=True)):
        b = g.reshape(b, (n, n), name=f"head{i}.bias")
        scaled = g.scale(g.matmul(q, k.T, name=f"head{i}.scores"), sqrt=D_K, name=f"head{i}.scaled")
        if wrong == "cap before scale":
            scaled = g.scale(g.softcap(g.matmul(q, k.T), cap=2), sqrt=D_K)
        elif wrong == "cap without cap":
            scaled = g.tanh(g.scale(scaled, divide=2))
        elif wrong == "cap undivided":
            scaled = g.scale(g.tanh(scaled), multiply=2)
        elif wrong == "cut off":
            limit = g.constant(2.0)
            scaled = g.relu(scaled + limit) - g.relu(scaled - limit) - limit
        elif wrong == "clipped":
            scaled = g.relu(scaled)
        elif wrong not in ("cap last", "no cap"):
            scaled = g.softcap(scaled, cap=2, name=f"head{i}.capped")
        if wrong == "bias before scale":
            scaled = g.softcap(g.scale(g.add(g.matmul(q, k.T), b), sqrt=D_K), cap=2)
        elif wrong == "bias first":
            scaled = g.softcap(g.add(g.scale(g.matmul(q, k.T), sqrt=D_K), b), cap=2)
        else:
            scaled = g.add(scaled, b, name=f"head{i}.biased")
        if wrong == "bias scaled":
            scaled = g.add(g.subtract(scaled, b), g.scale(b, sqrt=D_K))
        if wrong == "cap last":
            scaled = g.softcap(scaled, cap=2)
        weights = g.softmax(g.mask(scaled, see, name=f"head{i}.masked"), name=f"head{i}.weights")
        outs.append(g.matmul(weights, v, name=f"head{i}.out"))
    g.output(y=g.concat(*outs, name="concat"))
    return g


def norms(wrong=None):
    """Gemma's way: RMSNorm with 1 + γ, a gated MLP, a residual; a LayerNorm last."""
    g = Graph("norms")
    (x,) = _inputs(g, "x")
    gamma, last, beta = (g.parameter(name, (D,)) for name in ("gamma", "gamma_f", "beta_f"))
    w = {name: g.parameter(f"w_{name}", (D, D)) for name in ("up", "gate", "down")}
    whole = g.add(g.constant(1, name="one"), gamma, name="one_plus_gamma")
    eps = "1e-06"
    given = gamma if wrong == "no 1 +" else whole
    if wrong in ("eps outside", "no root", "sum of squares", "n − 1"):
        squares = g.multiply(x, x)
        mean = g.reduce_sum(squares) if wrong == "sum of squares" else g.reduce_mean(squares)
        if wrong == "n − 1":
            mean = g.scale(mean, multiply=D / (D - 1))
        root = mean + g.constant(eps) if wrong == "no root" else g.sqrt(mean + g.constant(eps))
        if wrong == "eps outside":
            root = g.sqrt(mean) + g.constant("0.001" if wrong == "eps" else eps)
        norm = g.multiply(g.divide(x, root), whole)
    elif wrong == "layernorm":
        norm = g.layernorm(x, whole, eps=eps)
    elif wrong == "no norm":
        norm = x
    else:
        norm = g.rmsnorm(x, given, eps="1e-02" if wrong == "eps" else eps, name="norm")
    up, gate = g.linear(norm, w["up"], name="up"), g.linear(norm, w["gate"], name="gate")
    if wrong == "exchanged":
        up, gate = gate, up
    act = {"gelu": g.gelu, "relu": g.relu, "sigmoid": g.sigmoid, "tanh": g.tanh}.get(wrong, g.silu)
    active = g.gelu(gate, approximate="tanh") if wrong == "gelu tanh" else act(gate, name="active")
    hidden = g.multiply(active, up, name="hidden")
    if wrong == "added":
        hidden = g.add(active, up)
    if wrong == "active both":
        hidden = g.multiply(active, g.silu(up))
    if wrong == "active product":
        hidden = g.silu(g.multiply(gate, up))
    if wrong == "no gate":
        hidden = g.silu(up)
    mlp = g.linear(hidden, w["down"], name="down")
    if wrong == "down turned":
        mlp = g.matmul(hidden, w["down"])
    residual = {"from norm": lambda: g.add(norm, mlp), "none": lambda: mlp, "minus": lambda: g.subtract(x, mlp)}
    y = residual.get(wrong, lambda: g.add(x, mlp, name="residual"))()
    if wrong == "norm of branch":
        y = g.add(x, g.rmsnorm(mlp, whole, eps=eps))
    if wrong == "unbiased":
        deviation = g.subtract(y, g.reduce_mean(y))
        variance = g.scale(g.reduce_mean(g.multiply(deviation, deviation)), multiply=D / (D - 1))
        y = g.add(g.multiply(g.divide(deviation, g.sqrt(variance + g.constant("1e-05"))), last), beta)
    elif wrong == "std plus eps":
        deviation = g.subtract(y, g.reduce_mean(y))
        variance = g.scale(g.reduce_mean(g.multiply(deviation, deviation)), multiply=D / (D - 1))
        y = g.add(g.multiply(g.divide(deviation, g.sqrt(variance) + g.constant("1e-05")), last), beta)
    elif wrong == "final rmsnorm":
        y = g.add(g.rmsnorm(y, last, eps="1e-05"), beta)
    elif wrong == "over tokens":
        y = g.layernorm(y.T, eps="1e-05").T * last + beta
    elif wrong != "no final norm":
        y = g.layernorm(y, last, beta, eps="1e-05", name="final")
    g.output(y=y)
    return g


def embedded(wrong=None):
    """Token ids to logits by a tied table: √d, learned positions, attention."""
    g, words = Graph("embedded"), D
    ids = g.input("ids", (N,), ("token",), kind="int")
    table, places = g.parameter("table", (words, D)), g.parameter("places", (N + 2, D))
    if wrong == "shifted right":
        ids = g.pad(g.slice(ids, ":-1"), before=1, after=0, axis=-1, value=0)
    x = g.scale(g.embedding(table, ids, name="tokens"), multiply=math.sqrt(D), name="grown")
    if wrong == "max_norm":
        rows, one = g.embedding(table, ids), g.constant(1)
        length = g.sqrt(g.reduce_sum(rows * rows))
        rows = g.divide(rows, g.where(g.less(one, length), length, one))
        x = g.scale(rows, multiply=math.sqrt(D))
    if wrong == "not grown":
        x = g.embedding(table, ids)
    if wrong == "shrunk":
        x = g.scale(g.embedding(table, ids), sqrt=D)
    if wrong == "times d":
        x = g.scale(g.embedding(table, ids), multiply=D)
    first = {"from 1": 1, "from 2": 2}.get(wrong, 0)
    own = g.split(places, (first, N, 2 - first), axis=0)[1] if first else g.slice(places, f":{N}", name="own")
    if wrong == "sinusoids":
        own = g.positional_encoding(N, D)
    if wrong == "one position":
        own = g.split(places, (1, N + 1), axis=0)[0]
    if wrong == "rolled":
        own = g.concat(g.slice(places, f"{N - 1}:{N}"), g.slice(places, f":{N - 1}"), axis=0)
    x = x if wrong == "no positions" else g.add(x, own, name="placed")
    if wrong == "placed before growing":
        x = g.scale(g.add(g.embedding(table, ids), own), multiply=math.sqrt(D))
    if wrong == "positions times":
        x = g.multiply(g.scale(g.embedding(table, ids), multiply=math.sqrt(D)), own)
    y = _head(g, x, x, x, D)
    logits = (
        g.matmul(y, table)
        if wrong == "head turned"
        else g.matmul(y, g.transpose(table, name="head_w"), name="logits")
    )
    if wrong == "logits scaled":
        logits = g.scale(logits, sqrt=D)
    g.output(y=g.log_softmax(logits, axis=0 if wrong == "axis" else -1, name="told"))
    return g


def padded(wrong=None):
    """A batch with padding: masked keys, mean over the tokens that are there."""
    g, batch = Graph("padded"), 3
    x = g.input("x", (batch, N, D_K), (None, "token", "feature"))
    lengths = g.input("lengths", (batch,), kind="int")
    there = g.padding_mask(lengths, N, name="there")
    see = g.reshape(there, (batch, 1, N), name="keys")
    if wrong == "queries masked":
        see = g.reshape(there, (batch, N, 1))
    scaled = g.scale(g.matmul(x, g.transpose(x, name="x_t"), name="scores"), sqrt=D_K, name="scaled")
    masked = scaled if wrong == "not masked" else g.mask(scaled, see, name="masked")
    if wrong == "inverted":
        masked = g.mask(scaled, g.logical_not(see))
    mixed = g.matmul(g.softmax(masked, name="weights"), x, name="mixed")
    one, zero = g.constant(1, name="one"), g.constant(0, name="zero")
    here = g.where(g.reshape(there, (batch, N, 1), name="rows"), one, zero, name="here")
    total = g.reduce_sum(g.multiply(mixed, here, name="kept"), axis=1, name="total")
    count = g.reduce_sum(here, axis=1, name="count")
    if wrong == "mean over padding":
        total, count = g.reduce_sum(mixed, axis=1), g.reduce_sum(here, axis=1)
    if wrong == "plain mean":
        pooled = g.reduce_mean(mixed, axis=1)
    elif wrong == "divided by n":
        pooled = g.scale(total, divide=N)
    elif wrong == "first token":
        pooled = g.split(mixed, (1, N - 1), axis=1)[0]
    elif wrong == "last token":
        pooled = g.split(mixed, (N - 1, 1), axis=1)[1]
    elif wrong == "maximum":
        pooled = g.reduce_max(g.multiply(mixed, here), axis=1)
    elif wrong == "sum":
        pooled = total
    elif wrong == "over features":
        pooled = g.divide(g.reduce_sum(g.multiply(mixed, here), axis=1), g.constant(D_K))
    else:
        pooled = g.divide(total, count, name="pooled")
    g.output(y=pooled)
    return g


WRONG = {
    rope: (
        "base, offset, from 1, exchanged, sign, rate, degrees, one rate, reversed rates, reflected, "
        "halves exchanged, interleaved, k only, q only, v too, twice, rates from 1, not crossed"
    ),
    grouped: (
        "qvk, kvq, interleaved, queries interleaved, reshaped, tiled, first group, groups reversed, "
        "values tiled, d_model, merged, merged interleaved, merged by columns"
    ),
    multi: (
        "weights turned, no biases, scaled before bias, k from q, per head, interleaved parts, blocks, "
        "interleaved, scores turned, d_model, twice, times, d_k, sees one ahead, inverted, inverted -1e9, "
        "zero, -1, -10, 1e-9, mask after, mask before scale, columns, renormalized after, values by "
        "columns, heads reversed, merged, heads added, bias in each head"
    ),
    biased: (
        "sign, reversed, from 0, one slope, no slope, squared, wide, narrow, both "
        "sides, causal only, cap before scale, cap without cap, cap undivided, cap last, no cap, bias "
        "before scale, bias first, bias scaled, logarithm, cut off"
    ),
    norms: (
        "no 1 +, eps outside, no root, sum of squares, n − 1, layernorm, no norm, eps, exchanged, gelu, "
        "relu, sigmoid, tanh, gelu tanh, added, active both, active product, no gate, down turned, from "
        "norm, none, minus, norm of branch, unbiased, std plus eps, final rmsnorm, over tokens, no final "
        "norm"
    ),
    embedded: (
        "not grown, shrunk, times d, from 1, from 2, sinusoids, one position, no positions, placed before "
        "growing, positions times, head turned, logits scaled, axis, shifted right, max_norm, rolled"
    ),
    padded: (
        "queries masked, not masked, inverted, mean over padding, plain mean, divided by n, first token, "
        "last token, maximum, sum, over features"
    ),
}
CASES = {
    f"{build.__name__}: {wrong}": (build, wrong) for build, ids in WRONG.items() for wrong in ids.split(", ")
}
