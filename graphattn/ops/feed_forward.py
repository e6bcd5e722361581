"""y = act(x W_inᵀ + b_in) W_outᵀ + b_out; gated: (act(x W_gateᵀ + b_gate) · (x W_inᵀ + b_in)) W_outᵀ + b_out.

    x ─ linear ─ act ─ linear ─ y            x ─┬─ linear gate ─ act ─┬─ · ─ linear ─ y
                                                └─ linear in ─────────┘

x (…, n, d), w_in and w_gate (f, d), w_out (d, f) → y (…, n, d); every bias may be left out. With
w_gate this is the gated form (Shazeer 2020): swiglu is activation="silu" with a gate.
activation: relu, gelu (erf), gelu_tanh or silu.
"""

from __future__ import annotations

from ..core.axes import Spec
from ..core.errors import Rejected, suggest
from ..core.op import Op, Reject, Sample, find, register
from ..core.words import shown

ACTIVATIONS = {
    "relu": ("relu", {}),
    "gelu": ("gelu", {}),
    "gelu_tanh": ("gelu", {"approximate": "tanh"}),
    "silu": ("silu", {}),
}


def shape(
    x: Spec,
    w_in: Spec,
    b_in: Spec | None = None,
    w_out: Spec | None = None,
    b_out: Spec | None = None,
    w_gate: Spec | None = None,
    b_gate: Spec | None = None,
    *,
    activation: str = "relu",
) -> Spec:
    if activation not in ACTIVATIONS:
        known = ", ".join(ACTIVATIONS)
        raise Rejected(
            f"activation is {shown(activation)}; expected one of {known}{suggest(activation, ACTIVATIONS)}"
        )
    for name, given, expected in (("w_in", w_in, "(f, d)"), ("w_out", w_out, "(d, f)")):
        if given is None:
            raise Rejected(f"{name} is left out; expected a matrix {expected}")
    if w_gate is None and b_gate is not None:
        raise Rejected("b_gate is given without w_gate; expected both, or w_gate alone")
    hidden = _projected("in", x, w_in, b_in)
    if w_gate is not None:
        gate = _projected("gate", x, w_gate, b_gate)
        if gate.shape != hidden.shape:
            raise Rejected(
                f"w_gate gives {gate.shape[-1]} features and w_in {hidden.shape[-1]}; expected as many"
            )
    return _projected("out", hidden, w_out, b_out)


def _projected(name: str, x: Spec, w: Spec | None, b: Spec | None) -> Spec:
    try:
        return find("linear").shape(x, w, b)
    except Rejected as error:
        raise Rejected(f"w_{name}: {error}") from None


def expand(g, x, w_in, b_in, w_out, b_out, w_gate, b_gate, *, activation):
    op, attributes = ACTIVATIONS[activation]
    hidden = g.linear(x, w_in, b_in, name="up", title="up")
    gate = hidden if w_gate is None else g.linear(x, w_gate, b_gate, name="gate", title="gate")
    active = g.apply(op, gate, name="act", **attributes)
    if w_gate is not None:
        active = g.multiply(active, hidden, name="gated")
    return g.linear(active, w_out, b_out, name="down", title="down")


x = [[0.5, -1.25], [1.5, 1.0], [-0.5, 0.1]]
w_in = [[0.5, 1.0], [-1.0, 0.25], [0.3, -0.6]]
w_out = [[0.5, -0.1, 0.2], [1.0, 0.7, -0.3]]

register(
    Op(
        name="feed_forward",
        title="feed-forward",
        glyph="⇊",
        family="composite",
        formula="act(x W_inᵀ + b) W_outᵀ + b",
        level="head",
        shape=shape,
        expand=expand,
        note=lambda *_, activation: activation,
        values={"activation": tuple(ACTIVATIONS)},
        samples=(
            Sample((x, w_in, None, w_out)),
            Sample((x, w_in, [0.1, 0.2, -0.3], w_out, [0.5, -0.5]), {"activation": "gelu"}),
            Sample((x, w_in, None, w_out, None, w_in), {"activation": "gelu_tanh"}),
            Sample((x, w_in, None, w_out, None, w_in, [0.1, 0.2, 0.3]), {"activation": "silu"}),
        ),
        rejects=(
            Reject(
                (Spec((3, 2)), Spec((4, 2)), None, Spec((2, 3))),
                {},
                "w_out: x has 4 features and w takes 3; expected as many",
            ),
            Reject((Spec((3, 2)), Spec((4, 2))), {}, "w_out is left out; expected a matrix (d, f)"),
            Reject(
                (Spec((3, 2)), Spec((4, 2)), None, Spec((2, 4))),
                {"activation": "swish"},
                "activation is 'swish'; expected one of relu, gelu, gelu_tanh, silu",
            ),
            Reject(
                (Spec((3, 2)), Spec((4, 2)), None, Spec((2, 4)), None, None, Spec((4,))),
                {},
                "b_gate is given without w_gate; expected both, or w_gate alone",
            ),
        ),
    )
)
