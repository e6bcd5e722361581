"""y = x · Φ(x) (Hendrycks and Gimpel 2016), Φ the normal distribution, every cell.

approximate="none": ½ x (1 + erf(x / √2)), as BERT. approximate="tanh":
½ x (1 + tanh(√(2/π) (x + 0.044715 x³))), as GPT-2. Below about −5 the first form loses digits to
1 + erf; what PyTorch computes does so too.
"""

from __future__ import annotations

import math

from ..core import masks
from ..core.activations import ACTIVATIONS
from ..core.axes import Spec
from ..core.cells import Cell, Literal, add, divide, erf, multiply, tanh
from ..core.cells import sqrt as root
from ..core.elementwise import PI, same, times
from ..core.errors import Rejected, suggest
from ..core.numbers import Numbers
from ..core.op import Declared, Kernel, Op, Reject, Sample, register
from ..core.words import shown

FORMS = ("none", "tanh")
ROOT = math.sqrt(2.0 / math.pi)


def shape(x: Spec, *, approximate: str = "none") -> Spec:
    if approximate not in FORMS:
        raise Rejected(
            f"approximate is {shown(approximate)}; expected 'none' or 'tanh'{suggest(approximate, FORMS)}"
        )
    return same(x)


def gelu(x):
    return 0.5 * x * (1.0 + math.erf(x / math.sqrt(2.0)))


def gelu_tanh(x):
    return 0.5 * x * (1.0 + math.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * (x * x * x))))


def kernel(numbers: Numbers, x: Spec, *, approximate) -> Kernel:
    return Kernel(gelu if approximate == "none" else gelu_tanh, 0)


def expand(g, x, *, approximate):
    one, half = g.constant(1, name="one"), g.constant("0.5", name="half")
    halved = g.multiply(half, x, name="halved")
    if approximate == "none":
        root_two = g.sqrt(g.constant(2, name="two"), name="root_two")
        curve = g.erf(g.divide(x, root_two, name="ratio"), name="erf")
    else:
        cube = g.multiply(g.multiply(x, x, name="square"), x, name="cube")
        bent = g.add(x, g.multiply(g.constant("0.044715", name="bend"), cube, name="bending"), name="bent")
        factor = g.sqrt(
            g.divide(g.constant(2, name="two"), g.constant(PI, name="pi"), name="ratio"), name="factor"
        )
        curve = g.tanh(g.multiply(factor, bent, name="slope"), name="tanh")
    return g.multiply(halved, g.add(one, curve, name="gate"), name="product")


def by_sigmoid(g, x, *, approximate, number):
    return g.multiply(x, g.sigmoid(g.multiply(x, number, name="steeper"), name="gate"), name="product")


def by_tanh(bend=0.044715, factor=ROOT, power=3, outside=False):
    """½ x (1 + tanh(factor (x + bend xᵖ))); `outside`: the factor is of x alone."""

    def build(g, x, *, approximate):
        raised = x
        for _ in range(power - 1):
            raised = g.multiply(raised, x)
        bent = g.multiply(raised, g.constant(bend))
        inner = (
            g.add(g.scale(x, multiply=factor), bent) if outside else g.scale(g.add(x, bent), multiply=factor)
        )
        return g.multiply(g.scale(x, multiply=0.5), g.add(g.constant(1), g.tanh(inner)))

    return build


def share_alone(g, x, *, approximate):
    """Φ(x), which nothing is multiplied by."""
    return g.scale(g.add(g.constant(1), g.erf(g.scale(x, sqrt=2))), multiply=0.5)


def gradient(g, dy, y, x, *, approximate):
    one, half, two = g.constant(1), g.constant("0.5"), g.constant(2)
    pi = g.constant(PI, name="pi")
    if approximate == "none":
        curve = g.erf(x / g.sqrt(two), name="erf")
        bell = g.exp(-(half * x * x), name="bell") / g.sqrt(two * pi)
        return (times(g, dy, half * (one + curve) + times(g, x, bell), name="d_x"),)
    bend, factor = g.constant("0.044715", name="bend"), g.sqrt(two / pi, name="factor")
    curve = g.tanh(factor * (x + bend * (x * x * x)), name="tanh")
    slope = factor * (one + g.constant(3) * bend * x * x)
    return (times(g, dy, half * (one + curve) + times(g, half * x, (one - curve * curve) * slope), name="d_x"),)


def in_torch(x: Spec, *, approximate):
    return "F.gelu({x})" if approximate == "none" else 'F.gelu({x}, approximate="{approximate}")'


def onnx(o, x, *, approximate):
    """The constants inside ONNX's Gelu are float32."""
    exact = o.holds(0.044715 if approximate == "tanh" else math.sqrt(2.0))
    return o.Gelu(x, approximate=approximate) if o.has("Gelu") and exact else None


def explain(index, x: Spec, *, approximate):
    cell = Cell(0, index)
    if approximate == "none":
        curve = erf(divide(cell, root(Literal(2))))
    else:
        cube = multiply(multiply(cell, cell), cell)
        factor = root(divide(Literal(2), Literal(PI, "π")))
        curve = tanh(multiply(factor, add(cell, multiply(Literal("0.044715"), cube))))
    return multiply(multiply(Literal("0.5"), cell), add(Literal(1), curve))


register(
    Op(
        name="gelu",
        title="GELU",
        glyph="∫",
        family="function",
        formula="y = x · Φ(x)",
        level="op",
        shape=shape,
        kernel=kernel,
        onnx=onnx,
        torch=in_torch,
        expand=expand,
        explain=explain,
        gradient=gradient,
        cost=lambda x, *, approximate: x.size * (5 if approximate == "none" else 9),
        masked=masks.united,
        note=lambda x, *, approximate: "" if approximate == "none" else approximate,
        values={"approximate": FORMS},
        mistakes=(
            Declared(
                "by sigmoid", "with x · sigmoid({number} x), a coarser approximation,", by_sigmoid, number=1.702
            ),
            *(
                Declared(told, f"with ½ x (1 + tanh({told})),", wrong, price=1.35)
                for told, wrong in (
                    ("√(2/π) (x + 0.44715 x³)", by_tanh(bend=0.44715)),
                    ("2/π (x + 0.044715 x³)", by_tanh(factor=2 / math.pi)),
                    ("√(2π) (x + 0.044715 x³)", by_tanh(factor=math.sqrt(2 * math.pi))),
                    ("√(2/π) (x + 0.044715 x²)", by_tanh(power=2)),
                    ("√(2/π) (x + 0.044715 x)", by_tanh(power=1)),
                    ("√(2/π) x + 0.044715 x³", by_tanh(outside=True)),
                )
            ),
            Declared("Φ(x) alone", "with Φ(x), not x · Φ(x),", share_alone, price=1.35),
            *ACTIVATIONS,
        ),
        samples=(
            Sample(([[0.5, -1.25, 2.0], [0.0, -6.0, 30.0]],)),
            Sample(([[0.5, -1.25, 2.0], [0.0, -6.0, 30.0]],), {"approximate": "tanh"}),
            Sample(([-1e300, 1e300],)),
        ),
        rejects=(
            Reject((Spec((2,)),), {"approximate": "Tanh"}, "expected 'none' or 'tanh'; did you mean 'tanh'?"),
            Reject((Spec((2,), kind="int"),), {}, "x holds int; expected float"),
        ),
    )
)
