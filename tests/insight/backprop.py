"""Backward passes as people write them by hand, in numpy and on scalars, right or wrong in one of many ways.

    gradients(base, feeds, wrong=None) -> {"d_x": …}     what the code gives, by the names of `intended`
    intended(base) -> Graph                              the same model as a graph, its loss the result

"head" is one attention head for a cotangent d_y; "gpt" a layer of a language model with its loss, "llama" one
with RMSNorm, RoPE, grouped heads and a gated MLP; "bigram" is a classifier with batch normalization, step by
step; "value" a head on scalars (`scalars`). CASES is a list that the generators do not know.
"""

import math
from random import Random

import numpy as np
import scalars

from graphattn import Graph

N, D = 4, 4
HEADS, D_K, F, VOCABULARY, IDS, TARGETS = 2, 3, 5, 6, [2, 0, 2, 5], [0, 2, 5, 1]
KEEP = 0.8
EPS = 1e-5


def _draw(random, *shape, size=1.0):
    if len(shape) == 1:
        return [round(random.gauss(0, 1) * size, 3) for _ in range(shape[0])]
    return [_draw(random, *shape[1:], size=size) for _ in range(shape[0])]


def _one_hot(targets, count):
    return [[float(t == j) for j in range(count)] for t in targets]


def _rows(x):
    return x.max(-1, keepdims=True)


def soft(scores, axis=-1):
    raised = np.exp(scores - scores.max(axis, keepdims=True))
    return raised / raised.sum(axis, keepdims=True)


def back_through_softmax(a, d_a, wrong):
    match wrong:
        case "softmax: diagonal alone":
            return a * (1 - a) * d_a
        case "softmax: no sum taken away":
            return a * d_a
        case "softmax: sum over the other axis":
            return a * (d_a - (a * d_a).sum(0, keepdims=True))
        case "softmax: sum of dA, not of A dA":
            return a * (d_a - d_a.sum(-1, keepdims=True))
        case "softmax: sum taken away outside":
            return a * d_a - (a * d_a).sum(-1, keepdims=True)
        case "softmax: mean for sum":
            return a * (d_a - (a * d_a).mean(-1, keepdims=True))
        case "softmax: other sign of the sum":
            return a * (d_a + (a * d_a).sum(-1, keepdims=True))
        case "softmax: through":
            return d_a
        case "softmax: not weighted":
            return d_a - (a * d_a).sum(-1, keepdims=True)
    return a * (d_a - (a * d_a).sum(-1, keepdims=True))


SOFTMAX = (
    "softmax: diagonal alone", "softmax: no sum taken away", "softmax: sum over the other axis",
    "softmax: sum of dA, not of A dA", "softmax: sum taken away outside", "softmax: mean for sum",
    "softmax: other sign of the sum", "softmax: through", "softmax: not weighted",
)  # fmt: skip


# ------------------------------------------------------------ one head, for a cotangent

HEAD = (
    *SOFTMAX, "no scale", "scale of dK forgotten", "scale of dQ forgotten", "times √d", "scaled twice",
    "divided by d", "dQ of dSᵀ", "dK of dS", "dQ and dK exchanged", "dV of A", "dWq turned", "all dW turned",
    "dWq and dWk exchanged", "dX of q alone", "dX without v", "dX without q", "dX the last alone",
    "dX by W, not Wᵀ", "dWo turned", "dWo of V", "dA of dY", "dV of dY", "A without the mask",
    "A along columns", "dS masked the other way", "keys detached", "weights detached", "values detached",
    "dX averaged", "dK of K", "dQ of Q", "dA of dO Q", "two steps", "dX of the scores alone", "clipped",
)  # fmt: skip


