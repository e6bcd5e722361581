"""Small models in numpy as porters write them, right, or with one mistake of a porter.

    forward(base, feeds, wrong=None) -> y      numpy, which shares nothing with graphattn
    intended(base) -> Graph                    the same model as a graph

The bases are what a folder of weights gives: a GPT-2 with padding, an OPT whose positions count from 2, a
BERT, a Llama with grouped heads, one with scaled angles, a Gemma with everything that Gemmas have, an
encoder-decoder, a step of decoding with keys and values of earlier tokens, and ALiBi.
"""

import math
from random import Random

from graphattn import Graph
from graphattn.builtin import random_feeds

EPS = 1e-05
LLAMA = {"n": 5, "d": 16, "heads": 4, "groups": 2, "rope": [10000]}
BASES = {
    "gpt2": {
        "n": 5, "d": 8, "heads": 2, "batch": 2, "lengths": [4, 3], "table": 9, "tied": True, "act": "gelu_tanh",
    },
    "opt": {"n": 4, "d": 8, "heads": 2, "table": 9, "start": 2, "tied": True, "act": "relu"},
    "bert": {
        "n": 5, "d": 8, "heads": 2, "lengths": 3, "table": 9, "act": "gelu", "post": True, "causal": False,
    },
    "llama": {**LLAMA, "rms": True, "act": "silu"},
    "scaled": {**LLAMA, "rms": True, "act": "silu", "slow": 4},
    "gemma": {
        **LLAMA, "d": 24, "rope": [10000, 100], "pairs": 2, "rms": True, "act": "gelu_tanh", "gated": True,
        "tied": True, "qk": True, "cap": 2.0, "window": 3, "sink": True, "times": True,
    },
    "past": {**LLAMA, "n": 2, "past": 3, "only": "attention"},
    "past1": {**LLAMA, "n": 1, "past": 3, "only": "attention"},
    "alibi": {"n": 4, "d": 8, "heads": 4, "alibi": True, "only": "attention"},
    "encdec": {"n": 4, "d": 8, "heads": 2, "batch": 2, "memory": 5, "lengths": [2, 4], "others": [4, 3]},
}  # fmt: skip
V, F = 7, 6
OF_BATCH = ("ids", "lengths", "x", "memory", "source_lengths", "target_lengths")
PARAMETERS = ("w_q", "w_k", "w_v", "w_o", "b_q", "b_k", "b_v", "b_o", "gamma_q", "gamma_k", "sink")


def options(base):
    o = {
        "batch": None, "lengths": None, "others": None, "table": 0, "start": 0, "tied": False, "act": "relu",
        "post": False, "causal": True, "groups": None, "rope": (), "pairs": None, "rms": False, "gated": False,
        "qk": False, "cap": None, "window": None, "sink": False, "times": False, "past": 0, "only": "",
        "alibi": False, "memory": 0, "slow": 1, **BASES[base],
    }  # fmt: skip
    o["gated"] = o["gated"] or o["act"] == "silu"
    o["kv"] = o["groups"] or o["heads"]
    return o


def angles(n, pairs, base, slow):
    """cos and sin for positions that are a part of the token's number, as a scaling for long texts has them."""
    rates = [base ** (-i / pairs) / slow for i in range(pairs)]
    return [tuple(tuple(f(p * r) for r in rates) for p in range(n)) for f in (math.cos, math.sin)]


# ---------------------------------------------------------------- the graphs


