"""out = concat(head₀, …, head_{h−1}) W_Oᵀ + b_O, headᵢ = attention(Qᵢ, Kᵢ, Vᵢ) (Vaswani et al. 2017, 3.2.2).

    q ─linear─ Q ─split─ Q₀ … ─┐
    k ─linear─ K ─split─ K₀ … ─┼─ attention per head ─ concat ─ linear ─ out
    v ─linear─ V ─split─ V₀ … ─┘

q (…, n_q, e), k, v (…, n_k, e); self-attention passes the same tensor three times. Each projection
(w (out, in), b (out)) may be left out, alone or all together. Head i takes the i-th block of
columns; heads must divide the width. With kv_heads, keys and values have fewer heads, and head i
uses number i // (heads / kv_heads) of them (Ainslie et al. 2023).

mask and bias as in attention, the same for every head; with masks_by_head each of them has an axis
`heads` before its last two. past_k, past_v (…, n_past, e): projected keys and values of earlier
tokens, put before the new ones; a causal call passes offset=n_past. appended_k, appended_v (e): one
more key and value after all others, and zero_key=True appends zeros; no mask hides them. causal,
offset, window, scale, softcap and empty go to each head.
"""

from __future__ import annotations

from ..core.axes import Spec, describe, need_flag, need_kind, need_rank, need_size
from ..core.errors import Rejected
from ..core.op import Op, Reject, Sample, find, register


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
    *,
    heads: int,
    kv_heads: int | None = None,
    causal: bool = False,
    offset: int = 0,
    window: tuple | None = None,
    masks_by_head: bool = False,
    zero_key: bool = False,
    scale: float | str | None = None,
    softcap: float | str | None = None,
    empty: str = "zero",
) -> Spec:
    need_flag(masks_by_head=masks_by_head, zero_key=zero_key)
    need_size("heads", heads, least=1)
    groups = heads if kv_heads is None else kv_heads
    need_size("kv_heads", groups, least=1)
    if heads % groups:
        raise Rejected(f"{heads} heads do not share {groups} kv_heads evenly; expected a divisor of {heads}")
    need_kind("float", q=q, k=k, v=v)
    need_rank(2, q=q, k=k, v=v)
    queries = _projected("q", q, w_q, b_q)
    keys = _lengthened("k", _projected("k", k, w_k, b_k), past_k, appended_k, zero_key)
    values = _lengthened("v", _projected("v", v, w_v, b_v), past_v, appended_v, zero_key)
    for pair, given in (("past", (past_k, past_v)), ("appended", (appended_k, appended_v))):
        if (given[0] is None) != (given[1] is None):
            raise Rejected(f"one of {pair}_k and {pair}_v is given; expected both or none")
    q_part = _part("q", queries, heads)
    k_part, v_part = _part("k", keys, groups), _part("v", values, groups)
    appended = (appended_k is not None) + zero_key
    masks = (
        _of_one_head(name, x, heads if masks_by_head else None, keys.shape[-2], appended)
        for name, x in (("mask", mask), ("bias", bias))
    )
    head = find("attention").shape(
        q_part, k_part, v_part, *masks, causal=causal, offset=offset, window=window,
        appended=appended, scale=scale, softcap=softcap, empty=empty,
    )  # fmt: skip
    out = head["out"]
    return _projected("o", Spec((*out.shape[:-1], out.shape[-1] * heads), out.axes), w_o, b_o)


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
    return Spec((*x.shape[:-2], x.shape[-2] + more, x.shape[-1]), x.axes) if more else x


def _part(name: str, x: Spec, heads: int) -> Spec:
    if x.shape[-1] % heads:
        raise Rejected(
            f"{name} is {describe(x)}: {x.shape[-1]} features do not divide into {heads} heads;"
            f" expected a multiple of {heads}"
        )
    return Spec((*x.shape[:-1], x.shape[-1] // heads), x.axes)


def _of_one_head(name: str, x: Spec | None, heads: int | None, n_k: int, appended: int) -> Spec | None:
    """The mask or bias that one head gets; `heads` is the size of its axis of heads, if it has one."""
    if x is None:
        return None
    if heads is not None:
        if x.rank < 3 or x.shape[-3] != heads:
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
    bias=None, past_k=None, past_v=None, appended_k=None, appended_v=None,
    *, heads, kv_heads, causal, offset, window, masks_by_head, zero_key, scale, softcap, empty,
):  # fmt: skip
    if w_q is not None:
        q = g.linear(q, w_q, b_q, name="q", title="Q")
    if w_k is not None:
        k = g.linear(k, w_k, b_k, name="k", title="K")
    if w_v is not None:
        v = g.linear(v, w_v, b_v, name="v", title="V")
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
    outs = []
    for i in range(heads):
        if masks_by_head:
            mask, bias = masks[i], biases[i]  # pyright: ignore
        out, _ = g.attention(
            queries[i], keys[i], values[i], mask, bias, causal=causal, offset=offset, window=window,
            appended=(appended_k is not None) + zero_key, scale=scale, softcap=softcap, empty=empty,
            name=f"head{i}", title=f"Head {i}",
        )  # fmt: skip
        outs.append(out)
    out = g.concat(*outs, name="concat", title="concat heads")
    return out if w_o is None else g.linear(out, w_o, b_o, name="proj", title="output projection")


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
    """The slice of a mask or bias for each head."""
    if x is None:
        return [None] * heads
    slices = g.split(x, heads, axis=-3, name=f"{name}_heads")
    shape = (*x.shape[:-3], *x.shape[-2:])
    return [g.reshape(part, shape, name=f"{name}{i}", title=part.symbol) for i, part in enumerate(slices)]


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

register(
    Op(
        name="multi_head",
        title="multi-head attention",
        glyph="⫴",
        family="composite",
        formula="concat(attention per head)",
        level="block",
        shape=shape,
        expand=expand,
        note=note,
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
        ),
        rejects=(
            Reject(
                (Spec((4, 6), ("token", "feature")),) * 3,
                {"heads": 4},
                "6 features do not divide into 4 heads; expected a multiple of 4",
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
        ),
    )
)