def head(f, wrong):
    x, w_q, w_k, w_v, w_o, d_y = (np.array(f[k]) for k in ("x", "w_q", "w_k", "w_v", "w_o", "d_y"))
    n, d = x.shape
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    see = np.tril(np.ones((n, n), bool))
    a = soft(np.where(see, q @ k.T / math.sqrt(d), -np.inf))
    o = a @ v
    if wrong == "A without the mask":
        a = soft(q @ k.T / math.sqrt(d))
    if wrong == "A along columns":
        a = soft(np.where(see, q @ k.T / math.sqrt(d), -np.inf), axis=0)
    d_w_o = o.T @ d_y
    if wrong == "dWo turned":
        d_w_o = d_y.T @ o
    if wrong == "dWo of V":
        d_w_o = v.T @ d_y
    d_o = d_y @ w_o.T
    d_a = (d_y if wrong == "dA of dY" else d_o) @ (q if wrong == "dA of dO Q" else v).T
    d_v = a.T @ (d_y if wrong == "dV of dY" else d_o)
    if wrong == "dV of A":
        d_v = a @ d_o
    d_s = back_through_softmax(a, d_a, wrong)
    if wrong == "dS masked the other way":
        d_s = np.triu(d_s)
    if wrong == "weights detached":
        d_s = d_s * 0
    factor = {"no scale": 1.0, "times √d": math.sqrt(d), "scaled twice": 1 / d, "divided by d": 1 / d}
    scale = factor.get(wrong, 1 / math.sqrt(d))
    d_q, d_k = d_s @ k * scale, d_s.T @ q * scale
    if wrong == "scale of dK forgotten":
        d_k = d_s.T @ q
    if wrong == "scale of dQ forgotten":
        d_q = d_s @ k
    if wrong == "dQ of dSᵀ":
        d_q = d_s.T @ k * scale
    if wrong == "dK of dS":
        d_k = d_s @ q * scale
    if wrong == "dK of K":
        d_k = d_s.T @ k * scale
    if wrong == "dQ of Q":
        d_q = d_s @ q * scale
    if wrong == "dQ and dK exchanged":
        d_q, d_k = d_k, d_q
    if wrong == "keys detached":
        d_k = d_k * 0
    if wrong == "values detached":
        d_v = d_v * 0
    d_w_q, d_w_k, d_w_v = x.T @ d_q, x.T @ d_k, x.T @ d_v
    if wrong == "dWq turned":
        d_w_q = d_q.T @ x
    if wrong == "all dW turned":
        d_w_q, d_w_k, d_w_v, d_w_o = d_w_q.T, d_w_k.T, d_w_v.T, d_w_o.T
    if wrong == "dWq and dWk exchanged":
        d_w_q, d_w_k = d_w_k, d_w_q
    paths = [d_q @ w_q.T, d_k @ w_k.T, d_v @ w_v.T]
    if wrong == "dX by W, not Wᵀ":
        paths = [d_q @ w_q, d_k @ w_k, d_v @ w_v]
    kept = {"dX of q alone": [0], "dX without v": [0, 1], "dX without q": [1, 2], "dX the last alone": [2],
            "dX of the scores alone": [0, 1]}  # fmt: skip
    d_x = sum(paths[i] for i in kept.get(wrong, (0, 1, 2)))
    if wrong == "dX averaged":
        d_x = d_x / 3
    found = {"d_x": d_x, "d_w_q": d_w_q, "d_w_k": d_w_k, "d_w_v": d_w_v, "d_w_o": d_w_o}
    if wrong == "two steps":
        found = {name: 2 * value for name, value in found.items()}
    if wrong == "clipped":
        found = {name: np.clip(value, -1, 1) for name, value in found.items()}
    return found


def _head_graph():
    g = Graph("head")
    x = g.input("x", (N, D), ("token", "feature"))
    w = {name: g.parameter(name, (D, D)) for name in ("w_q", "w_k", "w_v", "w_o")}
    q, k, v = (g.matmul(x, w[f"w_{p}"], name=p) for p in "qkv")
    scores = g.scale(g.matmul(q, k.T, name="scores"), sqrt=D, name="scaled")
    a = g.softmax(g.mask(scores, g.causal_mask(N, name="visible"), name="masked"), name="weights")
    g.output(y=g.matmul(g.matmul(a, v, name="o"), w["w_o"], name="projected"))
    return g


def _head_feeds(random):
    return {name: _draw(random, N, D) for name in ("x", "w_q", "w_k", "w_v", "w_o", "d_y")}


# ------------------------------------------------------------ a layer of a language model, with its loss

NORM = (
    "norm: no mean path", "norm: no variance path", "norm: neither", "norm: sums for means", "norm: n − 1",
    "norm: γ forgotten", "norm: dγ of x", "norm: dγ of dy alone", "norm: by the variance",
    "norm: mean for dγ and dβ",
    "norm: over the tokens", "norm: other sign of the variance path",
    "norm: 1/n of the variance path forgotten",
)  # fmt: skip
GPT = (
    *SOFTMAX[:4], *NORM,
    "loss: no −1", "loss: not divided", "loss: divided twice",
    "loss: divided by all cells", "loss: other sign", "loss: −1 at the input", "loss: −1/p alone",
    "residual: stream dropped", "residual: branch dropped", "residual: doubled",
    "gelu: at the output", "gelu: as relu", "gelu: exact", "gelu: through", "gelu: Φ alone",
    "bias: mean", "bias: last token", "bias: first token", "bias: not summed", "heads: reversed",
    "heads: first alone", "heads: last alone", "heads: read otherwise", "embedding: last write",
    "embedding: mean", "tied: head alone", "tied: table alone", "tied: overwritten",
    "places: forgotten", "last norm: left out", "dWq and dWk exchanged", "scale: √d_model",
    "scale: none", "dropout: not undone", "dropout: not masked", "dropout: masked twice",
    "attention: detached", "mlp: detached", "weight decay", "two steps", "seed: 2", "γ exchanged",
    "places: of the first alone", "norm: left out, first", "gelu: at the linear's input",
)  # fmt: skip


def norm_forward(x, gamma, beta):
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    n = (x - mean) / np.sqrt(var + EPS)
    return n * gamma + beta, (x, n, np.sqrt(var + EPS), gamma)


