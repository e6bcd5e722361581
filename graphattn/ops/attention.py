"""out = softmax(q kᵀ / √d_k, masked) v (Vaswani et al. 2017, equation 1).

    q ─┐
    k ─ᵀ─⊗─ scores ─÷√d_k─ scaled ─mask─ masked ─softmax─ weights ─⊗─ out
    v ────────────────────────────────────────────────────────────┘

q (…, n_q, d_k), k (…, n_k, d_k), v (…, n_k, d_v) → out (…, n_q, d_v), weights (…, n_q, n_k).
mask: bool (True = may attend) or float (added), of a shape that broadcasts to the scores; bias: float,
added before anything is hidden. causal hides key j from query i where j > i + offset; window=(left,
right) hides it outside i + offset − left … i + offset + right (None = unbounded); the last `appended`
keys are hidden by neither. scale: a factor instead of 1/√d_k. softcap: c · tanh(scores / c), before
bias and masks. sink, of a shape that stretches to (…, n_q, 1): one more score in each row's softmax, which
no mask hides and whose weight is dropped, so that weights sum to less than 1 (Xiao et al. 2023; 0 is
"softmax1"). A query that sees nothing gets zeros (empty="zero", or a sink) or NaN (empty="nan"); what
stands behind a mask never leaks.
"""

from __future__ import annotations

import math

from ..core.axes import Spec, describe, need_flag, need_int, need_kind, need_rank, need_size
from ..core.errors import Rejected
from ..core.op import Op, Reject, Sample, find, register
from ..core.words import SUBSCRIPTS, shown

HIDDEN = float("-inf")


def shape(
    q: Spec,
    k: Spec,
    v: Spec,
    mask: Spec | None = None,
    bias: Spec | None = None,
    sink: Spec | None = None,
    *,
    causal: bool = False,
    offset: int = 0,
    window: tuple | None = None,
    appended: int = 0,
    scale: float | str | None = None,
    softcap: float | str | None = None,
    empty: str = "zero",
) -> dict[str, Spec]:
    need_flag(causal=causal)
    need_int("offset", offset)
    need_kind("float", q=q, k=k, v=v, bias=bias, sink=sink)
    need_rank(2, q=q, k=k, v=v)
    if q.shape[-1] != k.shape[-1]:
        raise Rejected(f"q has {q.shape[-1]} features and k has {k.shape[-1]}; expected as many")
    if k.shape[-2] != v.shape[-2]:
        raise Rejected(f"k has {k.shape[-2]} tokens and v has {v.shape[-2]}; expected as many")
    if not q.shape[-1]:
        raise Rejected("q has 0 features; expected 1 or more")
    scores = find("matmul").shape(q, find("transpose").shape(k))
    if scale is not None:
        find("scale").shape(scores, multiply=scale)
    if softcap is not None:
        find("softcap").shape(scores, cap=softcap)
    need_size("appended", appended)
    if appended > scores.shape[-1]:
        raise Rejected(f"appended is {appended}; expected at most the {scores.shape[-1]} keys there are")
    if causal or window is not None:
        left, right = reach(causal, window)
        find("window_mask").shape(*scores.shape[-2:], left=left, right=right, offset=offset)
    for name, operand, op in (("bias", bias, "add"), ("mask", mask, "mask")):
        if operand is not None:
            stretched = find(op).shape(scores, operand)
            if stretched.shape != scores.shape:
                raise Rejected(
                    f"{name} is {describe(operand)}; expected a shape that stretches to {describe(scores)}"
                )
            scores = stretched
    if sink is not None:
        try:
            column = find("broadcast").shape(sink, (*scores.shape[:-1], 1))
        except Rejected:
            wanted = describe(Spec((*scores.shape[:-1], 1)))
            raise Rejected(f"sink is {describe(sink)}; expected a shape that stretches to {wanted}") from None
        joined = find("concat").shape(scores, column)
        scores = Spec(scores.shape, joined.axes)
    find("softmax").shape(scores, empty=empty)
    return {"out": find("matmul").shape(scores, v), "weights": scores}


def reach(causal: bool, window: tuple | None) -> tuple[int | None, int | None]:
    """How far before and after itself a query sees; None = without bound."""
    if window is not None and (not isinstance(window, tuple) or len(window) != 2):
        raise Rejected(f"window is {shown(window)}; expected (left, right), each an int of 0 or more or None")
    left, right = (None, None) if window is None else window
    return left, 0 if causal else right


