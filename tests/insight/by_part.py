"""Parts of a model in numpy, right, or with one mistake: positions, heads, a norm, a window, memory, a loss.

CASES[what] = part                    graph(part) is what was meant
forward(part, feeds, what=None) -> y  numpy, which shares nothing with graphattn
"""

import math

from graphattn import Graph
from graphattn.builtin import random_feeds

N, D, V, WINDOW = 4, 6, 6, 2
IDS = ([3, 0, 5, 1], [2, 4, 0, 0])
CASES = {
    "one head, scaled as one of two": "heads", "heads and features exchanged": "heads",
    "cosines, then sines": "positions", "timing signal": "positions", "row n for all": "positions",
    "s + 1e-6": "norm", "blocks": "window", "in place": "rope", "relu for exp": "window",
    "stream and memory exchanged": "memory", "smoothed": "loss", "ln(p + 1e-9)": "loss",
    "row 0 of the table zero": "loss", "norms before, not after": "post", "norms at the end": "pre",
    "max(x, 0)²": "pre", "up alone": "pre", "cosines": "heads",
    "heads cut by a view": "batch", "heads merged by a view": "batch", "batch norm": "batch",
}  # fmt: skip


def graph(part):
    g = Graph(part)
    if part in ("pre", "post"):
        return _stack(g, part)
    if part == "batch":
        x = g.input("x", (2, 3, 4), (None, "token", "feature"))
        a = g.layernorm(x, g.parameter("gamma", (4,)), eps="1e-05", name="norm")
        weights = {f"w_{name}": g.parameter(f"w_{name}", (4, 4)) for name in "qkv"}
        g.output(y=g.multi_head(a, a, a, heads=2, **weights, name="heads"))
        return g
    if part == "loss":
        ids, targets = (g.input(name, (N,), kind="int") for name in ("ids", "targets"))
        logp = g.log_softmax(g.embedding(g.parameter("table", (V, V)), ids, name="logits"), name="logp")
        one_hot = g.constant([[float(i == j) for j in range(V)] for i in range(V)], name="classes")
        chosen = g.multiply(logp, g.embedding(one_hot, targets, name="one_hot"), name="chosen")
        g.output(y=g.negate(chosen, name="told"))
        return g
    x = g.input("x", (N, D), ("token", "feature"))
    source = g.input("memory", (N, D), ("token", "feature")) if part == "memory" else x
    if part == "positions":
        x = source = g.add(x, g.positional_encoding(N, D, name="pe"), name="placed")
    if part == "norm":
        gains = (g.parameter(name, (D,)) for name in ("gamma", "beta"))
        x = source = g.layernorm(x, *gains, eps="1e-05", name="norm")
    q, k, v = (
        g.linear(t, g.parameter(f"w_{name}", (D, D)), name=name)
        for t, name in zip((x, source, source), "qkv", strict=True)
    )
    if part == "rope":
        cos, sin = g.rope_angles(N, D, name="angles")
        q, k = g.rope(q, cos, sin, name="q_turned"), g.rope(k, cos, sin, name="k_turned")
    heads = 2 if part == "heads" else 1
    qs, ks, vs = (g.split(t, heads, name=f"{t.name}_heads") if heads > 1 else [t] for t in (q, k, v))
    left = WINDOW - 1 if part == "window" else None
    see, outs = g.window_mask(N, left=left, right=0, name="visible"), []
    for i in range(heads):
        scores = g.matmul(qs[i], ks[i].T, name=f"head{i}.scores")
        scaled = g.scale(scores, sqrt=D // heads, name=f"head{i}.scaled")
        weights = g.softmax(g.mask(scaled, see, name=f"head{i}.masked"), name=f"head{i}.weights")
        outs.append(g.matmul(weights, vs[i], name=f"head{i}.out"))
    g.output(y=g.concat(*outs, name="concat") if heads > 1 else outs[0])
    return g


def _stack(g, part):
    """Two gated feed-forwards with residuals, norms before or after."""
    x = g.input("x", (N, D), ("token", "feature"))
    for i in "12":
        gains = [g.parameter(f"{name}{i}", (D,)) for name in ("gamma", "beta")]
        a = g.layernorm(x, *gains, eps="1e-05", name=f"norm{i}") if part == "pre" else x
        gate, up = (
            g.linear(a, g.parameter(f"w_{name}{i}", (V, D)), name=f"{name}{i}") for name in ("gate", "up")
        )
        hidden = g.multiply(g.silu(gate, name=f"active{i}"), up, name=f"hidden{i}")
        x = g.add(x, g.linear(hidden, g.parameter(f"w_down{i}", (D, V)), name=f"down{i}"), name=f"residual{i}")
        x = x if part == "pre" else g.layernorm(x, *gains, eps="1e-05", name=f"norm{i}")
    g.output(y=x)
    return g


def feeds(part, seed=0):
    given = random_feeds(graph(part), seed)
    if part == "loss":
        given["ids"], given["targets"] = IDS[seed % 2], IDS[1 - seed % 2]
    return given


def forward(part, given, what=None):
    import numpy as np

    f = {name: np.array(value) for name, value in given.items()}
    if part == "loss":
        return _loss(np, f, what).tolist()
    x = f["x"]
    if part == "batch":
        return _batch(np, f, x, what).tolist()
    if part in ("pre", "post"):
        return _stacked(np, f, x, part, what).tolist()
    if part == "positions":
        x = x + _positions(np, what)
    if part == "norm":
        deviation = x - x.mean(-1, keepdims=True)
        root = np.sqrt((deviation**2).mean(-1, keepdims=True) + 1e-5)
        if what == "s + 1e-6":
            root = x.std(-1, ddof=1, keepdims=True) + 1e-6
        x = deviation / root * f["gamma"] + f["beta"]
    source = f.get("memory", x)
    if what == "stream and memory exchanged":
        x, source = source, x
    q, k, v = x @ f["w_q"].T, source @ f["w_k"].T, source @ f["w_v"].T
    if part == "rope":
        q, k = _turned(np, q, what), _turned(np, k, what)
    heads = 2 if part == "heads" else 1
    width = D // heads
    row, column = np.arange(N)[:, None], np.arange(N)
    see = column <= row
    if part == "window":
        see = see & (column // WINDOW == row // WINDOW if what == "blocks" else column > row - WINDOW)
    if what == "one head, scaled as one of two":
        heads = 1
    if what == "heads and features exchanged":
        heads = width
    outs = []
    for i in range(heads):
        own = slice(i * D // heads, (i + 1) * D // heads)
        if what == "cosines":
            q, k = (np.copy(t) for t in (q, k))
            for t in (q, k):
                t[:, own] *= math.sqrt(math.sqrt(width)) / np.linalg.norm(t[:, own], axis=-1, keepdims=True)
        scores = q[:, own] @ k[:, own].T / math.sqrt(width if "scaled" in str(what) else D // heads)
        if what == "relu for exp":
            raised = np.maximum(scores, 0) * see
        else:
            raised = np.exp(np.where(see, scores, -np.inf))
        total = raised.sum(-1, keepdims=True)
        outs.append(raised / np.where(total > 0, total, 1) @ v[:, own])
    return np.hstack(outs).tolist()


def _stacked(np, f, x, part, what):
    def norm(x, i):
        deviation = x - x.mean(-1, keepdims=True)
        root = np.sqrt((deviation**2).mean(-1, keepdims=True) + 1e-5)
        return deviation / root * f[f"gamma{i}"] + f[f"beta{i}"]

    for i in "12":
        before = (part == "pre" and what != "norms at the end") or what == "norms before, not after"
        a = norm(x, i) if before else x
        gate, up = a @ f[f"w_gate{i}"].T, a @ f[f"w_up{i}"].T
        hidden = gate / (1 + np.exp(-gate)) * up
        if what == "max(x, 0)²":
            hidden = np.maximum(gate, 0) ** 2 * up
        if what == "up alone":
            hidden = up / (1 + np.exp(-up))
        branch = hidden @ f[f"w_down{i}"].T
        x = x + (norm(branch, i) if what == "norms at the end" else branch)
        x = norm(x, i) if part == "post" and not before else x
    return x


def _batch(np, f, x, what):
    axes = (0, 1) if what == "batch norm" else -1
    deviation = x - x.mean(axes, keepdims=True)
    a = deviation / np.sqrt((deviation**2).mean(axes, keepdims=True) + 1e-5) * f["gamma"]

    def cut(t):
        return t.reshape(2, 2, 3, 2) if what == "heads cut by a view" else t.reshape(2, 3, 2, 2).swapaxes(1, 2)

    q, k, v = (cut(a @ f[f"w_{name}"].T) for name in "qkv")
    raised = np.exp(q @ k.swapaxes(-1, -2) / math.sqrt(2))
    out = raised / raised.sum(-1, keepdims=True) @ v
    return (out if what == "heads merged by a view" else out.swapaxes(1, 2)).reshape(2, 3, 4)


def _positions(np, what):
    last = D - 2 if what == "timing signal" else D
    angles = np.arange(N + 1)[:, None] * 10000.0 ** (-np.arange(0, D, 2) / last)
    sin, cos = np.sin(angles), np.cos(angles)
    if what == "cosines, then sines":
        return np.hstack([cos, sin])[:N]
    if what == "timing signal":
        return np.hstack([sin, cos])[:N]
    table = np.stack([sin, cos], -1).reshape(N + 1, D)
    return table[N] if what == "row n for all" else table[:N]


def _turned(np, x, what):
    angles = np.arange(N)[:, None] * 10000.0 ** (-np.arange(0, D, 2) / D)
    cos, sin, half = np.cos(angles), np.sin(angles), D // 2
    a, b = x[:, :half], x[:, half:]
    first = a * cos - b * sin
    return np.hstack([first, (first if what == "in place" else a) * sin + b * cos])


def _loss(np, f, what):
    table, targets = f["table"], np.eye(V)[f["targets"]]
    if what == "row 0 of the table zero":
        table = np.vstack([0 * table[:1], table[1:]])
    logits = table[f["ids"]]
    p = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    logp = np.log(p + (1e-9 if what == "ln(p + 1e-9)" else 0))
    if what == "smoothed":
        logp = 0.9 * logp + 0.1 * logp.mean(-1, keepdims=True)
    return -logp * targets