def norm_backward(dy, kept, wrong):
    x, n, root, gamma = kept
    d_gamma, d_beta = (dy * n).sum(0), dy.sum(0)
    d_n = dy if wrong == "norm: γ forgotten" else dy * gamma
    level, along = d_n.mean(-1, keepdims=True), n * (d_n * n).mean(-1, keepdims=True)
    count = x.shape[-1]
    match wrong:
        case "norm: no mean path":
            level = 0 * level
        case "norm: no variance path":
            along = 0 * along
        case "norm: neither":
            level, along = 0 * level, 0 * along
        case "norm: sums for means":
            level, along = level * count, along * count
        case "norm: n − 1":
            level, along = level * count / (count - 1), along * count / (count - 1)
        case "norm: dγ of x":
            d_gamma = (dy * x).sum(0)
        case "norm: dγ of dy alone":
            d_gamma = dy.sum(0)
        case "norm: by the variance":
            root = root * root
        case "norm: mean for dγ and dβ":
            d_gamma, d_beta = (dy * n).mean(0), dy.mean(0)
        case "norm: over the tokens":
            level, along = d_n.mean(0, keepdims=True), n * (d_n * n).mean(0, keepdims=True)
        case "norm: other sign of the variance path":
            along = -along
        case "norm: 1/n of the variance path forgotten":
            along = along * count
    return (d_n - level - along) / root, d_gamma, d_beta


def gelu(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def d_gelu(x, wrong, y):
    if wrong == "gelu: as relu":
        return (x > 0).astype(float)
    if wrong == "gelu: through":
        return np.ones_like(x)
    curve = np.vectorize(lambda v: 0.5 * (1 + math.erf(v / math.sqrt(2))))
    if wrong == "gelu: Φ alone":
        return curve(x)
    if wrong == "gelu: exact":
        return curve(x) + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    x = y if wrong == "gelu: at the output" else x
    t = np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x * x)


def gpt(f, wrong):
    p = {name: np.array(value) for name, value in f.items()}
    ids, targets, dropped = p["ids"], p["targets"], p["dropped"]
    d = HEADS * D_K
    x = p["table"][ids] + p["places"]
    n1, kept1 = norm_forward(x, p["gamma1"], p["beta1"])
    q, k, v = (n1 @ p[f"w_{c}"] + p[f"b_{c}"] for c in "qkv")
    see = np.tril(np.ones((N, N), bool))
    cut = lambda m, h: m[:, h * D_K : (h + 1) * D_K]  # noqa: E731
    weights, parts = [], []
    for h in range(HEADS):
        a = soft(np.where(see, cut(q, h) @ cut(k, h).T / math.sqrt(D_K), -np.inf))
        weights.append(a)
        parts.append(a @ cut(v, h))
    o = np.concatenate(parts, -1)
    r = x + (o @ p["w_o"] + p["b_o"])
    n2, kept2 = norm_forward(r, p["gamma2"], p["beta2"])
    hidden = n2 @ p["w_1"] + p["b_1"]
    act = gelu(hidden)
    thin = act * dropped / KEEP
    r2 = r + (thin @ p["w_2"] + p["b_2"])
    n3, kept3 = norm_forward(r2, p["gamma3"], p["beta3"])
    logits = n3 @ p["table"].T
    # ---- and back
    found = {}
    probabilities = soft(logits)
    d_logits = {
        "loss: no −1": probabilities / N, "loss: not divided": probabilities - targets,
        "loss: divided twice": (probabilities - targets) / N / N,
        "loss: divided by all cells": (probabilities - targets) / N / VOCABULARY,
        "loss: other sign": (targets - probabilities) / N,
        "loss: −1 at the input": (probabilities - np.array(_one_hot(IDS, VOCABULARY))) / N,
        "loss: −1/p alone": -targets / probabilities / N, "seed: 2": 2 * (probabilities - targets) / N,
    }.get(wrong, (probabilities - targets) / N)  # fmt: skip
    d_table = d_logits.T @ n3
    d_n3 = d_logits @ p["table"]
    bias = {
        "bias: mean": lambda m: m.mean(0), "bias: last token": lambda m: m[-1],
        "bias: first token": lambda m: m[0], "bias: not summed": lambda m: m,
    }.get(wrong, lambda m: m.sum(0))  # fmt: skip
    which = wrong if wrong and wrong.startswith("norm") else None
    d_r2, found["gamma3"], found["beta3"] = norm_backward(d_n3, kept3, which)
    if wrong == "last norm: left out":
        d_r2 = d_n3
    d_out = d_r2
    found["w_2"], found["b_2"] = thin.T @ d_out, bias(d_out)
    d_thin = d_out @ p["w_2"].T
    d_act = {
        "dropout: not undone": d_thin * dropped, "dropout: not masked": d_thin,
        "dropout: masked twice": d_thin * dropped / KEEP / KEEP,
    }.get(wrong, d_thin * dropped / KEEP)  # fmt: skip
    where = hidden - p["b_1"] if wrong == "gelu: at the linear's input" else hidden
    d_hidden = d_act * d_gelu(where, wrong, act)
    found["w_1"], found["b_1"] = n2.T @ d_hidden, bias(d_hidden)
    d_n2 = d_hidden @ p["w_1"].T
    if wrong == "mlp: detached":
        d_n2 = d_n2 * 0
    d_r, found["gamma2"], found["beta2"] = norm_backward(d_n2, kept2, which)
    d_r = {
        "residual: stream dropped": d_r, "residual: branch dropped": d_r2, "residual: doubled": d_r + 2 * d_r2,
    }.get(wrong, d_r + d_r2)  # fmt: skip
    found["w_o"], found["b_o"] = o.T @ d_r, bias(d_r)
    d_o = d_r @ p["w_o"].T
    if wrong == "heads: read otherwise":
        d_parts = list(d_o.reshape(HEADS, N, D_K))
    else:
        d_parts = [cut(d_o, h) for h in range(HEADS)]
    if wrong == "heads: reversed":
        d_parts.reverse()
    d_q, d_k, d_v = np.zeros((N, d)), np.zeros((N, d)), np.zeros((N, d))
    scale = {"scale: √d_model": math.sqrt(d), "scale: none": 1.0}.get(wrong, math.sqrt(D_K))
    alone = {"heads: first alone": [0], "heads: last alone": [HEADS - 1]}.get(wrong, range(HEADS))
    for h in alone:
        a, s = weights[h], slice(h * D_K, (h + 1) * D_K)
        d_v[:, s] = a.T @ d_parts[h]
        d_s = back_through_softmax(a, d_parts[h] @ cut(v, h).T, wrong) / scale
        d_q[:, s], d_k[:, s] = d_s @ cut(k, h), d_s.T @ cut(q, h)
    for c, m in zip("qkv", (d_q, d_k, d_v), strict=True):
        found[f"w_{c}"], found[f"b_{c}"] = n1.T @ m, bias(m)
    d_n1 = d_q @ p["w_q"].T + d_k @ p["w_k"].T + d_v @ p["w_v"].T
    if wrong == "attention: detached":
        d_n1 = d_n1 * 0
    d_x, found["gamma1"], found["beta1"] = norm_backward(d_n1, kept1, which)
    if wrong == "norm: left out, first":
        d_x = d_n1
    d_x = {
        "residual: stream dropped": d_x, "residual: branch dropped": d_r, "residual: doubled": d_x + 2 * d_r,
    }.get(wrong, d_x + d_r)  # fmt: skip
    first = (np.arange(N) == 0)[:, None]
    found["places"] = {"places: forgotten": d_x * 0, "places: of the first alone": d_x * first}.get(wrong, d_x)
    d_rows = np.zeros_like(d_table)
    for t, i in enumerate(ids):
        if wrong == "embedding: last write":
            d_rows[i] = d_x[t]
        else:
            d_rows[i] += d_x[t] / (list(ids).count(i) if wrong == "embedding: mean" else 1)
    if wrong == "tied: overwritten":
        for i in set(ids):
            d_table[i] = 0
    found["table"] = {"tied: head alone": d_table, "tied: table alone": d_rows}.get(wrong, d_table + d_rows)
    if wrong == "dWq and dWk exchanged":
        found["w_q"], found["w_k"] = found["w_k"], found["w_q"]
    if wrong == "γ exchanged":
        found["gamma1"], found["gamma2"] = found["gamma2"], found["gamma1"]
    if wrong == "weight decay":
        found = {name: value + 0.01 * p[name] for name, value in found.items()}
    if wrong == "two steps":
        found = {name: 2 * value for name, value in found.items()}
    return {f"d_{name}": value for name, value in found.items()}


