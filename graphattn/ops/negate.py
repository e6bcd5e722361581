"""y = −x, every cell."""

from ..core.elementwise import unary
from ..core.op import register

register(
    unary(
        "negate", "−", "y = −x", lambda numbers: numbers.negate, onnx="Neg",
        linear=(("x",),),
        torch="-{x}",
        gradient=lambda g, dy, y, x: (-dy,),
    )
)  # fmt: skip
