"""y = a · b, cell by cell.

a, b: floats, or integers (exact, of any size); shapes that broadcast (right-aligned, size 1
stretches). Rejected where they do not. With `absorb_zeros`, a product that is not finite is 0 where a
factor is exactly 0, so that what a 0 hides never leaks; without it, 0 · ∞ is NaN as IEEE 754 says.
"""

import operator

from ..core.elementwise import absorbed, absorbing, times, unbroadcast
from ..core.op import register


def multiply_absorbing(a, b, pair, finite, zero):
    if len(a) != len(b):  # one of them is stretched
        a, b = (a * len(b), b) if len(a) == 1 else (a, b * len(a))
    y = list(map(pair, a, b))
    if finite(y):
        return y
    return [zero if (p == 0 or q == 0) and not finite([v]) else v for p, q, v in zip(a, b, y)]


def multiply_cell_absorbing(a, b, pair, finite, zero):
    return multiply_absorbing([a], [b], pair, finite, zero)[0]


def gradient(g, dy, y, a, b, *, absorb_zeros):
    return unbroadcast(g, times(g, dy, b), a), unbroadcast(g, times(g, dy, a), b)


def onnx(o, a, b, *, absorb_zeros):
    y = o.Mul(a, b)
    return absorbed(o, y, a, b) if absorb_zeros else y


register(
    absorbing(
        "multiply", "·", "y = a · b", lambda numbers: numbers.multiply, multiply_absorbing,
        multiply_cell_absorbing, "absorb", operator.mul, linear=(("a",), ("b",)), gradient=gradient,
        onnx=onnx, nonfinite=("absorb_zeros",),
        torch="{a} * {b}",
    )
)  # fmt: skip