def intended(base):
    o, g = options(base), Graph(base)
    n, d, d_k = o["n"], o["d"], o["d"] // o["heads"]
    lead = () if o["batch"] is None else (o["batch"],)

    def parameters(prefix, **shapes):
        return {name: g.parameter(f"{prefix}{name}", shape) for name, shape in shapes.items()}

    wide = d_k * o["kv"]
    attention = {"w_q": (d, d), "w_k": (wide, d), "w_v": (wide, d), "w_o": (d, d)}
    if not o["rms"]:
        attention |= {"b_q": (d,), "b_k": (wide,), "b_v": (wide,), "b_o": (d,)}
    if o["qk"]:
        attention |= {"gamma_q": (d_k,), "gamma_k": (d_k,)}
    if o["sink"]:
        attention["sink"] = (o["heads"],)
    heads = {"heads": o["heads"], "kv_heads": o["groups"]}
    if o["only"]:
        x = g.input("x", (n, d), ("token", "feature"))
        given = parameters("", **attention)
        if o["past"]:
            given |= {name: g.input(name, (o["past"], wide)) for name in ("past_k", "past_v")}
            heads |= {"rotary": 10000}
        if o["alibi"]:
            bias = g.alibi_bias(o["heads"], n, name="alibi")
            given |= {"bias": bias}
            heads |= {"masks_by_head": True}
        g.output(y=g.multi_head(x, x, x, causal=True, offset=o["past"], **heads, **given, name="attention"))
        return g
    norms = {f"{w}_{i}": (d,) for w in ("gamma", "beta")[: 2 - o["rms"]] for i in (1, 2)}
    feed = {"w_in": (F, d), "w_out": (d, F)}
    feed |= {"w_gate": (F, d)} if o["gated"] else {"b_in": (F,), "b_out": (d,)}
    if base == "encdec":
        x, memory = g.input("x", (*lead, n, d)), g.input("memory", (*lead, o["memory"], d))
        given = parameters("", **attention, **{f"{name}2": s for name, s in attention.items()}, **norms,
                           gamma_3=(d,), beta_3=(d,), **feed)  # fmt: skip
        masks = {}
        for name, called, keys in (
            ("mask", "target_lengths", n),
            ("memory_mask", "source_lengths", o["memory"]),
        ):
            lengths = g.input(called, lead, kind="int")
            see = g.padding_mask(lengths, keys, name=f"{called}_visible")
            masks[name] = g.reshape(see, (*lead, 1, keys), name=f"{called}_by_row")
        g.output(y=g.decoder_layer(x, memory, **masks, **given, **heads, activation="relu", name="layer"))
        return g
    ids = g.input("ids", (*lead, n), (*(None for _ in lead), "token"), kind="int")
    table = g.parameter("token_table", (V, d), ("vocabulary", "feature"))
    x = g.embedding(table, ids, name="token_embedding")
    if o["times"]:
        x = g.scale(x, multiply=math.sqrt(d), name="scaled_embedding")
    if o["table"]:
        rows = g.parameter("position_table", (o["table"], d), ("position", "feature"))
        if base == "bert":
            places = g.slice(rows, f"0:{n}", name="position_embedding")
            types = g.parameter("type_table", (2, d))
            kind = g.embedding(types, g.constant((0,) * n, name="types"), name="type_embedding")
            x = g.add(g.add(x, places, name="with_positions"), kind, name="embedded")
            x = g.layernorm(x, **parameters("embedded_", gamma=(d,), beta=(d,)), eps="1e-05", name="x")
        else:
            at = g.constant(tuple(range(o["start"], o["start"] + n)), name="positions")
            x = g.add(x, g.embedding(rows, at, name="position_embedding"), name="x")
    mask = None
    if o["lengths"] is not None:
        lengths = g.input("lengths", lead, kind="int")
        see = g.padding_mask(lengths, n, name="real")
        mask = g.reshape(see, (*lead, 1, n), name="real_keys")
    for i, theta in enumerate(o["rope"] or (None,)):
        more = {}
        if base == "llama":
            more = dict(zip(("cos", "sin"), g.rope_angles(n, d_k, base=theta, name="angles"), strict=True))
        elif base == "scaled":
            tables = zip(("cos", "sin"), angles(n, d_k // 2, theta, o["slow"]), strict=True)
            more = {name: g.constant(table, name=name) for name, table in tables}
        elif theta:
            more = {"rotary": theta, "rotary_pairs": o["pairs"], "softcap": o["cap"]}
            more |= {"window": (o["window"] - 1, 0) if i == 0 else None}
        given = parameters(f"layer{i}_", **attention, **norms, **feed)
        x = g.encoder_layer(
            x, mask=mask, norm="rmsnorm" if o["rms"] else "layernorm", activation=o["act"], causal=o["causal"],
            norm_first=not o["post"], eps="1e-05", **heads, **more, **given, name=f"layer{i}",
        )  # fmt: skip
    if o["post"]:
        g.output(y=x)
        return g
    last = parameters("norm_", gamma=(d,), **({} if o["rms"] else {"beta": (d,)}))
    x = g.apply("rmsnorm" if o["rms"] else "layernorm", x, *last.values(), eps="1e-05", name="norm")
    head = table if o["tied"] else g.parameter("head", (V, d))
    g.output(y=g.linear(x, head, name="logits"))
    return g


def feeds(base, seed=0):
    o, given, random = options(base), random_feeds(intended(base), seed), Random(seed)
    lead = () if o["batch"] is None else (o["batch"],)
    if "ids" in given:
        ids = [[random.randrange(V) for _ in range(o["n"])] for _ in range(o["batch"] or 1)]
        given["ids"] = ids if lead else ids[0]
    for name, what in (("lengths", "lengths"), ("target_lengths", "lengths"), ("source_lengths", "others")):
        if name in given:
            given[name] = o[what]
    return given


# ---------------------------------------------------------------- by hand


def forward(base, given, wrong=None):
    import numpy as np

    o = options(base)
    f = {name: np.array(value) for name, value in given.items()}
    if o["batch"] is None:
        return Model(np, o, f, wrong).run(base).tolist()
    found = []
    for b in range(o["batch"]):
        own = {name: v[b] if name in OF_BATCH else v for name, v in f.items()}
        found.append(Model(np, o, own, wrong).run(base).tolist())
    return found


class Model:
    def __init__(self, np, o, f, wrong):
        self.np, self.o, self.f, self.wrong = np, o, f, wrong
        self.n, self.d, self.h, self.g = o["n"], o["d"], o["heads"], o["kv"]
        self.d_k = self.d // self.h

    def norm(self, x, gamma, beta=None, what=""):
        np, wrong = self.np, self.wrong
        if self.o["rms"]:
            mean = (x * x).mean(-1, keepdims=True)
            if wrong == "rms eps outside":
                return x / (np.sqrt(mean) + EPS) * gamma
            if wrong == "rms gamma plus one":
                gamma = 1 + gamma
            if wrong == "rms with mean taken away":
                x = x - x.mean(-1, keepdims=True)
                mean = (x * x).mean(-1, keepdims=True)
            if wrong == "rms sum":
                mean = (x * x).sum(-1, keepdims=True)
            return x / np.sqrt(mean + EPS) * gamma
        mean = x.mean(-1, keepdims=True)
        return (x - mean) / np.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + EPS) * gamma + beta

    def act(self, x):
        np, kind = self.np, self.o["act"]
        kind = {
            "gelu by sigmoid": "quick", "gelu exact": "gelu", "gelu by tanh": "gelu_tanh",
            "silu for gelu": "silu", "gelu for silu": "gelu", "relu squared": "squared",
        }.get(self.wrong, kind)  # fmt: skip
        if kind == "relu":
            return np.maximum(x, 0)
        if kind == "squared":
            return np.maximum(x, 0) ** 2
        if kind == "silu":
            return x / (1 + np.exp(-x))
        if kind == "quick":
            return x / (1 + np.exp(-1.702 * x))
        if kind == "gelu":
            return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))

    def turn(self, x, theta, first=0, name="q"):
        """x (n, features of one head)."""
        np, wrong = self.np, self.wrong
        first += {
            "k one place later": name == "k", "q one place later": name == "q",
            "k one place earlier": -(name == "k"),
        }.get(wrong, 0)  # fmt: skip
        if wrong == "decoding at position 0" or (wrong == "k at position 0" and name == "k"):
            first = 0
        turning = 2 * self.o["pairs"] if self.o["pairs"] else x.shape[1]
        if wrong == "all features turned":
            turning = x.shape[1]
        half = turning // 2
        theta = {"base 1e6": 1e6, "base 500000": 5e5}.get(wrong, theta)
        rates = theta ** (-np.arange(half) / half)
        if wrong == "rates by head width":
            rates = theta ** (-2 * np.arange(half) / x.shape[1])
        if wrong == "rates in bfloat16":
            rates = bfloat16(np, rates)
        at = np.arange(first, first + len(x))[:, None] / self.o["slow"] * rates
        if wrong == "angles in bfloat16":
            at = bfloat16(np, at)
        cos, sin = np.cos(at), np.sin(at)
        if wrong == "tables in float16":
            cos, sin = (t.astype(np.float16).astype(float) for t in (cos, sin))
        if wrong == "tables in bfloat16":
            cos, sin = bfloat16(np, cos), bfloat16(np, sin)
        if wrong == "cos and sin exchanged":
            cos, sin = sin, cos
        if wrong == "turned the other way":
            sin = -sin
        rest = x[:, turning:]
        if wrong == "last features turned":
            rest, x = x[:, :-turning], x[:, -turning:]
        if wrong == "interleaved":
            a, b = x[:, 0:turning:2], x[:, 1:turning:2]
            pairs = np.stack([a * cos - b * sin, b * cos + a * sin], -1).reshape(len(x), -1)
        else:
            a, b = x[:, :half], x[:, half:turning]
            pairs = np.hstack([a * cos - b * sin, b * cos + a * sin])
        return np.hstack([rest, pairs] if wrong == "last features turned" else [pairs, rest])

    def attention(self, x, source, prefix, suffix="", see=None, theta=None, window=None):
        """One multi-head attention; `see` (n_k) says which keys are real."""
        np, f, o, wrong = self.np, self.f, self.o, self.wrong
        p = {name: f.get(f"{prefix}{name}{suffix}") for name in PARAMETERS}

        def project(t, part):
            b = p[f"b_{part}"]
            return t @ p[f"w_{part}"].T + (0 if b is None else b)

        real = None if see is None else see[:, None].astype(float)
        if wrong == "padded rows zeroed before" and not suffix and real is not None:
            x = x * real
            source = source * real
        q, k, v = project(x, "q"), project(source, "k"), project(source, "v")
        if wrong == "padded values zeroed, all keys seen" and real is not None:
            v = v * real
        past = o["past"]
        cut = lambda t, count: [t[:, i * self.d_k : (i + 1) * self.d_k] for i in range(count)]  # noqa: E731
        qs, ks, vs = cut(q, self.h), cut(k, self.g), cut(v, self.g)
        if wrong == "kv interleaved columns":
            ks, vs = ([t[:, i :: self.g] for i in range(self.g)] for t in (k, v))
        if p["gamma_q"] is not None:
            normed = lambda t, w: self.norm(t, p[f"gamma_{w}"])  # noqa: E731
            if wrong == "qk-norm after rope":
                qs = [normed(self.turn(t, theta, past), "q") for t in qs]
                ks = [normed(self.turn(t, theta, past, "k"), "k") for t in ks]
            elif wrong == "no q-norm":
                ks = [normed(t, "k") for t in ks]
            elif wrong == "qk-norm without gain":
                one = np.ones(self.d_k)
                qs, ks = [self.norm(t, one) for t in qs], [self.norm(t, one) for t in ks]
            elif wrong != "no qk-norm":
                qs, ks = [normed(t, "q") for t in qs], [normed(t, "k") for t in ks]
            if wrong == "v normed too":
                vs = [normed(t, "k") for t in vs]
        if theta and not (wrong == "qk-norm after rope" or wrong == "no rope"):
            qs = [self.turn(t, theta, past) for t in qs]
            ks = [self.turn(t, theta, past, "k") for t in ks]
            if wrong == "v turned too":
                vs = [self.turn(t, theta, past, "v") for t in vs]
        past_ks = past_vs = None
        if past:
            pk, pv = f["past_k"], f["past_v"]
            if wrong == "cache parts exchanged":
                pk, pv = pv, pk
            if wrong == "cache keys turned again":
                pk = np.hstack([self.turn(t, theta, 0, "k") for t in cut(pk, self.g)])
            if wrong == "cached keys in reverse":
                pk = pk[::-1]
            if wrong == "cached values rolled":
                pv = np.roll(pv, 1, 0)
            if wrong == "first cached dropped":
                pk, pv = pk[1:], pv[1:]
            if wrong == "last cached dropped":
                pk, pv = pk[:-1], pv[:-1]
            if wrong == "cache dropped":
                pk, pv = pk[:0], pv[:0]
            if wrong == "cached keys stale":
                pk = np.vstack([pk[:-1], pk[-2:-1]])
            past_ks, past_vs = cut(pk, self.g), cut(pv, self.g)
            join = lambda a, b: [np.vstack(pair) for pair in zip(a, b, strict=True)]  # noqa: E731
            if wrong == "cache after the new":
                ks, vs = join(ks, past_ks), join(vs, past_vs)
            elif wrong == "cache twice":
                ks, vs = join(join(past_ks, past_ks), ks), join(join(past_vs, past_vs), vs)
            elif wrong == "new twice":
                ks, vs = join(join(past_ks, ks), ks), join(join(past_vs, vs), vs)
            elif wrong == "one slot early":
                ks, vs = ([np.vstack([a[:-1], b, 0 * b[:1]]) for a, b in zip(c, t, strict=True)]
                          for c, t in ((past_ks, ks), (past_vs, vs)))  # fmt: skip
            elif wrong == "one slot late":
                ks, vs = ([np.vstack([a, 0 * b[:1], b[:-1]]) for a, b in zip(c, t, strict=True)]
                          for c, t in ((past_ks, ks), (past_vs, vs)))  # fmt: skip
            elif wrong == "one slot early, keys alone":
                ks = [np.vstack([a[:-1], b, 0 * b[:1]]) for a, b in zip(past_ks, ks, strict=True)]
                vs = join(past_vs, vs)
            elif wrong == "not written":
                ks, vs = ([np.vstack([a, 0 * b]) for a, b in zip(c, t, strict=True)]
                          for c, t in ((past_ks, ks), (past_vs, vs)))  # fmt: skip
            elif wrong == "values not cached":
                ks, vs = join(past_ks, ks), [np.vstack([0 * a, b]) for a, b in zip(past_vs, vs, strict=True)]
            else:
                ks, vs = join(past_ks, ks), join(past_vs, vs)
        which = [i // (self.h // self.g) for i in range(self.h)]
        if wrong == "heads tiled":
            which = [i % self.g for i in range(self.h)]
        kinds = {"k": which, "v": which}
        if wrong in ("keys tiled alone", "values tiled alone"):
            kinds[wrong[0]] = [i % self.g for i in range(self.h)]
        if wrong == "first group for all":
            kinds = {"k": [0] * self.h, "v": [0] * self.h}
        outs = []
        for i in range(self.h):
            key, value = ks[kinds["k"][i]], vs[kinds["v"][i]]
            outs.append(self.head(i, qs[i], key, value, see, window, p["sink"], suffix))
        if wrong == "queries dealt by group":  # heads are g, r and not r, g
            r = self.h // self.g
            outs = [outs[(i % r) * self.g + i // r] for i in range(self.h)]
        y = np.hstack(outs) @ p["w_o"].T + (0 if p["b_o"] is None else p["b_o"])
        if wrong == "padded rows zeroed after" and not suffix and real is not None:
            y = y * real
        return y

    def head(self, i, q, k, v, see, window, sink, suffix):
        np, o, wrong = self.np, self.o, self.wrong
        n, m = len(q), len(k)
        scores = q @ k.T
        divisor = math.sqrt(self.d_k)
        if wrong == "softcap before the scale":
            scores = o["cap"] * np.tanh(scores / o["cap"]) / divisor
        else:
            scores = scores / divisor
            if o["cap"] and wrong != "no softcap":
                scores = o["cap"] * np.tanh(scores / o["cap"])
        if o["alibi"]:
            slopes = [2.0 ** (-8 * (j + 1) / self.h) for j in range(self.h)]
            if wrong == "slopes in reverse":
                slopes.reverse()
            if wrong == "slopes from 1":
                slopes = [2.0 ** (-8 * j / self.h) for j in range(self.h)]
            if wrong == "one slope for all":
                slopes = [slopes[0]] * self.h
            distance = np.abs(np.arange(n)[:, None] - np.arange(m))
            if wrong == "alibi squared":
                distance = distance**2
            sign = 1 if wrong == "alibi sign" else -1
            bias = sign * slopes[i] * distance
            if wrong == "alibi before the scale":
                bias = bias / divisor
            scores = scores + bias
        hidden = np.zeros((n, m), bool)
        if o["causal"] and not suffix:
            first = o["past"] if wrong not in ("mask without offset",) else 0
            if wrong in ("first cached dropped", "last cached dropped", "one slot early, length too"):
                first -= 1
            if wrong == "cache dropped":
                first = 0
            if wrong == "cache twice":
                first *= 2
            at = np.arange(n)[:, None] + first
            hidden |= np.arange(m) > at
            if wrong == "new twice":
                hidden = np.zeros((n, m), bool)
                hidden[:, o["past"] :][:, :n] = np.arange(n) > np.arange(n)[:, None]
                hidden[:, o["past"] + n :] = np.arange(n) > np.arange(n)[:, None]
            if wrong == "strict":
                hidden |= np.arange(m) >= at
                hidden[0] = np.arange(m) > at[0]
            if window and wrong != "no window":
                w = window + {"window one wider": 1, "window one narrower": -1}.get(wrong, 0)
                hidden |= np.arange(m) <= at - w
                if wrong == "window ahead":
                    hidden = (np.arange(m) < at) | (np.arange(m) >= at + w)
                if wrong == "window both sides":
                    hidden = abs(np.arange(m) - at) >= w
        if see is not None and wrong not in ("padding not masked", "padded values zeroed, all keys seen"):
            if wrong == "padding inverted":
                hidden |= see
            elif wrong == "padding of queries":
                hidden |= ~see[:, None] if n == m else ~see
            elif wrong == "padding on both":
                hidden |= ~see | (~see[:, None] if n == m else False)
            elif wrong == "padding on the left":
                hidden |= ~see[::-1]
            elif wrong == "padding multiplied":
                scores = scores * see
            elif wrong == "padding as a number added":
                scores = scores + see
            elif wrong == "padding by 1 - mask":
                scores = scores - (1.0 - see)
            elif wrong == "one padded key seen":
                hidden |= ~np.append(True, see[:-1])
            else:
                hidden |= ~see
        scores = np.where(hidden, -np.inf, scores)
        top = scores.max(-1, keepdims=True)
        top = np.where(np.isfinite(top), top, 0)
        e = np.exp(scores - top)
        total = e.sum(-1, keepdims=True)
        if sink is not None and wrong != "sink forgotten":
            total = total + np.exp((0 if wrong == "sink of 0" else sink[i]) - top)
            if wrong == "sink not dropped":
                v = np.vstack([v, v[:1]])
                e = np.hstack([e, np.exp(sink[i] - top)])
        return e / np.where(total > 0, total, 1) @ v

    def feed(self, x, prefix):
        f, wrong = self.f, self.wrong
        w_in, w_out = f[f"{prefix}w_in"], f[f"{prefix}w_out"]
        if self.o["gated"]:
            gate, up = x @ f[f"{prefix}w_gate"].T, x @ w_in.T
            if wrong == "gate and up exchanged":
                gate, up = up, gate
            if wrong == "activation on both":
                up = self.act(up)
            if wrong == "gate added":
                return (self.act(gate) + up) @ w_out.T
            if wrong == "activation after the product":
                return self.act(gate * up) @ w_out.T
            return (self.act(gate) * up) @ w_out.T
        return self.act(x @ w_in.T + f[f"{prefix}b_in"]) @ w_out.T + f[f"{prefix}b_out"]

    def run(self, base):
        np, o, f, wrong = self.np, self.o, self.f, self.wrong
        if o["only"]:
            return self.attention(f["x"], f["x"], "", theta=(o["rope"] or [None])[0])
        if base == "encdec":
            return self.decoder()
        table = f["token_table"]
        x = table[f["ids"]]
        if o["times"] and wrong != "embedding not scaled":
            x = x * math.sqrt(self.d)
        if wrong == "embedding scaled":
            x = x * math.sqrt(self.d)
        if wrong == "scaled by d":
            x = x * math.sqrt(self.d)
        if o["table"]:
            x = x + f["position_table"][self.places()]
        if base == "bert":
            x = x + f["type_table"][1 if wrong == "second type" else 0]
            x = self.norm(x, f["embedded_gamma"], f["embedded_beta"])
        if wrong == "embedding scaled with positions":
            x = x * math.sqrt(self.d)
        see = None
        if o["lengths"] is not None:
            see = np.arange(self.n) < f["lengths"]
        if wrong == "padded rows of the embedding zeroed":
            x = x * see[:, None]
        for i, theta in enumerate(o["rope"] or (None,)):
            own = f"layer{i}_"
            if wrong == "one base for both":
                theta = o["rope"][0]
            if wrong == "bases exchanged":
                theta = o["rope"][1 - i]
            window = o["window"] if (i == 0) != (wrong == "windows exchanged") else None
            if wrong == "window in every layer":
                window = o["window"]
            gains = [(f[f"{own}gamma_{j}"], f.get(f"{own}beta_{j}")) for j in (1, 2)]
            if wrong == "gains of the other layer":
                gains = [(f[f"layer{1 - i}_gamma_{j}"], None) for j in (1, 2)]
            if o["post"]:
                y = self.norm(x + self.attention(x, x, own, see=see), *gains[0])
                x = self.norm(y + self.feed(y, own), *gains[1])
                continue
            a = self.norm(x, *gains[0])
            y = x + self.attention(a, a, own, see=see, theta=theta, window=window)
            b = self.norm(x if wrong == "second norm of the first stream" else y, *gains[1])
            if wrong == "gains exchanged":
                a = self.norm(x, *gains[1])
                y = x + self.attention(a, a, own, see=see, theta=theta, window=window)
                b = self.norm(y, *gains[0])
            x = y + self.feed(b, own)
            if wrong == "residual of the second norm":
                x = b + self.feed(b, own)
            if wrong == "parallel":
                x = y + self.feed(a, own)
            if wrong == "padded rows zeroed in the stream":
                x = x * see[:, None]
        if o["post"]:
            return x * see[:, None] if wrong == "padded rows of the output zeroed" else x
        final = self.norm(x, f["norm_gamma"], f.get("norm_beta"))
        if wrong == "logits of the stream":
            final = x
        if wrong == "final norm of the middle":
            final = self.norm(y, f["norm_gamma"], f.get("norm_beta"))
        if wrong == "final norm twice":
            final = self.norm(final, f["norm_gamma"], f.get("norm_beta"))
        head = table if o["tied"] else f["head"]
        if wrong == "tied table scaled":
            head = head * math.sqrt(self.d)
        if wrong == "logits scaled down":
            head = head / math.sqrt(self.d)
        return final @ head.T

    def places(self):
        np, o, wrong = self.np, self.o, self.wrong
        at = np.arange(self.n) + o["start"]
        if wrong == "positions from 1":
            at = at + 1
        if wrong == "positions from 2":
            at = at + 2
        if wrong == "positions from 0, the offset forgotten":
            at = at - o["start"]
        if wrong == "positions one too early":
            at = at - 1
        if wrong == "position 0 for all":
            at = at * 0 + o["start"]
        if wrong == "positions in reverse":
            at = at[::-1]
        if wrong == "positions from the right":  # padded on the left: positions count from the real tokens
            at = np.maximum(at - (self.n - o["start"]) + 2, 0)
        if wrong == "positions held at the length":
            at = np.minimum(at, f_len(self.f) - 1)
        return at

    def decoder(self):
        np, f, wrong = self.np, self.f, self.wrong
        x, memory = f["x"], f["memory"]
        target, source = (np.arange(m) < f[f"{name}_lengths"] for m, name in
                          ((len(x), "target"), (len(memory), "source")))  # fmt: skip
        if wrong == "lengths of the target over the source":
            source = np.arange(len(memory)) < f["target_lengths"]
        if wrong == "lengths of the source over the target":
            target = np.arange(len(x)) < f["source_lengths"]
        if wrong == "lengths exchanged":
            source = np.arange(len(memory)) < f["target_lengths"]
            target = np.arange(len(x)) < f["source_lengths"]
        if wrong == "memory not masked":
            source[:] = True
        norm = lambda t, j: self.norm(t, f[f"gamma_{j}"], f[f"beta_{j}"])  # noqa: E731
        a = norm(x, 1)
        y = x + self.attention(a, a, "", see=target)
        b = norm(y, 2)
        m = norm(memory, 2) if wrong == "memory normed" else memory
        if wrong == "memory zeroed where padded, not masked":
            m, source = m * source[:, None], np.ones(len(m), bool)
        query, keys = (b, m)
        if wrong == "attention to itself again":
            z = y + self.attention(b, b, "", "2", see=target)
        elif wrong == "query of the first stream":
            z = y + self.attention(norm(x, 2), keys, "", "2", see=source)
        elif wrong == "weights of self-attention":
            z = y + self.attention_with(query, keys, source)
        elif wrong == "no norm before memory":
            z = y + self.attention(y, keys, "", "2", see=source)
        elif wrong == "memory residual from x":
            z = x + self.attention(query, keys, "", "2", see=source)
        else:
            z = y + self.attention(query, keys, "", "2", see=source)
        if wrong == "cross before self":
            z = x + self.attention(norm(x, 2), m, "", "2", see=source)
            c = norm(z, 1)
            z = z + self.attention(c, c, "", see=target)
        return z + self.feed(norm(z, 3), "")

    def attention_with(self, query, keys, source):
        saved = self.f
        self.f = {**saved, **{f"{name}2": saved[name] for name in
                              ("w_q", "w_k", "w_v", "w_o", "b_q", "b_k", "b_v", "b_o")}}  # fmt: skip
        y = self.attention(query, keys, "", "2", see=source)
        self.f = saved
        return y


def f_len(f):
    return int(f["lengths"])


def bfloat16(np, x):
    bits = x.astype(np.float32).view(np.uint32)
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return bits.astype(np.uint32).view(np.float32).astype(float)


def cases(**by_base):
    """[(base, what)] of lists by base."""
    return [(base, what) for base, listed in by_base.items() for what in listed.split("; ")]


CASES = cases(
    gpt2=(
        "positions from 1; positions from 2; position 0 for all; positions in reverse; positions held at "
        "the length; embedding scaled; embedding scaled with positions; tied table scaled; logits scaled "
        "down; padding inverted; padding not masked; padding on the left; padding of queries; padding on "
        "both; padding multiplied; padding as a number added; padding by 1 - mask; one padded key seen; "
        "padded rows of the embedding zeroed; padded rows zeroed before; padded rows zeroed after; padded "
        "rows zeroed in the stream; padded values zeroed, all keys seen; gelu by sigmoid; gelu exact; silu "
        "for gelu; logits of the stream; final norm of the middle; second norm of the first stream; strict; "
        "gains exchanged; residual of the second norm; parallel"
    ),
    opt=(
        "positions from 0, the offset forgotten; positions one too early; positions from 1; relu squared; "
        "embedding scaled; final norm twice"
    ),
    bert=(
        "positions from 1; positions from 2; second type; padding inverted; padded rows zeroed before; "
        "padded rows zeroed after; padded rows of the output zeroed; padded values zeroed, all keys seen; "
        "gelu by sigmoid; gelu by tanh; padded rows of the embedding zeroed"
    ),
    llama=(
        "k one place later; q one place later; k one place earlier; heads tiled; keys tiled alone; values "
        "tiled alone; v turned too; tables in float16; tables in bfloat16; angles in bfloat16; rates in "
        "bfloat16; cos and sin exchanged; interleaved; turned the other way; base 1e6; base 500000; no "
        "rope; first group for all; queries dealt by group; kv interleaved columns; rms eps outside; rms "
        "gamma plus one; rms with mean taken away; rms sum; gate and up exchanged; activation on both; gate "
        "added; activation after the product; gelu for silu; logits of the stream; second norm of the first "
        "stream; embedding scaled"
    ),
    scaled=(
        "k one place later; q one place later; tables in float16; tables in bfloat16; turned the other way; "
        "interleaved; cos and sin exchanged; v turned too"
    ),
    gemma=(
        "k one place later; heads tiled; v turned too; tables in float16; tables in bfloat16; angles in "
        "bfloat16; rates in bfloat16; all features turned; last features turned; rates by head width; one "
        "base for both; bases exchanged; windows exchanged; window in every layer; no window; window one "
        "wider; window one narrower; window ahead; window both sides; qk-norm after rope; no q-norm; "
        "qk-norm without gain; no qk-norm; v normed too; softcap before the scale; no softcap; sink forgotten; "
        "sink of 0; sink not dropped; embedding not scaled; tied table scaled; logits of the stream; rms "
        "eps outside; gains of the other layer; gate and up exchanged; gelu exact; rms gamma plus one"
    ),
    past=(
        "k one place later; q one place later; decoding at position 0; k at position 0; heads tiled; v "
        "turned too; cache parts exchanged; cache keys turned again; cached keys in reverse; cached values "
        "rolled; first cached dropped; last cached dropped; cache dropped; cached keys stale; cache after "
        "the new; cache twice; new twice; one slot early; one slot late; one slot early, keys alone; not "
        "written; values not cached; mask without offset"
    ),
    past1=(
        "cache dropped; cache twice; new twice; one slot early; not written; last cached dropped; first "
        "cached dropped; decoding at position 0; k at position 0; one slot late"
    ),
    alibi=(
        "slopes in reverse; slopes from 1; one slope for all; alibi squared; alibi sign; alibi before the scale"
    ),
    encdec=(
        "lengths of the target over the source; lengths of the source over the target; lengths exchanged; "
        "memory not masked; memory normed; memory zeroed where padded, not masked; attention to itself "
        "again; query of the first stream; weights of self-attention; no norm before memory; memory "
        "residual from x; cross before self; padding inverted; padded rows zeroed before; padded rows "
        "zeroed after"
    ),
)
"""What each mistake is planted in."""
