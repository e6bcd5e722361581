"""A transformer layer as people write it, right, or with one of the mistakes that people make.

    build(base, mistake) -> Graph            mistake None = right

All variants have the same inputs, and give the same names to the same intermediates, so that recordings
of them can be compared: pe, x, norm, q, k, v, then for each head i head{i}.q .k .v .scores .scaled .biased
.masked .weights .out, then concat, proj, residual, norm2, fc, act, mlp_out, y. `base` says which of the
optional parts there are: "plain", "pe", "rope", "alibi", "softcap", "window", "gqa", "blind" (a mask that
leaves a row with nothing), "masks" (one for each head), "large" (scores in the thousands).
"""

import math

from graphattn import Graph

N, D, H, EPS = 6, 12, 2, "1e-05"
D_K = D // H
GQA_HEADS, GQA_GROUPS = 4, 2
CAP, WINDOW = 2, 2


def build(base="plain", mistake=None):
    return _Layer(base, mistake).graph


def feeds(base="plain", seed=0):
    """Numbers for the inputs of `build(base, …)`, with few digits."""
    from graphattn.builtin import random_feeds

    given = random_feeds(build(base), seed)
    if base == "large":
        given["w_q"] = [[400 * v for v in row] for row in given["w_q"]]
    return given


def _sinusoids(position, frequency, interleaved=True):
    angles = [frequency(i) * position for i in range(D // 2)]
    if interleaved:
        return [f(a) for a in angles for f in (math.sin, math.cos)]
    return [*map(math.sin, angles), *map(math.cos, angles)]


def _usual(i):
    return 10000.0 ** (-2 * i / D)


class _Layer:
    def __init__(self, base, mistake):
        self.base, self.mistake = base, mistake
        self.graph = g = Graph("layer")
        self.heads = GQA_HEADS if base == "gqa" else H
        self.d_k = D // self.heads
        self.groups = GQA_GROUPS if base == "gqa" else self.heads
        self.p = {}
        for name in ("gamma", "beta", "gamma2", "beta2", "b_o"):
            self.p[name] = g.parameter(name, (D,))
        wide = self.d_k * self.groups
        for part, rows in (("q", D), ("k", wide), ("v", wide)):
            self.p[f"w_{part}"] = g.parameter(f"w_{part}", (rows, D))
            self.p[f"b_{part}"] = g.parameter(f"b_{part}", (rows,))
        self.p["w_o"] = g.parameter("w_o", (D, D))
        self.p["w_fc"], self.p["w_out"] = g.parameter("w_fc", (8, D)), g.parameter("w_out", (D, 8))
        given = g.input("X", (N, D), ("token", "feature"))
        x = self.positions(given) if base == "pe" else given
        norm = self.norm(x)
        q, k, v = self.projections(norm, x)
        outs = self.attention(*self.split(q, k, v))
        if self.wrong("H5"):
            outs = outs[::-1]
        concat = g.concat(*outs, name="concat")
        if self.wrong("P1"):
            proj = self.same(concat, "proj")
        else:
            proj = g.linear(concat, self.p["w_o"], self.p["b_o"], name="proj")
        if self.wrong("L12"):
            residual = g.layernorm(g.add(x, proj), self.p["gamma"], self.p["beta"], name="norm")
            residual = self.same(residual, "residual")
        elif self.wrong("R1"):
            residual = self.same(proj, "residual")
        else:
            residual = g.add(x, proj, name="residual")
        g.output(y=self.mlp(x, residual))

    def wrong(self, *mistakes):
        return self.mistake in mistakes

    def same(self, x, name):
        """The tensor again, under a name."""
        return self.graph.reshape(x, x.shape, name=name)

    # ------------------------------------------------------------ before attention

    def positions(self, given):
        g = self.graph
        first = 1 if self.wrong("E7") else 0
        frequency = (lambda i: math.exp(-2.0 * i)) if self.wrong("E4") else _usual
        rows = [_sinusoids(first + p, frequency, not self.wrong("E1")) for p in range(N)]
        pe = g.constant(rows, name="pe")
        if self.wrong("E8"):
            pe = g.constant([rows[2]] * N, name="row_of_the_batch")
        if self.wrong("E10"):
            pe = g.constant([_sinusoids(max(p - 2, 0), frequency) for p in range(N)], name="unpadded")
        return g.add(given, pe, name="x")

    def norm(self, x):
        g, gamma, beta = self.graph, self.p["gamma"], self.p["beta"]
        if self.wrong("L12"):
            return x
        if self.wrong("L11"):
            return g.add(g.rmsnorm(x, gamma, eps=EPS), beta, name="norm")
        if self.wrong("L6"):
            return g.layernorm(x, gamma, beta, eps="0.001", name="norm")
        if not self.wrong("L3", "L4", "L7"):
            return g.layernorm(x, gamma, beta, eps=EPS, name="norm")
        deviation = g.subtract(x, g.reduce_mean(x))
        variance = g.reduce_mean(deviation * deviation)
        eps = g.constant(EPS)
        if self.wrong("L3"):
            root = g.sqrt(g.scale(variance, multiply=D / (D - 1)) + eps)
        elif self.wrong("L4"):
            root = g.sqrt(variance) + eps
        else:
            root = variance + eps
        return g.add(g.multiply(g.divide(deviation, root), gamma), beta, name="norm")

    def projections(self, norm, x):
        g, made = self.graph, {}
        for part in "qkv":
            w, b = self.p[f"w_{part}"], self.p[f"b_{part}"]
            if self.wrong("P6") and part in "qk":
                other = "k" if part == "q" else "q"
                w, b = self.p[f"w_{other}"], self.p[f"b_{other}"]
            source = x if self.wrong("L14") and part != "q" else norm
            if self.wrong("P2") and part == "q":
                made[part] = g.add(g.matmul(source, w), b, name=part)
            elif self.wrong("P3") and part == "v":
                made[part] = g.linear(source, w, name=part)
            elif self.wrong("P5"):
                made[part] = g.relu(g.linear(source, w, b), name=part)
            else:
                made[part] = g.linear(
                    source, w, b, name=part if not self.wrong("H4", "H11") else f"{part}_right"
                )
        if self.wrong("H4"):  # the columns are [h, 3, d], cut as if they were [3, h, d]
            whole = g.concat(*made.values())
            pieces = g.split(whole, 3 * self.heads)
            made = {
                part: g.concat(*[pieces[3 * i + c] for i in range(self.heads)], name=part)
                for c, part in enumerate("qkv")
            }
        if self.wrong("H11"):
            whole = g.concat(*made.values())
            size = whole.shape[-1]
            cuts = (size // 3, size // 3, size - 2 * (size // 3))
            made = {
                part: self.same(piece, part) for part, piece in zip("qkv", g.split(whole, cuts), strict=True)
            }
        return made["q"], made["k"], made["v"]

    def split(self, q, k, v):
        g, heads = self.graph, {}
        for part, x in (("q", q), ("k", k), ("v", v)):
            count = self.heads if part == "q" else self.groups
            if self.wrong("H11"):
                x = g.split(g.concat(x, x, x), (count * self.d_k, 3 * x.shape[-1] - count * self.d_k))[0]
            if self.wrong("H1"):
                pieces = g.split(g.reshape(x, (count, N, self.d_k)), count, axis=0)
                pieces = [g.reshape(piece, (N, self.d_k)) for piece in pieces]
            else:
                pieces = list(g.split(x, count, name=f"{part}_heads"))
            if self.wrong("H7") and part == "q":
                pieces = [pieces[0]] * count
            if count != self.heads:
                times = self.heads // count
                pieces = pieces * times if self.wrong("H9") else [p for p in pieces for _ in range(times)]
            if self.base == "rope" and part != "v":
                pieces = [self.turned(piece, f"head{i}.{part}_turned") for i, piece in enumerate(pieces)]
            if self.wrong("S0") and part == "q":
                pieces = [g.scale(piece, sqrt=self.d_k) for piece in pieces]
            heads[part] = [self.same(piece, f"head{i}.{part}") for i, piece in enumerate(pieces)]
        return heads["q"], heads["k"], heads["v"]

    def turned(self, x, name):
        g = self.graph
        cos, sin = g.rope_angles(N, self.d_k)
        if self.wrong("T3"):
            sin = g.negate(sin)
        if not self.wrong("T2"):
            return g.rope(x, cos, sin, interleaved=self.wrong("T1"), name=name)
        twice = [g.repeat(t, 2, axis=-1) for t in (cos, sin)]  # c₀ c₀ c₁ c₁ … with the halves rotated
        first, second = g.split(x, 2)
        crossed = g.multiply(g.concat(g.negate(second), first), twice[1])
        return g.add(g.multiply(x, twice[0]), crossed, name=name)

    # ------------------------------------------------------------ attention

    def attention(self, q, k, v):
        masked = [self.logits(i, q[i], k[i]) for i in range(self.heads)]
        weights = self.softmax(masked)
        return [
            self.graph.matmul(w, v[i], absorb_zeros=not self.wrong("M14"), name=f"head{i}.out")
            for i, w in enumerate(weights)
        ]

    def logits(self, i, q, k):
        g = self.graph
        scores = g.matmul(q, k.T, name=f"head{i}.scores")
        if self.wrong("S1", "S6", "S0"):
            scaled = self.same(scores, f"head{i}.scaled")
        else:
            scaled = g.scale(scores, sqrt=D if self.wrong("S3") else self.d_k, name=f"head{i}.scaled")
        if self.base == "softcap" and not self.wrong("M22"):
            scaled = g.softcap(scaled, cap=CAP, name=f"head{i}.capped")
        if self.base == "alibi":
            slope = 2.0 ** (-8 * (i + (0 if self.wrong("M24") else 1)) / self.heads)
            late = 1 if self.wrong("M25") else 0
            bias = [[slope * (key - query + late) for key in range(N)] for query in range(N)]
            scaled = g.add(scaled, g.constant(bias, name=f"head{i}.bias"), name=f"head{i}.biased")
        if self.wrong("M1", "M2"):
            return scaled
        if self.wrong("M19"):
            scaled = g.add(scaled, g.constant(1))
        masked = self.masked(i, scaled)
        return masked

    def visible(self, i):
        """Which cells a head sees, as nested bools."""
        left = WINDOW - (0 if self.wrong("M21") else 1) if self.base == "window" else N
        head = self.heads - 1 - i if self.wrong("M20") else i
        see = [[query - left <= key <= query for key in range(N)] for query in range(N)]
        if self.base == "blind":
            see[2] = [False] * N
        if self.base == "masks" and head == 1:
            see = [[key % 2 == 0 and cell for key, cell in enumerate(row)] for row in see]
            see = [[cell or key == 0 for key, cell in enumerate(row)] for row in see]
        if self.wrong("M7"):
            see = [[cell and key != query for key, cell in enumerate(row)] for query, row in enumerate(see)]
        if self.wrong("M3"):
            see = [[not cell for cell in row] for row in see]
        if self.wrong("M9"):
            see = [list(column) for column in zip(*see, strict=True)]
        return see

    def masked(self, i, scaled):
        g, name = self.graph, f"head{i}.masked"
        if self.wrong("M11"):
            return self.same(scaled, name)
        see = g.constant(self.visible(i), name=f"head{i}.visible")
        if self.wrong("M6"):
            return g.where(see, scaled, g.constant(math.inf), name=name)
        if self.wrong("M22"):
            hidden = g.where(see, scaled, g.constant(-1e9))
            return g.softcap(hidden, cap=CAP, name=name)
        return g.mask(scaled, see, name=name)

    def softmax(self, masked):
        g = self.graph
        names = [f"head{i}.weights" for i in range(self.heads)]
        if self.wrong("X2"):
            whole = g.softmax(g.stack(*masked), axis=0)
            parts = g.split(whole, self.heads, axis=0)
            return [g.reshape(part, (N, N), name=name) for part, name in zip(parts, names, strict=True)]
        return [self.weights(i, x, name) for i, (x, name) in enumerate(zip(masked, names, strict=True))]

    def weights(self, i, masked, name):
        g = self.graph
        if self.wrong("M1", "M2"):
            see = g.constant([[float(cell) for cell in row] for row in self.visible(i)])
            product = g.multiply(g.softmax(masked), see, name=name if self.wrong("M1") else None)
            return product if self.wrong("M1") else g.divide(product, g.reduce_sum(product), name=name)
        if self.wrong("S6"):
            return g.scale(g.softmax(masked), sqrt=self.d_k, name=name)
        if self.wrong("X1"):
            return g.softmax(masked, axis=0, name=name)
        if self.wrong("X3"):
            raised = g.exp(masked)
            return g.divide(raised, g.reduce_sum(raised), name=name)
        if self.wrong("X6"):
            return g.softmax(g.scale(masked, multiply=math.log(2)), name=name)
        return g.softmax(masked, empty="nan" if self.wrong("M14") else "zero", name=name)

    # ------------------------------------------------------------ after attention

    def mlp(self, x, residual):
        g, p = self.graph, self.p
        which = ("gamma", "beta") if self.wrong("L15") else ("gamma2", "beta2")
        norm = g.layernorm(residual, p[which[0]], p[which[1]], eps=EPS, name="norm2")
        fc = g.linear(norm, p["w_fc"], name="fc")
        if self.wrong("G2"):
            act = g.multiply(fc, g.sigmoid(g.scale(fc, multiply="1.702")), name="act")
        else:
            act = g.gelu(fc, name="act")
        out = g.linear(act, p["w_out"], name="mlp_out")
        return g.add(x if self.wrong("R3") else residual, out, name="y")
