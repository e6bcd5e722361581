"""out = concat(head₀, …, head_{h−1}) W_Oᵀ + b_O, headᵢ = attention(Qᵢ, Kᵢ, Vᵢ) (Vaswani et al. 2017, 3.2.2).

    q ─linear─ Q ─split─ Q₀ … ─┐
    k ─linear─ K ─split─ K₀ … ─┼─ attention per head ─ concat ─ linear ─ out
    v ─linear─ V ─split─ V₀ … ─┘

q (…, n_q, e), k, v (…, n_k, e); self-attention passes the same tensor three times. Each projection
(w (out, in), b (out)) may be left out, alone or all together. Head i takes the i-th block of
columns; heads must divide the width. With kv_heads, keys and values have fewer heads, and head i
uses number i // (heads / kv_heads) of them (Ainslie et al. 2023).

Before keys and values are cached or cut into heads, each head's part of Q and K passes through an
RMSNorm where gamma_q, gamma_k (d_k), its gains, are given (eps_qk; Qwen 3), and then through rope where
there are angles: cos, sin (…, n, r/2), which may differ from one sequence of a batch to the next, or
those of rotary=base for query i at position i + offset and key j at position j. Only the first r =
2 · rotary_pairs features of a head turn (default: all); interleaved as in rope.

mask and bias as in attention, the same for every head; with masks_by_head each of them has an axis of
`heads` (or 1) before its last two. past_k, past_v (…, n_past, e): projected keys (turned, where keys
turn) and values of earlier tokens, put before the new ones; a causal call passes offset=n_past.
appended_k, appended_v (e): one more key and value after all others, and zero_key=True appends zeros; no
mask hides them. sink (heads): the sink of each head. causal, offset, window, scale, softcap and empty
go to each head's attention.
"""

from __future__ import annotations

from typing import Any

from ..core.axes import Spec, describe, need_flag, need_kind, need_number, need_rank, need_size, unify
from ..core.errors import Rejected
from ..core.op import Op, Reject, Sample, find, register
from ..core.words import counted, joined


def shape(
    q: Spec,
    k: Spec,
    v: Spec,
    mask: Spec | None = None,
    w_q: Spec | None = None,
    b_q: Spec | None = None,
    w_k: Spec | None = None,
    b_k: Spec | None = None,
    w_v: Spec | None = None,
    b_v: Spec | None = None,
    w_o: Spec | None = None,
    b_o: Spec | None = None,
    bias: Spec | None = None,
    past_k: Spec | None = None,
    past_v: Spec | None = None,
    appended_k: Spec | None = None,
    appended_v: Spec | None = None,
    gamma_q: Spec | None = None,
    gamma_k: Spec | None = None,
    cos: Spec | None = None,
    sin: Spec | None = None,
    sink: Spec | None = None,
    *,
    heads: int,
    kv_heads: int | None = None,
    masks_by_head: bool = False,
    zero_key: bool = False,
    rotary: float | str | None = None,
    rotary_pairs: int | None = None,
    interleaved: bool = False,
    eps_qk: float | str = "1e-05",
    **head: Any,
) -> Spec:
    need_flag(masks_by_head=masks_by_head, zero_key=zero_key, interleaved=interleaved)
    need_size("heads", heads, least=1)
    groups = heads if kv_heads is None else kv_heads
    need_size("kv_heads", groups, least=1)
    if heads % groups:
        raise Rejected(f"{heads} heads do not share {groups} kv_heads evenly; expected a divisor of {heads}")
    need_kind("float", q=q, k=k, v=v)
    need_rank(2, q=q, k=k, v=v)
    need_number("eps_qk", eps_qk)
    need_pairs(past_k=past_k, past_v=past_v)
    need_pairs(appended_k=appended_k, appended_v=appended_v)
    need_pairs(cos=cos, sin=sin)
    need_angles(rotary, rotary_pairs, cos)
    queries, keys = _projected("q", q, w_q, b_q), _projected("k", k, w_k, b_k)
    for name, x, count, gamma in (("q", queries, heads, gamma_q), ("k", keys, groups, gamma_k)):
        _turned(name, x, count, gamma, cos, sin, rotary, rotary_pairs, head["offset"])
    keys = _lengthened("k", keys, past_k, appended_k, zero_key)
    values = _lengthened("v", _projected("v", v, w_v, b_v), past_v, appended_v, zero_key)
    q_part = _part("q", queries, heads)
    k_part, v_part = _part("k", keys, groups), _part("v", values, groups)
    appended = (appended_k is not None) + zero_key
    masks = (
        _of_one_head(name, x, heads if masks_by_head else None, keys.shape[-2], appended)
        for name, x in (("mask", mask), ("bias", bias))
    )
    if sink is not None and (sink.shape != (heads,) or sink.kind != "float"):
        raise Rejected(f"sink is {describe(sink)}; expected one float for each of {heads} heads")
    found = find("attention").shape(q_part, k_part, v_part, *masks, appended=appended, **head)
    out = found["out"]
    return _projected("o", Spec((*out.shape[:-1], out.shape[-1] * heads), out.axes), w_o, b_o)