def expand(
    g, q, k, v, mask=None, bias=None, sink=None,
    *, causal, offset, window, appended, scale, softcap, empty,
):  # fmt: skip
    n_q, n_k, d_k = q.shape[-2], k.shape[-2], q.shape[-1]
    keys = g.transpose(k, name="keys")
    scores = g.matmul(q, keys, name="scores", title=f"{q.symbol} {keys.symbol}")
    if scale is None:
        scores = g.scale(scores, sqrt=d_k, name="scaled", title="√dₖ")
    else:
        scores = g.scale(scores, multiply=scale, name="scaled", title="scale")
    if softcap is not None:
        scores = g.softcap(scores, cap=softcap, name="capped")
    if bias is not None:
        scores = g.add(scores, bias, name="biased", title=bias.symbol)
    if causal or window is not None:
        if window is None:
            see = g.causal_mask(n_q, n_k - appended, offset=offset, name="visible", title="M")
        else:
            left, right = reach(causal, window)
            see = g.window_mask(
                n_q, n_k - appended, left=left, right=right, offset=offset, name="visible", title="M"
            )
        if appended:
            see = g.pad(see, 0, appended, value=True, name="visible_appended", title="M")
        scores = g.mask(scores, see, name="masked", title="M")
    if mask is not None:
        name = "masked_by_input" if causal or window is not None else "masked"
        scores = g.mask(scores, mask, name=name, title=mask.symbol)
    if sink is None:
        weights = g.softmax(scores, empty=empty, name="weights", title="softmax")
    else:
        column = g.broadcast(sink, (*scores.shape[:-1], 1), name="sink_column", title=sink.symbol)
        joined = g.concat(scores, column, name="with_sink")
        shares = g.softmax(joined, empty=empty, name="weights_with_sink", title="softmax")
        weights, _ = g.split(shares, (n_k, 1), name="kept")
    of_head = q.symbol[len(q.symbol.rstrip(SUBSCRIPTS)) :]
    out = g.matmul(weights, v, absorb_zeros=True, name="out", title=f"A{of_head} {v.symbol}")
    return out, weights


def in_torch(
    q: Spec, k: Spec, v: Spec, mask=None, bias=None, sink=None,
    *, causal, offset, window, appended, scale, softcap, empty,
):  # fmt: skip
    if bias or sink or window is not None or softcap is not None or appended or (causal and (offset or mask)):
        return ""
    more = ", attn_mask={mask}" if mask else ", is_causal=True" if causal else ""
    more += "" if scale is None else ", scale={scale}"
    return f"F.scaled_dot_product_attention({{q}}, {{k}}, {{v}}{more})"


def onnx(
    o, q, k, v, mask=None, bias=None, sink=None,
    *, causal, offset, window, appended, scale, softcap, empty,
):  # fmt: skip
    """One Attention, whose operands are (batch, head, token, feature)."""
    numbers = [1 / math.sqrt(q.shape[-1]) if scale is None else float(scale), float(softcap or 0)]
    leads = {x.shape[:-2] for x in (q, k, v)}
    one_lead = len(leads) == 1 and q.rank <= 4
    if not o.has("Attention") or not one_lead or sink is not None or empty != "zero":
        return None
    if offset or appended or not all(map(o.holds, numbers)) or not q.size * k.size:
        return None
    if window is not None and not o.has("Attention", since=25):
        return None
    new = {2: (0, 1), 3: (1,), 4: ()}[q.rank]
    n_q, n_k = q.shape[-2], k.shape[-2]
    given = [o.Unsqueeze(x, new) if new else x for x in (q, k, v)]
    masks = []
    for x in (mask, bias):
        if x is not None:
            each_batch = x.rank == q.rank == 3
            x = x if x.shape[-2:] == (n_q, n_k) else o.Expand(x, (*x.shape[:-2], n_q, n_k))
            masks.append(o.Unsqueeze(x, (1,)) if each_batch else x)
    if mask is not None and bias is not None:
        hides, added = masks
        masks = [o.Where(hides, added, HIDDEN) if mask.kind == "bool" else o.Add(hides, added)]
    sides: dict[str, int | float] = {"is_causal": int(causal)}
    if window is not None:
        sides |= {
            f"{side}_window_size": -1 if size is None else size
            for side, size in zip(("left", "right"), window, strict=True)
        }
    if scale is not None:
        sides["scale"] = float(scale)
    if softcap is not None:
        sides["softcap"] = float(softcap)
    found = o.Attention(*given, *masks, **sides, qk_matmul_output_mode=3, outputs=4)
    y, weights = found[0], found[3]
    if new:
        y, weights = (o.Squeeze(x, new) for x in (y, weights))
    return y, weights


