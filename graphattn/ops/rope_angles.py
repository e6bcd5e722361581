"""cos[p, i] = cos(θ), sin[p, i] = sin(θ), θ = (p + offset) · base^(−2i/d) (Su et al. 2021, equation 15).

n positions from `offset` on, d features to turn (even) → cos and sin (n, d/2), one angle for each
pair. base: a number above 0, or decimal text. The angle is (p + offset) · exp(−2i/d · ln base), as in
positional_encoding.
"""

from __future__ import annotations

from ..core import cells
from ..core.axes import Spec, need_int, need_number, need_size
from ..core.cells import Literal, divide, exp, log, multiply
from ..core.errors import Rejected
from ..core.numbers import Numbers
from ..core.op import Declared, Kernel, Op, Reject, Sample, register


def shape(n: int, d: int, *, base: float | str = 10000, offset: int = 0) -> dict[str, Spec]:
    need_size("n", n)
    need_size("d", d)
    if d % 2:
        raise Rejected(f"d is {d}; expected an even number, since features turn in pairs")
    need_number("base", base, positive=True)
    need_int("offset", offset)
    table = Spec((n, d // 2), ("token", "feature"))
    return {"cos": table, "sin": table}


def rope_angles(n, d, base, offset, lift, multiply, divide, exp, log, cos, sin):
    log_base = log(lift(base))
    rates = [exp(multiply(divide(lift(-2 * i), lift(d)), log_base)) for i in range(d // 2)]
    angles = [[multiply(lift(p), rate) for rate in rates] for p in range(offset, offset + n)]
    return [[[turn(angle) for angle in row] for row in angles] for turn in (cos, sin)]


def kernel(numbers: Numbers, *, n, d, base, offset) -> Kernel:
    return Kernel(
        rope_angles, outputs=2, n=n, d=d, base=base, offset=offset, lift=numbers.lift,
        multiply=numbers.multiply, divide=numbers.divide, exp=numbers.exp, log=numbers.log,
        cos=numbers.cos, sin=numbers.sin,
    )  # fmt: skip


def expand(g, *, n, d, base, offset):
    return tables(g, n, d, base, offset)


def from_one(g, *, n, d, base, offset):
    return tables(g, n, d, base, offset, first=1)


def tables(g, n, d, base, offset, first=0):
    """The tables with rates base^(−2i/d), i from `first` on."""
    half = d // 2
    if not n or not half:
        nothing = g.broadcast(g.constant(0.0, name="nothing"), (n, half), name="table")
        return tuple(g.reshape(nothing, (n, half), axes=("token", "feature"), name=t) for t in ("cos", "sin"))
    positions = g.constant(
        [[float(p)] for p in range(offset, offset + n)], name="positions", axes=("token", None)
    )
    ratio = g.divide(
        g.constant([-2.0 * i for i in range(first, first + half)], name="minus_two_i", axes=("feature",)),
        g.constant(d, name="d"),
        name="ratio",
    )
    log_base = g.log(g.constant(base, name="base"), name="log_base")
    rates = g.exp(g.multiply(ratio, log_base, name="exponents"), name="rates")
    angles = g.multiply(positions, rates, name="angles")
    return g.cos(angles, name="cos"), g.sin(angles, name="sin")


def explain(index, *, n, d, base, offset, port=0):
    p, i = index
    rate = exp(multiply(divide(Literal(-2 * i), Literal(d)), log(Literal(base))))
    return (cells.sin if port else cells.cos)(multiply(Literal(p + offset), rate))


def note(*, n, d, base, offset) -> str:
    return f"base {base}" + (f", offset {offset}" if offset else "")


register(
    Op(
        name="rope_angles",
        title="rotary angles",
        glyph="∠",
        family="constant",
        formula="cos and sin of p / base^(2i/d)",
        level="op",
        shape=shape,
        kernel=kernel,
        expand=expand,
        explain=explain,
        cost=lambda *, n, d, base, offset: (d // 2) * (3 + 3 * n) + 1,
        drawn="beside",
        range=(-1.0, 1.0),
        note=note,
        mistakes=(
            Declared(
                "rates from i = 1", "with the rates base^(−2i/d) of i from 1, not 0, on,", from_one, price=1.4
            ),
        ),
        samples=(
            Sample((), {"n": 4, "d": 6}),
            Sample((), {"n": 3, "d": 4, "base": 500000.0, "offset": 2}),
            Sample((), {"n": 2, "d": 2, "base": "1e-3", "offset": -1}),
            Sample((), {"n": 0, "d": 4}),
            Sample((), {"n": 2, "d": 0}),
        ),
        rejects=(
            Reject((), {"n": 3, "d": 5}, "d is 5; expected an even number, since features turn in pairs"),
            Reject((), {"n": 3, "d": -2}, "d must be an int of 0 or more, got -2"),
            Reject((), {"n": 3, "d": 4, "base": 0}, "base is 0; expected a number above 0"),
            Reject((), {"n": 3, "d": 4, "offset": 1.0}, "offset is 1.0; expected an int"),
        ),
    )
)
