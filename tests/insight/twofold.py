"""Two independent mistakes at once in a layer written by hand in numpy, for its output alone.

layer(feeds, {"no scale", "silu"}) -> y          intended() -> Graph
"""

import math
from itertools import combinations
from random import Random

import numpy as np

from graphattn import Graph

N, D, H, F = 4, 8, 2, 6
KINDS = {
    "scale": ("no scale", "scale √d_model", "scale d_k"),
    "mask": ("no mask", "own token hidden", "one token ahead", "mask transposed"),
    "softmax": ("softmax along columns", "sigmoid"),
    "projections": (
        "q and k exchanged", "w_q turned", "w_v turned", "b_q forgotten", "b_v forgotten", "v of x", "k of x",
    ),
    "heads": ("heads reversed", "heads read otherwise"),
    "proj": ("w_o turned", "b_o forgotten"),
    "norm1": (
        "norm1 left out", "norm1 without mean", "norm1 n − 1", "norm1 without γ", "norm1 without β",
        "norm1 eps",
    ),
    "residual1": ("residual1 forgotten", "residual1 of the norm"),
    "norm2": ("norm2 left out", "norm2 with γ of norm1", "norm2 without β", "norm2 of x"),
    "act": ("relu", "silu", "gelu tanh", "no activation"),
    "mlp": ("b_in forgotten", "b_out forgotten"),
    "residual2": ("residual2 forgotten", "residual2 of x"),
}  # fmt: skip


def cases(count=48, seed=7):
    """Pairs of mistakes of different kinds, each kind about as often."""
    every = [(a, b) for x, y in combinations(KINDS, 2) for a in KINDS[x] for b in KINDS[y]]
    return Random(seed).sample(every, count)


def feeds(seed=0):
    r = np.random.default_rng(seed)
    draw = lambda *shape, size=1.0: np.round(r.normal(size=shape) * size, 3)  # noqa: E731
    f = {"X": draw(N, D)}
    for i in "12":
        f[f"gamma{i}"], f[f"beta{i}"] = 1 + draw(D, size=0.3), draw(D, size=0.3)
    for c in "qkvo":
        f[f"w_{c}"], f[f"b_{c}"] = draw(D, D, size=0.4), draw(D, size=0.3)
    f["w_in"], f["b_in"] = draw(F, D, size=0.4), draw(F, size=0.3)
    f["w_out"], f["b_out"] = draw(D, F, size=0.4), draw(D, size=0.3)
    return {name: value.tolist() for name, value in f.items()}


def _norm(x, gamma, beta, wrong, name):
    if f"{name} left out" in wrong:
        return x
    mean = 0 if f"{name} without mean" in wrong else x.mean(-1, keepdims=True)
    var = ((x - mean) ** 2).sum(-1, keepdims=True) / (D - 1 if f"{name} n − 1" in wrong else D)
    y = (x - mean) / np.sqrt(var + (1e-3 if f"{name} eps" in wrong else 1e-5))
    y = y if f"{name} without γ" in wrong else y * gamma
    return y if f"{name} without β" in wrong else y + beta


