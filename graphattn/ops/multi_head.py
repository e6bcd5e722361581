"""out = concat(head₀, …, head_{h−1}) W_Oᵀ + b_O, headᵢ = attention(Qᵢ, Kᵢ, Vᵢ) (Vaswani et al. 2017, 3.2.2).

    q ─linear─ Q ─split─ Q₀ … ─┐
    k ─linear─ K ─split─ K₀ … ─┼─ attention per head ─ concat ─ linear ─ out
    v ─linear─ V ─split─ V₀ … ─┘

q (…, n_q, e), k, v (…, n_k, e); self-attention passes the same tensor three times. Each projection
(w (out, in), b (out)) may be left out, alone or all together. Head i takes the i-th block of
columns; heads must divide the width. mask, causal and offset are as in attention, the same for
every head.
"""

from __future__ import annotations

from ..axes import Spec, describe, need_kind, need_rank, need_size
from ..errors import Rejected
from ..op import Op, Reject, Sample, find, register


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
    *,
    heads: int,
    causal: bool = False,
    offset: int = 0,
) -> Spec:
    need_size("heads", heads, least=1)
    need_kind("float", q=q, k=k, v=v)
    need_rank(2, q=q, k=k, v=v)
    queries, keys, values = (
        _projected(name, x, w, b)
        for name, x, w, b in (("q", q, w_q, b_q), ("k", k, w_k, b_k), ("v", v, w_v, b_v))
    )
    for name, x in (("q", queries), ("k", keys), ("v", values)):
        if x.shape[-1] % heads:
            raise Rejected(
                f"{name} is {describe(x)}: {x.shape[-1]} features do not divide into {heads} heads;"
                f" expected a multiple of {heads}"
            )
    parts = (Spec((*x.shape[:-1], x.shape[-1] // heads), x.axes) for x in (queries, keys, values))
    out = find("attention").shape(*parts, mask, causal=causal, offset=offset)["out"]
    joined = Spec((*out.shape[:-1], out.shape[-1] * heads), out.axes)
    return _projected("o", joined, w_o, b_o)


def _projected(name: str, x: Spec, w: Spec | None, b: Spec | None) -> Spec:
    if w is None:
        if b is not None:
            raise Rejected(f"b_{name} is given without w_{name}; expected both, or w_{name} alone")
        return x
    try:
        return find("linear").shape(x, w, b)
    except Rejected as error:
        raise Rejected(f"projection {name}: {error}") from None


def expand(
    g, q, k, v, mask=None, w_q=None, b_q=None, w_k=None, b_k=None, w_v=None, b_v=None, w_o=None,
    b_o=None, *, heads, causal, offset,
):  # fmt: skip
    if w_q is not None:
        q = g.linear(q, w_q, b_q, name="q", title="Q")
    if w_k is not None:
        k = g.linear(k, w_k, b_k, name="k", title="K")
    if w_v is not None:
        v = g.linear(v, w_v, b_v, name="v", title="V")
    queries = g.split(q, heads, name="q_heads")
    keys = g.split(k, heads, name="k_heads")
    values = g.split(v, heads, name="v_heads")
    outs = []
    for i in range(heads):
        out, _ = g.attention(
            queries[i], keys[i], values[i], mask, causal=causal, offset=offset,
            name=f"head{i}", title=f"Head {i}",
        )  # fmt: skip
        outs.append(out)
    out = g.concat(*outs, name="concat", title="concat heads")
    return out if w_o is None else g.linear(out, w_o, b_o, name="proj", title="output projection")


x = [[0.5, -1.25, 2.0, 0.75], [1.5, 1.0, -3.0, 0.25], [-0.5, 0.1, 0.4, -1.0]]
context = [[1.0, 0.0, -1.0, 0.5], [0.3, -0.6, 0.9, 1.2]]
w = [[0.5, 1.0, 0.25, -0.5], [-1.0, 0.0, 2.0, 0.1], [0.3, 0.2, 0.1, 0.0], [1.0, -1.0, 0.5, 0.7]]
b = [0.1, -0.2, 0.3, 0.0]

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
        note=lambda *_, heads, causal, offset: f"h={heads}" + ("   causal" if causal else ""),
        samples=(
            Sample((x, x, x), {"heads": 2}),
            Sample((x, x, x), {"heads": 1, "causal": True}),
            Sample((x, context, context), {"heads": 4}),
            Sample((x, x, x, None, w, b, w, b, w, b, w, b), {"heads": 2, "causal": True}),
            Sample((x, context, context, [[True, False]] * 3, w, None, w, None, w, None, w), {"heads": 2}),
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
            Reject((Spec((4, 6)),) * 3, {"heads": 0}, "heads must be an int of 1 or more, got 0"),
        ),
    )
)
