"""y = a / b, cell by cell, by IEEE 754: 1/0 = ∞, 0/0 = NaN.

a, b: shapes that broadcast (right-aligned, size 1 stretches). Rejected where they do not. With
`absorb_zeros`, a quotient that is not finite is 0 where a is exactly 0.
"""

from ..core.elementwise import absorbed, absorbing, over, times, unbroadcast
from ..core.op import register


def divide_absorbing(a, b, pair, finite, zero):
    if len(a) != len(b):  # one of them is stretched
        a, b = (a * len(b), b) if len(a) == 1 else (a, b * len(a))
    y = list(map(pair, a, b))
    if finite(y):
        return y
    return [zero if p == 0 and not finite([v]) else v for p, v in zip(a, y)]


def divide_cell_absorbing(a, b, pair, finite, zero):
    return divide_absorbing([a], [b], pair, finite, zero)[0]


def gradient(g, dy, y, a, b, *, absorb_zeros):
    return unbroadcast(g, over(g, dy, b), a), unbroadcast(g, -over(g, times(g, dy, y), b), b)


def onnx(o, a, b, *, absorb_zeros):
    y = o.Div(a, b)
    return absorbed(o, y, a) if absorb_zeros else y


register(
    absorbing(
        "divide", "÷", "y = a / b", lambda numbers: numbers.divide, divide_absorbing,
        divide_cell_absorbing, "absorb_divide", linear=(("a",),), gradient=gradient,
        onnx=onnx, nonfinite=("absorb_zeros",), poles=(1,),
        torch="{a} / {b}",
    )
)  # fmt: skip