def layer(f, wrong=()):
    p = {name: np.array(value) for name, value in f.items()}
    x, d_k = p["X"], D // H
    n1 = _norm(x, p["gamma1"], p["beta1"], wrong, "norm1")
    given = {"q": n1, "k": x if "k of x" in wrong else n1, "v": x if "v of x" in wrong else n1}
    parts = {}
    for c in "qkv":
        w = p[f"w_{c}"]
        bias = 0 if f"b_{c} forgotten" in wrong else p[f"b_{c}"]
        parts[c] = given[c] @ (w if f"w_{c} turned" in wrong else w.T) + bias
    if "q and k exchanged" in wrong:
        parts["q"], parts["k"] = parts["k"], parts["q"]
    row, column = np.arange(N)[:, None], np.arange(N)
    see = column <= row
    see = (
        column < row
        if "own token hidden" in wrong
        else column <= row + 1
        if "one token ahead" in wrong
        else see
    )
    see = see.T if "mask transposed" in wrong else see | True if "no mask" in wrong else see
    root = {"no scale": 1, "scale √d_model": math.sqrt(D), "scale d_k": d_k}
    scale = next((root[w] for w in wrong if w in root), math.sqrt(d_k))
    outs = []
    for h in range(H):
        if "heads read otherwise" in wrong:
            q, k, v = (parts[c].reshape(N, d_k, H)[:, :, h] for c in "qkv")
        else:
            q, k, v = (parts[c][:, h * d_k : (h + 1) * d_k] for c in "qkv")
        scores = np.where(see, q @ k.T / scale, -np.inf)
        if "sigmoid" in wrong:
            a = 1 / (1 + np.exp(-scores))
        else:
            axis = 0 if "softmax along columns" in wrong else -1
            peak = scores.max(axis, keepdims=True)
            raised = np.exp(scores - np.where(np.isfinite(peak), peak, 0))
            whole = raised.sum(axis, keepdims=True)
            a = raised / np.where(whole == 0, 1, whole)
        outs.append(a @ v)
    o = np.concatenate(outs[::-1] if "heads reversed" in wrong else outs, -1)
    proj = o @ (p["w_o"] if "w_o turned" in wrong else p["w_o"].T) + (
        0 if "b_o forgotten" in wrong else p["b_o"]
    )
    r = proj + (0 if "residual1 forgotten" in wrong else n1 if "residual1 of the norm" in wrong else x)
    gamma = p["gamma1"] if "norm2 with γ of norm1" in wrong else p["gamma2"]
    n2 = _norm(x if "norm2 of x" in wrong else r, gamma, p["beta2"], wrong, "norm2")
    z = n2 @ p["w_in"].T + (0 if "b_in forgotten" in wrong else p["b_in"])
    erf = np.vectorize(math.erf)
    if "relu" in wrong:
        z = np.maximum(z, 0)
    elif "silu" in wrong:
        z = z / (1 + np.exp(-z))
    elif "gelu tanh" in wrong:
        z = 0.5 * z * (1 + np.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3)))
    elif "no activation" not in wrong:
        z = 0.5 * z * (1 + erf(z / math.sqrt(2)))
    mlp = z @ p["w_out"].T + (0 if "b_out forgotten" in wrong else p["b_out"])
    return (mlp + (0 if "residual2 forgotten" in wrong else x if "residual2 of x" in wrong else r)).tolist()


def intended():
    g = Graph("layer")
    x = g.input("X", (N, D), ("token", "feature"))
    p = {name: g.parameter(name, np.shape(value)) for name, value in feeds().items() if name != "X"}
    n1 = g.layernorm(x, p["gamma1"], p["beta1"], eps="1e-05", name="norm1")
    q, k, v = (g.split(g.linear(n1, p[f"w_{c}"], p[f"b_{c}"], name=c), H, name=f"{c}_heads") for c in "qkv")
    see, outs = g.causal_mask(N, name="visible"), []
    for h in range(H):
        scores = g.scale(g.matmul(q[h], k[h].T, name=f"head{h}.scores"), sqrt=D // H, name=f"head{h}.scaled")
        a = g.softmax(g.mask(scores, see, name=f"head{h}.masked"), name=f"head{h}.weights")
        outs.append(g.matmul(a, v[h], name=f"head{h}.out"))
    r = g.add(x, g.linear(g.concat(*outs, name="concat"), p["w_o"], p["b_o"], name="proj"), name="residual1")
    n2 = g.layernorm(r, p["gamma2"], p["beta2"], eps="1e-05", name="norm2")
    act = g.gelu(g.linear(n2, p["w_in"], p["b_in"], name="fc"), name="act")
    g.output(y=g.add(r, g.linear(act, p["w_out"], p["b_out"], name="mlp"), name="residual2"))
    return g