def _gpt_graph():
    g = Graph("gpt")
    ids = g.input("ids", (N,), ("token",), kind="int")
    targets = g.input("targets", (N, VOCABULARY))
    dropped = g.input("dropped", (N, F))
    p = {}
    for name, value in _gpt_feeds(Random(0)).items():
        if name not in ("ids", "targets", "dropped"):
            p[name] = g.parameter(name, np.shape(value))
    x = g.add(g.embedding(p["table"], ids, name="embedded"), p["places"], name="x")
    n1 = g.layernorm(x, p["gamma1"], p["beta1"], eps="1e-05", name="norm1")
    q, k, v = (
        g.split(
            g.add(g.matmul(n1, p[f"w_{c}"], name=f"{c}_raw"), p[f"b_{c}"], name=c), HEADS, name=f"{c}_heads"
        )
        for c in "qkv"
    )
    see = g.causal_mask(N, name="visible")
    parts = []
    for h in range(HEADS):
        scores = g.scale(g.matmul(q[h], k[h].T, name=f"head{h}.scores"), sqrt=D_K, name=f"head{h}.scaled")
        a = g.softmax(g.mask(scores, see, name=f"head{h}.masked"), name=f"head{h}.weights")
        parts.append(g.matmul(a, v[h], name=f"head{h}.out"))
    o = g.matmul(g.concat(*parts, name="o"), p["w_o"], name="proj_raw")
    r = g.add(x, g.add(o, p["b_o"], name="proj"), name="r")
    n2 = g.layernorm(r, p["gamma2"], p["beta2"], eps="1e-05", name="norm2")
    act = g.gelu(
        g.add(g.matmul(n2, p["w_1"], name="fc_raw"), p["b_1"], name="fc"), approximate="tanh", name="act"
    )
    thin = g.scale(g.multiply(act, dropped, name="kept"), divide=KEEP, name="thin")
    r2 = g.add(r, g.add(g.matmul(thin, p["w_2"], name="mlp_raw"), p["b_2"], name="mlp"), name="r2")
    n3 = g.layernorm(r2, p["gamma3"], p["beta3"], eps="1e-05", name="norm3")
    logits = g.matmul(n3, p["table"].T, name="logits")
    counted = g.multiply(targets, g.log_softmax(logits, name="log_p"), name="counted")
    total = g.reduce_sum(g.reduce_sum(counted, name="by_token"), axis=0, name="total")
    g.output(loss=g.divide(-total, N, name="loss"))
    return g


