"""y = eˣ, every cell; overflow gives ∞ (IEEE 754)."""

import math

from ..core.elementwise import times, unary
from ..core.op import register

register(
    unary(
        "exp", "eˣ", "y = exp(x)", lambda numbers: numbers.exp, onnx="Exp", range=(0.0, math.inf),
        torch="torch.exp({x})",
        gradient=lambda g, dy, y, x: (times(g, dy, y),),
    )
)  # fmt: skip