def need_pairs(**given: Spec | None) -> None:
    """Reject one of two operands without the other."""
    if len({x is None for x in given.values()}) > 1:
        raise Rejected(f"one of {' and '.join(given)} is given; expected both or none")


def need_angles(rotary: float | str | None, rotary_pairs: int | None, cos: Spec | None) -> None:
    """Reject angles that are given twice, or cut without being made."""
    if rotary is not None:
        need_number("rotary", rotary, positive=True)
        if cos is not None:
            raise Rejected("rotary is given beside cos and sin; expected one of them")
    if rotary_pairs is not None:
        need_size("rotary_pairs", rotary_pairs, least=1)
        if rotary is None:
            raise Rejected(
                "rotary_pairs is given without rotary; expected both, or cos and sin of so many columns"
            )


def _turned(name, x, count, gamma, cos, sin, rotary, pairs, offset) -> None:
    """The shape rule of what happens to each head's part of Q or K, which leaves its shape as it is."""
    part = _part(name, x, count)
    rows = Spec((*part.shape[:-1], count, part.shape[-1]))
    if gamma is not None:
        try:
            find("rmsnorm").shape(rows, gamma)
        except Rejected as error:
            raise Rejected(f"norm of {name}: {str(error).replace('gamma', f'gamma_{name}', 1)}") from None
    if rotary is not None:
        cos = sin = find("rope_angles").shape(x.shape[-2], 2 * (pairs or rows.shape[-1] // 2), offset=offset)[
            "cos"
        ]
    if cos is not None:
        try:
            turned = find("rope").shape(part, cos, sin)
        except Rejected as error:
            raise Rejected(f"rope of {name}: {error}") from None
        if turned.shape != part.shape:
            raise Rejected(
                f"rope of {name}: cos is {describe(cos)}; expected a shape that stretches to"
                f" {describe(Spec((*part.shape[:-1], cos.shape[-1])))}"
            )


def _projected(name: str, x: Spec, w: Spec | None, b: Spec | None) -> Spec:
    if w is None:
        if b is not None:
            raise Rejected(f"b_{name} is given without w_{name}; expected both, or w_{name} alone")
        return x
    try:
        return find("linear").shape(x, w, b)
    except Rejected as error:
        raise Rejected(f"projection {name}: {error}") from None


def _lengthened(name: str, x: Spec, past: Spec | None, appended: Spec | None, zero_key: bool) -> Spec:
    if past is not None:
        try:
            x = find("concat").shape(past, x, axis=-2)
        except Rejected as error:
            raise Rejected(f"past_{name}: {error}") from None
    if appended is not None and appended.shape != x.shape[-1:]:
        raise Rejected(f"appended_{name} is {describe(appended)}; expected one row of {x.shape[-1]}")
    more = (appended is not None) + zero_key
    if not more:
        return x
    feature = x.axes[-1] if appended is None else unify(x.axes[-1], appended.axes[0])
    return Spec((*x.shape[:-2], x.shape[-2] + more, x.shape[-1]), (*x.axes[:-1], feature))


def _fitting(features: int, heads: int) -> list[int]:
    """The numbers of heads nearest to `heads` that divide the features."""
    below = [count for count in range(heads, 0, -1) if features % count == 0][:1]
    above = [count for count in range(heads, features + 1) if features % count == 0][:1]
    return below + above


def _part(name: str, x: Spec, heads: int) -> Spec:
    if x.shape[-1] % heads:
        raise Rejected(
            f"the {counted(x.shape[-1], 'feature')} of {name} do not divide into {heads} heads;"
            f" {joined(_fitting(x.shape[-1], heads), 'or')} would do"
        )
    return Spec((*x.shape[:-1], x.shape[-1] // heads), x.axes)


def _of_one_head(name: str, x: Spec | None, heads: int | None, n_k: int, appended: int) -> Spec | None:
    """The mask or bias that one head gets; `heads` is the size of its axis of heads, if it has one."""
    if x is None:
        return None
    if heads is not None:
        if x.rank < 3 or x.shape[-3] not in (heads, 1):
            raise Rejected(f"{name} is {describe(x)}; expected an axis of {heads} heads before the last two")
        x = Spec((*x.shape[:-3], *x.shape[-2:]), (*x.axes[:-3], *x.axes[-2:]), x.kind)
    if appended:
        try:
            wide: Spec = find("broadcast").shape(x, (*x.shape[:-1], n_k - appended))
        except Rejected as error:
            raise Rejected(f"{name}: {error}") from None
        return find("pad").shape(wide, 0, appended, value=True if x.kind == "bool" else 0)
    return x


def expand(
    g, q, k, v, mask=None, w_q=None, b_q=None, w_k=None, b_k=None, w_v=None, b_v=None, w_o=None, b_o=None,
    bias=None, past_k=None, past_v=None, appended_k=None, appended_v=None, gamma_q=None, gamma_k=None,
    cos=None, sin=None, sink=None,
    *, heads, kv_heads, masks_by_head, zero_key, rotary, rotary_pairs, interleaved, eps_qk, **head,
):  # fmt: skip
    if w_q is not None:
        q = g.linear(q, w_q, b_q, name="q", title="Q")
    if w_k is not None:
        k = g.linear(k, w_k, b_k, name="k", title="K")
    if w_v is not None:
        v = g.linear(v, w_v, b_v, name="v", title="V")
    groups = heads if kv_heads is None else kv_heads
    if gamma_q is not None or gamma_k is not None or cos is not None or rotary is not None:
        past = 0 if past_k is None else past_k.shape[-2]
        turns = angles(g, q, k, heads, cos, sin, rotary, rotary_pairs, head["offset"], past)
        q = turned(g, q, "q", heads, gamma_q, eps_qk, turns[0], interleaved)
        k = turned(g, k, "k", groups, gamma_k, eps_qk, turns[1], interleaved)
    if past_k is not None:
        k = g.concat(past_k, k, axis=-2, name="k_all", title="K")
        v = g.concat(past_v, v, axis=-2, name="v_all", title="V")
    if appended_k is not None:
        k, v = append_row(g, k, appended_k, "k_appended"), append_row(g, v, appended_v, "v_appended")
    if zero_key:
        k = g.pad(k, 0, 1, axis=-2, name="k_zero", title="K")
        v = g.pad(v, 0, 1, axis=-2, name="v_zero", title="V")
    if appended_k is not None or zero_key:
        more = (appended_k is not None) + zero_key
        n = k.shape[-2] - more
        mask, bias = show_appended(g, mask, "mask", n, more), show_appended(g, bias, "bias", n, more)
    queries = g.split(q, heads, name="q_heads")
    keys = g.split(k, heads if kv_heads is None else kv_heads, name="k_heads")
    values = g.split(v, heads if kv_heads is None else kv_heads, name="v_heads")
    if kv_heads is not None:
        keys = [key for key in keys for _ in range(heads // kv_heads)]
        values = [value for value in values for _ in range(heads // kv_heads)]
    if masks_by_head:
        masks, biases = by_head(g, mask, "mask", heads), by_head(g, bias, "bias", heads)
    if sink is not None:
        sinks = g.split(sink, heads, name="sinks")
    outs = []
    for i in range(heads):
        if masks_by_head:
            mask, bias = masks[i], biases[i]  # pyright: ignore
        if sink is not None:
            sink = sinks[i]  # pyright: ignore
        out, _ = g.attention(
            queries[i], keys[i], values[i], mask, bias, sink, appended=(appended_k is not None) + zero_key,
            **head, name=f"head{i}", title=f"Head {i}",
        )  # fmt: skip
        outs.append(out)
    out = g.concat(*outs, name="concat", title="concat heads")
    return out if w_o is None else g.linear(out, w_o, b_o, name="proj", title="output projection")


def onnx(o, *operands, **attributes):
    """One attention for all heads, where an operator can say it."""
    given = {p.name for p, x in zip(find("multi_head").operands, operands, strict=True) if x is not None}
    more = given & {"past_k", "appended_k", "sink"} or attributes["zero_key"] or attributes["offset"]
    return together if o.together and not more and o.has("Attention") else None


def together(
    g, q, k, v, mask, w_q, b_q, w_k, b_k, w_v, b_v, w_o, b_o, bias, past_k, past_v, appended_k, appended_v,
    gamma_q, gamma_k, cos, sin, sink,
    *, heads, kv_heads, masks_by_head, zero_key, rotary, rotary_pairs, interleaved, eps_qk, **head,
):  # fmt: skip
    """The same with an axis for the heads, and one attention for all of them."""
    q = q if w_q is None else g.linear(q, w_q, b_q, name="q", title="Q")
    k = k if w_k is None else g.linear(k, w_k, b_k, name="k", title="K")
    v = v if w_v is None else g.linear(v, w_v, b_v, name="v", title="V")
    groups = heads if kv_heads is None else kv_heads
    turns = angles(g, q, k, heads, cos, sin, rotary, rotary_pairs, head["offset"], 0)
    q = turned(g, q, "q", heads, gamma_q, eps_qk, turns[0], interleaved)
    k = turned(g, k, "k", groups, gamma_k, eps_qk, turns[1], interleaved)
    parts = []
    for name, x, count in (("q", q, heads), ("k", k, groups), ("v", v, groups)):
        shape = (*x.shape[:-1], count, x.shape[-1] // count)
        axes = (*x.axes[:-1], "head", x.axes[-1])
        x = exchanged(g, g.reshape(x, shape, axes=axes, name=f"{name}_apart"), f"{name}_heads")
        parts.append(g.repeat(x, heads // count, axis=-3, name=f"{name}_shared") if count < heads else x)
    if not masks_by_head:
        mask, bias = for_all_heads(g, mask, "mask"), for_all_heads(g, bias, "bias")
    if sink is not None:
        sink = g.reshape(sink, (heads, 1, 1), name="sinks")
    out, _ = g.attention(*parts, mask, bias, sink, **head, name="heads", title="Heads")
    rows = exchanged(g, out, "rows")
    out = g.reshape(rows, (*rows.shape[:-2], heads * rows.shape[-1]), name="concat", title="concat heads")
    return out if w_o is None else g.linear(out, w_o, b_o, name="proj", title="output projection")


def exchanged(g, x, name):
    """x with the two axes before the last exchanged."""
    *lead, a, b, c = range(len(x.shape))
    return g.transpose(x, perm=(*lead, b, a, c), name=name)


def for_all_heads(g, x, name):
    """A mask or bias with an axis of size 1 for the heads, where it has one for what comes before them."""
    if x is None or len(x.shape) < 3:
        return x
    return g.reshape(x, (*x.shape[:-2], 1, *x.shape[-2:]), name=f"{name}_of_all", title=x.symbol)


def angles(g, q, k, heads, cos, sin, rotary, pairs, offset, past):
    """(cos, sin) for the rows of q and of k, with an axis of size 1 for the heads; (None, None) without."""
    if rotary is None:
        both = () if cos is None else by_row(g, cos, sin, "")
        return both, both
    features = 2 * (pairs or q.shape[-1] // heads // 2)
    tables = []
    for name, x, start in (("q", q, offset), ("k", k, past)):
        if tables and (x.shape[-2], start) == (q.shape[-2], offset):
            return tables * 2
        table = g.rope_angles(x.shape[-2], features, base=rotary, offset=start, name=f"angles_{name}")
        tables.append(by_row(g, table[0], table[1], f"_{name}"))
    return tables


def by_row(g, cos, sin, of):
    """Angles (…, n, r/2) as (…, n, 1, r/2)."""
    shape = (*cos.shape[:-1], 1, cos.shape[-1])
    axes = (*cos.axes[:-1], "head", cos.axes[-1])
    return tuple(
        g.reshape(x, shape, axes=axes, name=f"{name}{of}", title=name)
        for name, x in (("cos", cos), ("sin", sin))
    )


def turned(g, x, name, count, gamma, eps, turns, interleaved):
    """Each head's part of Q or K, normed and turned, in its place."""
    if gamma is None and not turns:
        return x
    shape, axes = x.shape, x.axes
    x = g.reshape(
        x, (*shape[:-1], count, shape[-1] // count), axes=(*axes[:-1], "head", axes[-1]), name=f"{name}_parts"
    )
    if gamma is not None:
        x = g.rmsnorm(x, gamma, eps=eps, name=f"{name}_normed")
    if turns:
        x = g.rope(x, *turns, interleaved=interleaved, name=f"{name}_turned")
    return g.reshape(x, shape, axes=axes, name=f"{name}_rows", title=name.upper())


def append_row(g, x, row, name):
    """The rows of x, and one more after them."""
    row = g.broadcast(row, (*x.shape[:-2], 1, x.shape[-1]), name=f"{name}_row")
    return g.concat(x, row, axis=-2, name=name, title=x.symbol)


def show_appended(g, x, name, n, more):
    """A mask or bias over n keys that lets the appended ones through as they are."""
    if x is None:
        return x
    if x.shape[-1:] != (n,):
        x = g.broadcast(x, (*x.shape[:-1], n), name=f"{name}_stretched", title=x.symbol)
    shown = True if x.kind == "bool" else 0
    return g.pad(x, 0, more, value=shown, name=f"{name}_appended", title=x.symbol)


def by_head(g, x, name, heads):
    """The slice of a mask or bias for each head, which is one for all where there is one."""
    if x is None:
        return [None] * heads
    shape = (*x.shape[:-3], *x.shape[-2:])
    if x.shape[-3] == 1 < heads:
        return [g.reshape(x, shape, name=f"{name}_of_all", title=x.symbol)] * heads
    slices = g.split(x, heads, axis=-3, name=f"{name}_heads")
    return [g.reshape(part, shape, name=f"{name}{i}", title=part.symbol) for i, part in enumerate(slices)]


def caution(*operands, causal, offset, **_) -> list[str]:
    """A query does not see its own key where `offset` leaves out earlier ones."""
    given = dict(zip((p.name for p in find("multi_head").operands), operands, strict=False))
    past = given.get("past_k")
    if not causal or past is None or offset >= past.shape[-2]:
        return []
    return [
        f"past_k has {past.shape[-2]} earlier tokens and offset is {offset}, so that causal hides a query's own"
        f" key from it; expected offset={past.shape[-2]}"
    ]


def note(*_, heads, kv_heads, causal, window, **__) -> str:
    words = [f"h={heads}"] + ([] if kv_heads is None else [f"kv={kv_heads}"]) + ["causal"] * causal
    return "   ".join(words + ([] if window is None else [f"window {window[0]}, {window[1]}"]))


x = [[0.5, -1.25, 2.0, 0.75], [1.5, 1.0, -3.0, 0.25], [-0.5, 0.1, 0.4, -1.0]]
context = [[1.0, 0.0, -1.0, 0.5], [0.3, -0.6, 0.9, 1.2]]
w = [[0.5, 1.0, 0.25, -0.5], [-1.0, 0.0, 2.0, 0.1], [0.3, 0.2, 0.1, 0.0], [1.0, -1.0, 0.5, 0.7]]
b = [0.1, -0.2, 0.3, 0.0]
two = [row[:2] for row in x]
past = [[0.2, -0.4, 0.6, 0.1]]
per_head_mask = [[[True, False, True]] * 3, [[True, True, False]] * 3]
per_head_bias = [[[0.5, 0.0, -1.0]] * 3, [[0.0, float("-inf"), 0.25]] * 3]
nothing = (None,) * 9  # eight projections and the bias
normed = (None, *nothing, *(None,) * 4, [1.5, 0.5], [-1.0, 2.0])
turns = ([[[1.0], [0.5], [-0.4]], [[0.6], [0.0], [0.8]]], [[[0.0], [0.8], [0.9]], [[-0.8], [1.0], [0.6]]])

register(
    Op(
        name="multi_head",
        title="multi-head attention",
        glyph="⊞",
        family="composite",
        formula="concat(attention per head)",
        level="block",
        shape=shape,
        expand=expand,
        onnx=onnx,
        note=note,
        caution=caution,
        hands_on="attention",
        sets=("appended",),
        samples=(
            Sample((x, x, x), {"heads": 2}),
            Sample((x, x, x), {"heads": 1, "causal": True}),
            Sample((x, context, context), {"heads": 4}),
            Sample((x, x, x, None, w, b, w, b, w, b, w, b), {"heads": 2, "causal": True}),
            Sample((x, context, context, [[True, False]] * 3, w, None, w, None, w, None, w), {"heads": 2}),
            Sample((x, two, two), {"heads": 4, "kv_heads": 2, "causal": True}),
            Sample((x, x, x, per_head_mask), {"heads": 2, "window": (1, None), "masks_by_head": True}),
            Sample(
                (x, x, x, None, *nothing[1:], per_head_bias),
                {"heads": 2, "softcap": 3, "scale": 0.25, "masks_by_head": True},
            ),
            Sample((x, x, x, None, *nothing, past, past), {"heads": 2, "causal": True, "offset": 1}),
            Sample(
                (x, x, x, [True, False, True], *nothing[1:], [0.5, 0.0, 1.0], None, None, b, b),
                {"heads": 2, "causal": True, "zero_key": True},
            ),
            Sample(([x, x], [x, x], [x, x], None, *nothing, None, None, b, b), {"heads": 2}),
            Sample((x, x, x, [[[True, False, True]] * 3]), {"heads": 2, "masks_by_head": True}),
            Sample((x, x, x, *normed), {"heads": 2, "causal": True, "rotary": 100.0}),
            Sample((x, two, two, *normed), {"heads": 2, "kv_heads": 1, "rotary": "1e4", "interleaved": True}),
            Sample(
                ([x, x], [x, x], [x, x], None, *nothing, *(None,) * 4, [1.5, 0.5, -1.0, 2.0], None, *turns),
                {"heads": 1, "eps_qk": 0.1},
            ),
            Sample(
                (x, x, x, None, *nothing, past, past),
                {"heads": 2, "causal": True, "offset": 1, "rotary": 10, "rotary_pairs": 1},
            ),
            Sample((x, context, context, None, *nothing, *(None,) * 8, [0.5, -1.0]), {"heads": 2, "rotary": 2}),
        ),
        rejects=(
            Reject(
                (Spec((4, 6), ("token", "feature")),) * 3,
                {"heads": 4},
                "the 6 features of q do not divide into 4 heads; 3 or 6 would do",
            ),
            Reject(
                (Spec((4, 6)), Spec((4, 6)), Spec((4, 6)), None, None, Spec((6,))),
                {"heads": 2},
                "b_q is given without w_q; expected both, or w_q alone",
            ),
            Reject((Spec((4, 6)),) * 3, {"heads": 2, "zero_key": 1}, "zero_key is 1; expected True or False"),
            Reject((Spec((4, 6)),) * 3, {"heads": 0}, "heads must be an int of 1 or more, got 0"),
            Reject(
                (Spec((4, 6)),) * 3,
                {"heads": 3, "kv_heads": 2},
                "3 heads do not share 2 kv_heads evenly; expected a divisor of 3",
            ),
            Reject(
                (*(Spec((4, 6)),) * 3, None, *nothing, Spec((2, 4)), Spec((2, 4))),
                {"heads": 2},
                "past_k: xs[1] is 4 × 6 and xs[0] is 2 × 4; expected the same sizes except on axis -2",
            ),
            Reject(
                (*(Spec((4, 6)),) * 3, Spec((3, 4, 4), kind="bool")),
                {"heads": 2, "masks_by_head": True},
                "mask is 3 × 4 × 4 of bool; expected an axis of 2 heads before the last two",
            ),
            Reject(
                (*(Spec((4, 6)),) * 3, None, *nothing, Spec((2, 6))),
                {"heads": 2},
                "one of past_k and past_v is given; expected both or none",
            ),
            Reject(
                (*(Spec((4, 6)),) * 3, None, *nothing, *(None,) * 4, Spec((6,))),
                {"heads": 2},
                "norm of q: gamma_q is 6; expected one row of 3",
            ),
            Reject(
                (*(Spec((4, 6)),) * 3, None, *nothing, *(None,) * 6, *(Spec((5, 1)),) * 2),
                {"heads": 2},
                "rope of q: sizes 4 and 5 on axis -2 do not agree; expected equal sizes, or 1",
            ),
            Reject(
                (*(Spec((4, 6)),) * 3, None, *nothing, *(None,) * 6, *(Spec((2, 4, 1)),) * 2),
                {"heads": 2},
                "rope of q: cos is 2 × 4 × 1; expected a shape that stretches to 4 × 1",
            ),
            Reject(
                (*(Spec((4, 6)),) * 3, None, *nothing, *(None,) * 6, Spec((4, 1))),
                {"heads": 2},
                "one of cos and sin is given; expected both or none",
            ),
            Reject(
                (*(Spec((4, 6)),) * 3, None, *nothing, *(None,) * 6, *(Spec((4, 1)),) * 2),
                {"heads": 2, "rotary": 10000},
                "rotary is given beside cos and sin; expected one of them",
            ),
            Reject(
                (Spec((4, 6)),) * 3,
                {"heads": 2, "rotary": 10000, "rotary_pairs": 2},
                "rope of q: cos has 2 angles in a row and x has 3 features",
            ),
            Reject(
                (Spec((4, 6)),) * 3, {"heads": 2, "rotary_pairs": 1}, "rotary_pairs is given without rotary"
            ),
            Reject(
                (Spec((4, 6)),) * 3, {"heads": 2, "rotary": "x"}, "rotary is 'x'; expected a number above 0"
            ),
            Reject(
                (Spec((4, 6)),) * 3, {"heads": 2, "interleaved": 1}, "interleaved is 1; expected True or False"
            ),
            Reject(
                (*(Spec((4, 6)),) * 3, None, *nothing, *(None,) * 8, Spec((3,))),
                {"heads": 2},
                "sink is 3; expected one float for each of 2 heads",
            ),
        ),
    )
)
