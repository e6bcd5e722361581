"""y = √x, every cell; NaN below 0 (IEEE 754)."""

import math

from ..core.elementwise import over, unary
from ..core.op import Sample, register

register(
    unary(
        "sqrt", "√", "y = √x", lambda numbers: numbers.sqrt, onnx="Sqrt", range=(0.0, math.inf),
        torch="torch.sqrt({x})",
        gradient=lambda g, dy, y, x: (over(g, dy, y + y),),
        samples=(Sample(([[0.0, 2.0, 9.0], [1e-300, 0.5, 1e300]],)), Sample((2.0,)), Sample(([],))),
    )
)  # fmt: skip
