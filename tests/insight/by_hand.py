"""A transformer layer written by hand on lists of floats, right, or wrong in one of many ways.

    layer(base, feeds, wrong=None) -> y             plain Python, which shares nothing with graphattn
    intended(base) -> Graph                         the same layer as a graph of graphattn's ops

`wrong` is an id of mistakes.json, or one of `INVENTED`: mistakes that no list has. `base` says what the layer
has besides causal attention, pre-LN and an MLP: see `BASES`.
"""

import math
from random import Random

from graphattn import Graph

N, D, F, EPS = 5, 12, 7, 1e-05
LENGTHS, PADS = (5, 3), 2
BASES = {
    "plain": {}, "pe": {"positions": True}, "rope": {"rope": True}, "alibi": {"alibi": True},
    "softcap": {"softcap": 2.0}, "window": {"window": 2}, "gqa": {"heads": 6, "groups": 3},
    "blind": {"blind": True}, "masks": {"masks": True}, "large": {"large": True},
    "alibi4": {"alibi": True, "heads": 4}, "batch": {"batch": 3, "causal": False},
    "batch_pe": {"batch": 3, "causal": False, "positions": True},
    "batch_masks": {"batch": 2, "padded": True}, "left_padded": {"positions": True, "padded": True},
    "tiny": {"tiny": True}, "huge": {"large": 5.0},
}  # fmt: skip


def options(base):
    given = {"heads": 3, "groups": None, "positions": False, "rope": False, "alibi": False, "softcap": None,
             "window": None, "blind": False, "masks": False, "large": False, "tiny": False, "batch": None,
             "causal": True, "padded": False,
             **BASES[base]}  # fmt: skip
    given["groups"] = given["groups"] or given["heads"]
    return given


def feeds_of(base, seed=0):
    o, random = options(base), Random(seed)
    d_k = D // o["heads"]

    def draw(*shape, size=1.0):
        if len(shape) == 1:
            return [round(random.gauss(0, 1) * size, 3) for _ in range(shape[0])]
        return [draw(*shape[1:], size=size) for _ in range(shape[0])]

    lead = () if o["batch"] is None else (o["batch"],)
    f = {"X": draw(*lead, N, D, size=0.01 if o["tiny"] else 1.0)}
    for norm in ("1", "2"):
        f[f"gamma{norm}"], f[f"beta{norm}"] = [1 + v for v in draw(D, size=0.3)], draw(D, size=0.3)
    wide = d_k * o["groups"]
    for part, rows in (("q", D), ("k", wide), ("v", wide), ("o", D)):
        f[f"w_{part}"] = draw(
            rows, D, size=(60.0 * o["large"] if o["large"] and part == "q" else 1.0) / math.sqrt(D)
        )
        f[f"b_{part}"] = draw(rows, size=0.3)
    f["w_in"], f["b_in"] = draw(F, D, size=0.4), draw(F, size=0.3)
    f["w_out"], f["b_out"] = draw(D, F, size=0.4), draw(D, size=0.3)
    if o["padded"] and o["batch"]:  # keys from LENGTHS[b] on are padding
        f["see"] = [
            [[j <= i and j < LENGTHS[b] for j in range(N)] for i in range(N)] for b in range(o["batch"])
        ]
    elif o["padded"]:  # the first PADS tokens are
        f["at"] = [max(p - PADS, 0) for p in range(N)]
    if o["masks"]:
        f["see"] = [
            [[bool((i + j + h) % (h + 2)) or j == i for j in range(N)] for i in range(N)]
            for h in range(o["heads"])
        ]
    return f


# ---------------------------------------------------------------- the graph


