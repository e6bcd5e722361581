"""(y_a, y_b) = (cos · a − sin · b, sin · a + cos · b) for each pair (a, b) of a row (Su et al. 2021, 34).

x (…, n, d); cos, sin (…, n, r/2), one angle for each pair, r ≤ d (see rope_angles) → the shape of x,
or what the leading axes broadcast to. Only the first r features turn. Half-split (the default, as
GPT-NeoX and Llama in Hugging Face's layout) pairs feature i with i + r/2; interleaved (as the paper and
GPT-J) pairs 2i with 2i + 1.
"""

from __future__ import annotations

from ..core import axes as named
from ..core import nested
from ..core.axes import Spec, describe, need_flag, need_kind, need_rank
from ..core.cells import add, multiply, subtract
from ..core.elementwise import cell_of, times, unbroadcast
from ..core.errors import Rejected
from ..core.numbers import Numbers
from ..core.op import Declared, Kernel, Op, Reject, Sample, register


def shape(x: Spec, cos: Spec, sin: Spec, *, interleaved: bool = False) -> Spec:
    need_kind("float", x=x, cos=cos, sin=sin)
    need_rank(1, x=x, cos=cos, sin=sin)
    need_flag(interleaved=interleaved)
    if sin.shape != cos.shape:
        raise Rejected(f"cos is {describe(cos)} and sin is {describe(sin)}; expected the same shape")
    d, half = x.shape[-1], cos.shape[-1]
    if 2 * half > d:
        raise Rejected(
            f"cos has {half} angles in a row and x has {d} features; expected one angle for each pair,"
            f" so {d // 2} at most"
        )
    sizes, names = named.broadcast(Spec((*x.shape[:-1], half), x.axes), cos, sin)
    return Spec((*sizes[:-1], d), names)


def rope_halves(row, cos, sin):
    half = len(cos)
    a, b = row[:half], row[half : 2 * half]
    y_a = [v * c - w * s for v, w, c, s in zip(a, b, cos, sin)]
    y_b = [v * s + w * c for v, w, c, s in zip(a, b, cos, sin)]
    return y_a + y_b + row[2 * half :]


def rope_interleaved(row, cos, sin):
    y = list(row)
    for i, (c, s) in enumerate(zip(cos, sin)):
        a, b = row[2 * i], row[2 * i + 1]
        y[2 * i], y[2 * i + 1] = a * c - b * s, a * s + b * c
    return y


def kernel(numbers: Numbers, x: Spec, cos: Spec, sin: Spec, *, interleaved) -> Kernel:
    return Kernel(rope_interleaved if interleaved else rope_halves, 1, 1, 1)


def expand(g, x, cos, sin, *, interleaved):
    half = cos.shape[-1]
    rest = x.shape[-1] - 2 * half
    sizes = ((2 * half,) if interleaved else (half, half)) + ((rest,) if rest else ())
    *turning, last = g.split(x, sizes, name="parts")
    turning, kept = (turning, last) if rest else ([*turning, last], None)
    if interleaved:
        pairs = g.reshape(*turning, (*x.shape[:-1], half, 2), axes=(*x.axes, None), name="pairs")
        turning = [
            g.reshape(part, (*x.shape[:-1], half), axes=x.axes, name=name)
            for name, part in zip("ab", g.split(pairs, 2, name="sides"), strict=True)
        ]
    a, b = turning
    y_a = g.subtract(g.multiply(a, cos, name="a_cos"), g.multiply(b, sin, name="b_sin"), name="y_a")
    y_b = g.add(g.multiply(a, sin, name="a_sin"), g.multiply(b, cos, name="b_cos"), name="y_b")
    turned = [y_a, y_b]
    if interleaved:
        pairs = g.stack(y_a, y_b, axis=-1, name="turned_pairs")
        turned = [g.reshape(pairs, (*y_a.shape[:-1], 2 * half), axes=y_a.axes, name="turned")]
    if kept is not None:
        whole = (*y_a.shape[:-1], rest)
        turned.append(kept if kept.shape == whole else g.broadcast(kept, whole, name="kept"))
    return turned[0] if len(turned) == 1 else g.concat(*turned, name="joined")


