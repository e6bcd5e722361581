"""A Llama-like block in numpy, right, or wrong as people get it wrong who think in arrays. Some of the
generators came after these cases.

    block(feeds, wrong=None) -> y         numpy, which shares nothing with graphattn
    intended() -> Graph                   the same block as a graph

6 tokens, 4 heads on 2 groups, 16 features: RMSNorm, QK-norm, RoPE, causal softmax, biases, SwiGLU, a mean over
the tokens last. `square` has as many tokens as features, where a forgotten keepdims goes unnoticed.
"""

import math

from graphattn import Graph
from graphattn.builtin import random_feeds

D, F, H, GROUPS, EPS = 16, 10, 4, 2, 1e-6
D_K = D // H


def intended(n=6, pooled=False):
    g = Graph("llama")
    x = g.input("X", (n, D), ("token", "feature"))
    gammas = {name: g.parameter(name, (D,)) for name in ("gamma1", "gamma2", "b_o")}
    qk = {name: g.parameter(f"gamma_{name}", (D_K,)) for name in "qk"}
    wide = D_K * GROUPS
    w = {name: g.parameter(f"w_{name}", shape) for name, shape in {
        "q": (D, D), "k": (wide, D), "v": (wide, D), "o": (D, D), "gate": (F, D), "up": (F, D), "down": (D, F),
    }.items()}  # fmt: skip
    norm = g.rmsnorm(x, gammas["gamma1"], eps="1e-06", name="norm1")
    q, k, v = (g.linear(norm, w[part], name=part) for part in "qkv")
    qs, ks, vs = (
        g.split(q, H, name="q_heads"),
        g.split(k, GROUPS, name="k_heads"),
        g.split(v, GROUPS, name="v_heads"),
    )
    cos, sin = g.rope_angles(n, D_K, name="angles")
    see, outs = g.causal_mask(n, name="visible"), []
    turned = []
    for i, key in enumerate(ks):
        normed = g.rmsnorm(key, qk["k"], eps="1e-06", name=f"k_norm{i}")
        turned.append(g.rope(normed, cos, sin, name=f"k_turned{i}"))
    for i, query in enumerate(qs):
        group = i // (H // GROUPS)
        normed = g.rmsnorm(query, qk["q"], eps="1e-06", name=f"q_norm{i}")
        query = g.rope(normed, cos, sin, name=f"q_turned{i}")
        scaled = g.scale(
            g.matmul(query, turned[group].T, name=f"head{i}.scores"), sqrt=D_K, name=f"head{i}.scaled"
        )
        weights = g.softmax(g.mask(scaled, see, name=f"head{i}.masked"), name=f"head{i}.weights")
        outs.append(g.matmul(weights, vs[group], name=f"head{i}.out"))
    proj = g.linear(g.concat(*outs, name="concat"), w["o"], gammas["b_o"], name="proj")
    middle = g.add(x, proj, name="residual1")
    norm = g.rmsnorm(middle, gammas["gamma2"], eps="1e-06", name="norm2")
    gate = g.silu(g.linear(norm, w["gate"], name="gate"), name="active")
    hidden = g.multiply(gate, g.linear(norm, w["up"], name="up"), name="hidden")
    y = g.add(middle, g.linear(hidden, w["down"], name="down"), name="residual2")
    g.output(y=g.reduce_mean(y, axis=-2, name="pooled") if pooled else y)
    return g


def feeds(n=6, pooled=False, seed=0):
    return random_feeds(intended(n, pooled), seed)