def intended(base):
    o = options(base)
    h, groups = o["heads"], o["groups"]
    d_k, g = D // h, Graph(f"layer_{base}")
    lead = () if o["batch"] is None else (o["batch"],)
    x = g.input("X", (*lead, N, D), (*(None for _ in lead), "token", "feature"))
    p = {}
    for name, value in feeds_of(base).items():
        if name not in ("X", "see", "at"):
            p[name] = g.parameter(
                name, (len(value), len(value[0])) if isinstance(value[0], list) else (len(value),)
            )
    if o["positions"] and o["padded"]:
        table = g.positional_encoding(N, D, name="table")
        x = g.add(x, g.embedding(table, g.input("at", (N,), kind="int"), name="pe"), name="x")
    elif o["positions"]:
        x = g.add(x, g.positional_encoding(N, D, name="pe"), name="x")
    norm = g.layernorm(x, p["gamma1"], p["beta1"], eps="1e-05", name="norm1")
    parts = {part: g.linear(norm, p[f"w_{part}"], p[f"b_{part}"], name=part) for part in "qkv"}
    heads = {
        part: list(g.split(t, h if part == "q" else groups, name=f"{part}_heads")) for part, t in parts.items()
    }
    for part in "kv":
        heads[part] = [t for t in heads[part] for _ in range(h // groups)]
    if o["rope"]:
        cos, sin = g.rope_angles(N, d_k, name="angles")
        for part in "qk":
            heads[part] = [g.rope(t, cos, sin, name=f"{part}_turned{i}") for i, t in enumerate(heads[part])]
    if o["window"]:
        see = g.window_mask(N, left=o["window"] - 1, right=0, name="visible")
    elif o["blind"]:
        rows = [[j <= i and i != 2 for j in range(N)] for i in range(N)]
        see = g.constant(rows, name="visible")
    elif o["padded"] and o["batch"]:
        see = g.input("see", (*lead, N, N), kind="bool")
    elif o["padded"]:
        see = g.constant(_left_padded(), name="visible")
    else:
        see = g.causal_mask(N, name="visible") if o["causal"] else None
    biases = g.split(g.alibi_bias(h, N, name="alibi"), h, axis=0) if o["alibi"] else None
    sees = None
    if o["masks"]:
        sees = g.split(g.input("see", (h, N, N), kind="bool"), h, axis=0, name="sees")
    outs = []
    for i in range(h):
        scores = g.matmul(heads["q"][i], heads["k"][i].T, name=f"head{i}.scores")
        scaled = g.scale(scores, sqrt=d_k, name=f"head{i}.scaled")
        if o["softcap"]:
            scaled = g.softcap(scaled, cap=o["softcap"], name=f"head{i}.capped")
        if biases:
            scaled = g.add(scaled, g.reshape(biases[i], (N, N), name=f"head{i}.bias"), name=f"head{i}.biased")
        own = see if sees is None else g.reshape(sees[i], (N, N), name=f"head{i}.visible")
        masked = scaled if own is None else g.mask(scaled, own, name=f"head{i}.masked")
        weights = g.softmax(masked, name=f"head{i}.weights")
        outs.append(g.matmul(weights, heads["v"][i], absorb_zeros=True, name=f"head{i}.out"))
    proj = g.linear(g.concat(*outs, name="concat"), p["w_o"], p["b_o"], name="proj")
    y = g.add(x, proj, name="residual1")
    norm = g.layernorm(y, p["gamma2"], p["beta2"], eps="1e-05", name="norm2")
    act = g.gelu(g.linear(norm, p["w_in"], p["b_in"], name="fc"), name="act")
    g.output(y=g.add(y, g.linear(act, p["w_out"], p["b_out"], name="mlp"), name="residual2"))
    return g


def _left_padded():
    return [[j <= i and (j >= PADS or j == i) for j in range(N)] for i in range(N)]


# ---------------------------------------------------------------- by hand


def T(m):
    return [list(c) for c in zip(*m, strict=True)]


def mm(a, b):
    return [[sum(x * y for x, y in zip(r, c, strict=True)) for c in T(b)] for r in a]


def lin(x, w, b=None):
    return [
        [sum(p * q for p, q in zip(r, u, strict=True)) + (b[j] if b else 0.0) for j, u in enumerate(w)]
        for r in x
    ]


def plus(a, b, s=1.0):
    return [[p + s * q for p, q in zip(r, t, strict=True)] for r, t in zip(a, b, strict=True)]


def ln(x, gamma, beta, eps=EPS, kind=None):
    kind, _, how = (kind or "").partition(":")
    out = []
    for r in x:
        n = len(r)
        mean = 0.0 if kind == "L11" else sum(r) / n
        var = sum((v - mean) ** 2 for v in r) / (n - 1 if kind == "L3" else n)
        root = {
            "L4": math.sqrt(var) + eps, "L7": (var + eps) ** (2 if how else 1),
            "I_rsqrt": 1 / math.sqrt(var + eps),
            "I_abs": sum(abs(v - mean) for v in r) / n + eps,
        }.get(kind, math.sqrt(var + eps))  # fmt: skip
        row = [(v - mean) / root for v in r]
        if kind == "I_uncentred":
            row = [v / root for v in r]
        if kind == "I_gamma_after":
            out.append([(v + b) * g for v, g, b in zip(row, gamma, beta, strict=True)])
        elif kind == "I_one_plus":
            out.append([v * (1 + g) + b for v, g, b in zip(row, gamma, beta, strict=True)])
        elif kind == "I_no_gamma":
            out.append([v + b for v, b in zip(row, beta, strict=True)])
        elif kind == "I_no_beta":
            out.append([v * g for v, g in zip(row, gamma, strict=True)])
        elif kind == "I_columns":
            out.append(row)
        else:
            out.append([v * g + b for v, g, b in zip(row, gamma, beta, strict=True)])
    return out


def gelu(v, kind=None):
    if kind == "G2":
        return v / (1 + math.exp(-1.702 * v))
    if kind == "I_gelu_tanh":
        return 0.5 * v * (1 + math.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3)))
    if kind == "I_relu":
        return max(v, 0.0)
    if kind == "I_silu":
        return v / (1 + math.exp(-v))
    if kind == "I_no_act":
        return v
    if kind == "I_gelu_no_half":
        return v * (1 + math.erf(v / math.sqrt(2)))
    if kind == "I_gelu_no_root":
        return 0.5 * v * (1 + math.erf(v))
    return 0.5 * v * (1 + math.erf(v / math.sqrt(2)))