def note(*_, causal, window, **__) -> str:
    words = ["causal"] if causal else []
    if window is not None:
        words.append("window " + ", ".join("∞" if side is None else str(side) for side in window))
    return "   ".join(words)


q = [[0.5, -1.25, 2.0], [1.5, 1.0, -3.0]]
k = [[1.0, 0.5, -0.5], [0.25, -2.0, 1.0], [-1.0, 0.75, 0.3]]
v = [[1.0, 2.0], [3.0, -4.0], [0.5, 0.25]]

register(
    Op(
        name="attention",
        title="attention",
        glyph="◎",
        family="composite",
        formula="softmax(q kᵀ / √dₖ) v",
        level="head",
        shape=shape,
        expand=expand,
        onnx=onnx,
        torch=in_torch,
        note=note,
        symbols={"out": "Z{i}", "weights": "A{i}"},
        roles={"q": "Q", "k": "K", "v": "V", "weights": "weights"},
        values={"empty": ("zero", "nan")},
        samples=(
            Sample((q, k, v)),
            Sample((k, k, v), {"causal": True}),
            Sample((q, k, v), {"causal": True, "offset": 1}),
            Sample((q, k, v, [[True, False, True], [False, False, False]])),
            Sample((k, k, v, [0.5, float("-inf"), -1.0]), {"causal": True}),
            Sample(([q, q], k, [v, v], [[[True, True, False]], [[False, True, True]]])),
            Sample((k, k, v, None, [[0.5, 0.0, -1.0]]), {"causal": True, "softcap": 2, "scale": "0.5"}),
            Sample((k, k, v), {"window": (1, 0)}),
            Sample((k, k, v), {"window": (0, None), "causal": True, "appended": 1}),
            Sample((q, k, v, [[False, False, False], [True, False, True]]), {"empty": "nan"}),
            Sample((q, k, v, [[False, False, False], [True, False, True]], None, [0.5])),
            Sample(([q, q], k, v, None, None, [[[0.0]], [[-2.0]]])),
        ),
        rejects=(
            Reject(
                (Spec((2, 3)), Spec((4, 5)), Spec((4, 2))),
                {},
                "q has 3 features and k has 5; expected as many (q is 2 × 3; k is 4 × 5; v is 4 × 2)",
            ),
            Reject(
                (Spec((2, 3)), Spec((4, 3)), Spec((5, 2))), {}, "k has 4 tokens and v has 5; expected as many"
            ),
            Reject(
                (Spec((2, 3)), Spec((4, 3)), Spec((4, 2)), Spec((2, 4), kind="int")),
                {},
                "an integer mask could mean either; expected bool (True = may attend) or float (added)",
            ),
            Reject(
                (Spec((2, 3)), Spec((4, 3)), Spec((4, 2)), Spec((3, 2, 4), kind="bool")),
                {},
                "mask is 3 × 2 × 4 of bool; expected a shape that stretches to 2 × 4",
            ),
            Reject(
                (Spec((2, 3)), Spec((4, 3)), Spec((4, 2))),
                {"window": 3},
                "window is 3; expected (left, right), each an int of 0 or more or None",
            ),
            Reject((Spec((2, 3)), Spec((4, 3)), Spec((4, 2))), {"window": (-1, 0)}, "0 or more"),
            Reject(
                (Spec((2, 3)), Spec((4, 3)), Spec((4, 2)), None, None, Spec((4,))),
                {},
                "sink is 4; expected a shape that stretches to 2 × 1",
            ),
            Reject(
                (Spec((2, 3)), Spec((4, 3)), Spec((4, 2))),
                {"softcap": 0},
                "cap is 0; expected a number above 0",
            ),
            Reject(
                (Spec((2, 3)), Spec((4, 3)), Spec((4, 2))),
                {"appended": 5},
                "appended is 5; expected at most the 4 keys there are",
            ),
            Reject(
                (Spec((2, 3)), Spec((4, 3)), Spec((4, 2))),
                {"causal": "no"},
                "causal is 'no'; expected True or False",
            ),
            Reject(
                (Spec((2, 3)), Spec((4, 3)), Spec((4, 2))), {"offset": 1.0}, "offset is 1.0; expected an int"
            ),
        ),
    )
)