def _gpt_feeds(random):
    d = HEADS * D_K
    f = {"table": _draw(random, VOCABULARY, d), "places": _draw(random, N, d, size=0.5)}
    for i in "123":
        f[f"gamma{i}"], f[f"beta{i}"] = [1 + v for v in _draw(random, d, size=0.3)], _draw(random, d, size=0.3)
    for c in "qkvo":
        f[f"w_{c}"], f[f"b_{c}"] = _draw(random, d, d, size=0.5), _draw(random, d, size=0.3)
    f["w_1"], f["b_1"] = _draw(random, d, F, size=0.5), _draw(random, F, size=0.3)
    f["w_2"], f["b_2"] = _draw(random, F, d, size=0.5), _draw(random, d, size=0.3)
    dropped = [[float(random.random() < KEEP) for _ in range(F)] for _ in range(N)]
    return {**f, "ids": IDS, "targets": _one_hot(TARGETS, VOCABULARY), "dropped": dropped}


# ------------------------------------------------------------ RMSNorm, RoPE, grouped heads, a gated MLP

LLAMA = (
    "rope: not turned back", "rope: turned on", "rope: q alone turned back", "rope: v turned back too",
    "norm: one path", "norm: sum for mean", "norm: γ forgotten", "norm: by the mean square", "norm: dγ mean",
    "norm: other sign", "groups: last alone", "groups: first alone", "groups: mean", "groups: k alone summed",
    "silu: sigmoid alone", "silu: σ(1 − σ)", "silu: at the output", "silu: through", "gate: exchanged",
    "gate: up forgotten", "gate: gate forgotten", "loss: no 2", "loss: sum for mean", "loss: by tokens alone",
    "loss: other sign", "loss: half", "silu: as relu", "scale: none", "softmax: no sum taken away",
    "dWk and dWv exchanged", "groups: wrong query", "residual: stream dropped", "first norm: left out",
    "loss: absolute", "rope: interleaved back",
)  # fmt: skip


