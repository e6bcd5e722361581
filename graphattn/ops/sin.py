"""y = sin x, every cell, x in radians; NaN at ±∞."""

from ..core.elementwise import times, unary
from ..core.op import register

register(
    unary(
        "sin", "sin", "y = sin x", lambda numbers: numbers.sin, onnx="Sin", range=(-1.0, 1.0),
        torch="torch.sin({x})",
        gradient=lambda g, dy, y, x: (times(g, dy, g.cos(x)),),
    )
)  # fmt: skip
