"""y = cos x, every cell, x in radians; NaN at ±∞."""

from ..core.elementwise import times, unary
from ..core.op import register

register(
    unary(
        "cos", "cos", "y = cos x", lambda numbers: numbers.cos, onnx="Cos", range=(-1.0, 1.0),
        torch="torch.cos({x})",
        gradient=lambda g, dy, y, x: (-times(g, dy, g.sin(x)),),
    )
)  # fmt: skip