def mixed(g, x, cos, sin, *, interleaved):
    """The angles of one layout with the turn of the other."""
    r, d = 2 * cos.shape[-1], x.shape[-1]
    turning, kept = (x, None) if r == d else g.split(x, (r, d - r))
    twice = [g.concat(t, t) if interleaved else g.repeat(t, 2, axis=-1) for t in (cos, sin)]
    if interleaved:
        pairs = g.reshape(turning, (*turning.shape[:-1], r // 2, 2))
        a, b = g.split(pairs, 2)
        crossed = g.reshape(g.concat(g.negate(b), a), turning.shape)
    else:
        a, b = g.split(turning, 2)
        crossed = g.concat(g.negate(b), a)
    turned = g.add(g.multiply(turning, twice[0]), g.multiply(crossed, twice[1]), name="turned")
    return turned if kept is None else g.concat(turned, kept)


def turned_back(g, x, cos, sin, *, interleaved):
    """With the signs of sin θ exchanged."""
    return g.rope(x, cos, g.negate(sin), interleaved=interleaved)


def one_place(back):
    """Turned by what lies between two tokens too, as the first two rows of the tables tell."""

    def build(g, x, cos, sin, *, interleaved):
        axis = next((a for a in range(-2, -len(cos.shape) - 1, -1) if cos.shape[a] > 1), None)
        if axis is None:
            return None
        rest = ", :" * (-1 - axis)
        c_0, s_0, c_1, s_1 = (
            g.slice(table, f"..., {row}:{row + 1}{rest}") for row in (0, 1) for table in (cos, sin)
        )
        size = g.add(g.multiply(c_0, c_0), g.multiply(s_0, s_0), name="size")
        c = g.divide(g.add(g.multiply(c_0, c_1), g.multiply(s_0, s_1)), size, name="cos_between")
        s = g.divide(g.subtract(g.multiply(s_1, c_0), g.multiply(c_1, s_0)), size, name="sin_between")
        turned = g.rope(x, cos, sin, interleaved=interleaved, name="turned")
        return g.rope(turned, c, g.negate(s) if back else s, interleaved=interleaved)

    return build


def in_place(g, x, cos, sin, *, interleaved):
    """b sin θ is taken of a that is turned already, as where it was written over."""
    a, b = _sides(g, x, cos.shape[-1], interleaved)
    y_a = g.subtract(g.multiply(a, cos), g.multiply(b, sin), name="y_a")
    y_b = g.add(g.multiply(y_a, sin), g.multiply(b, cos), name="y_b")
    return _joined(g, x, y_a, y_b, interleaved)


def _joined(g, x, y_a, y_b, interleaved):
    """The firsts and the seconds of all pairs, and what does not turn."""
    r, d = 2 * y_a.shape[-1], x.shape[-1]
    turned = g.concat(y_a, y_b)
    if interleaved:
        turned = g.reshape(g.stack(y_a, y_b, axis=-1), turned.shape)
    return turned if r == d else g.concat(turned, g.split(x, (r, d - r))[1])


def last_features(g, x, cos, sin, *, interleaved):
    """The last features turn, where only some do."""
    turning, d = 2 * cos.shape[-1], x.shape[-1]
    if turning == d:
        return None
    kept, last = g.split(x, (d - turning, turning))
    return g.concat(kept, g.rope(last, cos, sin, interleaved=interleaved), name="joined")


def not_crossed(g, x, cos, sin, *, interleaved):
    """x cos θ + x sin θ: the halves not exchanged for the second."""
    a, b = _sides(g, x, cos.shape[-1], interleaved)
    both = g.add(cos, sin)
    return _joined(g, x, g.multiply(a, both), g.multiply(b, both), interleaved)


def other_layout_back(g, x, cos, sin, *, interleaved):
    return g.rope(x, cos, g.negate(sin), interleaved=not interleaved)


def mixed_other(g, x, cos, sin, *, interleaved):
    return mixed(g, x, cos, sin, interleaved=not interleaved)


def gradient(g, dy, y, x, cos, sin, *, interleaved):
    """Turned back: dx = rope(dy, cos, −sin), and for the angles d_cos = a · da + b · db,
    d_sin = a · db − b · da."""
    a, b = _sides(g, x, cos.shape[-1], interleaved)
    d_a, d_b = _sides(g, dy, cos.shape[-1], interleaved)
    d_x = g.rope(dy, cos, -sin, interleaved=interleaved)
    d_cos = times(g, d_a, a) + times(g, d_b, b)
    d_sin = times(g, d_b, a) - times(g, d_a, b)
    return unbroadcast(g, d_x, x), unbroadcast(g, d_cos, cos), unbroadcast(g, d_sin, sin)


def _sides(g, x, half, interleaved):
    """The firsts and the seconds of all pairs."""
    rest = (x.shape[-1] - 2 * half,)
    if not interleaved:
        return g.split(x, (half, half, *rest))[:2]
    pairs = g.reshape(g.split(x, (2 * half, *rest))[0], (*x.shape[:-1], half, 2))
    return tuple(g.reshape(part, (*x.shape[:-1], half)) for part in g.split(pairs, 2))


def in_torch(x: Spec, cos: Spec, sin: Spec, *, interleaved):
    if 2 * cos.shape[-1] != x.shape[-1]:
        return ""
    if interleaved:
        return (
            "a, b = {x}[..., ::2], {x}[..., 1::2]\n"
            "torch.stack([a * {cos} - b * {sin}, a * {sin} + b * {cos}], dim=-1).flatten(-2)"
        )
    return "a, b = {x}.chunk(2, dim=-1)\ntorch.cat([a * {cos} - b * {sin}, a * {sin} + b * {cos}], dim=-1)"


def explain(index, x: Spec, cos: Spec, sin: Spec, *, interleaved):
    *lead, j = index
    half = cos.shape[-1]
    if j >= 2 * half:
        return cell_of(0, x, index)
    i, second = divmod(j, 2) if interleaved else (j % half, j >= half)
    first, other = (2 * i, 2 * i + 1) if interleaved else (i, i + half)
    a, b = cell_of(0, x, (*lead, first)), cell_of(0, x, (*lead, other))
    c, s = cell_of(1, cos, (*lead, i)), cell_of(2, sin, (*lead, i))
    return add(multiply(a, s), multiply(b, c)) if second else subtract(multiply(a, c), multiply(b, s))


def cost(x: Spec, cos: Spec, sin: Spec, *, interleaved) -> int:
    y = shape(x, cos, sin, interleaved=interleaved)
    return 6 * cos.shape[-1] * (y.size // max(y.shape[-1], 1))


def masked(run, masks, values, x: Spec, cos: Spec, sin: Spec, *, interleaved):
    """−∞ stays −∞ where a positive factor takes it into a sum; elsewhere it turns into +∞ or NaN."""
    if masks[0] is None:
        return None
    marks = nested.lift(lambda hidden: 1.0 if hidden else 0.0, [0], [x.shape])(masks[0])
    factors = [
        nested.lift(lambda cell: 1.0 if cell > 0 else 0.0, [0], [spec.shape])(value)
        for spec, value in zip((cos, sin), values[1:], strict=True)
    ]
    found = run(marks, *factors)
    return nested.lift(lambda cell: cell > 0, [0], [nested.shape_of(found)])(found)


def note(x: Spec, cos: Spec, sin: Spec, *, interleaved) -> str:
    turned = 2 * cos.shape[-1]
    part = "" if turned == x.shape[-1] else f"{turned} of {x.shape[-1]} features"
    return ", ".join(filter(None, ("interleaved" if interleaved else "", part)))


x = [[0.5, -1.25, 2.0, 0.75], [1.5, 1.0, -3.0, 0.25], [-0.5, 0.1, 0.4, -1.0]]
cos = [[1.0, 1.0], [0.5, 0.75], [-0.4, 0.2]]
sin = [[0.0, 0.0], [0.8, 0.6], [0.9, -0.3]]
column = [[row[0]] for row in cos]

register(
    Op(
        name="rope",
        title="rotary",
        glyph="⟳",
        family="function",
        formula="(cos · a − sin · b, sin · a + cos · b), each pair",
        level="op",
        shape=shape,
        torch=in_torch,
        kernel=kernel,
        expand=expand,
        explain=explain,
        linear=(("x",),),
        gradient=gradient,
        cost=cost,
        masked=masked,
        note=note,
        mistakes=(
            Declared(
                "turned the other way",
                "with each pair turned the other way, by −θ,",
                turned_back,
                "The first of a pair becomes a cos θ − b sin θ, the second b cos θ + a sin θ.",
                price=1.15,
            ),
            Declared(
                "mixed layouts",
                "with the angles of one layout and the turn of the other",
                mixed,
                "Angles c₀ c₀ c₁ c₁ … go with pairs (2i, 2i+1), c₀ c₁ … c₀ c₁ … with halves.",
            ),
            Declared(
                "mixed layouts, the other way",
                "with the turn of one layout and the angles of the other",
                mixed_other,
                "Angles c₀ c₀ c₁ c₁ … go with pairs (2i, 2i+1), c₀ c₁ … c₀ c₁ … with halves.",
            ),
            Declared(
                "a place later", "with each row turned as if one place later,", one_place(back=False), price=1.3
            ),
            Declared(
                "a place earlier",
                "with each row turned as if one place earlier,",
                one_place(back=True),
                price=1.3,
            ),
            Declared(
                "in place",
                "with the first of each pair written over before the second is computed",
                in_place,
                "Both of a pair are computed of the pair as it was: keep a copy of the first.",
            ),
            Declared(
                "not crossed",
                "with x cos θ + x sin θ, the halves not exchanged for sin θ,",
                not_crossed,
                price=1.4,
            ),
            Declared(
                "other layout, turned back",
                "with the pairs of the other layout turned the other way",
                other_layout_back,
                price=1.4,
            ),
            Declared(
                "last features", "with the last features of each row turned, not the first,", last_features
            ),
        ),
        samples=(
            Sample((x, cos, sin)),
            Sample((x, cos, sin), {"interleaved": True}),
            Sample((x, column, column)),
            Sample((x, column, column), {"interleaved": True}),
            Sample(([[x], [x]], cos, sin)),
            Sample((x, [[row] for row in (cos, sin)], [[row] for row in (sin, cos)])),
            Sample(([x[0]], column, column), {"interleaved": True}),
            Sample((x[0], cos[1], sin[1])),
            Sample(([[float("inf"), 1.0, float("nan"), 2.0]], [[0.0]], [[1.0]])),
        ),
        rejects=(
            Reject(
                (Spec((3, 4), ("token", "feature")), Spec((3, 4)), Spec((3, 4))),
                {},
                "cos has 4 angles in a row and x has 4 features; expected one angle for each pair",
            ),
            Reject(
                (Spec((3, 4)), Spec((3, 2)), Spec((3, 1))),
                {},
                "cos is 3 × 2 and sin is 3 × 1; expected the same shape",
            ),
            Reject((Spec((3, 4)), Spec((2, 2)), Spec((2, 2))), {}, "sizes 3 and 2 on axis -2 do not agree"),
            Reject((Spec((3, 4)), Spec(()), Spec(())), {}, "cos has rank 0; expected rank 1 or more"),
            Reject((Spec((3, 4), kind="int"), Spec((3, 2)), Spec((3, 2))), {}, "x holds int; expected float"),
            Reject(
                (Spec((3, 4)), Spec((3, 2)), Spec((3, 2))),
                {"interleaved": 1},
                "interleaved is 1; expected True or False",
            ),
        ),
    )
)