def block(given, wrong=None, pooled=False):
    import numpy as np

    f = {name: np.array(value) for name, value in given.items()}
    x = f["X"]
    n = len(x)

    def rms(x, gamma, own=False):
        squares = x * x
        if own and wrong == "norm without keepdims":
            return (
                (x.T / np.sqrt(squares.mean(-1) + EPS)[:, None]).T * gamma
                if n != D
                else (x / np.sqrt(squares.mean(-1) + EPS) * gamma)
            )
        if own and wrong == "norm over all tokens":
            return x / np.sqrt(squares.mean() + EPS) * gamma
        if own and wrong == "norm by length":
            return x / (np.linalg.norm(x, axis=-1, keepdims=True) + EPS) * gamma
        if own and wrong == "norm by largest":
            return x / (np.abs(x).max(-1, keepdims=True) + EPS) * gamma
        if own and wrong == "gamma inside":
            x = x * gamma
            return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPS)
        return x / np.sqrt(squares.mean(-1, keepdims=True) + EPS) * gamma

    def rope(x, first=0, half=None):
        d = x.shape[-1]
        at = np.arange(first, first + n)[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
        if wrong == "rope by head":
            at = np.full((n, 1), 1.0 * (half or 0)) * 10000.0 ** (-np.arange(0, d, 2) / d)
        if wrong == "rope angles cast":
            at = np.floor(at)
        cos, sin = np.cos(at), np.sin(at)
        a, b = x[:, : d // 2], x[:, d // 2 :]
        if wrong == "rope pairs, angles in halves":
            out = np.empty_like(x)
            cos, sin = np.hstack([cos, cos]), np.hstack([sin, sin])
            out[:, 0::2] = x[:, 0::2] * cos[:, 0::2] - x[:, 1::2] * sin[:, 0::2]
            out[:, 1::2] = x[:, 1::2] * cos[:, 1::2] + x[:, 0::2] * sin[:, 1::2]
            return out
        return np.hstack([a * cos - b * sin, b * cos + a * sin])

    def silu(x):
        return x / (1 + np.exp(-x))

    norm = rms(x, f["gamma1"], True)
    q, k, v = norm @ f["w_q"].T, norm @ f["w_k"].T, norm @ f["w_v"].T
    if wrong == "rope before the split":
        q, k = rope(q), rope(k)
    if wrong == "qk-norm before the split":
        q, k = rms(q, np.tile(f["gamma_q"], H)), rms(k, np.tile(f["gamma_k"], GROUPS))
    outs, all_logits = [], []
    for i in range(H):
        group = i // (H // GROUPS)
        qi, ki, vi = q[:, i * D_K :][:, :D_K], k[:, group * D_K :][:, :D_K], v[:, group * D_K :][:, :D_K]
        turn = wrong != "rope before the split"
        if wrong == "rope before qk-norm":
            qi, ki = rms(rope(qi), f["gamma_q"]), rms(rope(ki), f["gamma_k"])
        else:
            if wrong != "qk-norm before the split":
                qi, ki = rms(qi, f["gamma_q"]), rms(ki, f["gamma_q" if wrong == "one qk gamma" else "gamma_k"])
            if wrong == "v normed too":
                vi = rms(vi, f["gamma_k"])
            if turn:
                qi, ki = rope(qi, half=i), rope(ki, 1 if wrong == "keys from 1" else 0, half=group)
        logits = qi @ (ki.reshape(D_K, n) if wrong == "reshape for transpose" else ki.T)
        logits = logits / (D_K if wrong == "scaled on both sides" else math.sqrt(D_K))
        if wrong == "euclidean":
            logits = -((qi[:, None] - ki[None]) ** 2).sum(-1) / math.sqrt(D_K)
        see = np.tril(np.ones((n, n)), {"strict": -1, "one ahead": 1}.get(wrong, 0)) > 0
        all_logits.append(np.where(see, logits, -1e30 if wrong == "strict" else -np.inf))
    for i, logits in enumerate(all_logits):
        e = np.exp(logits - logits.max(-1, keepdims=True))
        w = e / e.sum(-1, keepdims=True)
        if wrong == "softmax without keepdims":
            w = e / e.sum(-1)
        if wrong == "softmax over all":
            e = np.exp(logits - logits.max())
            w = e / e.sum()
        if wrong == "softmax over all heads":
            whole = np.exp(np.array(all_logits))
            w = whole[i] / whole.sum((0, 2))[:, None]
        if wrong == "dropout's scale":
            w = w / 0.9
        group = i // (H // GROUPS)
        vi = v[:, group * D_K :][:, :D_K]
        if wrong == "v normed too":
            vi = rms(vi, f["gamma_k"])
        outs.append(w @ vi)
    if wrong == "view without transpose":
        concat = np.array(outs).reshape(n, D)
    else:
        concat = np.hstack(outs)
    proj = concat @ f["w_o"].T + f["b_o"]
    if wrong == "bias once per head":
        proj = proj + (H - 1) * f["b_o"]
    if wrong == "one block of the projection":
        proj = sum(out @ f["w_o"][:, :D_K].T for out in outs) + f["b_o"]
    if wrong == "heads averaged":
        proj = np.tile(sum(outs) / H, H) @ f["w_o"].T + f["b_o"]
    middle = x + proj
    if wrong == "residual of the norm":
        middle = norm + proj
    norm2 = rms(middle, f["gamma2"], True)
    if wrong == "cached rms":
        norm2 = middle / np.sqrt((x * x).mean(-1, keepdims=True) + EPS) * f["gamma2"]
    gate, up = norm2 @ f["w_gate"].T, norm2 @ f["w_up"].T
    if wrong == "gate from the stream":
        gate = middle @ f["w_gate"].T
    if wrong == "one weight for both":
        up = gate
    hidden = silu(gate) * up
    if wrong == "no up":
        hidden = silu(gate)
    if wrong == "sigmoid and silu":
        hidden = 1 / (1 + np.exp(-silu(gate))) * up
    if wrong == "glu, not swiglu":
        hidden = up / (1 + np.exp(-gate))
    y = middle + hidden @ f["w_down"].T
    if wrong == "both residuals from x":
        y = x + proj + x + hidden @ f["w_down"].T
    if wrong == "second residual scaled":
        y = middle + hidden @ f["w_down"].T / math.sqrt(2)
    if not pooled:
        return y.tolist()
    if wrong == "pooled over features":
        return y.mean(-1).tolist()
    if wrong == "last token":
        return y[-1].tolist()
    if wrong == "pooled before the residual":
        return (middle.mean(-2) + (hidden @ f["w_down"].T)[-1]).tolist()
    return y.mean(-2).tolist()


PLAIN = (
    "norm over all tokens", "norm by length", "norm by largest", "gamma inside", "rope angles cast",
    "rope by head", "rope pairs, angles in halves", "rope before the split", "qk-norm before the split",
    "rope before qk-norm", "one qk gamma", "v normed too", "keys from 1", "reshape for transpose",
    "scaled on both sides", "euclidean", "strict", "one ahead", "softmax without keepdims", "softmax over all",
    "softmax over all heads", "dropout's scale", "view without transpose", "bias once per head",
    "one block of the projection", "heads averaged", "residual of the norm", "cached rms",
    "gate from the stream", "one weight for both", "no up", "sigmoid and silu", "glu, not swiglu",
    "both residuals from x", "second residual scaled",
)  # fmt: skip
CASES = {
    **{wrong: {} for wrong in PLAIN},
    "norm without keepdims": {"n": D},
    "pooled over features": {"n": D, "pooled": True},
    "last token": {"pooled": True},
    "pooled before the residual": {"pooled": True},
}
"""{what: what the block is built with}."""
