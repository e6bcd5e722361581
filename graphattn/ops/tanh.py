"""y = tanh x, every cell."""

from ..core.elementwise import times, unary
from ..core.op import register

register(
    unary(
        "tanh", "tanh", "y = tanh x", lambda numbers: numbers.tanh, onnx="Tanh", range=(-1.0, 1.0),
        torch="torch.tanh({x})",
        gradient=lambda g, dy, y, x: (times(g, dy, 1 - y * y),),
    )
)  # fmt: skip