def position_table(kind, positions, b=0):
    rows = []
    for p in positions:
        at = {"E7": p + 1, "E7:pad": p + 2, "E8": b, "I_pe_one_row": 2, "I_pe_later": max(p - 2, 0)}.get(
            kind, p
        )
        if kind == "I_pe_reversed":
            at = N - 1 - p
        d = D
        rate = [
            math.exp(-2 * i) if kind == "E4"
            else (1000.0 if kind == "I_pe_base" else 10000.0) ** (-(i if kind == "I_pe_half" else 2 * i) / d)
            for i in range(d // 2)
        ]  # fmt: skip
        s, c = [math.sin(at * r) for r in rate], [math.cos(at * r) for r in rate]
        if kind == "I_pe_cos_first":
            s, c = c, s
        row = [*s, *c] if kind == "E1" else [v for pair in zip(s, c, strict=True) for v in pair]
        if kind == "I_pe_tripled":
            row = [v * math.sqrt(d) for v in row]
        rows.append(row)
    return rows


def rotate(x, kind):
    d, out = len(x[0]), []
    for p, r in enumerate(x):
        at = p + 1 if kind == "I_rope_from_1" else p
        base = 500000.0 if kind == "I_rope_base" else 10000.0
        angle = [at * base ** (-2 * i / d) for i in range(d // 2)]
        if kind == "I_rope_rate":
            angle = [at * base ** (-i / d) for i in range(d // 2)]
        if kind == "I_rope_degrees":
            angle = [a * math.pi / 180 for a in angle]
        if kind == "T3":
            angle = [-a for a in angle]
        h = d // 2
        if kind == "T1":
            row = list(r)
            for i, a in enumerate(angle):
                u, v = r[2 * i], r[2 * i + 1]
                row[2 * i], row[2 * i + 1] = (
                    u * math.cos(a) - v * math.sin(a),
                    u * math.sin(a) + v * math.cos(a),
                )
        elif kind == "T2":
            both = [a for a in angle for _ in range(2)]
            crossed = [*(-v for v in r[h:]), *r[:h]]
            row = [u * math.cos(a) + w * math.sin(a) for u, w, a in zip(r, crossed, both, strict=True)]
        else:
            u, v = r[:h], r[h:]
            s = -1 if kind == "I_rope_reflect" else 1
            first = [a * math.cos(t) - s * b * math.sin(t) for a, b, t in zip(u, v, angle, strict=True)]
            second = [a * math.sin(t) + b * math.cos(t) for a, b, t in zip(u, v, angle, strict=True)]
            row = [*second, *first] if kind == "I_rope_swapped" else [*first, *second]
        out.append(row)
    return out


def softmax_rows(x, kind=None):
    out = []
    for r in x:
        if all(v == -math.inf for v in r) and kind != "M14":
            out.append([1 / len(r)] * len(r) if kind == "I_uniform" else [0.0] * len(r))
            continue
        if kind == "X3":
            try:
                e = [math.exp(v) for v in r]
            except OverflowError:
                e = [math.exp(v) if v < 709 else math.inf for v in r]
            t = sum(e)
            out.append([v / t if t and not (math.isinf(v) and math.isinf(t)) else math.nan for v in e])
            continue
        m = max(r)
        base = {"X6": 2.0, "X6:log2e": math.exp(math.log2(math.e))}.get(kind, math.e)
        e = [(math.exp(v - m) if base == math.e else base ** (v - m)) if v > -math.inf else 0.0 for v in r]
        if m == -math.inf:
            out.append([math.nan] * len(r))
            continue
        t = sum(e) + (1 if kind == "I_softmax_one" else math.exp(-m) if kind == "I_softmax_sink" else 0)
        if kind == "I_softmax_max":
            t = max(e)
        if kind == "I_no_normalize":
            t = 1.0
        if kind == "I_square":
            out.append([(v / t) ** 2 for v in e])
            continue
        out.append([v / t for v in e])
    return out


def cut(x, count, kind=None):
    """(n, count·d) in pieces (n, d)."""
    n, w = len(x), len(x[0])
    d = w // count
    if kind == "H1":
        flat = [v for r in x for v in r]
        return [[flat[(c * n + i) * d : (c * n + i + 1) * d] for i in range(n)] for c in range(count)]
    if kind == "I_interleaved":
        return [[r[c::count] for r in x] for c in range(count)]
    return [[r[c * d : (c + 1) * d] for r in x] for c in range(count)]


def layer(base, feeds, wrong=None, seen=None):
    """The result; `seen` is filled with what is between, by name."""
    seen = {} if seen is None else seen
    if options(base)["batch"] is None:
        return single(base, feeds, feeds["X"], wrong, seen=seen)
    return batch(base, feeds, wrong, seen)


def batch(base, feeds, wrong, seen):
    """Sequence by sequence, and what mixes them up."""
    parts, h = range(options(base)["batch"]), options(base)["heads"]
    if wrong == "P11":
        turned, each = [[x[n] for x in feeds["X"]] for n in range(N)], [{} for _ in range(N)]
        out = [single(base, feeds, x, None, n=len(parts), seen=s) for x, s in zip(turned, each, strict=True)]
        seen |= {
            name: [[s[name][b] for s in each] for b in parts] for name in each[0] if not name.startswith("head")
        }
        return [[out[n][b] for n in range(N)] for b in parts]
    each = [{} for _ in parts]
    given = [{} for _ in parts]
    if wrong in ("X2:batch", "H5:batch"):
        for b in parts:
            single(base, feeds, feeds["X"][b], None, seen=each[b], at=b)
        if wrong == "X2:batch":
            for i in range(h):
                masked = [s[f"head{i}.scaled"] for s in each]
                for s, w in zip(given, across(masked), strict=True):
                    s[f"head{i}.weights"] = w
        else:  # laid out as (h, batch), read as (batch, h)
            flat = [s[f"head{i}.out"] for i in range(h) for s in each]
            for b in parts:
                given[b] = {f"head{i}.out": flat[b * h + i] for i in range(h)}
    out = [single(base, feeds, feeds["X"][b], wrong, seen=each[b], at=b, given=given[b]) for b in parts]
    seen |= {name: [s[name] for s in each] for name in each[0]}
    return out


def across(matrices):
    """Softmax over the first of three axes."""
    n = len(matrices[0])
    cells = [[softmax_rows([[m[r][j] for m in matrices]])[0] for j in range(n)] for r in range(n)]
    return [[[cells[r][j][i] for j in range(n)] for r in range(n)] for i in range(len(matrices))]


TURNED = {
    "q": ("P2", "P2:all"), "k": ("P2:all",), "v": ("P2:all",), "o": ("P2:all", "P2:out"),
}  # fmt: skip
"""Whose W is taken for Wᵀ."""
UNBIASED = {"q": ("P3:q",), "v": ("P3",), "o": ("P3:out",)}
EMPTY = {"nan": "M14", "uniform": "I_uniform"}
"""What a row that sees nothing gives, where it is not 0."""


def single(base, f, x, wrong, n=N, seen=None, at=0, given=None):
    """One sequence, the `at`-th of a batch; `given` holds what is not computed but given, by name."""
    seen, given = {} if seen is None else seen, given or {}
    whole = wrong or ""
    wrong, _, how = whole.partition(":")
    o = options(base)
    h, groups = o["heads"], o["groups"]
    d_k = D // h
    x0 = x
    if o["positions"] and wrong != "I_pe_left_out":
        positions = f["at"] if "at" in f and wrong != "E10" else range(n)
        x = plus(x, position_table(whole, positions, at))
    if wrong == "I_embed_scale":
        x = [[v * math.sqrt(D) for v in r] for r in x]
    eps = EPS if wrong != "L6" else 0.001 if how in ("", "tiny") else float(how)
    norm = x if wrong in ("L12", "I_no_norm1") else ln(x, f["gamma1"], f["beta1"], eps, whole)
    if wrong == "I_norm_twice":
        norm = ln(norm, f["gamma1"], f["beta1"])
    if wrong == "I_gammas_swapped":
        norm = ln(x, f["gamma2"], f["beta2"])
    w = {part: T(f[f"w_{part}"]) if whole in TURNED.get(part, ()) else f[f"w_{part}"] for part in "qkvo"}
    bias = {part: None if whole in UNBIASED.get(part, ()) else f[f"b_{part}"] for part in "qkvo"}
    if whole == "P3:twice":
        bias["v"] = [2 * b for b in bias["v"]]
    q = lin(x if wrong == "I_q_raw" else norm, w["q"], bias["q"])
    k = lin(x if wrong == "L14" else norm, w["k"], bias["k"])
    v = lin(x if wrong == "L14" else norm, w["v"], bias["v"])
    if wrong == "I_v_from_k":
        v = lin(norm, f["w_k"], f["b_k"])
    if wrong == "I_biases_swapped":
        q, k = lin(norm, f["w_q"], f["b_k"]), lin(norm, f["w_k"], f["b_q"])
    if wrong == "P5":
        q, k, v = ([[max(c, 0.0) for c in r] for r in t] for t in (q, k, v))
    if wrong == "P6":
        q, k = k, q
    if wrong == "I_qv":
        q, v = v, q
    if whole == "S0":
        q = [[c / math.sqrt(d_k) for c in r] for r in q]
    if whole == "S0:both":
        q, k = ([[c / d_k**0.25 for c in r] for r in t] for t in (q, k))
    seen |= {"norm1": norm, "q": q, "k": k, "v": v}
    qs, ks, vs = cut(q, h, wrong), cut(k, groups, wrong), cut(v, groups, wrong)
    if wrong == "H4":
        flat = [*qs, *ks, *vs]
        qs, ks, vs = ([flat[3 * i + c] for i in range(h)] for c in range(3))
    if wrong == "H7":  # of one head, for all
        qs = [qs[0]] * h
        ks, vs = (ks, vs) if how else ([ks[0]] * h, [vs[0]] * h)
    if wrong == "I_kv_shared":
        ks, vs = [ks[0]] * h, [vs[0]] * h
    if wrong == "I_v_reversed":
        vs = vs[::-1]
    if groups != h:
        r = h // groups
        ks, vs = ([t[i % groups if wrong == "H9" else i // r] for i in range(h)] for t in (ks, vs))
        if wrong == "I_gqa_v_only":
            vs = [vs[(i % groups) * r] for i in range(h)]
    if o["rope"]:
        if wrong != "I_rope_not_q":
            qs = [rotate(t, wrong) for t in qs]
        if wrong != "I_rope_not_k":
            ks = [rotate(t, wrong) for t in ks]
        if wrong == "I_rope_v_too":
            vs = [rotate(t, None) for t in vs]
    all_logits = []
    sees = []
    for i in range(h):
        s = seen[f"head{i}.scores"] = mm(qs[i], T(ks[i]))
        divisor = {
            "S1": 1.0, "S6": 1.0, "S3": math.sqrt(D), "I_d": d_k, "I_sqrt_n": math.sqrt(n), "I_d_model": D,
            "I_sqrt_h": math.sqrt(h), "I_quarter": d_k**0.25, "I_times": 1 / math.sqrt(d_k), "S0": 1.0,
        }.get(wrong, math.sqrt(d_k))  # fmt: skip
        s = seen[f"head{i}.scaled"] = [[c / divisor for c in r] for r in s]
        if o["softcap"] and wrong not in ("M22", "I_no_cap"):
            cap = o["softcap"]
            s = [[cap * math.tanh(c if wrong == "I_cap_undivided" else c / cap) for c in r] for r in s]
            if wrong == "I_cap_unmultiplied":
                s = [[c / cap for c in r] for r in s]
        if o["alibi"] and wrong != "I_no_alibi":
            m = 2 ** math.floor(math.log2(h))
            slopes = [2.0 ** (-8 * (j + 1) / m) for j in range(m)]
            slopes += [2.0 ** (-8 * (2 * j + 1) / (2 * m)) for j in range(h - m)]
            if wrong == "M24":
                slopes = [2.0 ** (-8 * (j + (how == "all")) / h) for j in range(h)]
            if wrong == "I_alibi_reversed":
                slopes.reverse()
            sign = -1 if wrong == "I_alibi_sign" else 1
            far = [[r - j - 1 if wrong == "M25" else abs(r - j) for j in range(n)] for r in range(n)]
            s = [
                [c - sign * slopes[i] * a for c, a in zip(*rows, strict=True)]
                for rows in zip(s, far, strict=True)
            ]
            seen[f"head{i}.biased"] = s
        left = o["window"] - 1 if o["window"] else n
        left += {"M21": 1, "I_window_narrow": -1}.get(wrong, 0)
        see = [[r - left <= j <= (r if o["causal"] else n) for j in range(n)] for r in range(n)]
        if wrong == "I_window_both":
            see = [[abs(r - j) <= left for j in range(n)] for r in range(n)]
        if o["blind"]:
            see[2] = [False] * n
        if o["masks"]:
            see = [list(r) for r in f["see"][h - 1 - i if wrong == "I_masks_reversed" else i]]
        if o["padded"] and o["batch"]:
            see = [list(r) for r in f["see"][(at * h + i) % o["batch"] if wrong == "M20" else at]]
        elif o["padded"]:
            see = _left_padded()
        if wrong == "M7":
            see = [[c and j != r for j, c in enumerate(row)] for r, row in enumerate(see)]
        if wrong == "I_one_future":
            see = [[j <= r + 1 for j in range(n)] for r in range(n)]
        if wrong == "I_diagonal_only":
            see = [[j == r for j in range(n)] for r in range(n)]
        if wrong == "M3":
            see = [[not c for c in row] for row in see]
        if wrong == "M9":
            see = T(see)
        if wrong == "M11" and (not how or i == 1):
            see = [[True] * n for _ in range(n)]
        sees.append(see)
        fill = {"M6": math.inf, "I_fill_zero": 0.0, "I_fill_minus_1": -1.0}.get(wrong, -math.inf)
        if wrong in ("M1", "M2"):
            masked = s
        elif wrong == "M19":
            masked = [
                [c + 1 if b else fill for c, b in zip(r, t, strict=True)] for r, t in zip(s, see, strict=True)
            ]
        elif wrong == "I_mask_multiplied":
            masked = [[c * float(b) for c, b in zip(r, t, strict=True)] for r, t in zip(s, see, strict=True)]
        elif wrong == "I_mask_added":
            masked = [[c + float(b) for c, b in zip(r, t, strict=True)] for r, t in zip(s, see, strict=True)]
        else:
            masked = [
                [c if b else fill for c, b in zip(r, t, strict=True)] for r, t in zip(s, see, strict=True)
            ]
        if wrong == "M22":
            cap = o["softcap"]
            masked = [[cap * math.tanh(c / cap) for c in r] for r in masked]
        all_logits.append(masked)
        if o["causal"]:
            seen[f"head{i}.masked"] = masked
    if wrong == "M6":
        all_weights = [
            [[math.nan] * n if math.inf in r else softmax_rows([r])[0] for r in m] for m in all_logits
        ]
    elif wrong == "X1":
        all_weights = [T(softmax_rows(T(m))) for m in all_logits]
    elif whole == "X2":
        all_weights = across(all_logits)
    elif wrong == "I_softmax_everything":
        e = [[[math.exp(c) for c in r] for r in m] for m in all_logits]
        all_weights = [[[c / sum(map(sum, m)) for c in r] for r in m] for m in e]
    else:
        all_weights = [softmax_rows(m, EMPTY.get(how, whole)) for m in all_logits]
    all_weights = [given.get(f"head{i}.weights", w) for i, w in enumerate(all_weights)]
    outs = []
    for i, p in enumerate(all_weights):
        if wrong == "S6":
            p = [[c / math.sqrt(d_k) for c in r] for r in p]
        if wrong in ("M1", "M2"):
            p = [[c * float(b) for c, b in zip(r, t, strict=True)] for r, t in zip(p, sees[i], strict=True)]
        if wrong == "M2":
            p = [[c / sum(r) for c in r] for r in p]
        if wrong == "I_weights_turned":
            p = T(p)
        if wrong == "I_double_softmax":
            p = softmax_rows(p)
        if wrong == "I_scale_again":
            p = [[c * math.sqrt(d_k) for c in r] for r in p]
        seen[f"head{i}.weights"] = p
        source = {"I_out_k": ks, "I_out_q": qs}.get(wrong, vs)[i]
        outs.append(given.get(f"head{i}.out") or mm(p, source))
        seen[f"head{i}.out"] = outs[-1]
    if whole in ("H5", "I_head_order"):
        outs = outs[::-1] if wrong == "H5" else [*outs[1:], outs[0]]
    if wrong == "I_merge" or whole == "H1:merged":
        flat = [c for t in outs for r in t for c in r]
        concat = [flat[r * D : (r + 1) * D] for r in range(n)]
    elif wrong == "I_merge_interleaved":
        concat = [[outs[i][r][c] for c in range(d_k) for i in range(h)] for r in range(n)]
    elif wrong == "I_heads_mean":
        concat = [
            [sum(outs[i][r][c] for i in range(h)) / h for _ in range(h) for c in range(d_k)] for r in range(n)
        ]
    else:
        concat = [[c for i in range(h) for c in outs[i][r]] for r in range(n)]
    if wrong == "P1":
        proj = concat
    else:
        proj = lin(concat, w["o"], bias["o"])
    if wrong == "L12":
        y = ln(plus(x, proj), f["gamma1"], f["beta1"])
    elif wrong == "R1":
        y = proj
    elif wrong == "I_residual_norm":
        y = plus(norm, proj)
    elif wrong == "I_residual_x0":
        y = plus(x0, proj)
    elif wrong == "I_residual_half":
        y = [[c / 2 for c in r] for r in plus(x, proj)]
    elif wrong == "I_residual_minus":
        y = plus(x, proj, -1.0)
    elif wrong == "I_residual_twice":
        y = plus(plus(x, x), proj)
    else:
        y = plus(x, proj)
    seen |= {"concat": concat, "proj": proj, "residual1": y}
    second = "1" if wrong == "L15" else "2"
    both = wrong in ("L3", "L4", "L7", "L11", "I_abs")
    plain = wrong == "I_no_norm2" or whole == "L12"
    again = eps if how else EPS
    norm2 = y if plain else ln(y, f[f"gamma{second}"], f[f"beta{second}"], again, whole if both else None)
    if wrong == "I_mlp_x":
        norm2 = norm
    fc = lin(norm2, f["w_in"], f["b_in"])
    act = [[gelu(c, wrong) for c in r] for r in fc]
    if wrong == "I_act_after":
        act = fc
    mlp = lin(act, f["w_out"], None if wrong == "I_mlp_no_bias" else f["b_out"])
    if wrong == "I_act_after":
        mlp = [[gelu(c) for c in r] for r in mlp]
    seen |= {"norm2": norm2, "fc": fc, "act": act, "mlp": mlp}
    if wrong == "R3":
        return plus(x, mlp)
    if wrong == "I_no_residual2":
        return mlp
    if wrong == "I_parallel":
        fc = lin(ln(x, f["gamma2"], f["beta2"]), f["w_in"], f["b_in"])
        return plus(plus(x, proj), lin([[gelu(c) for c in r] for r in fc], f["w_out"], f["b_out"]))
    if wrong == "I_final_norm" or whole == "L12":
        return ln(plus(y, mlp), f["gamma2"], f["beta2"])
    if wrong == "I_mlp_parallel_norm":
        return plus(
            y, lin([[gelu(c) for c in r] for r in lin(norm, f["w_in"], f["b_in"])], f["w_out"], f["b_out"])
        )
    return plus(y, mlp)


def planted(**by_base):
    """{id: base} of ids by base."""
    return {identity: base for base, ids in by_base.items() for identity in ids.split()}


LISTED = planted(
    plain=(
        "S1 S3 S6 M1 M3 M3:nan M3:uniform M6 M7 M7:nan M7:uniform M9 M11 M11:one X1 X2 X6 X6:log2e "
        "H1 H1:merged H4 H5 H7 H7:q P1 P2 P2:all P2:out P3 P3:q P3:out P3:twice P5 P6 L3 L4 L6 L6:1e-12 "
        "L6:1e-06 L6:0 L7 L7:squared L11 L12 L12:first L14 L15 R1 R3 G2"
    ),
    tiny="L4:tiny L6:tiny",
    blind="M14",
    window="M21",
    softcap="M22",
    alibi4="M24",
    alibi="M24:all M24:both",
    huge="X3",
    gqa="H9",
    batch="P11 X2:batch H5:batch",
    batch_masks="M20",
    pe="E1 E4 E7 E7:pad",
    batch_pe="E8",
    left_padded="E10",
    rope="T1 T2 T3",
)
"""mistakes.json's, each in the ways in which it is written, and what each is planted in."""

HARMLESS = planted(plain="S0 S0:both M2 M19", alibi="M25")
"""mistakes.json's that are none in value: something between differs, the result does not."""

INVENTED = planted(
    plain=(
        "I_d I_sqrt_n I_sqrt_h I_quarter I_times I_d_model I_rsqrt I_abs I_uncentred I_gamma_after "
        "I_one_plus I_no_gamma I_no_beta I_columns I_gelu_tanh I_relu I_silu I_no_act "
        "I_gelu_no_half I_gelu_no_root I_softmax_one I_softmax_sink I_softmax_max I_no_normalize "
        "I_square I_interleaved I_embed_scale I_no_norm1 I_norm_twice I_gammas_swapped I_q_raw "
        "I_v_from_k I_biases_swapped I_qv I_kv_shared I_v_reversed I_one_future "
        "I_diagonal_only I_fill_zero I_fill_minus_1 I_mask_multiplied I_mask_added "
        "I_softmax_everything I_weights_turned I_double_softmax I_scale_again I_out_k I_out_q "
        "I_head_order I_merge I_merge_interleaved I_heads_mean "
        "I_residual_norm I_residual_half I_residual_minus I_residual_twice I_no_norm2 I_mlp_x "
        "I_act_after I_mlp_no_bias I_no_residual2 I_parallel I_final_norm"
    ),
    pe=(
        "I_pe_reversed I_pe_base I_pe_half I_pe_cos_first I_pe_tripled I_pe_left_out I_pe_one_row I_pe_later "
        "I_residual_x0"
    ),
    rope=(
        "I_rope_from_1 I_rope_base I_rope_rate I_rope_degrees I_rope_swapped I_rope_reflect "
        "I_rope_not_q I_rope_not_k I_rope_v_too"
    ),
    blind="I_uniform",
    masks="I_masks_reversed",
    gqa="I_gqa_v_only",
    softcap="I_no_cap I_cap_undivided I_cap_unmultiplied",
    alibi="I_no_alibi I_alibi_reversed I_alibi_sign",
    window="I_window_narrow I_window_both",
)
"""Mistakes that no list has."""