def _angles():
    angle = np.arange(N)[:, None] * 10000.0 ** (-2 * np.arange(D_LL // 2) / D_LL)
    return np.cos(angle), np.sin(angle)


D_LL, H_LL, G_LL = 4, 4, 2


def turned(x, sign=1):
    cos, sin = _angles()
    a, b = x[:, : D_LL // 2], x[:, D_LL // 2 :]
    return np.concatenate([a * cos - sign * b * sin, sign * a * sin + b * cos], -1)


def turned_in_pairs(x, sign):
    cos, sin = _angles()
    y = np.empty_like(x)
    a, b = x[:, ::2], x[:, 1::2]
    y[:, ::2], y[:, 1::2] = a * cos - sign * b * sin, sign * a * sin + b * cos
    return y


def rms_forward(x, gamma):
    root = np.sqrt((x * x).mean(-1, keepdims=True) + EPS)
    return x / root * gamma, (x / root, root, gamma)


def rms_backward(dy, kept, wrong):
    n, root, gamma = kept
    d_n = dy if wrong == "norm: γ forgotten" else dy * gamma
    along = n * (d_n * n).mean(-1, keepdims=True)
    along = {"norm: one path": 0 * along, "norm: sum for mean": along * n.shape[-1], "norm: other sign": -along
             }.get(wrong, along)  # fmt: skip
    d_gamma = (dy * n).mean(0) if wrong == "norm: dγ mean" else (dy * n).sum(0)
    return (d_n - along) / (root**2 if wrong == "norm: by the mean square" else root), d_gamma


def llama(f, wrong):
    p = {name: np.array(value) for name, value in f.items()}
    x = p["x"]
    n1, kept1 = rms_forward(x, p["gamma1"])
    q, k, v = (n1 @ p[f"w_{c}"].T for c in "qkv")
    see = np.tril(np.ones((N, N), bool))
    cut = lambda m, h: m[:, h * D_LL : (h + 1) * D_LL]  # noqa: E731
    qs = [turned(cut(q, h)) for h in range(H_LL)]
    ks, vs = [turned(cut(k, h)) for h in range(G_LL)], [cut(v, h) for h in range(G_LL)]
    group = lambda h: h // (H_LL // G_LL)  # noqa: E731
    weights = [soft(np.where(see, qs[h] @ ks[group(h)].T / math.sqrt(D_LL), -np.inf)) for h in range(H_LL)]
    o = np.concatenate([a @ vs[group(h)] for h, a in enumerate(weights)], -1)
    r = x + o @ p["w_o"].T
    n2, kept2 = rms_forward(r, p["gamma2"])
    gate, up = n2 @ p["w_gate"].T, n2 @ p["w_up"].T
    s = 1 / (1 + np.exp(-gate))
    opened = gate * s
    y = r + (opened * up) @ p["w_down"].T
    # ---- and back
    found, size, target = {}, y.size, p["target"]
    d_y = {
        "loss: no 2": (y - target) / size, "loss: sum for mean": 2 * (y - target),
        "loss: by tokens alone": 2 * (y - target) / N, "loss: other sign": 2 * (target - y) / size,
        "loss: half": (y - target) / size / 2, "loss: absolute": np.sign(y - target) / size,
    }.get(wrong, 2 * (y - target) / size)  # fmt: skip
    found["w_down"] = d_y.T @ (opened * up)
    d_m = d_y @ p["w_down"]
    d_up, d_opened = d_m * opened, d_m * up
    if wrong == "gate: exchanged":
        d_up, d_opened = d_opened, d_up
    if wrong == "gate: up forgotten":
        d_opened = d_m
    if wrong == "gate: gate forgotten":
        d_up = d_m
    other = 1 / (1 + np.exp(-opened))
    slope = {
        "silu: sigmoid alone": s, "silu: σ(1 − σ)": s * (1 - s), "silu: through": np.ones_like(s),
        "silu: at the output": other * (1 + opened * (1 - other)), "silu: as relu": (gate > 0) * 1.0,
    }.get(wrong, s * (1 + gate * (1 - s)))  # fmt: skip
    d_gate = d_opened * slope
    found["w_gate"], found["w_up"] = d_gate.T @ n2, d_up.T @ n2
    which = wrong if wrong and wrong.startswith("norm") else None
    d_r, found["gamma2"] = rms_backward(d_gate @ p["w_gate"] + d_up @ p["w_up"], kept2, which)
    d_r = d_r if wrong == "residual: stream dropped" else d_r + d_y
    found["w_o"] = d_r.T @ o
    d_o = d_r @ p["w_o"]
    d_q = np.zeros_like(q)
    d_ks, d_vs = [[] for _ in range(G_LL)], [[] for _ in range(G_LL)]
    for h, a in enumerate(weights):
        d_a = cut(d_o, h) @ vs[group(h)].T
        d_s = back_through_softmax(a, d_a, wrong) / (1 if wrong == "scale: none" else math.sqrt(D_LL))
        d_vs[group(h)].append(a.T @ cut(d_o, h))
        d_turned = d_s @ ks[group(h)]
        own = qs[0] if wrong == "groups: wrong query" else qs[h]
        d_ks[group(h)].append(d_s.T @ own)
        d_q[:, h * D_LL : (h + 1) * D_LL] = {
            "rope: not turned back": d_turned, "rope: turned on": turned(d_turned),
            "rope: interleaved back": turned_in_pairs(d_turned, -1),
        }.get(wrong, turned(d_turned, -1))  # fmt: skip
    together = {"groups: last alone": lambda ms: ms[-1], "groups: first alone": lambda ms: ms[0],
                "groups: mean": lambda ms: sum(ms) / len(ms)}.get(wrong, sum)  # fmt: skip
    d_k = [together(ms) for ms in d_ks]
    d_v = np.concatenate(
        [(lambda ms: ms[-1])(ms) if wrong == "groups: k alone summed" else together(ms) for ms in d_vs], -1
    )
    back = {
        "rope: not turned back": lambda m: m, "rope: turned on": turned,
        "rope: q alone turned back": lambda m: m,
        "rope: interleaved back": lambda m: turned_in_pairs(m, -1),
    }.get(wrong, lambda m: turned(m, -1))  # fmt: skip
    d_k = np.concatenate([back(m) for m in d_k], -1)
    if wrong == "rope: v turned back too":
        d_v = np.concatenate([turned(cut(d_v, h), -1) for h in range(G_LL)], -1)
    found |= {f"w_{c}": m.T @ n1 for c, m in zip("qkv", (d_q, d_k, d_v), strict=True)}
    d_n1 = d_q @ p["w_q"] + d_k @ p["w_k"] + d_v @ p["w_v"]
    d_x, found["gamma1"] = rms_backward(d_n1, kept1, which)
    if wrong == "first norm: left out":
        d_x = d_n1
    found["x"] = d_x if wrong == "residual: stream dropped" else d_x + d_r
    if wrong == "dWk and dWv exchanged":
        found["w_k"], found["w_v"] = found["w_v"], found["w_k"]
    return {f"d_{name}": value for name, value in found.items()}


def _llama_graph():
    g, d = Graph("llama"), H_LL * D_LL
    x = g.input("x", (N, d), ("token", "feature"))
    target = g.input("target", (N, d))
    p = {
        name: g.parameter(name, np.shape(value)) for name, value in _llama_feeds(Random(0)).items()
        if name not in ("x", "target")
    }  # fmt: skip
    n1 = g.rmsnorm(x, p["gamma1"], eps="1e-05", name="norm1")
    q = g.split(g.linear(n1, p["w_q"], name="q"), H_LL, name="q_heads")
    k, v = (g.split(g.linear(n1, p[f"w_{c}"], name=c), G_LL, name=f"{c}_heads") for c in "kv")
    cos, sin = g.rope_angles(N, D_LL, name="angles")
    q = [g.rope(t, cos, sin, name=f"q_turned{i}") for i, t in enumerate(q)]
    k = [g.rope(t, cos, sin, name=f"k_turned{i}") for i, t in enumerate(k)]
    see, parts = g.causal_mask(N, name="visible"), []
    for h in range(H_LL):
        i = h // (H_LL // G_LL)
        scores = g.scale(g.matmul(q[h], k[i].T, name=f"head{h}.scores"), sqrt=D_LL, name=f"head{h}.scaled")
        a = g.softmax(g.mask(scores, see, name=f"head{h}.masked"), name=f"head{h}.weights")
        parts.append(g.matmul(a, v[i], name=f"head{h}.out"))
    r = g.add(x, g.linear(g.concat(*parts, name="o"), p["w_o"], name="proj"), name="r")
    n2 = g.rmsnorm(r, p["gamma2"], eps="1e-05", name="norm2")
    opened = g.silu(g.linear(n2, p["w_gate"], name="gate"), name="opened")
    mixed = g.multiply(opened, g.linear(n2, p["w_up"], name="up"), name="mixed")
    y = g.add(r, g.linear(mixed, p["w_down"], name="down"), name="y")
    error = g.subtract(y, target, name="error")
    squares = g.reshape(g.multiply(error, error, name="squared"), (N * d,), name="squares")
    g.output(loss=g.reduce_mean(squares, name="loss"))
    return g


def _llama_feeds(random):
    d = H_LL * D_LL
    f = {"x": _draw(random, N, d), "target": _draw(random, N, d)}
    for i in "12":
        f[f"gamma{i}"] = [1 + v for v in _draw(random, d, size=0.3)]
    for c, rows in (("q", d), ("k", G_LL * D_LL), ("v", G_LL * D_LL), ("o", d)):
        f[f"w_{c}"] = _draw(random, rows, d, size=0.3)
    for name in ("w_gate", "w_up"):
        f[name] = _draw(random, F, d, size=0.3)
    f["w_down"] = _draw(random, d, F, size=0.4)
    return f


# ------------------------------------------------------------ a classifier with batch normalization

BIGRAM = (
    "batch: no mean path", "batch: no variance path", "batch: n for n − 1", "batch: no 2", "batch: power",
    "batch: no −½", "batch: gain mean", "batch: gain of the input", "batch: over features", "tanh: 1 − y",
    "tanh: at the input", "tanh: as sigmoid", "loss: no division", "loss: no −1", "logits: sum path forgotten",
    "logits: through the logarithm alone", "bias 2: mean", "dW2 of the pre-activation", "embedding: last write",
    "embedding: read otherwise", "bias 1: not zero", "gain forgotten", "dh by dlogits alone",
    "loss: −1 at all", "batch: variance of squares",
)  # fmt: skip
BATCH, WORDS, WIDTH, HIDDEN = 5, 2, 3, 4
PICKED = [[1, 0], [3, 1], [1, 5], [0, 1], [2, 2]]
LABELS = [0, 2, 1, 5, 3]


def bigram(f, wrong):
    p = {name: np.array(value) for name, value in f.items()}
    joined = p["table"][p["ids"]].reshape(BATCH, WORDS * WIDTH)
    pre = joined @ p["w_1"] + p["b_1"]
    deviation = pre - pre.mean(0, keepdims=True)
    variance = (deviation**2).sum(0, keepdims=True) / (BATCH - 1)
    inverse = (variance + EPS) ** -0.5
    raw = deviation * inverse
    ready = p["gain"] * raw + p["shift"]
    h = np.tanh(ready)
    logits = h @ p["w_2"] + p["b_2"]
    share, targets = soft(logits), p["targets"]
    # ---- and back
    d_logits = {
        "loss: no division": share - targets, "loss: no −1": share / BATCH,
        "loss: −1 at all": (share - 1) / BATCH, "logits: sum path forgotten": -targets / BATCH,
        "logits: through the logarithm alone": -targets / BATCH / share,
    }.get(wrong, (share - targets) / BATCH)  # fmt: skip
    found = {"w_2": h.T @ d_logits, "b_2": d_logits.sum(0)}
    if wrong == "bias 2: mean":
        found["b_2"] = d_logits.mean(0)
    if wrong == "dW2 of the pre-activation":
        found["w_2"] = ready.T @ d_logits
    d_h = d_logits @ p["w_2"].T
    slope = {
        "tanh: 1 − y": 1 - h, "tanh: at the input": 1 - ready**2, "tanh: as sigmoid": h * (1 - h),
        "dh by dlogits alone": np.ones_like(h),
    }.get(wrong, 1 - h * h)  # fmt: skip
    d_ready = d_h * slope
    found["gain"], found["shift"] = (d_ready * raw).sum(0), d_ready.sum(0)
    if wrong == "batch: gain mean":
        found["gain"], found["shift"] = (d_ready * raw).mean(0), d_ready.mean(0)
    if wrong == "batch: gain of the input":
        found["gain"] = (d_ready * pre).sum(0)
    d_raw = d_ready if wrong == "gain forgotten" else d_ready * p["gain"]
    d_inverse = (d_raw * deviation).sum(0, keepdims=True)
    power = {
        "batch: power": -0.5 * (variance + EPS) ** -0.5, "batch: no −½": (variance + EPS) ** -1.5,
    }.get(wrong, -0.5 * (variance + EPS) ** -1.5)  # fmt: skip
    d_variance = d_inverse * power
    two = 1 if wrong == "batch: no 2" else 2
    count = BATCH if wrong == "batch: n for n − 1" else BATCH - 1
    d_deviation = d_raw * inverse + two * deviation / count * d_variance
    if wrong == "batch: no variance path":
        d_deviation = d_raw * inverse
    if wrong == "batch: variance of squares":
        d_deviation = d_raw * inverse + two * deviation**2 / count * d_variance
    d_pre = d_deviation - d_deviation.mean(0, keepdims=True)
    if wrong == "batch: no mean path":
        d_pre = d_deviation
    if wrong == "batch: over features":
        d_pre = d_deviation - d_deviation.mean(-1, keepdims=True)
    found["w_1"], found["b_1"] = joined.T @ d_pre, d_pre.sum(0)
    if wrong == "bias 1: not zero":
        found["b_1"] = d_deviation.sum(0)
    d_joined = d_pre @ p["w_1"].T
    d_embedded = d_joined.reshape(BATCH, WORDS, WIDTH)
    if wrong == "embedding: read otherwise":
        d_embedded = d_joined.reshape(BATCH, WIDTH, WORDS).transpose(0, 2, 1)
    d_table = np.zeros_like(p["table"])
    for rows, own in zip(p["ids"], d_embedded, strict=True):
        for i, row in zip(rows, own, strict=True):
            d_table[i] = row if wrong == "embedding: last write" else d_table[i] + row
    return {f"d_{name}": value for name, value in {**found, "table": d_table}.items()}


def _bigram_graph():
    g = Graph("bigram")
    ids, targets = g.input("ids", (BATCH, WORDS), kind="int"), g.input("targets", (BATCH, VOCABULARY))
    p = {
        name: g.parameter(name, np.shape(value)) for name, value in _bigram_feeds(Random(0)).items()
        if name not in ("ids", "targets")
    }  # fmt: skip
    joined = g.reshape(g.embedding(p["table"], ids, name="emb"), (BATCH, WORDS * WIDTH), name="embcat")
    pre = g.add(g.matmul(joined, p["w_1"], name="product1"), p["b_1"], name="hprebn")
    deviation = g.subtract(pre, g.reduce_mean(pre, axis=0, name="bnmean"), name="bndiff")
    squares = g.multiply(deviation, deviation, name="bndiff2")
    variance = g.scale(g.reduce_sum(squares, axis=0, name="bnsum"), divide=BATCH - 1, name="bnvar")
    root = g.sqrt(g.add(variance, g.constant("1e-05", name="eps"), name="bnsafe"), name="bnroot")
    raw = g.divide(deviation, root, name="bnraw")
    h = g.tanh(g.add(g.multiply(raw, p["gain"], name="gained"), p["shift"], name="hpreact"), name="h")
    logits = g.add(g.matmul(h, p["w_2"], name="product2"), p["b_2"], name="logits")
    counted = g.multiply(targets, g.log_softmax(logits, name="logprobs"), name="counted")
    total = g.reduce_sum(g.reduce_sum(counted, name="by_row"), axis=0, name="total")
    g.output(loss=g.divide(-total, BATCH, name="loss"))
    return g


def _bigram_feeds(random):
    return {
        "table": _draw(random, VOCABULARY, WIDTH), "w_1": _draw(random, WORDS * WIDTH, HIDDEN, size=0.5),
        "b_1": _draw(random, HIDDEN, size=0.3), "gain": [1 + v for v in _draw(random, HIDDEN, size=0.3)],
        "shift": _draw(random, HIDDEN, size=0.3), "w_2": _draw(random, HIDDEN, VOCABULARY, size=0.5),
        "b_2": _draw(random, VOCABULARY, size=0.3), "ids": PICKED, "targets": _one_hot(LABELS, VOCABULARY),
    }  # fmt: skip


# ------------------------------------------------------------ all of them

BASES = {
    "head": (head, _head_graph, _head_feeds, HEAD),
    "gpt": (gpt, _gpt_graph, _gpt_feeds, GPT),
    "llama": (llama, _llama_graph, _llama_feeds, LLAMA),
    "bigram": (bigram, _bigram_graph, _bigram_feeds, BIGRAM),
    "value": (scalars.gradients, scalars.graph, scalars.feeds, scalars.MISTAKES),
}  # fmt: skip
CASES = [(base, wrong) for base, (*_, mistakes) in BASES.items() for wrong in mistakes]


def intended(base):
    return BASES[base][1]()


def feeds(base, seed=0):
    return BASES[base][2](Random(seed))


def gradients(base, fed, wrong=None):
    return {name: np.asarray(value, float).tolist() for name, value in BASES[base][0](fed, wrong).items()}
